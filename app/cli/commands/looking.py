"""Commands about agents: what they do, what they cost, and who holds them."""

from pathlib import Path
from typing import Annotated, Final

import typer

from app.cli.commands.options import AgentName, AgentsBy, AsJson, LinesOfJson
from app.core.agents.lifecycle import State
from app.core.money import CostsBy

STDOUT: Final = Path("-")

Repository = Annotated[
    str | None, typer.Option("--repo", metavar="OWNER/NAME", help="Only this repository.")
]
Installation = Annotated[
    int | None, typer.Option("--installation", metavar="ID", help="Only this installation.")
]
Everything = Annotated[bool, typer.Option("--all", help="All of them, as without an option.")]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who does it. Default: your login here.")
]


def agents(
    needs_me: Annotated[
        bool, typer.Option("--needs-me", help="Only those that wait for a person.")
    ] = False,
    state: Annotated[
        list[State] | None,
        typer.Option("--state", case_sensitive=False, help="Only of this state; may be repeated."),
    ] = None,
    repo: Repository = None,
    role: Annotated[str | None, typer.Option("--role", help="Only of this role.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="WHEN", help="Only moved since then: 30m, 2h, 3d, 2026-11-29."
        ),
    ] = None,
    sort: Annotated[
        AgentsBy, typer.Option("--sort", help="The latest, or the highest, comes last.")
    ] = AgentsBy.CREATED,
    as_json: AsJson = False,
) -> None:
    """The registry, one line for each agent: its state, the limit that is nearest, its cost and
    its age. Without a filter, what keeps others from being there follows."""
    from app.adapters.clock import SystemClock
    from app.cli.agents import show_registry
    from app.core.words.ages import instant_of
    from app.ports import FleetFilter

    try:
        moved = None if since is None else instant_of(since, SystemClock().now())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from None
    wanted = FleetFilter(repo, role, frozenset(state or ()), moved, may_need_person=needs_me)
    show_registry(wanted, sort, as_json=as_json)


def explain(
    agent: AgentName,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="All that it did, too: a line for each thing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Why an agent stopped, from its log."""
    from app.cli.explain import explain_agent

    explain_agent(agent, has_timeline=timeline, as_json=as_json)


workers = typer.Typer(invoke_without_command=True)


@workers.callback()
def _workers(context: typer.Context, as_json: AsJson = False) -> None:
    """The processes that work on this database, and the agents at work in each."""
    if context.invoked_subcommand is None:
        from app.cli.workers import show_workers

        show_workers(as_json=as_json)


@workers.command()
def drain(
    name: Annotated[str, typer.Argument(help="As `squadron workers` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Let a process take no further agents: those at work there keep their work, and go on in
    another one. It holds until that process ends; it goes on with all else that it does."""
    from app.cli.workers import drain_worker

    drain_worker(name, as_json=as_json)


def pause(
    repo: Repository = None,
    installation: Installation = None,
    everything: Everything = False,
    by: By = None,
    reason: Annotated[str, typer.Option(help="Why, for the people on GitHub.")] = "",
    as_json: AsJson = False,
) -> None:
    """Stop all agents within seconds, their work kept; nothing starts until `squadron resume`."""
    from app.cli.brakes import place_of, put_on

    put_on(place_of(repo, installation, everything), by, reason, as_json=as_json)


def resume(
    repo: Repository = None,
    installation: Installation = None,
    everything: Everything = False,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Let go on what `squadron pause` with the same options has stopped."""
    from app.cli.brakes import lift, place_of

    lift(place_of(repo, installation, everything), by, as_json=as_json)


def costs(
    by: Annotated[CostsBy, typer.Option(help="What costs are added up by.")] = CostsBy.ROLE,
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="Only of the last N days.")
    ] = None,
    budgets: Annotated[
        bool, typer.Option("--budgets", help="What is left of each budget, and who holds money.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What model calls have cost, by role, issue, user, model, repository or agent."""
    from app.cli.costs import show_budgets, show_costs

    if budgets:
        show_budgets(as_json=as_json)
    else:
        show_costs(by, days, as_json=as_json)


limits = typer.Typer(no_args_is_help=True, help="Limits, and what they should be.")

Role = Annotated[str | None, typer.Option("--role", help="Only this role.")]
InRepository = Annotated[
    str | None,
    typer.Option("--repository", metavar="OWNER/NAME", help="Only agents of this repository."),
]
Days = Annotated[
    int | None, typer.Option("--days", min=1, max=3650, help="Only of the last N days.")
]


@limits.command()
def suggest(role: Role = None, repository: InRepository = None, as_json: AsJson = False) -> None:
    """Suggest limits from what finished agents used, and say what they would have changed."""
    from app.cli.limits import suggest_limits

    suggest_limits(role, repository, as_json=as_json)


@limits.command()
def trips(
    role: Role = None,
    repository: InRepository = None,
    days: Days = None,
    as_json: LinesOfJson = False,
) -> None:
    """Every time that a limit was reached: what it did, all that the agent had used by then, what
    it did last, and what people made of it. Of sub-agents, too."""
    from app.cli.limits import show_trips

    show_trips(role, repository, days, as_json=as_json)


@limits.command()
def precision(
    role: Role = None,
    repository: InRepository = None,
    days: Days = None,
    as_json: AsJson = False,
) -> None:
    """How often limits were right to stop or to pause. One that people took back, by a raise or a
    retry, and whose work they then took, was wrong."""
    from app.cli.limits import show_precision

    show_precision(role, repository, days, as_json=as_json)


session = typer.Typer(no_args_is_help=True)


@session.callback()
def _sessions() -> None:
    """Conversations of agents."""


@session.command()
def export(
    agent: AgentName,
    output: Annotated[
        Path, typer.Option(help="A new file, for you alone to read. Default: stdout.")
    ] = STDOUT,
) -> None:
    """The conversation as JSON lines that `squadron replay` reads, then the event log. Known
    secrets, and what looks like one, are taken out."""
    from app.cli.session import export_session

    export_session(agent, None if output == STDOUT else output)
