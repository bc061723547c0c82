"""What pages answer to whoever acts on them."""

from collections.abc import Mapping, Sequence
from typing import Final

from app.core.agents.agent import AgentId
from app.core.rules.brakes import Place
from app.core.words.refusals import braked_words, place_option, place_words

ASKED: Final[Mapping[str, str]] = {
    "stop": "Stop",
    "wake": "Wake",
    "resume": "Resume",
    "raise": "Raise",
    "retry": "Try again",
    "close": "Close",
}
"""What can be asked for, as buttons say it."""
DONE: Final[Mapping[str, str]] = {
    "stop": "Stopped",
    "wake": "Woken",
    "resume": "Resumed",
    "raise": "Raised",
    "retry": "Tried again",
    "close": "Closed",
}
"""The same, when it was done."""
MOST_TOLD: Final = 5
"""Refusals that are told in full."""


def no_such_agent_words(agent: AgentId) -> str:
    """An agent of which nobody knows."""
    return f"Squadron knows no agent `{agent}`. Nothing was changed."


def not_trusted_words(repository: str, why: str) -> str:
    """Whoever asks may not; `why`: a clause."""
    return f"Nothing was changed in {repository}: {why}."


def stops_words(place: Place) -> str:
    """What a brake does that was put on, until it is lifted."""
    return (
        f"{braked_words(place)} Who is at work stops within 10 seconds, and the work is kept and"
        " pushed. Nothing starts until somebody resumes."
    )


def sure_of_brake_words(place: Place, *, puts_on: bool) -> str:
    """Asked before a brake is put on or lifted."""
    return f"{'Pause' if puts_on else 'Resume'} {place_words(place)}?"


def braked_already_words(place: Place) -> str:
    """There is a brake already."""
    return f"Nothing was changed: {place_words(place)} were paused already."


def not_braked_words(place: Place) -> str:
    """There is no brake."""
    return f"Nothing was changed: no brake of just that place holds {place_words(place)}."


def not_by_hand_words(place: Place) -> str:
    """A repository's own switch."""
    return (
        f"Nothing was changed: {place.name} switches itself off. Set `enabled: true` in its"
        " `.squadron/config.yaml`, on its default branch."
    )


def not_let_in_words(place: Place) -> str:
    """A repository of which nobody knows."""
    return f"Nothing was changed: Squadron was never let into {place.name}."


def only_operators_words(place: Place) -> str:
    """A brake that is for whoever runs Squadron."""
    return (
        f"Nothing was changed: {place_words(place)} are paused and resumed at the machine, by"
        f" `squadron pause {place_option(place)}` and `squadron resume {place_option(place)}`."
    )


def sure_words(verb: str, agents: int) -> str:
    """Asked before it is done to several agents at once."""
    return f"{ASKED[verb]}: {agents} agents?"


def acted_words(verb: str, refused: Mapping[AgentId, Sequence[str]], told: Sequence[str]) -> str:
    """How it went: for each agent what was refused, if anything was; `told`: what has to be known
    besides."""
    done = [agent for agent, why in refused.items() if not why]
    words = list[str]()
    if len(refused) > 1:
        words.append(f"{DONE[verb]}: {len(done)} of {len(refused)}.")
    elif done:
        words.append(f"{DONE[verb]}: `{done[0]}`.")
    not_done = [(agent, why) for agent, why in refused.items() if why]
    for agent, why in not_done[:MOST_TOLD]:
        words.append(f"`{agent}`: {' '.join(why)}" if len(refused) > 1 else " ".join(why))
    if len(not_done) > MOST_TOLD:
        words.append(f"And {len(not_done) - MOST_TOLD} more.")
    return " ".join((*words, *told))
