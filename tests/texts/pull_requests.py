"""The pull request of an agent's work."""

from typing import Final

from inline_snapshot import snapshot

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.messages import pull_request_body, pull_request_title
from app.core.words.report import Report
from app.testruns import Outcome
from tests.texts.agents import seen, worked
from tests.texts.text import Text


def _done(outcome: Outcome) -> Report:
    summary = "Login works again."
    return seen(State.SLEEPING, worked(outcome), waits_for=Waits.REVIEW, summary=summary)


def _request(outcome: Outcome, *, has_drafts: bool = True) -> str:
    view = _done(outcome)
    body = pull_request_body(view, has_drafts=has_drafts)
    return f"{pull_request_title(view.agent)}\n\n{body}"


WHERE: Final = "Pull request: title and text"

TEXTS: Final = (
    Text(
        WHERE,
        "Tests passed after the last edit",
        lambda: _request(Outcome.PASSED),
        snapshot("""\
Login fails

<!-- squadron:effect:octo/demo#12/bug-fix/1:pull_request -->

<!-- squadron:evidence -->
What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **yes**.
- Changes: 1 file, +2 −3 lines.
<!-- /squadron:evidence -->

The agent says:

> Login works again.

Commits:

- Fix the login

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | passed |  | no |

</details>

Fixes #12

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona.</sub>\
"""),
    ),
    Text(
        WHERE,
        "Tests failed after the last edit",
        lambda: _request(Outcome.FAILED),
        snapshot("""\
Login fails

<!-- squadron:effect:octo/demo#12/bug-fix/1:pull_request -->

<!-- squadron:evidence -->
What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

Squadron saw tests fail after the last edit. So this pull request is a draft.
<!-- /squadron:evidence -->

The agent says:

> Login works again.

Commits:

- Fix the login

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

Fixes #12

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona.</sub>\
"""),
    ),
    Text(
        WHERE,
        "The same where the repository has no drafts",
        lambda: _request(Outcome.FAILED, has_drafts=False),
        snapshot("""\
Login fails

<!-- squadron:effect:octo/demo#12/bug-fix/1:pull_request -->

<!-- squadron:evidence -->
What Squadron saw:

- Tests run after the last edit: **yes**.
- Tests passed: **no**.
- Changes: 1 file, +2 −3 lines.

Squadron saw tests fail after the last edit. This repository has no drafts, else this pull request would be a draft.
<!-- /squadron:evidence -->

The agent says:

> Login works again.

Commits:

- Fix the login

<details><summary>Test runs</summary>

| # | test run | outcome | failures | changed before |
| ---: | --- | --- | --- | --- |
| 1 | `pytest` | failed | 1 failed, 11 passed in 0.31s | no |

</details>

Fixes #12

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona.</sub>\
"""),
    ),
)
