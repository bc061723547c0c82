"""`squadron serve` and its pages, as a process of its own."""

import re
import socket
from contextlib import closing
from pathlib import Path

import httpx

from tests.contract.test_serve import PRINTED, lines, running, variables
from tests.support.pages import Page

__all__ = ["variables"]

LINK = re.compile(r"Pages, for you at this machine: (http://127\.0\.0\.1:(\d+)/\?token=\S{22,})")


def link_in(said: str) -> tuple[str, str]:
    """The link that was printed, and its port."""
    found = LINK.search(said)
    assert found is not None, said
    return found[1], found[2]


def printed(directory: Path) -> str:
    """What the process prints."""
    return (directory / PRINTED).read_text()


def test_the_printed_link_opens_the_pages_and_no_other_listener_does(
    variables: dict[str, str], tmp_path: Path
) -> None:
    asked = {**variables, "SQUADRON_PAGES": "loopback", "SQUADRON_PAGES_PORT": "0"}
    with running("serve", asked, tmp_path) as address:
        link, port = link_in(printed(tmp_path))
        with httpx.Client(follow_redirects=True, timeout=20) as browser:
            page = browser.get(link)
            assert page.status_code == 200 and "Nobody waits for you." in page.text
            assert str(page.url) == f"http://127.0.0.1:{port}/"
            told = browser.get(f"http://127.0.0.1:{port}/needs-you.json").json()
            assert (told["waiting"], told["is_whole"]) == ([], True)
            assert browser.get(f"http://127.0.0.1:{port}/static/squadron.css").status_code == 200
            for path in ("/static/../door.py", "/static/%2e%2e/door.py", "/healthz", "/metrics"):
                assert browser.get(f"http://127.0.0.1:{port}{path}").status_code == 404, path
            assert browser.post(f"http://127.0.0.1:{port}/webhook").status_code == 404
        assert "This is a GitHub App" in httpx.get(f"{address}/").text
        assert httpx.get(f"{address}/needs-you.json").status_code == 404
    token = link.partition("token=")[2]
    assert token not in (tmp_path / "service.log").read_text()


def test_the_doctor_looks_at_the_running_installation(
    variables: dict[str, str], tmp_path: Path
) -> None:
    asked = {**variables, "SQUADRON_PAGES": "loopback", "SQUADRON_PAGES_PORT": "0"}
    with running("serve", asked, tmp_path):
        link, port = link_in(printed(tmp_path))
        at = f"http://127.0.0.1:{port}"
        with httpx.Client(follow_redirects=True, timeout=120) as browser:
            [form, *_] = Page(browser.get(link.replace("/?", "/health?")).text).forms_to("/doctor")
            found = Page(browser.post(f"{at}/doctor", data=form.fields).text)
    assert "ok database:" in found.text and "is at revision" in found.text
    assert "NO GitHub: GET /rate_limit" in found.text


def test_where_the_port_is_taken_it_serves_without_pages(
    variables: dict[str, str], tmp_path: Path
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        asked = {**variables, "SQUADRON_PAGES": "loopback", "SQUADRON_PAGES_PORT": str(port)}
        with running("serve", asked, tmp_path):
            assert printed(tmp_path) == ""
    [told] = [line for line in lines(tmp_path) if "no pages" in line["message"]]
    assert told["level"] == "WARNING"
    assert f"port {port} of this machine is in use; SQUADRON_PAGES_PORT" in told["message"]


def test_who_wants_no_pages_has_none(variables: dict[str, str], tmp_path: Path) -> None:
    with running("serve", {**variables, "SQUADRON_PAGES": "off"}, tmp_path):
        assert printed(tmp_path) == ""
