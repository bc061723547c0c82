"""The pages that a person sees: complete, linked, and without any way to smuggle something in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.githubbox.markdown import to_html
from tests.contract.box_support import REPO, Rig, rig
from tests.contract.test_box_story import branch


async def story(box: Rig) -> None:
    app, ann = await box.installation(), box.person("write")
    await ann.post(
        f"{REPO}/issues",
        json={
            "title": "<b>Bold</b>",
            "labels": ["bug"],
            "body": "Look <!-- whispered --> at `this`",
        },
    )
    await app.post(
        f"{REPO}/issues/1/comments",
        json={
            "body": (
                "<!-- squadron:effect:1 -->\n- [x] **done**\n\n<script>alert(1)</script> see #2"
            ),
        },
    )
    sha = await branch(box, "squadron/bug-fix/issue-1", "calc.py", "def add(a, b): return a + b\n")
    await app.post(
        f"{REPO}/check-runs",
        json={
            "name": "squadron/bug-fix",
            "head_sha": sha,
            "conclusion": "failure",
            "output": {
                "title": "Stopped",
                "summary": "max_iterations: 5 of 5",
                "text": "| a |\n|---|\n| b |",
                "annotations": [
                    {
                        "path": "calc.py",
                        "start_line": 1,
                        "end_line": 1,
                        "annotation_level": "failure",
                        "message": "still wrong",
                    }
                ],
            },
        },
    )
    await app.post(
        f"{REPO}/pulls",
        json={
            "title": "Fix",
            "head": "squadron/bug-fix/issue-1",
            "base": "main",
            "body": "Fixes #1",
        },
    )


async def test_every_page_shows_what_it_is_about(tmp_path: Path) -> None:
    async with rig(tmp_path) as box:
        await story(box)
        app = await box.installation()
        run = (await app.get(f"{REPO}/commits/squadron/bug-fix/issue-1/check-runs")).json()
        pull = (await app.get(f"{REPO}/pulls/2")).json()
        pages = {
            "/": ["octo/demo"],
            "/octo/demo": ["&lt;b&gt;Bold&lt;/b&gt;", "squadron/bug-fix/issue-1", "Stopped"],
            "/octo/demo/issues/1": [
                "<strong>done</strong>",
                "☑",
                'href="/octo/demo/pull/2"',
                "bug</span>",
                "Add a comment",
            ],
            pull["html_url"]: [
                "Fixes",
                '<div class="added">+def add(a, b): return a + b</div>',
                "✗",
                "max_iterations: 5 of 5",
                'href="/octo/demo/issues/1"',
            ],
            run["check_runs"][0]["html_url"]: ["still wrong", "<table>", "max_iterations"],
            pull["user"]["html_url"]: ["squadron-box[bot]"],
            f"/octo/demo/commit/{pull['head']['sha']}": ["Change calc.py"],
            "/octo/demo/compare/main...squadron/bug-fix/issue-1": ["Change calc.py"],
            "/octo/demo/blob/main/calc.py": ["return a - b"],
        }
        issue = await box.client().get("/octo/demo/issues/1")
        assert "max_iterations" not in issue.text, "as on GitHub, checks stand on pull requests"
        links: set[str] = set()
        for url, texts in pages.items():
            answer = await box.client().get(url)
            assert answer.status_code == 200, url
            assert all(text in answer.text for text in texts), (url, answer.text)
            assert "whispered" not in answer.text and "squadron:effect" not in answer.text
            assert "<script" not in answer.text
            links |= set(re.findall(r'(?:href|src)="(/[^"?#]*)"', answer.text))
        for link in links:
            assert (await box.client().get(link)).status_code == 200, link
        assert "refresh" in (await box.client().get("/octo/demo?live=1")).headers
        assert (await box.client().get("/octo/demo/issues/99")).status_code == 404
        without_pages(box)


def without_pages(box: Rig) -> None:
    """The contract knows none."""
    kept = [
        one
        for one in box.record.read_text().splitlines(True)
        if '"path":"/repos' in one or '"webhook"' in one
    ]
    box.record.write_text("".join(kept))


async def test_who_sits_at_the_machine_comments_on_a_page(tmp_path: Path) -> None:
    async with rig(tmp_path) as box:
        await story(box)
        visitor = box.client()
        for where in ("issues/1", "pull/2"):
            page = await visitor.get(f"/octo/demo/{where}")
            [action] = re.findall(r'<form class="card" method="post" action="([^"]+)"', page.text)
            first, *_ = re.findall(r"<option>([^<]+)</option>", page.text)
            form = {"as": first, "body": "/squadron status & more"}
            sent = await visitor.post(action, data=form)
            assert sent.status_code == 303
            number = where.partition("/")[2]
            said = (await visitor.get(f"{REPO}/issues/{number}/comments")).json()[-1]
            assert (said["user"]["login"], said["body"]) == (first, form["body"])
            assert sent.headers["location"] == f"/octo/demo/{where}#issuecomment-{said['id']}"
            assert "/squadron status &amp; more" in (await visitor.get(f"/octo/demo/{where}")).text
        permission = f"{REPO}/collaborators/{first}/permission"
        may = (await (await box.installation()).get(permission)).json()["permission"]
        assert may in ("admin", "write"), "whom agents listen to comes first"
        assert (await box.heard()).count("issue_comment.created") == 3
        without_pages(box)


@pytest.mark.parametrize(
    ("form", "origin", "status"),
    [
        ({"as": "write", "body": "b"}, "https://elsewhere.example", 403),
        ({"as": "write", "body": "b"}, "null", 403),
        ({"as": "squadron-box[bot]", "body": "b"}, None, 422),
        ({"as": "nobody", "body": "b"}, None, 422),
        ({"body": "b"}, None, 422),
        ({"as": "write", "body": " "}, None, 422),
        ({"as": "write", "body": "x" * 200_000}, None, 422),
    ],
)
async def test_a_comment_that_nobody_wrote_there_is_refused(
    tmp_path: Path, form: dict[str, str], origin: str | None, status: int
) -> None:
    async with rig(tmp_path) as box:
        await story(box)
        headers = {"Origin": origin} if origin else {}
        place = "/octo/demo/issues/1/comments"
        sent = await box.client().post(place, data=form, headers=headers)
        assert sent.status_code == status
        assert len((await box.client().get(f"{REPO}/issues/1/comments")).json()) == 1
        nowhere = await box.client().post("/octo/demo/issues/99/comments", data={"as": "write"})
        assert nowhere.status_code == 404
        without_pages(box)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<!-- a\n\nb -->\n\nx", "<p>x</p>"),
        ("a <!-- b -->c", "<p>a c</p>"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("<details onclick=x>", "&lt;details onclick=x&gt;"),
        ("<details><summary>s</summary></details>", "<details><summary>s</summary></details>"),
        ("[x](javascript:alert)", "<p>[x](javascript:alert)</p>"),
        ("![x](https://example.com/a.png)", '<p>!<a href="https://example.com/a.png">x</a></p>'),
        ("[#1](https://example.com)", '<p><a href="https://example.com">#1</a></p>'),
        ("see #12.", '<p>see <a href="/o/r/issues/12">#12</a>.</p>'),
        ("`<!-- shown -->`", "<p><code>&lt;!-- shown --&gt;</code></p>"),
    ],
)
def test_markdown_is_harmless(text: str, html: str) -> None:
    assert to_html(text, "/o/r").strip() == html
