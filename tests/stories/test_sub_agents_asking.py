"""A sub-agent that needs more asks its parent: who gives it of its own, does without it, or asks a
person, while both wait."""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

import pytest
import sqlalchemy as sa

from app.adapters.store.ledger import SqlLedger
from app.adapters.store.tables import ARTIFACTS
from app.core.agents.agent import Agent
from app.core.agents.counters import fold
from app.core.agents.events import FilesMoved, Held, Lost, Raised, Returned, Spawned
from app.core.agents.lifecycle import State
from app.core.budgets.budgets import Budget, Scope, Started, Window, accounts
from app.core.limits import LimitName
from app.core.money import nanousd, usd
from app.scripted.script import Answer, Call, ComputedStep, Conversation, Script, Step
from app.services.commands.raise_limits import NotPaused, Wish
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import json_text
from tests.support.steps import completes, runs
from tests.twins.story import Story, story

RUNS = runs("true")


def asks_for_more(amount: int, evidence: str) -> Answer:
    more = {"limit": "max_tool_calls", "amount": amount, "evidence": evidence}
    return Answer("", (Call("request_increase", more),))


ASKS = asks_for_more(5, "One file is left.")
BOTH_WAYS = pytest.mark.parametrize(
    ("steps", "how"),
    [([RUNS, RUNS, RUNS, RUNS], "pause"), ([RUNS, ASKS, RUNS, RUNS], "request_increase")],
    ids=["stands at a limit", "asks early"],
)


def led(
    how: str = "pause", lead: Mapping[str, object] = {}, **more: object
) -> AbstractContextManager[Story]:
    helper = {"max_tool_calls": 2, "on_limit": how, **more}
    return story({REPOSITORY: repository({"lead": {"tests": "none", **lead}, "helper": helper})})


PRICES: Final = {"pricing": {"scripted": {"input": 100, "output": 0}}}
BUDGET: Final = {"scope": "repository", "window": "day", "max_cost_usd": 10}


def delegates(squad: Story, *steps: Step) -> Answer:
    """The parent's call that starts a sub-agent which takes these steps, and completes."""
    squad.scripted(Script("part", (*steps, completes("The part is done."))))
    return Answer("", (Call("task", {"role": "helper", "prompt": "SCENARIO:part\nDo it."}),))


def goes_on(prompt: str = "", limits: Mapping[str, float] = {}) -> ComputedStep:
    """The parent lets the sub-agent go on that it was told of last."""

    def answer(conversation: Conversation) -> Step:
        said = "\n".join(message.text for message in conversation.messages)
        name = re.findall(r"(octo/demo#\d+/helper/\d+)", said)[-1]
        args = {"agent": name, "limits": dict(limits), "prompt": prompt}
        return Answer("", (Call("continue_task", args),))

    return answer


def both_wait(squad: Story) -> Task:
    """A sub-agent has asked its parent for more, and the parent a person."""
    asks = asks_for_more(9, "My helper needs more.")
    task = squad.give("lead", "One part", delegates(squad, RUNS, RUNS, RUNS), asks)
    assert squad.agent(task).state is State.PAUSED
    assert [child.state for child in squad.sub_agents(task)] == [State.PAUSED]
    return task


def used(squad: Story, task: Task) -> int:
    """Tool calls as the parent's limits see them."""
    return fold(squad.log(squad.agent(task).id)).tool_calls


@BOTH_WAYS
def test_a_sub_agent_gets_what_it_asks_for_out_of_what_its_parent_has_left(
    steps: list[Step], how: str
) -> None:
    with led(how, {"max_tool_calls": 20}) as squad:
        task = squad.give(
            "lead", "One part", delegates(squad, *steps), goes_on("Be quick."), completes("Done.")
        )
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        [child] = squad.sub_agents(task)
        parent = squad.agent(task)
        assert child.state is State.COMPLETED
        assert squad.was_told(task, "It has paused, and asks you for ")
        log = squad.log(child.id)
        [raised] = [event for event in log if isinstance(event, Raised)]
        assert (raised.limit, raised.by) == (LimitName.MAX_TOOL_CALLS, str(parent.id))
        assert raised.amount == (2 if how == "pause" else 5)
        assert sum(isinstance(event, Held) for event in log) == 1
        counters = fold(squad.log(parent.id))
        assert (counters.tool_calls, counters.spawns, counters.children) == (5, 1, ())
        told = [part.tool_calls for part in squad.log(parent.id) if isinstance(part, Returned)]
        assert sum(told) == 3 and len(told) == 2, "each call is counted once"
        assert squad.calls(task) == squad.needs_human(task) == [], "no person is asked"
        heard = next(
            told
            for told in (str(request) for request in reversed(squad.model.requests))
            if "Be quick." in told
        )
        assert "Do it." in heard, "it goes on in the session that it had"


def test_while_it_is_paused_its_parent_uses_what_it_has_and_the_rest_is_for_both() -> None:
    with led(
        "pause", {"max_tool_calls": 20}, max_tool_calls_per_turn=1, max_tool_calls=50
    ) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, RUNS, *(runs(f"echo {n}") for n in range(30))),
            *(runs(f"echo {n}") for n in range(9)),
            goes_on(limits={"max_tool_calls_per_turn": 90}),
            completes("Done."),
        )
        squad.settle()
        log = squad.log(squad.agent(task).id)
        first, again = [event for event in log if isinstance(event, Spawned)]
        assert dict(first.reserved)[LimitName.MAX_TOOL_CALLS] == 19
        assert (
            again.goes_on and dict(again.reserved)[LimitName.MAX_TOOL_CALLS] == 20 - 1 - 1 - 9 - 1
        )
        [child] = squad.sub_agents(task)
        assert fold(squad.log(child.id)).tool_calls == 1 + 8
        assert used(squad, task) == 20, "to the last one, and no further"


def test_a_parent_with_too_little_left_asks_a_person_and_both_wait() -> None:
    with led("pause", {"max_tool_calls": 5}) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, RUNS, RUNS, RUNS, RUNS),
            goes_on(limits={"max_tool_calls": 4}),
            asks_for_more(9, "My helper needs more."),
            goes_on(limits={"max_tool_calls": 4}),
            completes("Done."),
        )
        squad.settle()
        assert squad.was_told(task, "The sub-agent does not go on: max_tool_calls: you can give 1")
        assert squad.agent(task).state is State.PAUSED
        assert [child.state for child in squad.sub_agents(task)] == [State.PAUSED]
        squad.passes(minutes=30)
        assert [child.state for child in squad.sub_agents(task)] == [State.PAUSED]
        assert len(squad.calls(task)) == 1
        squad.comment(task, "/squadron raise max_tool_calls +9")
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert [child.state for child in squad.sub_agents(task)] == [State.COMPLETED]
        assert squad.was_told(task, "Sub-agents of yours are paused; continue_task lets one go on:")
        assert used(squad, task) == 3 + 3


def test_a_sub_agent_that_goes_on_where_its_conversation_is_not_is_told() -> None:
    with led("pause", {"max_tool_calls": 5}) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, RUNS, RUNS, RUNS, RUNS),
            goes_on(limits={"max_tool_calls": 4}),
            asks_for_more(9, "My helper needs more."),
            goes_on(limits={"max_tool_calls": 4}),
            completes("Done."),
        )
        squad.settle()
        [child] = squad.sub_agents(task)
        with squad.database.engine.begin() as connection:
            of_child = sa.delete(ARTIFACTS).where(ARTIFACTS.c.agent_id == str(child.id))
            assert connection.execute(of_child).rowcount == 1, "its work is its parent's"
        squad.moves_to("another")
        squad.comment(task, "/squadron raise max_tool_calls +9")
        squad.settle()
        [moved] = [event for event in squad.log(child.id) if isinstance(event, FilesMoved)]
        assert moved.lost == (Lost.CONVERSATION,)
        told = "Gone with its disk: what was said in your session."
        assert any(told in json_text(request) for request in squad.model.requests)
        log = squad.log(squad.agent(task).id)
        assert [event.lost for event in log if isinstance(event, FilesMoved)] == [()]


def test_a_parent_that_does_without_it_ends_it_and_what_it_used_counts() -> None:
    with led("pause", {"max_tool_calls": 20}) as squad:
        task = squad.give(
            "lead", "One part", delegates(squad, RUNS, RUNS, RUNS), completes("I did it myself.")
        )
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert [child.state for child in squad.sub_agents(task)] == [State.CANCELLED]
        counters = fold(squad.log(squad.agent(task).id))
        assert (counters.tool_calls, counters.children) == (3, ())


def test_money_is_given_out_of_the_parents_grant_and_the_books_balance() -> None:
    roles = {
        "lead": {"tests": "none", "max_cost_usd": 5},
        "helper": {"max_cost_usd": 0.2, "on_limit": "pause"},
    }
    places = {REPOSITORY: repository(roles, {"budgets": [BUDGET]})}
    with story(places, operator=PRICES) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, *(runs(f"echo {number}") for number in range(4))),
            goes_on(limits={"max_cost_usd": 6}),
            goes_on(limits={"max_cost_usd": 1}),
            completes("Done."),
        )
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert squad.was_told(task, "It has paused, and asks you for $0.20 more of max_cost_usd")
        assert squad.was_told(task, "The sub-agent does not go on: max_cost_usd: you can give $4")
        [child], parent = squad.sub_agents(task), squad.agent(task)
        assert child.state is State.COMPLETED
        [raised] = [event for event in squad.log(child.id) if isinstance(event, Raised)]
        assert (raised.amount, raised.maximum) == (1, 1.2)
        of_child, of_parent = fold(squad.log(child.id)), fold(squad.log(parent.id))
        assert of_child.cost_nanousd > nanousd(0.2), "it used what it was given"
        budget = Budget(Scope.REPOSITORY, Window.DAY, nanousd(10), repository=REPOSITORY)
        started = Started(REPOSITORY, task.number, "lead", parent.started_by)
        [account] = accounts([budget], started, parent.created_at)
        ledger = SqlLedger(squad.database.engine, squad.service.writer)
        balance = squad.run(ledger.balance(account))
        assert balance.actual_nanousd == balance.held_nanousd == of_parent.cost_nanousd
        assert squad.run(ledger.open_reservations()) == []


def test_who_is_paused_holds_no_money_and_takes_it_again_when_it_goes_on() -> None:
    """This one gets all that its parent has."""
    roles = {
        "lead": {"tests": "none", "max_cost_usd": 2},
        "helper": {"max_tool_calls": 1, "max_cost_usd": 5, "on_limit": "pause"},
    }
    places = {REPOSITORY: repository(roles, {"budgets": [BUDGET]})}
    with story(places, operator=PRICES) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, RUNS, RUNS, replace(RUNS, think_seconds=200)),
            replace(RUNS, think_seconds=200),
            goes_on(limits={"max_tool_calls": 5}),
            completes("Done."),
        )

        def left_to(agent: Agent) -> float:
            ledger = SqlLedger(squad.database.engine, squad.service.writer)
            return usd(squad.run(ledger.remaining(agent.id)))

        squad.passes(seconds=100)
        [child], parent = squad.sub_agents(task), squad.agent(task)
        assert child.state is State.PAUSED
        assert left_to(child) == 0 and left_to(parent) > 1.5
        squad.passes(seconds=200)
        [child] = squad.sub_agents(task)
        assert child.state is State.ACTIVE
        assert left_to(child) > 1 and left_to(parent) == 0
        squad.passes(seconds=300)
        assert squad.state(task) == (State.COMPLETED, None)


def test_a_person_who_asks_for_a_sub_agent_is_sent_to_its_parent() -> None:
    with led("pause", {"max_tool_calls": 20}) as squad:
        task = both_wait(squad)
        [child] = squad.sub_agents(task)
        with pytest.raises(NotPaused, match="is a sub-agent: it asks `octo/demo#"):
            squad.run(squad.service.raising.resume(child.id, Wish("maria", "", ((None, None),))))
        assert [child.state for child in squad.sub_agents(task)] == [State.PAUSED]


def test_a_paused_sub_agent_outlives_the_process_and_its_parent_is_told_of_it() -> None:
    with led("pause", {"max_tool_calls": 20}) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, RUNS, RUNS, RUNS),
            replace(RUNS, think_seconds=200),
            goes_on(),
            completes("Done."),
        )
        squad.passes(seconds=45)
        assert [child.state for child in squad.sub_agents(task)] == [State.PAUSED]
        squad.restart()
        squad.passes(seconds=700)
        assert [child.state for child in squad.sub_agents(task)] == [State.COMPLETED]
        assert squad.state(task) == (State.COMPLETED, None)
        assert squad.was_told(task, "Sub-agents of yours are paused; continue_task lets one go on:")
        counters = fold(squad.log(squad.agent(task).id))
        assert (counters.spawns, counters.children) == (1, ())


def test_work_that_is_taken_away_while_both_wait_ends_both() -> None:
    with led("pause", {"max_tool_calls": 20}) as squad:
        task = both_wait(squad)
        squad.comment(task, "/squadron stop")
        squad.settle()
        squad.passes(minutes=10)
        assert squad.agent(task).state is State.CANCELLED
        assert [child.state for child in squad.sub_agents(task)] == [State.CANCELLED]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_turns": 1.0}, "It is paused at max_tool_calls: give it more of that."),
        ({"max_tool_calls": 100.0}, "max_tool_calls: you can give 14 tool calls, not 100"),
        ({"max_luck": 1.0}, "max_luck is no limit; there are: "),
    ],
)
def test_what_cannot_be_given_is_answered_in_words(limits: dict[str, float], words: str) -> None:
    with led("pause", {"max_tool_calls": 18}, max_turns=3) as squad:
        task = squad.give(
            "lead",
            "One part",
            delegates(squad, RUNS, RUNS, RUNS),
            goes_on(limits=limits),
            completes("Done."),
        )
        squad.settle()
        assert squad.was_told(task, f"The sub-agent does not go on: {words}")
        assert squad.state(task) == (State.COMPLETED, None)


def test_nobody_goes_on_who_is_not_paused() -> None:
    nobody = Answer("", (Call("continue_task", {"agent": "octo/demo#1/helper/9"}),))
    with led() as squad:
        task = squad.give("lead", "Nobody", nobody, completes("Done."))
        squad.settle()
        words = "'octo/demo#1/helper/9' is no paused sub-agent of yours; there are: none."
        assert squad.was_told(task, f"The sub-agent does not go on: {words}")
