"""Issues that agents open: Squadron writes them, bounded in depth and number, once.

Depth and number are read from GitHub, so they hold whatever was forgotten here.
"""

import logging
from datetime import timedelta
from typing import Final

from app.core.agents.agent import Agent
from app.core.effects import opened_issues as opened
from app.core.effects.wanted import NEEDS_HUMAN, escalation_marker
from app.ports import GitHubFailed, IssueProposal, Repository, ToolResult
from app.services.world import World, repository_of

DAY: Final = timedelta(days=1)
CLOCKS_DIFFER: Final = timedelta(minutes=1)

log = logging.getLogger("squadron.agents")


class Opening:
    """What the tool `open_issue` does."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def open(self, agent: Agent, proposal: IssueProposal) -> ToolResult:
        """Open the issue, find it again, or ask a human instead; the agent is told which."""
        here, proposal = repository_of(agent), self._world.redact.within(proposal)
        try:
            async with self._world.exclusive(f"opening:{here.full_name}"):
                number = await self._opened(agent, here, proposal)
        except _TooMuch as too_much:
            return _result(opened.refused_words(str(too_much)), ok=False)
        except GitHubFailed as error:
            return _result(
                f"GitHub did not take the issue: {self._world.redact(str(error))}", ok=False
            )
        return _result(f"Opened as #{number}. A person has to label it before anybody works on it.")

    async def _opened(self, agent: Agent, here: Repository, proposal: IssueProposal) -> int:
        """The number of the issue. Raises `_TooMuch`, after a human was asked."""
        github, now, rules = (
            self._world.github,
            self._world.clock.now(),
            agent.assignment.escalation,
        )
        since = min(now - DAY, agent.created_at - CLOCKS_DIFFER)
        ours = await github.own_issues(here, since)
        for issue in ours:
            if opened.is_opened_by(issue.body, agent, proposal.title):
                return issue.number
        depth = await self._depth(agent, here) + 1
        today = [
            issue
            for issue in ours
            if opened.depth_of(issue.body) and issue.at is not None and issue.at > now - DAY
        ]
        why = ""
        if depth > rules.max_issue_depth:
            why = opened.too_deep(depth, rules.max_issue_depth)
        elif len(today) >= rules.max_issues_per_day:
            why = opened.too_many(rules.max_issues_per_day)
        if why:
            await self._ask_a_human(agent, here, proposal, why)
            raise _TooMuch(why)
        posted = await github.open_issue(
            here,
            opened.opened_title(proposal.title),
            opened.opened_body(agent, depth, proposal.title, proposal.body),
            (),
            (),
        )
        where = {"agent": str(agent.id), "issue": posted.number, "depth": depth}
        log.info("issue opened for an agent", extra=where)
        return posted.number

    async def _depth(self, agent: Agent, here: Repository) -> int:
        """Of the issue that the agent works on; anybody can write a mark, our App writes true
        ones."""
        issue = await self._world.github.issue(here, agent.id.issue)
        if issue is None or issue.author != await self._world.github.bot_login():
            return 0
        return opened.depth_of(issue.body)

    async def _ask_a_human(
        self, agent: Agent, here: Repository, proposal: IssueProposal, why: str
    ) -> None:
        """Once for each agent, in the one needs-human issue of its original issue."""
        github, rules = self._world.github, agent.assignment.escalation
        head = escalation_marker(agent.repository_id, agent.id.issue)
        sign = opened.asks_marker(agent)
        words = opened.asks_section(agent, proposal.title, proposal.body, why)
        log.warning("an agent may not open an issue: %s", why, extra={"agent": str(agent.id)})
        async with self._world.exclusive(f"effects:{here.full_name}#{agent.id.issue}"):
            issues = await github.marked_issues(here, NEEDS_HUMAN, head)
            if any(sign in issue.body for issue in issues):
                return
            shared = next((issue for issue in issues if issue.is_open), None)
            if shared is None:
                labels = tuple(dict.fromkeys((NEEDS_HUMAN, *rules.labels)))
                text = f"{opened.asks_body(agent)}\n\n{words}"
                title = opened.asks_title(agent)
                await github.open_issue(here, title, text, labels, rules.assignees)
            elif not await github.comments(here, shared.number, sign):
                await github.comment(here, shared.number, words)


class _TooMuch(Exception):
    """Why no issue was opened, for people."""


def _result(text: str, *, ok: bool = True) -> ToolResult:
    return ToolResult(ok=ok, exit_code=None, output=text)
