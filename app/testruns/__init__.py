"""Is this command line a test run, which tests does it ask for, and did they pass?

Pure: `app.adapters.shell` turns text into a `ShellLine`, this package judges it. The rules follow
how shells and test runners work (tables per ecosystem under `table/`), never single commands.
"""

from app.testruns.files import is_test_file
from app.testruns.outcomes import Outcome, Tally, outcome_of, tally
from app.testruns.suites import Suite, SuiteRules, covers, may_change, may_restore, suite_of

__all__ = [
    "Outcome",
    "Suite",
    "SuiteRules",
    "Tally",
    "covers",
    "is_test_file",
    "may_change",
    "may_restore",
    "outcome_of",
    "suite_of",
    "tally",
]
