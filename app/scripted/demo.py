"""The demo's repository and its five stories, as the scripted model plays them on any runtime.

The model only decides what to ask for next. Every tool call it makes is real: a real shell, real
edits, real test runs, real denials.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from app.scripted.script import Answer, Script, Scripts, calls
from app.scripted.tools import TOOLS, Tools

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
    ".squadron/agents/architect.md": """---
description: Finds structures, and names for them.
---
You think before others build. Say what you would do, and why.
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

_CONFIG: Final = """\
# Small limits, so that the demo shows each enforcement layer within a minute.
triggers:
  labels:
    bug: bug-fix
circuit_breakers:
  roles:
    feat-dev: {{max_iterations: 2}}
    architect: {{max_active_duration: {thinking_seconds}, summary_wait: 10}}
    release: {{max_sleep_duration: 4}}
roles:
  bug-fix: {{runtime: {runtime}}}
  feat-dev: {{runtime: {runtime}}}
  architect: {{runtime: {runtime}}}
  docs: {{runtime: {runtime}}}
  release: {{runtime: {runtime}}}
escalation:
  assignees: [maria]
"""

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


def files(runtime: str, thinking_seconds: int) -> Mapping[str, str]:
    """The repository, by path. `runtime` runs every role; the thinker may be active so long."""
    config = _CONFIG.format(runtime=runtime, thinking_seconds=thinking_seconds)
    return {**FILES, ".squadron/config.yaml": config}


def scripts(runtime: str, summary_request: str, compaction_request: str) -> Scripts:
    """All stories in the words of that runtime's tools; a prompt that holds one of these phrases
    asks for a summary, or for one that takes the conversation's place."""
    tools = TOOLS[runtime]
    stories = (_bug(tools), _hopeless(tools), _thinker(), _blocked(tools), _sleeper(tools))
    return Scripts(stories, (summary_request,), (compaction_request,))


def _bug(tools: Tools) -> Script:
    summary = "area() multiplies its sides now; both tests pass."
    return Script(
        name="bug",
        starts_with=lambda prompt: BUG in prompt,
        steps=(
            calls(tools.run(TESTS), say="First the tests."),
            calls(tools.view("shapes.py")),
            calls(
                tools.edit("shapes.py", "width + height", "width * height"),
                say="The area is a product.",
            ),
            calls(tools.run(TESTS)),
            calls(
                tools.run("git commit --quiet --all --message 'Multiply the sides of a rectangle'")
            ),
            calls(tools.ours("report_complete", summary=summary)),
        ),
    )


def _hopeless(tools: Tools) -> Script:
    run_its_test = calls(tools.run(f"{TESTS} test_exact"))
    sums = ["a + b", *(_scaled_sum(10**power) for power in range(1, _HOPELESS_ROUNDS))]
    rounds = (
        calls(
            tools.edit("exact.py", f"return {old}", f"return {new}"),
            say=f"Attempt {number}: scale by {10**number} before adding.",
        )
        for number, (old, new) in enumerate(pairwise(sums), 1)
    )
    summary = (
        "Scaling before adding does not help: a float is never printed as words. The test asks for"
        " something that the type cannot do."
    )
    return Script(
        name="hopeless",
        starts_with=lambda prompt: HOPELESS in prompt,
        steps=(
            calls(
                tools.create("test_exact.py", _FAILING_TEST),
                tools.create("exact.py", f"def add(a, b):\n    return {sums[0]}\n"),
                say="A test first, and a first version.",
            ),
            run_its_test,
            *(step for attempt in rounds for step in (attempt, run_its_test)),
        ),
        summary=calls(tools.ours("report_complete", summary=summary)),
    )


def _scaled_sum(factor: int) -> str:
    return f"(a * {factor} + b * {factor}) / {factor} + 0.1 - 0.1"


def _thinker() -> Script:
    return Script(
        name="thinker",
        starts_with=lambda prompt: THINKER in prompt,
        steps=(Answer("Perhaps …", think_seconds=120),),
        summary=Answer("I thought about it and did not get to a name."),
    )


def _blocked(tools: Tools) -> Script:
    reason, summary = "area() is wrong until #1 is fixed.", "README describes area(), which works."
    return Script(
        name="blocked",
        starts_with=lambda prompt: BLOCKED in prompt,
        steps=(
            calls(tools.ours("report_blocked", reason=reason, blocked_by=[1])),
            calls(
                tools.run("git merge --quiet origin/main"),
                say="Issue 1 is closed: take its work over.",
            ),
            calls(tools.run("echo '`area(3, 4)` is 12.' >> README.md")),
            calls(tools.run(TESTS)),
            calls(tools.run("git commit --quiet --all --message 'Describe area()'")),
            calls(tools.ours("report_complete", summary=summary)),
        ),
    )


def _sleeper(tools: Tools) -> Script:
    reason = "Upstream has not released yet."
    return Script(
        name="sleeper",
        starts_with=lambda prompt: SLEEPER in prompt,
        steps=(calls(tools.ours("report_blocked", reason=reason, blocked_by=[6])),),
    )
