"""Faults that a test switches on: a REST call that fails, a webhook that goes astray.

A REST fault names a method and a path by regular expressions, a webhook fault an event. A fault
with a count wears off, one without lasts until all faults are deleted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal, get_args

from app.githubbox.state import Json

RestKind = Literal[
    "error",
    "timeout",
    "primary_limit",
    "secondary_limit",
    "slow",
    "unauthorized",
    "token_expired",
    "order",
]
HookKind = Literal["lost", "doubled", "late", "shuffled", "unreachable"]
REST_KINDS: tuple[RestKind, ...] = get_args(RestKind)
HOOK_KINDS: tuple[HookKind, ...] = get_args(HookKind)
MAX_FAULT_SECONDS = 600.0


class BadFault(ValueError):
    """The description of a fault cannot be understood; the text says what is wrong with it."""


@dataclass(slots=True)
class Fault:
    id: int
    kind: RestKind | HookKind
    method: re.Pattern[str]
    path: re.Pattern[str]
    """Searched in the path as it was sent, without the query."""
    event: re.Pattern[str]
    status: int
    """What an `error` and the two limits answer with."""
    after: bool
    """Does the write take effect before the fault is seen?"""
    seconds: float
    retry_after: int | None
    """Seconds; None leaves the header away."""
    remaining: int | None
    order: str
    """Of an `order`: which one of `/_box/…` is carried out just before the call is answered."""
    body: Json
    """Of the order."""
    fired: int = 0

    def describe(self) -> Json:
        return {
            "id": self.id,
            "kind": self.kind,
            "method": self.method.pattern,
            "path": self.path.pattern,
            "event": self.event.pattern,
            "status": self.status,
            "phase": "after" if self.after else "before",
            "seconds": self.seconds,
            "retry_after": self.retry_after,
            "remaining": self.remaining,
            "fired": self.fired,
        }


class Faults:
    """The faults that are switched on, oldest first; the first that matches acts."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._ids = count(1)

    def add(self, description: Json) -> Fault:
        """Switch a fault on. Keys: kind, method, path, event, status, phase, seconds, retry_after,
        count, order, body; only `kind` is needed. BadFault for anything else."""
        known = {
            "kind",
            "method",
            "path",
            "event",
            "status",
            "phase",
            "seconds",
            "retry_after",
            "count",
            "order",
            "body",
        }
        if unknown := set(description) - known:
            raise BadFault(f"unknown keys {sorted(unknown)}; known are {sorted(known)}")
        kinds: dict[object, RestKind | HookKind] = {name: name for name in REST_KINDS + HOOK_KINDS}
        kind = kinds.get(description.get("kind"))
        if kind is None:
            raise BadFault(f"kind is {description.get('kind')!r}, not one of {list(kinds)}")
        phase = description.get("phase", "before")
        if phase not in ("before", "after"):
            raise BadFault(f"phase is {phase!r}; it is before or after")
        fault = Fault(
            next(self._ids),
            kind,
            _pattern(description, "method"),
            _pattern(description, "path"),
            _pattern(description, "event"),
            _whole(description, "status") or _default_status(kind),
            phase == "after",
            _seconds(description),
            _whole(description, "retry_after"),
            _whole(description, "count"),
            str(description.get("order", "")),
            description.get("body") or {},
        )
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        self._faults.clear()

    def describe(self) -> list[Json]:
        return [fault.describe() for fault in self._faults]

    def for_call(self, method: str, path: str) -> Fault | None:
        """The fault that this REST or git call meets; meeting it uses it up by one."""
        return self._take(
            lambda one: (
                one.kind in REST_KINDS
                and one.method.fullmatch(method) is not None
                and one.path.search(path) is not None
            )
        )

    def for_webhook(self, event: str, action: str | None) -> Fault | None:
        """The fault that this webhook meets; `event` of a fault may also be `event.action`."""
        names = [event, f"{event}.{action}"]
        return self._take(
            lambda one: one.kind in HOOK_KINDS and any(one.event.fullmatch(name) for name in names)
        )

    def _take(self, matches: Callable[[Fault], bool]) -> Fault | None:
        for fault in self._faults:
            if fault.remaining != 0 and matches(fault):
                fault.fired += 1
                if fault.remaining is not None:
                    fault.remaining -= 1
                return fault
        return None


def _default_status(kind: str) -> int:
    return 403 if kind in ("primary_limit", "secondary_limit") else 500


def _pattern(description: Json, name: str) -> re.Pattern[str]:
    text = description.get(name, ".*")
    try:
        return re.compile(text)
    except (re.error, TypeError) as error:
        raise BadFault(f"{name} is no regular expression: {text!r} ({error})") from None


def _whole(description: Json, name: str) -> int | None:
    value = description.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise BadFault(f"{name} is {value!r}; it is a whole number from 0")
    return value


def _seconds(description: Json) -> float:
    value = description.get("seconds", 0)
    if not isinstance(value, int | float) or not 0 <= value <= MAX_FAULT_SECONDS:
        raise BadFault(f"seconds is {value!r}; it is a number from 0 to {MAX_FAULT_SECONDS:g}")
    return float(value)
