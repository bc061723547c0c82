"""The demo's repository and its five stories, as the scripted model plays them.

The model only decides what to ask for next. Every tool call it makes is real: a real shell, real
edits, real test runs, real denials.
"""

from collections.abc import Mapping
from typing import Final

from app.scripted.script import Answer, Call, Script, Scripts

TESTS: Final = "python3 -m unittest"

FILES: Final[Mapping[str, str]] = {
    "README.md": "# Shapes\n\nA very small library, with tests: `python3 -m unittest`.\n",
    ".gitignore": "__pycache__/\n",
    "shapes.py": '''"""Areas of shapes."""


def area(width, height):
    """The area of a rectangle."""
    return width + height
''',
    "test_shapes.py": """import unittest

from shapes import area


class Area(unittest.TestCase):
    def test_a_rectangle(self):
        self.assertEqual(area(3, 4), 12)

    def test_a_line_has_none(self):
        self.assertEqual(area(5, 0), 0)


if __name__ == "__main__":
    unittest.main()
""",
    ".squadron/config.yaml": """\
# Small limits, so that the demo shows each enforcement layer within a minute.
triggers:
  labels:
    bug: bug-fix
circuit_breakers:
  roles:
    feat-dev: {max_iterations: 2}
    pm: {max_active_duration: 8, summary_wait: 10}
    release: {max_sleep_duration: 4}
escalation:
  assignees: [maria]
""",
    ".squadron/agents/docs.md": """---
description: Keeps the README in step with the code.
---
You write documentation. Wait for the code that you describe to be there.
""",
    ".squadron/agents/release.md": """---
description: Prepares a release.
---
You prepare releases. A release waits for everything it depends on.
""",
}


def _run(command: str, text: str = "") -> Answer:
    return Answer(text, (Call("bash", {"command": command}),))


def _attempt(number: int) -> Answer:
    factor = 10**number
    return Answer(
        f"Attempt {number}: scale by {factor} before adding.",
        (
            Call(
                "create",
                {
                    "path": "exact.py",
                    "text": f"def add(a, b):\n    return (a * {factor} + b * {factor}) / {factor}"
                    " + 0.1 - 0.1\n",
                },
            ),
        ),
    )


_FAILING_TEST: Final = """import unittest

from exact import add


class Exact(unittest.TestCase):
    def test_decimal_fractions_are_exact(self):
        self.assertEqual(repr(add(0.1, 0.2)), "three tenths, exactly")


if __name__ == "__main__":
    unittest.main()
"""

_HOPELESS_ROUNDS: Final = 12
"""More rounds than any maximum that a visitor of the demo is likely to try."""

BUG: Final = "area() adds instead of multiplying"
HOPELESS: Final = "Make 0.1 + 0.2 print as three tenths, exactly"
THINKER: Final = "Think about the name of this library"
BLOCKED: Final = "Describe area() in the README once it is right"
SLEEPER: Final = "Release as soon as upstream has released"
NEVER: Final = "Upstream release (nobody is working on this)"

STORIES: Final = (
    Script(
        name="bug",
        starts_with=lambda prompt: BUG in prompt,
        steps=(
            _run(TESTS, "First the tests."),
            Answer("", (Call("view", {"path": "shapes.py"}),)),
            Answer(
                "The area is a product.",
                (
                    Call(
                        "edit",
                        {
                            "path": "shapes.py",
                            "old": "width + height",
                            "new": "width * height",
                        },
                    ),
                ),
            ),
            _run(TESTS),
            _run("git commit --quiet --all --message 'Multiply the sides of a rectangle'"),
            Answer(
                "",
                (
                    Call(
                        "report_complete",
                        {"summary": "area() multiplies its sides now; both tests pass."},
                    ),
                ),
            ),
        ),
    ),
    Script(
        name="hopeless",
        starts_with=lambda prompt: HOPELESS in prompt,
        steps=(
            Answer(
                "A test first, and a first version.",
                (
                    Call("create", {"path": "test_exact.py", "text": _FAILING_TEST}),
                    Call(
                        "create",
                        {"path": "exact.py", "text": "def add(a, b):\n    return a + b\n"},
                    ),
                ),
            ),
            _run(f"{TESTS} test_exact"),
            *(
                step
                for number in range(1, _HOPELESS_ROUNDS)
                for step in (_attempt(number), _run(f"{TESTS} test_exact"))
            ),
        ),
        summary=Answer(
            "",
            (
                Call(
                    "report_complete",
                    {
                        "summary": "Scaling before adding does not help: a float is never printed"
                        " as words. The test asks for something that the type cannot do."
                    },
                ),
            ),
        ),
    ),
    Script(
        name="thinker",
        starts_with=lambda prompt: THINKER in prompt,
        steps=(Answer("Perhaps …", think_seconds=120),),
        summary=Answer("I thought about it and did not get to a name."),
    ),
    Script(
        name="blocked",
        starts_with=lambda prompt: BLOCKED in prompt,
        steps=(
            Answer(
                "",
                (
                    Call(
                        "report_blocked",
                        {"reason": "area() is wrong until #1 is fixed.", "blocked_by": [1]},
                    ),
                ),
            ),
            _run("git merge --quiet origin/main", "Issue 1 is closed: take its work over."),
            _run(TESTS),
            _run("echo '`area(3, 4)` is 12.' >> README.md"),
            _run("git commit --quiet --all --message 'Describe area()'"),
            Answer(
                "", (Call("report_complete", {"summary": "README describes area(), which works."}),)
            ),
        ),
    ),
    Script(
        name="sleeper",
        starts_with=lambda prompt: SLEEPER in prompt,
        steps=(
            Answer(
                "",
                (
                    Call(
                        "report_blocked",
                        {"reason": "Upstream has not released yet.", "blocked_by": [6]},
                    ),
                ),
            ),
        ),
    ),
)


def scripts(*summary_requests: str) -> Scripts:
    """All stories; a prompt that holds one of `summary_requests` asks for a summary."""
    return Scripts(STORIES, summary_requests)
