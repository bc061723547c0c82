"""What the model was told of each agent, request after request: nobody forgets without a word."""

import re
from itertools import takewhile
from typing import Final

from app.core.agents.events import Lost
from app.core.words.prompts import lost_prompt
from app.scripted.script import Conversation, Message, Speaker
from app.scripted.server import ScriptedServer
from tests.crash.crowd import STORY

_STORY: Final = re.compile(rf"SCENARIO:({STORY}-\d+)")
LOSS: Final = lost_prompt([Lost.CONVERSATION]).partition(":")[0]
"""How an agent is told that something is gone, whatever it is."""


class Witness:
    """Compares each request with the one before it of the same story. Those that several agents
    play are left out: who of them asked is not to be seen."""

    def __init__(self, model: ScriptedServer) -> None:
        self._model = model
        self._latest: dict[str, Conversation] = {}
        self.untold: list[str] = []
        """Who had less of its conversation than before, and was not told so."""
        self.told: set[str] = set()
        """Stories whose agents were told that something is gone."""

    def look(self) -> None:
        """Take what the model was asked since the last look."""
        while self._model.requests:
            asked = self._model.requests.popleft().conversation
            found = _STORY.search("\n".join(asked.said_by(Speaker.USER)))
            if found is None:
                continue
            story = found.group(1)
            before = self._latest.get(story)
            self._latest[story] = asked
            if _is_told(asked):
                self.told.add(story)
            elif before is not None and _forgets(before, asked):
                known, knew = len(_work(asked)), len(_work(before))
                self.untold.append(f"{story}: of {knew} answers and results {known} were left")


def _work(conversation: Conversation) -> list[Message]:
    """What the model has said and what came of it."""
    return [one for one in conversation.messages if one.speaker in (Speaker.MODEL, Speaker.TOOL)]


def _forgets(before: Conversation, after: Conversation) -> bool:
    """A request is made of what is on disk, so the next one has all of it."""
    knew = _work(before)
    return _work(after)[: len(knew)] != knew


def _is_told(asked: Conversation) -> bool:
    """In what was said to the model last."""
    latest = takewhile(lambda one: one.speaker is Speaker.USER, reversed(asked.messages))
    return any(LOSS in one.text for one in latest)
