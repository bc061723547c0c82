"""Whatever GitHub does at an effect of an escalation: in the end there is exactly one of each."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.support.people import REPOSITORY, repository
from tests.support.steps import runs, writes
from tests.twins.story import story

WRITES: Final = "POST|PATCH"
EFFECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "check": {"method": WRITES, "path": r"/check-runs(/\d+)?$"},
    "comment": {"method": WRITES, "path": r"/issues/(\d+/comments|comments/\d+)$"},
    "label": {"method": "POST", "path": r"repos/octo/demo/labels$"},
    "issue": {"method": "POST", "path": r"repos/octo/demo/issues$"},
}
"""How each is asked for."""
FAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "the primary limit": {"kind": "primary_limit", "retry_after": 30},
    "a secondary limit": {"kind": "secondary_limit", "retry_after": 30},
    "a limit that does not say how long": {"kind": "secondary_limit"},
    "500": {"kind": "error"},
    "502 after it was done": {"kind": "error", "status": 502, "phase": "after"},
    "a connection that ends after it was done": {"kind": "timeout", "phase": "after"},
    "a token that has run out": {"kind": "token_expired"},
    "401": {"kind": "unauthorized"},
    "an answer that takes long": {"kind": "slow", "seconds": 20},
}


@pytest.mark.parametrize(
    "effect",
    [
        "check",
        "issue",
        *(pytest.param(one, marks=pytest.mark.full) for one in ("comment", "label")),
    ],
)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_passes_is_waited_for_and_nothing_comes_twice(fault: str, effect: str) -> None:
    places = {REPOSITORY: repository({"fixer": {"max_tool_calls": 1}})}
    with story(places) as squad:
        task = squad.issue("The answer is wrong", writes("new", "new\n"), runs("true")).by("fixer")
        with squad.trouble(**FAULTS[fault], **EFFECTS[effect], count=1):
            squad.label(task, "squadron:fixer")
            squad.settle()
            squad.passes(minutes=2)
            assert squad.has_struck(), "nobody has met the fault"
        squad.passes(minutes=2)
        agent = squad.stopped(task)
        assert squad.sees(f"/repos/{REPOSITORY}/contents/new?ref={agent.sha}")["size"] == 4
