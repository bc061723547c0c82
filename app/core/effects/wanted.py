"""What is to be seen of an agent on GitHub, as data: which effects, in which order, how marked."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Known, Waits
from app.core.agents.evidence import Evidence
from app.core.agents.lifecycle import State
from app.core.effects.check_run import Conclusion
from app.core.effects.retry import failing_since
from app.core.rules.plan import RoleKind, Tests
from app.core.text.markdown import MOST_TITLE, cut, in_one_line

NEEDS_HUMAN: Final = "needs-human"
"""The label that every escalation issue has, whatever the configuration adds: we find it by it."""

_MARK: Final = f"[{NEEDS_HUMAN}] "

EDITS_WINDOW: Final = timedelta(minutes=1)
MOST_EDITS_IN_PROGRESS: Final = 1
MOST_EDITS_AT_THE_END: Final = 2
"""A progress comment is edited at most twice a minute; the last word never has to wait, and what
asks a human waits only behind the last time that it asked."""


_TOLD: Final = (EffectName.CHECK, EffectName.CALL, EffectName.LABEL, EffectName.COMMENT)
"""The check first, for it blocks the merge; the comment names the call."""


def wanted(agent: Agent) -> tuple[EffectName, ...]:
    """The effects an agent's state asks for, in order: the work is kept before anything says so,
    then the check, for it blocks the merge.

    Of an agent that triages there is no needs-human issue: its check and its comment say that it
    was stopped.
    One that has not begun has nothing to show, for another may take its issue along.
    """
    if agent.assignment.kind is RoleKind.TRIAGE:
        may_be_taken_along = agent.state is State.QUEUED or agent.is_final
        if agent.sha is None and may_be_taken_along:
            return ()
        if agent.is_final:
            return (*_TOLD, EffectName.TRIAGE)
    is_of_work = agent.assignment.kind is RoleKind.WORK and is_at_rest(agent)
    work = (EffectName.WORK,) if is_of_work else ()
    match agent.state:
        case State.ESCALATED:
            return (*work, *_TOLD, EffectName.ISSUE)
        case State.COMPLETED if agent.assignment.kind is RoleKind.REVIEW:
            return (EffectName.REVIEW, *_TOLD)
        case State.COMPLETED if agent.pull_request is not None:
            return (*_TOLD, EffectName.BRANCH)
        case State.SLEEPING if agent.waits_for is Waits.REVIEW:
            return (*work, EffectName.PULL_REQUEST, *_TOLD)
        case _:
            return (*work, *_TOLD)


def is_at_rest(agent: Agent) -> bool:
    """Whether nothing of the agent runs."""
    return agent.state not in (State.ACTIVE, State.STOPPING)


def unwanted(agent: Agent, effects: Mapping[EffectName, Effect]) -> Sequence[Effect]:
    """What could not be written and is asked for by nothing any more, as the pull request of an
    agent that was cancelled meanwhile. One at work may want it again when it rests."""
    if not is_at_rest(agent):
        return []
    asked = wanted(agent)
    return [
        effect
        for name, effect in effects.items()
        if name not in asked and effect.state is not EffectState.DONE
    ]


NEEDS: Final[Mapping[EffectName, frozenset[EffectName]]] = {
    EffectName.PULL_REQUEST: frozenset({EffectName.WORK}),
    EffectName.CHECK: frozenset({EffectName.REVIEW}),
    EffectName.COMMENT: frozenset({EffectName.REVIEW}),
}
"""What waits until another effect is on GitHub, or is refused. Nothing else waits for anything:
what cannot be written now holds up nothing that can."""


def lets_on(effect: Effect) -> bool:
    """Whether what needs this effect may be written. Of work that GitHub refuses there is nothing
    to open a pull request of."""
    if effect.state is EffectState.REFUSED:
        return effect.name is not EffectName.WORK
    return effect.state is EffectState.DONE


def in_turn(agent: Agent, effects: Mapping[EffectName, Effect]) -> tuple[EffectName, ...]:
    """What is wanted, in the order in which it is tried. What has failed comes last, or a limit
    that it meets would stop all others again; but not what others need, nor the pull request, of
    which the check and the comment tell."""
    names = wanted(agent)
    needed = {EffectName.PULL_REQUEST}.union(*(NEEDS.get(name, frozenset()) for name in names))

    def has_failed(name: EffectName) -> bool:
        effect = effects.get(name)
        return effect is not None and failing_since(effect) is not None

    return tuple(sorted(names, key=lambda name: has_failed(name) and name not in needed))


def check_conclusion(
    agent: Agent,
    saw: Evidence | None,
    review_refused: str = "",
    *,
    is_merged: bool = True,
) -> Conclusion | None:
    """What the check says in each state (EXAMPLES, "Checks"); None: in progress. `saw`: of the
    agent's work; `is_merged`: of one that is COMPLETED with a pull request.

    A review that GitHub does not take is a failure: where the check is required, neutral would
    let through what nobody can see to have been reviewed.
    """
    match agent.state:
        case State.SLEEPING if agent.is_under_review:
            return conclusion_of_work(agent, saw)
        case _ if agent.waits_for_person:
            return "action_required"
        case State.QUEUED | State.ACTIVE | State.SLEEPING | State.STOPPING | State.PAUSED:
            return None
        case State.COMPLETED if agent.pull_request is not None and not is_merged:
            return conclusion_of_work(agent, saw)
        case State.COMPLETED:
            return "failure" if review_refused else "success"
        case State.ESCALATED:
            return "failure"
        case State.CANCELLED:
            return "cancelled"


def conclusion_of_work(agent: Agent, saw: Evidence | None) -> Conclusion:
    """What the check of work that is handed over says. Green means seen (promise 13); red only
    what was seen, for GitHub lets neutral pass where a check is required. Work under which less is
    tested than before is never green."""
    says = _says_of_tests(agent, saw)
    is_less_tested = saw is not None and saw.is_less_tested
    return "neutral" if says == "success" and is_less_tested else says


def _says_of_tests(agent: Agent, saw: Evidence | None) -> Conclusion:
    expects_tests = agent.assignment.tests is Tests.EXPECTED
    if expects_tests and saw is not None and saw.tests_passed is Known.NO:
        return "action_required"
    if agent.assignment.verified_by:
        verified = None if saw is None else saw.verified
        return "neutral" if verified is None else _OF_VERIFIED[verified.sound]
    return "success" if not expects_tests or (saw is not None and saw.is_tested) else "neutral"


_OF_VERIFIED: Final[Mapping[Known, Conclusion]] = {
    Known.YES: "success",
    Known.NO: "action_required",
    Known.UNKNOWN: "neutral",
}


OURS: Final = "<!-- squadron:"
"""What each hidden mark of ours begins with."""


def marker(agent: AgentId, effect: EffectName) -> str:
    """The hidden mark by which our own item is found again. Anybody can type one, so only items
    that our App wrote are looked at."""
    return f"<!-- squadron:effect:{agent}:{effect} -->"


def escalation_marker(repository_id: int, issue: int) -> str:
    """The mark of the one open escalation issue of an original issue."""
    return f"{escalation_sign(repository_id)}{issue} -->"


def escalation_sign(repository_id: int) -> str:
    """What the markers of all escalation issues of a repository begin with, whatever it is called
    by now."""
    return f"<!-- squadron:escalation:{repository_id}#"


def needs_human_title(agent: Agent, what: str) -> str:
    """`[needs-human] The answer is wrong (#5, bug-fix): stopped by max_iterations`."""
    end = f" (#{agent.id.issue}, {agent.id.role}): {what}"
    title = in_one_line(agent.assignment.task.title)
    return f"{_MARK}{cut(title, MOST_TITLE - len(_MARK) - len(end))}{end}"


def original_of(body: str, repository_id: int) -> int | None:
    """The original issue of an escalation issue that our App wrote; None: it is none of these."""
    found = re.match(rf"{escalation_sign(repository_id)}(\d+) -->", body)
    return int(found[1]) if found is not None else None


def may_edit(effect: Effect, agent: Agent, now: datetime, *, is_held: bool = False) -> bool:
    """Whether the progress comment may be edited now without making noise; `is_held`: to say that
    a brake stopped the agent."""
    recent = [instant for instant in effect.edits if now - instant < EDITS_WINDOW]
    is_first = is_urgent(agent) or is_held
    return len(recent) < (MOST_EDITS_AT_THE_END if is_first else MOST_EDITS_IN_PROGRESS)


def is_urgent(agent: Agent) -> bool:
    """Whether people must hear of the agent's state before they hear of others' progress."""
    return agent.is_final or agent.waits_for_person
