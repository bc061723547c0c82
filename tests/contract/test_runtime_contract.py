"""The contract of all runtimes: the same stories, the CLIs by the real ones."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from app.core.rules.plan import RuntimeName
from tests.contract.benches import BENCHES, CANNOT_BE_TOLD, CopilotBench
from tests.contract.runtime_contract import (
    CANARY,
    STORIES,
    Bench,
    Story,
    a_denied_tool_does_not_run_and_the_model_hears_why,
    after_a_halt_the_summary_turn_can_still_report,
    empty_server,
    tools_work_until_the_agent_reports,
)
from tests.support.clis import NEEDS_CLAUDE, NEEDS_COPILOT
from tests.support.sandbox import HAS_SANDBOX

_NEEDS: Mapping[RuntimeName, pytest.MarkDecorator] = {
    "copilot": NEEDS_COPILOT,
    "claude": NEEDS_CLAUDE,
}
_QUICK: Sequence[Story] = (
    tools_work_until_the_agent_reports,
    a_denied_tool_does_not_run_and_the_model_hears_why,
    after_a_halt_the_summary_turn_can_still_report,
)
"""Allow, deny, halt: told with the real CLIs wherever they are installed."""


def _marks(runtime: RuntimeName, told: Story) -> Sequence[pytest.MarkDecorator]:
    if runtime not in _NEEDS:
        return ()
    needs = _NEEDS[runtime]
    return (needs,) if told in _QUICK else (needs, pytest.mark.full)


TOLD = [
    pytest.param(runtime, told, id=f"{runtime}-{told.__name__}", marks=_marks(runtime, told))
    for runtime in BENCHES
    for told in STORIES
    if told not in CANNOT_BE_TOLD[runtime]
]


@pytest.fixture
def bench(
    runtime: RuntimeName, tmp_path: Path, copilot_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    monkeypatch.setenv("SERVICE_SECRET", CANARY)
    with empty_server() as server:
        made = BENCHES[runtime](tmp_path, server)
        if isinstance(made, CopilotBench):
            made.cache = copilot_cache
        made.is_walled = HAS_SANDBOX
        yield made


@pytest.mark.parametrize(("runtime", "told"), TOLD)
async def test_contract(bench: Bench, told: Story) -> None:
    await told(bench)
