"""What an agent does, in one sentence: it stands in its comment, its check and its status."""

from dataclasses import replace
from typing import Any, Final

from inline_snapshot import snapshot

from app.core.agents.events import (
    ClosingTool,
    DiffSize,
    Known,
    MadeFiles,
    Slept,
    Verified,
    Waits,
)
from app.core.agents.evidence import Evidence
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.rules.plan import RoleKind, Tests
from app.core.words.evidence import evidence_section, tests_sentence, work_sentence
from app.core.words.messages import state_sentence
from app.core.words.report import Report
from app.testruns import Tally
from tests.core.strategies import START
from tests.core.wording import kept
from tests.texts.agents import SETUP, asleep, seen, worked
from tests.texts.text import Text

PLACE: Final = "$SQUADRON_DATA_DIR/agents/octo_2Fdemo_2312_2Fbug-fix_2F1"
WITHHELD: Final = (
    "Agents may not change `.github/`: their changes of `.github/ci.yml` are not on the branch."
    f" They are in {PLACE}/refused.patch (`git apply` makes them); everything is in bbbbbbbbbbbb."
    f" To get it: `git fetch {PLACE}/handover {'b' * 40}`."
)


def _says(state: State, **changes: Any) -> str:
    return state_sentence(seen(state, worked(), **changes))


def _queued(place: int, of_repository: int) -> str:
    queue = QueuePlace(place, of_repository)
    return state_sentence(replace(seen(State.QUEUED), queue=queue))


def _sleeps(reason: str, tool: ClosingTool | None) -> str:
    return state_sentence(_sleeping(reason, tool))


def _sleeping(reason: str, tool: ClosingTool | None) -> Report:
    return seen(State.SLEEPING, asleep(worked(), reason, tool), waits_for=Waits.ANSWER)


def _without_access() -> str:
    life = worked()
    why = "GitHub does not let Squadron read octo/demo (404)."
    life.happens(Slept(at=life.now, waits_for=Waits.ACCESS, blocked_by=(), reason=why))
    return state_sentence(seen(State.SLEEPING, life, waits_for=Waits.ACCESS))


def _verified(
    sound: Known, why: str = "", tests: Tally | None = None, base: Tally | None = None
) -> str:
    checked = Verified(at=START, sha="a" * 40, sound=sound, why=why, tests=tests, base=base)
    saw = Evidence(
        tests_run=Known.UNKNOWN,
        tests_passed=Known.UNKNOWN,
        diff=DiffSize(files=2, added=20, deleted=3),
        withheld=(),
        verified=checked,
    )
    return _evidence(saw, verify=("make test",))


def _withheld() -> str:
    return _evidence(
        replace(_saw(), withheld=(".github/ci.yml", "CODEOWNERS"), steering=("AGENTS.md",))
    )


def _made() -> str:
    made = (MadeFiles(".venv/", 3_202), MadeFiles("src/__pycache__/", 1), MadeFiles(".coverage", 1))
    return _evidence(replace(_saw(), made=made))


def _saw() -> Evidence:
    view = seen(State.SLEEPING, worked(), waits_for=Waits.REVIEW, pull_request=9)
    assert view.evidence is not None
    return view.evidence


def _evidence(saw: Evidence, **assignment: Any) -> str:
    view = seen(State.SLEEPING, worked(), waits_for=Waits.REVIEW, pull_request=9)
    agent = replace(view.agent, assignment=replace(view.agent.assignment, **assignment))
    view = replace(view, agent=agent, evidence=saw)
    return f"{tests_sentence(view)}\n\n{evidence_section(view)}"


def _not_pushed() -> str:
    life = worked()
    problem = f"bbbbbbbbbbbb is not on GitHub: the branch is protected. {PLACE} holds it."
    life.happens(kept(pushed=False, problem=problem))
    return work_sentence(seen(State.SLEEPING, life, waits_for=Waits.ANSWER))


SENTENCE: Final = "What an agent does, in one sentence"
WORK: Final = "Where the work is"
EVIDENCE: Final = "What Squadron saw: in a check's title, and as a list"

TEXTS: Final = (
    Text(
        SENTENCE,
        "It is next",
        lambda: _queued(1, 0),
        snapshot("The agent waits for a worker; it is next."),
    ),
    Text(
        SENTENCE,
        "One is ahead of it",
        lambda: _queued(2, 0),
        snapshot("The agent waits for a worker; one agent is ahead of it."),
    ),
    Text(
        SENTENCE,
        "Some are ahead of it, of its repository and of others",
        lambda: _queued(6, 2),
        snapshot("The agent waits for a worker; 5 agents are ahead of it, 2 of this repository."),
    ),
    Text(
        SENTENCE,
        "All that are ahead of it are of its repository",
        lambda: _queued(6, 5),
        snapshot("The agent waits for a worker; 5 agents of this repository are ahead of it."),
    ),
    Text(SENTENCE, "It works", lambda: _says(State.ACTIVE), snapshot("The agent works.")),
    Text(
        SENTENCE,
        "Squadron checks its work",
        lambda: state_sentence(replace(seen(State.ACTIVE), is_being_verified=True)),
        snapshot("The agent has done its work; Squadron checks it in a clean checkout."),
    ),
    Text(
        SENTENCE,
        "It waits for one issue",
        lambda: _says(State.SLEEPING, waits_for=Waits.BLOCKER, blocked_by=(3,)),
        snapshot("The agent sleeps until #3 is closed."),
    ),
    Text(
        SENTENCE,
        "It asks a question",
        lambda: _sleeps("Which colour?", ClosingTool.REPORT_BLOCKED),
        snapshot("The agent waits for an answer on this issue: Which colour?"),
    ),
    Text(
        SENTENCE,
        "It ended its turn without a question or a report",
        lambda: _sleeps("I am at a loss.", None),
        snapshot(
            "The agent stopped without a question or a report. Its last words: I am at a loss."
        ),
    ),
    Text(
        SENTENCE,
        "It is done, and what it changed is withheld",
        lambda: _sleeps(WITHHELD, ClosingTool.REPORT_COMPLETE),
        snapshot(
            "The agent is done, and Squadron cannot hand its work over: Agents may not change `.github/`: their changes of `.github/ci.yml` are not on the branch. They are in $SQUADRON_DATA_DIR/agents/octo_2Fdemo_2312_2Fbug-fix_2F1/refused.patch (`git apply` makes them); everything is in bbbbbbbbbbbb. To get it: `git fetch $SQUADRON_DATA_DIR/agents/octo_2Fdemo_2312_2Fbug-fix_2F1/handover bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`."
        ),
    ),
    Text(
        SENTENCE,
        "Squadron may not read the repository",
        _without_access,
        snapshot(
            "The agent waits until Squadron has access again: GitHub does not let Squadron read octo/demo (404)."
        ),
    ),
    Text(
        SENTENCE,
        "Its pull request is not open yet",
        lambda: _says(State.SLEEPING, waits_for=Waits.REVIEW),
        snapshot("The agent has done its work; its pull request is not open yet."),
    ),
    Text(
        SENTENCE,
        "Its work waits for a review",
        lambda: _says(State.SLEEPING, waits_for=Waits.REVIEW, pull_request=9),
        snapshot("The agent handed its work over as #9, and waits for a review."),
    ),
    Text(
        SENTENCE,
        "Nobody reviewed its work in time",
        lambda: _says(State.COMPLETED, pull_request=9),
        snapshot("The agent is done; its pull request is #9."),
    ),
    Text(
        SENTENCE,
        "It found nothing to change",
        lambda: _says(State.COMPLETED),
        snapshot("The agent is done: it found nothing to change."),
    ),
    Text(
        SENTENCE,
        "It has written its review",
        lambda: _says(State.COMPLETED, kind=RoleKind.REVIEW),
        snapshot("The agent is done: it has written its review."),
    ),
    Text(
        SENTENCE,
        "GitHub does not take its review",
        lambda: state_sentence(
            replace(
                seen(State.COMPLETED, kind=RoleKind.REVIEW),
                review_refused="422: Can not approve your own pull request",
            )
        ),
        snapshot(
            "The agent is done, and GitHub does not take its review: 422: Can not approve your own pull request"
        ),
    ),
    Text(
        SENTENCE,
        "Its work was taken away",
        lambda: _says(State.STOPPING),
        snapshot("Squadron keeps the agent's work, and then cancels the agent."),
    ),
    Text(
        SENTENCE,
        "Its setup failed",
        lambda: _says(State.ESCALATED, stop=SETUP),
        snapshot("Squadron stopped the agent: `make install` ended with 2: no rule to make it."),
    ),
    Text(
        WORK,
        "Squadron could not push it",
        _not_pushed,
        snapshot(
            "Branch: `squadron/bug-fix/issue-12`. **Squadron could not push the last work:** bbbbbbbbbbbb is not on GitHub: the branch is protected. $SQUADRON_DATA_DIR/agents/octo_2Fdemo_2312_2Fbug-fix_2F1 holds it. Squadron keeps it on its disk; the branch is at `aaaaaaaaaaaa`."
        ),
    ),
    Text(
        EVIDENCE,
        "The repository's own commands passed",
        lambda: _verified(Known.YES),
        snapshot("""\
Squadron checked the work in a clean checkout, and it is sound.

What Squadron saw:

- Checked in a clean checkout by `make test`: **yes**.
- Tests run after the last edit: **unknown**.
- Tests passed: **unknown**.
- Changes: 2 files, +20 −3 lines.\
"""),
    ),
    Text(
        EVIDENCE,
        "One of them failed",
        lambda: _verified(Known.NO, "`make test` ended with 2."),
        snapshot("""\
Squadron checked the work in a clean checkout: `make test` ended with 2.

What Squadron saw:

- Checked in a clean checkout by `make test`: **no**: `make test` ended with 2.
- Tests run after the last edit: **unknown**.
- Tests passed: **unknown**.
- Changes: 2 files, +20 −3 lines.\
"""),
    ),
    Text(
        EVIDENCE,
        "They could not be run",
        lambda: _verified(Known.UNKNOWN, "`make test` did not end within 900 s."),
        snapshot("""\
Squadron could not check the work in a clean checkout. `make test` did not end within 900 s.

What Squadron saw:

- Checked in a clean checkout by `make test`: **unknown**: `make test` did not end within 900 s.
- Tests run after the last edit: **unknown**.
- Tests passed: **unknown**.
- Changes: 2 files, +20 −3 lines.\
"""),
    ),
    Text(
        EVIDENCE,
        "They passed, and fewer tests ran than on the default branch",
        lambda: _verified(Known.YES, tests=Tally(8, 2), base=Tally(10, 0)),
        snapshot("""\
Squadron checked the work in a clean checkout, and it is sound. Tests that ran: 8; 10 on the default branch. Tests skipped: 2; 0 on the default branch.

What Squadron saw:

- Checked in a clean checkout by `make test`: **yes**.
- Tests run after the last edit: **unknown**.
- Tests passed: **unknown**.
- Changes: 2 files, +20 −3 lines.
- Tests that ran: 8; 10 on the default branch.
- Tests skipped: 2; 0 on the default branch.\
"""),
    ),
    Text(
        EVIDENCE,
        "The role has no tests",
        lambda: _evidence(_saw(), tests=Tests.NONE),
        snapshot("""\
This role changes no code, so Squadron expects no tests (`tests: none`).

What Squadron saw:

- This role changes no code, so Squadron expects no tests (`tests: none`).
- Changes: 1 file, +2 −3 lines.\
"""),
    ),
    Text(
        EVIDENCE,
        "Files are withheld, and one steers tools",
        _withheld,
        snapshot("""\
Squadron saw tests fail after the last edit.

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.
- Changes what steers tools of whoever opens it: `AGENTS.md`.
- Not pushed: `.github/ci.yml`, `CODEOWNERS`.\
"""),
    ),
    Text(
        EVIDENCE,
        "Setup, builds or tests have made files",
        _made,
        snapshot("""\
Squadron saw tests fail after the last edit.

What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.
- Left out, since setup, builds or tests made it: `.venv/` (3,202 files), `src/__pycache__/` (1 file), `.coverage`.\
"""),
    ),
)
