"""What people see of the sub-agents that an agent started."""

from dataclasses import replace

from app.core.agents.events import AgentEvent, Returned, Spawned
from app.core.agents.lifecycle import State
from app.core.words.messages import progress_comment
from app.core.words.needs_human import escalation_section
from app.core.words.report import Report
from tests.core.life import begun
from tests.core.strategies import START
from tests.core.wording import row, seen


def spawned(number: int) -> Spawned:
    return Spawned(at=START, child=f"octo/demo#12/helper/{number}")


def returned(number: int, unpriced_calls: int = 0, asks: str = "") -> Returned:
    return Returned(
        at=START,
        child=f"octo/demo#12/helper/{number}",
        tool_calls=7,
        model_calls=3,
        input_tokens=1_000,
        output_tokens=200,
        cost_nanousd=12_500_000,
        unpriced_calls=unpriced_calls,
        levels=0,
        asks=asks,
    )


def shown(*events: AgentEvent) -> Report:
    life = begun()
    for event in events:
        life.happens(event)
    return seen(row(State.ACTIVE), life)


def test_a_progress_comment_tells_of_each_sub_agent_and_of_what_it_used() -> None:
    text = progress_comment(shown(spawned(1), spawned(2), returned(1)))
    assert "<summary>Sub-agents</summary>" in text
    assert "| `octo/demo#12/helper/1` | 7 | 1200 | $0.0125 |" in text
    assert "| `octo/demo#12/helper/2` | at work | | |" in text


def test_a_cost_that_nobody_knows_is_not_told_as_nothing() -> None:
    text = progress_comment(shown(spawned(1), returned(1, unpriced_calls=1)))
    assert "| `octo/demo#12/helper/1` | 7 | 1200 | unknown |" in text


def test_one_that_is_paused_says_so_and_what_it_used_twice_is_added() -> None:
    paused = spawned(1), returned(1, asks="It needs more.")
    text = progress_comment(shown(*paused))
    assert "| `octo/demo#12/helper/1` (paused) | 7 | 1200 | $0.0125 |" in text
    text = progress_comment(shown(*paused, replace(spawned(1), goes_on=True)))
    assert "| `octo/demo#12/helper/1` | at work | | |" in text
    text = progress_comment(shown(*paused, replace(spawned(1), goes_on=True), returned(1)))
    assert "| `octo/demo#12/helper/1` | 14 | 2400 | $0.025 |" in text


def test_an_agent_that_works_alone_says_nothing_of_sub_agents() -> None:
    assert "Sub-agents" not in progress_comment(shown())


def test_only_the_latest_twelve_are_shown() -> None:
    text = escalation_section(shown(*(spawned(number) for number in range(1, 15))))
    assert "helper/2`" not in text
    assert [f"helper/{number}`" in text for number in (3, 14)] == [True, True]
