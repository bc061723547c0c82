"""The working tools that Squadron itself answers, the same on every runtime."""

import logging
from collections.abc import Mapping
from typing import Annotated, Final, assert_never

from pydantic import Field

from app.adapters.runtimes.arguments import Args, BadCall
from app.core.effects.triage import MOST_LABEL_CHARACTERS, MOST_LABELS, MOST_WHY_CHARACTERS
from app.core.github.patch import listed
from app.core.words.prompts import CONTINUE_TASK
from app.ports import (
    Continuation,
    Delegation,
    IssueProposal,
    SessionOrder,
    ToolResult,
    Triage,
)

log = logging.getLogger("squadron.runtimes")


class Diff(Args):
    """Show what the pull request changes: its files with the sizes of their changes, or what it
    does to one of them."""

    path: str | None = Field(None, description="One of the files; null: list them all.")
    first_line: int = Field(1, ge=1)
    last_line: int | None = Field(None, ge=1)


class Task(Args):
    """Let a sub-agent of another role do a part of your work, and wait for what it reports. What
    it uses counts against your own limits; it can never use more than you have left. Those that
    you ask for at once share that in equal parts, unless `limits` gives one of them less."""

    role: str = Field(min_length=1, max_length=100)
    prompt: str = Field(min_length=1, description="All that it has to know: it sees nothing else.")
    limits: dict[str, object] = Field(
        default={}, description="Its limits where they differ from its role's: {name: maximum}."
    )


class ContinueTask(Args):
    """Let a sub-agent go on that has paused because it needs more of its limits, and wait for what
    it reports. What it gets is taken out of what you have left."""

    agent: str = Field(min_length=1, max_length=500, description="Its id, as you were told it.")
    limits: dict[str, object] = Field(
        default={},
        description="How much more of which limits: {name: amount}. Empty: what it asks for.",
    )
    prompt: str = Field("", description="What it has to know besides.")


class OpenIssue(Args):
    """Open a new issue in this repository, for work that does not belong to yours. Nobody works on
    it before a person says so."""

    title: str = Field(min_length=1, max_length=200)
    body: str = Field(min_length=1, max_length=20_000, description="All that one has to know.")


class ProposeTriage(Args):
    """Say what you think of one of the issues that you were given. Called again for the same
    issue, the last word counts."""

    issue: int = Field(ge=1)
    role: str = Field("", max_length=100, description="That suits the work; empty: none.")
    labels: list[Annotated[str, Field(min_length=1, max_length=MOST_LABEL_CHARACTERS)]] = Field(
        default=[], max_length=MOST_LABELS
    )
    why: str = Field(min_length=1, max_length=MOST_WHY_CHARACTERS, description="For people.")


ServedTool = Diff | ProposeTriage | Task | ContinueTask | OpenIssue

TASK: Final = "task"
DIFF: Final = "diff"
TRIAGE: Final = "propose_triage"
OPEN_ISSUE: Final = "open_issue"
_SERVED: Final[Mapping[str, type[ServedTool]]] = {
    DIFF: Diff,
    TRIAGE: ProposeTriage,
    TASK: Task,
    CONTINUE_TASK: ContinueTask,
    OPEN_ISSUE: OpenIssue,
}


class ServedTools:
    """Those that one session offers."""

    def __init__(self, order: SessionOrder) -> None:
        self._delegate = order.delegate
        self._change = order.change or ()
        self._propose = order.propose
        self._open_issue = order.open_issue
        self.offered = {n: tool for n, tool in _SERVED.items() if _is_on_offer(n, order)}
        """By name."""

    async def run(self, tool: ServedTool) -> ToolResult:
        """Do what an allowed call asks for. Raises `BadCall`."""
        match tool:
            case Diff():
                return ToolResult(ok=True, exit_code=None, output=self._diff(tool))
            case ProposeTriage():
                return await self._proposed(tool)
            case Task():
                return await self._delegated(Delegation(tool.role, tool.prompt, tool.limits))
            case ContinueTask():
                return await self._delegated(Continuation(tool.agent, tool.limits, tool.prompt))
            case OpenIssue():
                return await self._open(tool)
            case _:
                assert_never(tool)

    def _diff(self, tool: Diff) -> str:
        if tool.path is None:
            return listed(self._change) or "(it changes nothing)"
        for each in self._change:
            if each.path == tool.path:
                return numbered_lines(each.text, tool.first_line, tool.last_line)
        raise BadCall(f"the pull request does not change {tool.path[:200]!r}")

    async def _proposed(self, tool: ProposeTriage) -> ToolResult:
        if self._propose is None:  # the tool is on offer only to those who triage
            raise BadCall("there is nothing to triage here")
        return await self._propose(Triage(tool.issue, tool.role, tuple(tool.labels), tool.why))

    async def _delegated(self, asked: Delegation | Continuation) -> ToolResult:
        if self._delegate is None:  # the tools are on offer only with a delegate
            raise BadCall("there are no sub-agents here")
        try:
            return await self._delegate(asked)
        except Exception as error:  # whatever went wrong in a sub-agent, this agent goes on
            name = asked.role if isinstance(asked, Delegation) else asked.agent
            log.exception("the sub-agent %s could not be run", name[:100])
            raise BadCall(f"the sub-agent could not be run ({type(error).__name__})") from error

    async def _open(self, tool: OpenIssue) -> ToolResult:
        if self._open_issue is None:  # the tool is on offer only where there is somebody to do it
            raise BadCall("no issues can be opened here")
        try:
            return await self._open_issue(IssueProposal(tool.title, tool.body))
        except Exception as error:  # whatever went wrong outside, this agent goes on
            log.exception("an issue could not be opened")
            raise BadCall(f"the issue could not be opened ({type(error).__name__})") from error


def numbered_lines(content: str, first_line: int, last_line: int | None) -> str:
    """Some lines of a text, each behind its number."""
    lines = content.removesuffix("\n").split("\n") if content else []
    chosen = lines[first_line - 1 : last_line]
    numbered = [f"{first_line + index}\t{line}" for index, line in enumerate(chosen)]
    return "\n".join(numbered) or f"(no such lines: the file has {len(lines)})"


def _is_on_offer(name: str, order: SessionOrder) -> bool:
    match name:
        case "diff":
            return order.change is not None
        case "propose_triage":
            return order.propose is not None
        case "open_issue" if order.open_issue is None or order.tools is None:
            return False  # what others see is written only by roles that name the tool
        case "task" | "continue_task":
            return order.delegate is not None and (order.tools is None or TASK in order.tools)
        case _:
            return order.tools is None or name in order.tools
