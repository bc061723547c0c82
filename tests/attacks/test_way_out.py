"""The way out of the sandbox for setup commands: whom it leads to, and whom never.

Each attack is made from inside a real sandbox, with the rule that holds it and without that rule.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import (
    OUT,
    SMALL,
    Bounds,
    Broken,
    Egress,
    OpenedPreparation,
    SandboxedProcesses,
    broken_door,
    wayout,
)
from app.ports import SEGMENT_VARIABLE, Prepared, RefusedHost
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS

pytestmark = BUBBLEWRAP
HERE = "127.0.0.1"
SAYS = "hello from the other side"
NOT_LISTED = "is not on the operator's list, `sandbox.egress`"
INTERNAL = "has no address on the internet, only in a network of its own"


async def names(name: str, port: int) -> Sequence[str]:
    """What a resolver says; only this machine is there for tests."""
    known = {
        "listed.test": [HERE],
        "sub.listed.test": [HERE],
        "other.test": [HERE],
        "metadata.test": ["169.254.169.254", "fd00:ec2::254"],
        "private.test": ["10.0.0.1"],
    }
    if name not in known:
        raise OSError(-2, "Name or service not known")
    return known[name]


class Upstream:
    """A host on the other side."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            length = f"Content-Length: {len(SAYS)}\r\nConnection: close\r\n\r\n"
            writer.write(f"HTTP/1.1 200 OK\r\n{length}{SAYS}".encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    host = Upstream()
    server = await asyncio.start_server(host.serve, HERE, 0)
    host.port = server.sockets[0].getsockname()[1]
    async with server:
        yield host


@pytest.fixture
def egress(upstream: Upstream) -> Egress:
    """Lets nobody through but two names; here "the internet" is this machine."""
    hosts = ("listed.test", "*.listed.test")
    return Egress(hosts, (upstream.port,), lambda address: address == HERE, names)


@pytest.fixture
def inside(tmp_path: Path) -> Callable[..., Any]:
    """Runs a script in the sandbox with a way out."""

    async def run(egress: Egress, script: str, *words: str, bounds: Bounds = SMALL) -> Prepared:
        walls = SandboxedProcesses(ProcessGroups(), tmp_path / "accounts", (), bounds)
        (tmp_path / "workspace").mkdir(exist_ok=True)
        return await OpenedPreparation(walls, egress).run(
            ["bash", "-c", script, "bash", *words],
            cwd=tmp_path / "workspace",
            environment={
                "PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), SEGMENT_VARIABLE: "w:0"
            },
            timeout_seconds=MOST_SECONDS,
        )  # fmt: skip

    return run


ASK = """\
exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}
printf "$1" | cat >&3
timeout 20 cat <&3"""


def get(host: str, port: int, path: str = "/x?y=1") -> str:
    return f"GET http://{host}:{port}{path} HTTP/1.1\\r\\nHost: elsewhere.test\\r\\n\\r\\n"


def tunnel(host: str, port: int) -> str:
    return f"CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n"


@pytest.mark.parametrize("ask", [get, tunnel])
@pytest.mark.parametrize("host", ["listed.test", "LISTED.test.", "sub.listed.test"])
async def test_a_listed_host_is_reached(
    host: str, ask: Callable[[str, int], str], inside: Any, egress: Egress, upstream: Upstream
) -> None:
    done = await inside(egress, ASK, ask(host, upstream.port))
    assert done.ended.output.endswith(SAYS)
    assert done.ended.exit_code == 0
    assert done.refused == ()


async def test_a_host_hears_its_own_name_and_nothing_that_was_for_the_proxy(
    inside: Any, egress: Egress, upstream: Upstream
) -> None:
    asked = get("listed.test", upstream.port).replace("\\r\\n\\r\\n", "\\r\\nX-Kept: 1\\r\\n")
    asked += "Proxy-Authorization: Basic eDp5\\r\\nConnection: keep-alive\\r\\n\\r\\n"
    await inside(egress, ASK, asked)
    [head] = upstream.heads
    assert head.decode().split("\r\n") == [
        "GET /x?y=1 HTTP/1.1",
        f"Host: listed.test:{upstream.port}",
        "Connection: close",
        "X-Kept: 1",
        "",
        "",
    ]


def reaches(done: Prepared) -> bool:
    """Whether anything but the proxy has answered."""
    return "HTTP/1.1 200" in done.ended.output or SAYS in done.ended.output


UNLISTED = [
    ("other.test", NOT_LISTED),
    ("notlisted.test", NOT_LISTED),
    ("listed.test.evil.test", NOT_LISTED),
    (HERE, "is no name of a host; addresses are not let through"),
    ("2130706433", "is no name of a host; addresses are not let through"),
    ("[::1]", "is no name of a host; addresses are not let through"),
]


@pytest.mark.parametrize("ask", [get, tunnel])
@pytest.mark.parametrize(("host", "why"), UNLISTED, ids=[host for host, _ in UNLISTED])
async def test_a_host_that_is_not_listed_is_refused_and_told(
    host: str, why: str, ask: Any, inside: Any, egress: Egress, upstream: Upstream
) -> None:
    done = await inside(egress, ASK, ask(host, upstream.port))
    shown = f"{host.strip('[]')}:{upstream.port}"
    assert done.ended.output.startswith("HTTP/1.1 403 Forbidden by Squadron\r\n")
    assert f"squadron: {shown} {why}" in done.ended.output
    assert done.refused == (RefusedHost(shown, why, 1),)
    assert upstream.heads == []


async def test_who_is_listed_is_reached_where_all_are(
    inside: Any, egress: Egress, upstream: Upstream
) -> None:
    """The control: it is the list that holds the others off."""
    wide = replace(egress, hosts=("*.test",))
    assert reaches(await inside(wide, ASK, get("other.test", upstream.port)))


@pytest.mark.parametrize("host", ["metadata.test", "private.test", "listed.test"])
async def test_a_listed_name_leads_into_no_network_of_ours(
    host: str, inside: Any, egress: Egress, upstream: Upstream
) -> None:
    """As the product judges addresses: this machine is one, so even the listed host is out."""
    strict = Egress(("*.test",), egress.ports, resolve=names)
    done = await inside(strict, ASK, tunnel(host, upstream.port))
    assert done.refused == (RefusedHost(f"{host}:{upstream.port}", INTERNAL, 1),)
    assert not reaches(done)
    open_to_all = replace(strict, may_reach=lambda address: True)
    if host == "listed.test":
        assert reaches(await inside(open_to_all, ASK, tunnel(host, upstream.port)))


async def test_other_ports_of_a_listed_host_are_refused(
    inside: Any, egress: Egress, upstream: Upstream
) -> None:
    web = replace(egress, ports=Egress(()).ports)
    done = await inside(web, ASK, tunnel("listed.test", upstream.port))
    [refused] = done.refused
    assert refused.why == "is another port than 80 and 443"
    assert upstream.heads == []


async def test_what_cannot_be_found_or_reached_is_told(
    inside: Any, egress: Egress, upstream: Upstream
) -> None:
    unknown = await inside(egress, ASK, tunnel("gone.listed.test", upstream.port))
    assert unknown.ended.output.startswith("HTTP/1.1 502 Bad Gateway")
    [refused] = unknown.refused
    assert refused.why == "its address cannot be found: Name or service not known"
    nobody = replace(egress, ports=(1,))
    [refused] = (await inside(nobody, ASK, tunnel("listed.test", 1))).refused
    assert refused.why.startswith("cannot be reached: ")


@pytest.mark.parametrize(
    "said",
    [
        "nonsense\\r\\n\\r\\n",
        "GET / HTTP/1.1\\r\\n\\r\\n",
        "GET https://listed.test/ HTTP/1.1\\r\\n\\r\\n",
        "CONNECT listed.test:x HTTP/1.1\\r\\n\\r\\n",
        "CONNECT listed.test:99999 HTTP/1.1\\r\\n\\r\\n",
        "GET http://[::1/ HTTP/1.1\\r\\n\\r\\n",
    ],
)
async def test_what_is_no_request_is_answered(said: str, inside: Any, egress: Egress) -> None:
    assert (await inside(egress, ASK, said)).ended.output.startswith("HTTP/1.1 400 Bad Request")


async def test_a_head_without_end_is_not_kept(inside: Any, egress: Egress) -> None:
    flood = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; yes | head -c 300000 >&3; head -c 12 <&3"
    done = await inside(egress, f"trap '' PIPE; {flood} 2>/dev/null || echo gone")
    assert "HTTP/1.1 400" in done.ended.output or "gone" in done.ended.output
    assert done.refused == ()


async def test_connections_and_bytes_are_bounded(
    inside: Any, egress: Egress, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wayout, "MOST_CONNECTIONS", 2)
    many = 'for i in 5 6 7 8; do eval "exec $i<>/dev/tcp/127.0.0.1/${http_proxy##*:}"; done; '
    done = await inside(egress, many + "timeout 20 cat <&8; echo end")
    [refused] = done.refused
    assert (refused.host, refused.why) == ("all hosts together", "more than 2 connections at once")
    assert refused.times == 2
    monkeypatch.setattr(wayout, "MOST_BYTES", 10)
    done = await inside(egress, ASK, tunnel("listed.test", upstream.port))
    assert SAYS not in done.ended.output
    assert [(each.host, each.why) for each in done.refused] == [
        ("all hosts together", "more than 10 bytes")
    ]


async def test_nothing_but_the_proxy_is_there(inside: Any, egress: Egress) -> None:
    """The network stays closed: no other port, no datagrams, no second visit to the door."""
    script = """\
for each in tcp/127.0.0.1/80 tcp/192.0.2.1/443 udp/192.0.2.1/53; do
  echo x 2>/dev/null >/dev/$each && echo REACHED $each
done
test "$http_proxy" = "$HTTPS_PROXY" && test -n "$no_proxy" && echo told
"$@" -I -S -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/door/socket")
s.settimeout(1); print("HEARD", s.recv(1))' 2>&1 | grep HEARD
touch /door/socket /door/x 2>/dev/null && echo WRITTEN
true"""
    done = await inside(egress, script, "python3")
    assert done.ended.output == "told\n"
    assert done.refused == ()


async def test_the_door_is_shut_when_the_command_has_ended(
    inside: Any,
    egress: Egress,
    upstream: Upstream,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Agents' own commands have no way out, and nothing is left of it on the machine."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "doors"))
    (tmp_path / "doors").mkdir()
    await inside(egress, ASK, get("listed.test", upstream.port))
    walls = SandboxedProcesses(ProcessGroups(), tmp_path / "accounts", (), SMALL)
    ended = await walls.run(
        ["bash", "-c", 'test -e /door && echo DOOR; echo "proxy:$http_proxy"'],
        cwd=tmp_path / "workspace",
        environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")},
        timeout_seconds=MOST_SECONDS,
    )
    assert ended.output == "proxy:\n"
    assert not any((tmp_path / "doors").iterdir())


async def test_a_command_is_found_or_not_as_without_a_door(inside: Any, egress: Egress) -> None:
    done = await inside(egress, 'echo "$1"; exit 3', "said")
    assert (done.ended.output, done.ended.exit_code) == ("said\n", 3)


async def test_the_trial_at_the_start_sees_a_door_that_does_not_hold(
    egress: Egress, tmp_path: Path
) -> None:
    """And one that does not open."""
    walls = SandboxedProcesses(ProcessGroups(), tmp_path / "accounts", (), SMALL)
    sound = OpenedPreparation(walls, Egress(("pypi.org",)))
    assert await broken_door(sound, tmp_path / "trial") == []

    async def lets_through(proxy: wayout.Proxy, target: Any) -> Any:
        return await asyncio.open_connection(HERE, egress_port)

    egress_port = egress.ports[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wayout.Proxy, "_reached", lets_through)
        [broken] = await broken_door(sound, tmp_path / "trial")
    assert broken == Broken(OUT, "it can be done from inside the sandbox")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.adapters.sandbox.preparing.interpreter", lambda: Path("/nowhere"))
        [broken] = await broken_door(sound, tmp_path / "trial")
    assert broken.why.startswith("the way out for setup commands does not open: ")
    assert list((tmp_path / "trial").iterdir()) == []
