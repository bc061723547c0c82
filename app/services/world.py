"""The ports that the services share, in one value made by `app/bootstrap.py`."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.agents.agent import Agent, AgentId
from app.core.limits import LimitName
from app.core.money import PriceOf
from app.core.rules.operator import HouseRules
from app.core.rules.plan import ConfigProblem, RepositoryPlan, RoleKind
from app.core.text.redact import Redactor
from app.ports import (
    SEGMENT_VARIABLE,
    Alarms,
    Artifacts,
    CheckoutOrder,
    Clock,
    Engine,
    Exclusive,
    FreeMiB,
    GitHub,
    Hook,
    Ledger,
    ParseShell,
    Preparation,
    Processes,
    Rates,
    Repository,
    Runtime,
    Setups,
    Store,
    VisibleLines,
    Walls,
    Workspace,
)

ReadConfiguration = Callable[[Mapping[str, bytes]], Awaitable["PlanReading"]]
"""Aside: what strangers write may take a second, and nobody waits for that."""
EditLimits = Callable[[bytes, Mapping[str, Mapping[LimitName, float]]], bytes]
"""`config.yaml` with other limits, by role; all else in it as it was. Raises `ValueError`."""


@dataclass(frozen=True, slots=True)
class PlanReading:
    """A repository's configuration as it was read: what is in force, and what is wrong with it."""

    plan: RepositoryPlan | None
    problems: tuple[ConfigProblem, ...]
    """Of the files as they are now, in order of place."""
    is_switched_off: bool = False
    """Whether the files say `enabled: false`: that stops, whatever else is wrong in them."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside, as the services see it."""

    store: Store
    artifacts: Artifacts
    ledger: Ledger
    rates: Rates
    alarms: Alarms
    engine: Engine
    exclusive: Exclusive
    github: GitHub
    hook: Hook
    workspace: Workspace
    processes: Processes
    preparation: Preparation
    setups: Setups
    walls: Walls
    """Around all that agents run."""
    runtime: Runtime
    redact: Redactor
    """Takes the installation's secrets out of what agents say and do."""
    parse: ParseShell
    visible_lines: VisibleLines
    price_of: PriceOf
    clock: Clock
    free_mib: FreeMiB
    """Of the disk with the data directory."""
    read_configuration: ReadConfiguration
    edit_limits: EditLimits
    house: HouseRules
    default_model: str | None
    """The operator's `SQUADRON_MODEL`."""
    worker: str
    """This process's name."""
    agents_directory: Callable[[str], Path]
    """Where the files of an agent are, by its id."""
    path: str
    """`PATH` of agents' processes."""


def clock_lead(clock: Clock) -> float:
    """By how many seconds the wall clock is ahead of the monotonic one: it stays the same as long
    as nobody sets the wall clock."""
    return clock.now().timestamp() - clock.monotonic()


def repository_of(agent: Agent) -> Repository:
    """Where the agent's repository is, as its installation sees it."""
    return Repository(agent.repository, agent.installation_id)


def page_of(world: World, agent: Agent) -> str:
    """The agent's repository in a browser."""
    return world.github.page(repository_of(agent))


def segment_marker(world: World, agent: AgentId, segment: int) -> str:
    """Marks every process of a segment, so that its orphans can be found.

    Two Squadrons on one machine may work on the same issue: the data directory tells them apart.
    """
    place = hashlib.sha256(str(world.agents_directory(str(agent))).encode()).hexdigest()[:12]
    return f"{agent}:{segment}:{place}"


async def checkout_order(world: World, agent: Agent) -> CheckoutOrder:
    """What the agent's workspace is prepared and kept for. May raise `GitHubFailed`."""
    return CheckoutOrder(
        agent=str(agent.id),
        repository=repository_of(agent),
        repository_id=agent.repository_id,
        default_branch=agent.default_branch,
        branch=agent.branch,
        author_name=await world.github.bot_login(),
        author_email=await world.github.bot_email(),
        co_author=agent.assignment.co_author,
        protected_paths=agent.assignment.protected_paths,
        pull_request=agent.id.issue if agent.assignment.kind is RoleKind.REVIEW else None,
        whereabouts=await world.store.whereabouts(agent.id),
    )


def environment(world: World, agent: Agent, order: CheckoutOrder) -> dict[str, str]:
    """What an agent's processes see: built up from nothing, so nothing of the service leaks."""
    return {
        "PATH": world.path,
        "HOME": str(world.agents_directory(str(agent.id)) / "home"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_AUTHOR_NAME": order.author_name,
        "GIT_AUTHOR_EMAIL": order.author_email,
        "GIT_COMMITTER_NAME": order.author_name,
        "GIT_COMMITTER_EMAIL": order.author_email,
        SEGMENT_VARIABLE: segment_marker(world, agent.id, agent.segment),
    }
