"""Does the caller of a command line see that the tests in it failed?

Answered by following the line as a shell would, on the one path on which the test runner fails
and everything else succeeds. Where a status depends on something that cannot be foreseen (`grep
-q FAIL log`), it counts as lost: exit status 0 must never be taken for a pass by guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from app.testruns.followed_shell import (
    BUILTINS,
    FollowedShell,
    FunctionReturn,
    ShellExit,
    Status,
    prints_a_status,
    value_of,
)
from app.testruns.shell_line import (
    AndOr,
    Assignment,
    AtExit,
    Background,
    Case,
    Function,
    If,
    Loop,
    Not,
    Pipeline,
    Sequence,
    ShellLine,
    ShellNode,
    SimpleCommand,
    Subshell,
    children,
)
from app.testruns.wordset import word_set

FAILED: Final = 1
MAX_STEPS: Final = 20_000
"""Nodes followed in one line; past it nothing is proved."""
MAX_NESTING: Final = 100
"""Nodes within nodes, called functions included; past it nothing is proved."""

ANSWERING: Final = word_set(
    """grep egrep fgrep zgrep rg ag ack diff cmp test [ [[ (( pgrep which command type expr let
    read curl wget ping mountpoint systemctl"""
)
"""Programs whose exit status is an answer, not a mishap."""


_PRINTERS: Final = frozenset({"echo", "printf"})


class _Unproved(Exception):
    """More than `MAX_STEPS` or `MAX_NESTING`, or what cannot be foreseen may hide the failure."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a line ends if one of its commands fails and the others succeed."""

    is_told: bool
    """Its exit status is not 0."""
    is_printed: bool
    """It prints the status of that command: `pytest; echo "rc=$?"`."""
    reached: frozenset[int]
    """Identities of the commands that may have run."""


_UNPROVED: Final = Ending(is_told=False, is_printed=False, reached=frozenset())


def failure_is_visible(line: ShellLine, target: SimpleCommand) -> bool:
    """True when the exit status of `line` is not 0 if `target` runs and fails."""
    return ending_if_it_fails(line, target).is_told


def ending_if_it_fails(line: ShellLine, target: SimpleCommand) -> Ending:
    """How `line` ends if `target` runs and fails; past a bound nothing is said to be visible."""
    follower = _Follower(line.root, target)
    try:
        status = follower.run(line.root, FollowedShell(pipefail=line.pipefail))
    except _Unproved:
        return _UNPROVED
    is_told = status is not None and status != 0
    return Ending(is_told, follower.is_printed, frozenset(follower.reached))


class _Follower:
    def __init__(self, root: ShellNode, target: SimpleCommand) -> None:
        self._target = target
        self._steps = 0
        self._nesting = 0
        self._failed = False
        self._leading = _leading_to(root, target)
        self.is_printed = False
        self.reached: set[int] = set()
        self._tested = 0
        """Above 0 inside a condition, where `set -e` is suspended."""

    def run(self, node: ShellNode, shell: FollowedShell) -> Status:
        """The status with which a whole shell ends: its EXIT trap included."""
        try:
            status = self._follow(node, shell)
        except ShellExit as exit_:
            status = exit_.status
        if shell.at_exit is not None:
            shell.last = status
            try:
                self._follow(shell.at_exit, shell)
            except ShellExit as exit_:
                status = exit_.status
        return status

    def _leads(self, node: ShellNode) -> bool:
        return id(node) in self._leading

    def _follow(self, node: ShellNode, shell: FollowedShell) -> Status:
        self._steps += 1
        if self._steps > MAX_STEPS or self._nesting >= MAX_NESTING:
            raise _Unproved
        self._nesting += 1
        try:
            status = self._status(node, shell)
        finally:
            self._nesting -= 1
        shell.last = status
        if not isinstance(node, Pipeline):
            shell.stages = (status,)
        if (
            status != 0
            and status is not None
            and shell.errexit
            and not self._tested
            and isinstance(node, SimpleCommand | Assignment | Pipeline | Subshell)
        ):
            raise ShellExit(status)
        return status

    def _status(self, node: ShellNode, shell: FollowedShell) -> Status:
        match node:
            case SimpleCommand():
                return self._command(node, shell)
            case Assignment():
                return self._assign(node, shell)
            case Sequence():
                status: Status = 0
                for item in node.items:
                    status = self._follow(item, shell)
                return status
            case AndOr():
                return self._and_or(node, shell)
            case Pipeline():
                return self._pipeline(node, shell)
            case Not():
                status = self._condition(node.body, shell)
                return None if status is None else int(status == 0)
            case Background():
                shell.job = self.run(node.body, shell.copy())
                return 0
            case Subshell():
                return self._subshell(node, shell)
            case If():
                return self._if(node, shell)
            case Loop():
                return self._loop(node, shell)
            case Case():
                taken = next((b for b in node.branches if self._leads(b)), None)
                if taken is not None:
                    return self._follow(taken, shell)
                for branch in node.branches:
                    self._perhaps(branch, shell)
                return None if self._failed else 0
            case Function():
                shell.functions[node.name] = node.body
                return 0
            case AtExit():
                shell.at_exit = node.body
                return 0
            case _:
                assert_never(node)

    def _condition(self, node: ShellNode, shell: FollowedShell) -> Status:
        self._tested += 1
        try:
            return self._follow(node, shell)
        finally:
            self._tested -= 1

    def _perhaps(self, node: ShellNode, shell: FollowedShell) -> None:
        """What may run or not, `[ -e log ] && rc=0`: what it sets is not known after it."""
        other = shell.copy()
        try:
            self._follow(node, other)
        except ShellExit as exit_:
            if self._failed and not exit_.status:
                raise _Unproved from None
            return
        for name, value in other.variables.items():
            if shell.variables.get(name) != value:
                shell.variables[name] = None
        shell.errexit &= other.errexit
        shell.pipefail &= other.pipefail

    def _subshell(self, node: Subshell, shell: FollowedShell) -> Status:
        if not node.fresh:
            return self.run(node.body, shell.copy())
        tested, self._tested = self._tested, 0  # another process, with a `set -e` of its own
        try:
            # `$rc` in its text may be its own or, in double quotes, the outer one: unknown.
            new = FollowedShell(errexit=node.errexit, pipefail=node.pipefail, last=None)
            return self.run(node.body, new)
        finally:
            self._tested = tested

    def _command(self, node: SimpleCommand, shell: FollowedShell) -> Status:
        for inner in node.inner:
            self.run(inner, shell.copy())
        status = self._ending(node, shell)
        return 0 if node.status_swallowed else status

    def _ending(self, node: SimpleCommand, shell: FollowedShell) -> Status:
        self.reached.add(id(node))
        if node is self._target:
            self._failed = True
            return FAILED
        if node.starts is not None:
            return self._follow(node.starts, shell)
        name, *rest = node.words
        if name in _PRINTERS and self._failed:
            self.is_printed |= any(prints_a_status(word, shell) for word in rest)
        if name in shell.functions:
            return self._call(shell.functions[name], shell)
        if name in BUILTINS:
            return BUILTINS[name](tuple(rest), shell)
        return None if name in ANSWERING else 0

    def _call(self, body: ShellNode, shell: FollowedShell) -> Status:
        try:
            return self._follow(body, shell)
        except FunctionReturn as returned:
            return returned.status

    def _assign(self, node: Assignment, shell: FollowedShell) -> Status:
        status: Status = 0
        for inner in node.inner:
            status = self.run(inner, shell.copy())
        for name, value in node.values:
            shell.variables[name] = value_of(value, shell)
        return 0 if node.declared else status

    def _and_or(self, node: AndOr, shell: FollowedShell) -> Status:
        status = self._condition(node.first, shell)
        for i, (wants_success, operand) in enumerate(node.rest, 1):
            if self._leads(operand) and not self._failed:
                pass  # the one path that is followed leads there
            elif status is None:
                self._perhaps(operand, shell)
                continue
            elif (status == 0) is not wants_success:
                continue
            last = i == len(node.rest)
            status = self._follow(operand, shell) if last else self._condition(operand, shell)
        return status

    def _pipeline(self, node: Pipeline, shell: FollowedShell) -> Status:
        stages: list[Status] = []
        for stage in node.stages:
            stages.append(self.run(stage, shell.copy()))
        shell.stages = tuple(stages)
        if not shell.pipefail:
            return stages[-1]
        # Each stage that cannot be foreseen either succeeds or fails too: never hides a failure.
        known = [status for status in stages if status]
        return known[-1] if known else (None if None in stages else 0)

    def _if(self, node: If, shell: FollowedShell) -> Status:
        status = self._condition(node.condition, shell)
        branches = (node.then, node.otherwise or Sequence(()))
        for branch in branches:
            if self._leads(branch) and not self._failed:
                return self._follow(branch, shell)
        if status is not None:
            return self._follow(branches[status != 0], shell)
        for branch in branches:
            self._perhaps(branch, shell)
        return None

    def _loop(self, node: Loop, shell: FollowedShell) -> Status:
        if node.condition is None:
            return self._follow(node.body, shell)
        self._condition(node.condition, shell)
        if self._leads(node.body):
            return self._follow(node.body, shell)
        self._perhaps(node.body, shell)
        return None if self._leads(node.condition) else 0


def _leading_to(root: ShellNode, target: SimpleCommand) -> frozenset[int]:
    """Identities of the nodes under which `target` runs, calls of functions included."""
    parents: dict[int, list[ShellNode]] = {}
    calls: dict[str, list[ShellNode]] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, SimpleCommand):
            calls.setdefault(node.words[0], []).append(node)
        for child in children(node):
            parents.setdefault(id(child), []).append(node)
            pending.append(child)
    leading: set[int] = set()
    climbing: list[ShellNode] = [target]
    while climbing:
        node = climbing.pop()
        if id(node) not in leading:
            leading.add(id(node))
            climbing += parents.get(id(node), [])
            if isinstance(node, Function):
                climbing += calls.get(node.name, [])
    return frozenset(leading)
