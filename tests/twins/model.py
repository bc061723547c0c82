"""The scripted model, in the process of a story."""

from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.script import Conversation, Failure, Script, Scripts, Served
from app.scripted.server import Recorded


class ScriptedHere:
    """The model, as `ScriptedServer` has it, in this process."""

    def __init__(self) -> None:
        self.scripts = Scripts((), (SUMMARY_MARK,), (COMPACTION_MARK,))
        self.requests: list[Recorded] = []
        self.is_away = False

    def knows(self, script: Script) -> None:
        """From now on one script more."""
        self.scripts = Scripts((*self.scripts.scripts, script), (SUMMARY_MARK,), (COMPACTION_MARK,))

    def next_step(self, conversation: Conversation) -> Served:
        """What it answers."""
        if self.is_away:
            return Served("away", Failure(503))
        self.requests.append(Recorded("", {}, {}, conversation))
        return self.scripts.next(conversation)
