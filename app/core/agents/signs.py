"""Signs that an agent gets nowhere. It is told of them, and nothing stops it for them.

Both were measured on public runs with a known outcome: eight calls that were all made before come
in none of 460 runs whose work was accepted; five failures among six calls come in 2.7 % of the runs
that solved their task and in 9.3 % of the others.
"""

from enum import StrEnum
from typing import Final, NamedTuple
from zlib import crc32

KNOWN_CALLS: Final = 8
RECENT_CALLS: Final = 6
FAILED_CALLS: Final = 5

_MARKS: Final = 8_192
"""A call leaves one of so many marks. Among a thousand calls one in eight new ones is taken for
another that was made, and eight in a row are once in thirty million."""
_ALL_RECENT: Final = (1 << RECENT_CALLS) - 1


class Sign(StrEnum):
    """What is seen."""

    NOTHING_NEW = "nothing_new"
    """Each of the last calls was made before, with the same arguments."""
    FAILING = "failing"
    """Nearly all of the last calls failed."""


class Signs(NamedTuple):
    """What the calls of an agent have in common. A value; every change makes a new one."""

    made: int = 0
    """A mark for each call that was made."""
    known: int = 0
    """Calls in a row that were made before."""
    failed: int = 0
    """One bit for each of the last calls that have ended, the newest lowest: it failed."""
    told: frozenset[Sign] = frozenset()
    """Of which the agent knows; what has passed since may come again."""

    def asked(self, key: str) -> "Signs":
        """A call is about to run. Without a key it is like no other."""
        mark = 1 << crc32(key.encode()) % _MARKS if key else 0
        known = self.known + 1 if self.made & mark else 0
        return self._replace(made=self.made | mark, known=known)._forgotten()

    def ended(self, ok: bool) -> "Signs":
        """A call has ended."""
        failed = (self.failed << 1 | (not ok)) & _ALL_RECENT
        return self._replace(failed=failed)._forgotten()

    def heard(self) -> "Signs":
        """A person has spoken: what comes now is another try."""
        return Signs(made=self.made)

    def tell(self, sign: Sign) -> "Signs":
        """The agent is told."""
        return self._replace(told=self.told | {sign})

    @property
    def untold(self) -> tuple[Sign, ...]:
        """What is to be told."""
        return tuple(sign for sign in self._shown if sign not in self.told)

    @property
    def _shown(self) -> tuple[Sign, ...]:
        shown = () if self.known < KNOWN_CALLS else (Sign.NOTHING_NEW,)
        failing = self.failed.bit_count() >= FAILED_CALLS
        return (*shown, Sign.FAILING) if failing else shown

    def _forgotten(self) -> "Signs":
        """What is not shown any more is told anew when it comes again."""
        return self if not self.told else self._replace(told=self.told.intersection(self._shown))


def sign_words(sign: Sign) -> str:
    """What the agent is told."""
    match sign:
        case Sign.NOTHING_NEW:
            return (
                f"Nothing new: each of your last {KNOWN_CALLS} calls was made before. Say what you"
                " want to find out, try another way, or call report_blocked."
            )
        case Sign.FAILING:
            return (
                f"{FAILED_CALLS} of your last {RECENT_CALLS} calls failed. Read what they say"
                " before you go on, try another way, or call report_blocked."
            )
