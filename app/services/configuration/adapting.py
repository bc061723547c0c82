"""Once a week: suggested limits become a pull request, or a small step (operator's `adaptive`).

One pull request a repository is open at a time, and the same change is never proposed twice: its
branch is named by what it changes. A pass that died goes on where it was, for the same reason.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.history.adapting import (
    BRANCH_PREFIX,
    Proposal,
    proposal,
    proposal_body,
    proposal_title,
    steps,
)
from app.core.history.agent_history import History
from app.core.history.suggest import MOST_AGENTS, RoleHistory, role_history
from app.core.rules.plan import RepositoryPlan
from app.ports import CheckoutOrder, GitHubFailed, Repository, WorkspaceFailed
from app.services.configuration.plans import Plans
from app.services.guard import Guard
from app.services.world import World

CONFIG_FILE: Final = "config.yaml"

log = logging.getLogger("squadron.adapting")


class Adapting:
    """Handles the weekly work of `adaptive: propose` and `adaptive: apply`."""

    def __init__(self, world: World, plans: Plans, guard: Guard) -> None:
        self._world = world
        self._guard = guard
        self._plans = plans

    async def week(self) -> None:
        """Look at every repository. One's trouble does not stop the others."""
        match self._world.house.adaptive:
            case "propose":
                act = self._propose
            case "apply":
                act = self._apply
            case _:
                return
        for repository in (await self._world.github.repositories()).repositories.values():
            with self._guard.over(f"limits of {repository.full_name}"):
                await _guarded(repository, partial(act, repository))

    async def _apply(self, repository: Repository) -> None:
        files = await self._world.github.configuration(repository)
        plan = (await self._world.read_configuration(files)).plan
        adapted_reading = await self._plans.of(repository)
        if plan is None or adapted_reading.plan is None:
            return
        histories = await self._histories(repository, adapted_reading.plan)
        moved = await self._world.store.adapted(repository.full_name)
        for step in steps(plan, moved, histories, self._world.clock.now()):
            await self._world.store.adapt(repository.full_name, step)
            self._plans.forget(repository.full_name)
            log.warning(
                "LIMIT_ADAPTED",
                extra={
                    "event": "LIMIT_ADAPTED",
                    "repository": repository.full_name,
                    "role": step.role,
                    "limit": step.name.value,
                    "configured": step.base,
                    "value": step.value,
                },
            )

    async def _propose(self, repository: Repository) -> None:
        files = await self._world.github.configuration(repository)
        plan = (await self._world.read_configuration(files)).plan
        if plan is None:
            return  # people are told of that already
        found = proposal(plan, await self._histories(repository, plan))
        github = self._world.github
        if found is None or await github.open_pull_requests(repository, BRANCH_PREFIX):
            return
        if await github.pull_requests(repository, found.branch):
            return  # people have decided
        content = await self._edited(files, found)
        if content is not None:
            await self._open(repository, found, content)

    async def _histories(self, repository: Repository, plan: RepositoryPlan) -> list[RoleHistory]:
        agents: dict[str, list[Agent]] = {}
        for agent in await self._world.store.agents(repository=repository.full_name):
            if agent.parent is None and agent.id.role in plan.roles:
                agents.setdefault(agent.id.role, []).append(agent)
        return [
            await self._history(plan, role, same[-MOST_AGENTS:])
            for role, same in sorted(agents.items())
        ]

    async def _history(self, plan: RepositoryPlan, role: str, agents: list[Agent]) -> RoleHistory:
        histories = [History(each, await self._world.store.log(each.id)) for each in agents]
        limits = plan.roles[role].limits
        # Half a second of arithmetic: not on the loop that answers webhooks.
        return await asyncio.to_thread(role_history, role, histories, limits.ceilings, limits)

    async def _edited(self, files: Mapping[str, bytes], found: Proposal) -> bytes | None:
        """The new `config.yaml`; None where it cannot be had without harm."""
        try:
            before = files.get(CONFIG_FILE, b"")
            content = await asyncio.to_thread(self._world.edit_limits, before, found.changes)
        except ValueError as error:
            log.warning("limits not proposed: %s cannot be edited: %s", CONFIG_FILE, error)
            return None
        reading = await self._world.read_configuration({**files, CONFIG_FILE: content})
        if reading.plan is None or reading.problems:
            log.warning("limits not proposed: %s would be wrong", CONFIG_FILE)
            return None
        return content

    async def _open(self, repository: Repository, found: Proposal, content: bytes) -> None:
        """Commit in a clone of Squadron's own, push, and ask."""
        github, workspace = self._world.github, self._world.workspace
        info = await github.repository(repository)
        order = CheckoutOrder(
            # No issue has the number 0; a pass that died finds its own clone again.
            agent=str(AgentId(repository.full_name, 0, found.branch.rpartition("/")[2], 1)),
            repository=repository,
            repository_id=info.id,
            default_branch=info.default_branch,
            branch=found.branch,
            author_name=await github.bot_login(),
            author_email=await github.bot_email(),
            is_squadrons_own=True,
        )
        checkout = await workspace.prepare(order)
        await asyncio.to_thread(_write, checkout.directory, content)
        kept = await workspace.keep(order, proposal_title(found))
        if not kept.is_pushed or kept.problem:
            log.warning("limits not proposed: %s", kept.problem, extra=_where(repository))
            return
        request = await github.open_pull_request(
            repository,
            branch=found.branch,
            base=info.default_branch,
            title=proposal_title(found),
            body=proposal_body(found),
        )
        log.info("limits proposed: %s", request.url, extra=_where(repository))
        await workspace.remove(order.agent)


async def _guarded(repository: Repository, action: Callable[[], Awaitable[None]]) -> None:
    try:
        await action()
    except (GitHubFailed, WorkspaceFailed, OSError) as error:
        log.warning("limits not adapted: %s", error, extra=_where(repository))


def _write(directory: Path, content: bytes) -> None:
    """Raises `OSError` for a path that leads out of the clone."""
    folder = directory / ".squadron"
    file = folder / CONFIG_FILE
    if folder.is_symlink() or file.is_symlink():
        raise OSError(f"{file.relative_to(directory)} is a link; Squadron edits plain files only")
    folder.mkdir(exist_ok=True)
    file.write_bytes(content)


def _where(repository: Repository) -> dict[str, str]:
    return {"repository": repository.full_name}
