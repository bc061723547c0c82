"""The command: play the stories, show them live, and say whether all went as it should."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Mapping
from typing import Annotated, Final

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from app.adapters.clock import SystemClock
from app.adapters.store.store import SqlStore
from app.cli.demo.play import STORIES, Person, Seen, at_rest
from app.cli.demo.stage import REPOSITORY, Stage, StageFailed, stage
from app.cli.directories import settings_of
from app.cli.failing import fail
from app.cli.registry import open_registry
from app.cli.runtimes import lacks
from app.cli.terminal import cell
from app.core.agents.lifecycle import State
from app.core.breaker.verdict import LimitUse, figure
from app.core.rules.plan import RuntimeName
from app.core.words.report import Report, report
from app.services.queueing import places_in_queue
from app.services.views import waits_words

MOST_SECONDS: Final = 300.0
"""How long the stories may take before the demo says that they did not come to rest: a CLI starts
anew whenever an agent is woken, and the machine may have other work."""
LOOK_SECONDS: Final = 0.25
NO_SANDBOX: Final = (
    "WITHOUT A SANDBOX: this demo's agents run as you. They do only what a script says;"
    " `squadron serve` locks real ones in."
)
INTERRUPTED: Final = 130
"""Exit code of `--once` without a verdict."""

_COLOURS: Final = {
    State.QUEUED: "white",
    State.ACTIVE: "cyan",
    State.SLEEPING: "blue",
    State.PAUSED: "yellow",
    State.STOPPING: "magenta",
    State.COMPLETED: "green",
    State.ESCALATED: "red",
    State.CANCELLED: "magenta",
}


def demo(
    once: Annotated[bool, typer.Option(help="End when all stories have come to rest.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")
    ] = False,
    runtime: Annotated[
        RuntimeName,
        typer.Option(help="What runs the agents; the model is the scripted one with each."),
    ] = "embedded",
) -> None:
    """The whole system on this machine: no account, no key, no network."""
    copilot_cli = settings_of().copilot_cli if runtime == "copilot" else None
    if runtime != "embedded" and (lacking := lacks(copilot_cli)[runtime]):
        fail(lacking)
    console = Console(stderr=as_json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the stage is taken down either way
    try:
        with stage(runtime, copilot_cli) as running:
            wrong = asyncio.run(_played(running, console, as_json, stays=not once))
    except StageFailed as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED if once else 0) from None
    if wrong:
        fail("\n".join(f"not as it should be: {line}" for line in wrong))


async def _played(running: Stage, console: Console, as_json: bool, *, stays: bool) -> list[str]:
    store = open_registry(running.settings)
    person = Person(running)
    person.open_issues()
    began = time.monotonic()
    console.print(f"[bold yellow]{NO_SANDBOX}[/bold yellow]", soft_wrap=True)
    console.print(f"{len(STORIES)} stories at {running.box_url}/{REPOSITORY}", soft_wrap=True)
    with Live(console=console, refresh_per_second=8, transient=as_json) as live:
        while True:
            reports = await _reports(store)
            live.update(_screen(running, reports, time.monotonic() - began))
            person.merge_what_is_ready(reports)
            is_over = time.monotonic() - began > MOST_SECONDS
            if is_over or at_rest(reports):  # what their ends ask for may not be written yet
                seen = await _seen(store, person, reports)
                wrong = _verdict(reports, seen)
                if is_over or not wrong:
                    break
            await asyncio.sleep(LOOK_SECONDS)
    if not console.is_terminal:
        console.print()  # a file has got the last screen, without the end of its line
    if as_json:
        agents = [each.as_json() for each in seen]
        sys.stdout.write(json.dumps({"box": running.box_url, "agents": agents}, indent=2) + "\n")
        sys.stdout.flush()
    else:
        _conclude(console, seen, wrong)
    if stays:
        console.print(
            f"\nLook around at [link]{running.box_url}/{REPOSITORY}[/link]; Ctrl-C ends the demo."
            f"\nIts registry: SQUADRON_DATA_DIR={running.settings.data_dir} squadron agents",
            soft_wrap=True,
        )
        await asyncio.Event().wait()
    return wrong


async def _reports(store: SqlStore) -> dict[int, Report]:
    now = SystemClock().now()
    agents, queue = await store.agents(repository=REPOSITORY), await places_in_queue(store)
    return {
        agent.id.issue: report(agent, await store.log(agent.id), now, queue.get(agent.id))
        for agent in agents
    }


async def _seen(store: SqlStore, person: Person, reports: Mapping[int, Report]) -> list[Seen]:
    return [
        person.look(view, await store.log(view.agent.id)) for _, view in sorted(reports.items())
    ]


def _verdict(reports: Mapping[int, Report], seen: list[Seen]) -> list[str]:
    wrong = [
        f"#{number} “{story.title}” has no agent"
        for number, story in enumerate(STORIES, 1)
        if number not in reports
    ]
    for each in seen:
        story = STORIES[each.report.agent.id.issue - 1]
        if problem := story.wrong(each):
            wrong.append(f"{each.report.agent.id}: {problem}")
    return wrong


def _screen(running: Stage, reports: Mapping[int, Report], seconds: float) -> Group:
    table = Table("issue", "role", "state", "limits used", "what it shows", expand=True)
    for number, story in enumerate(STORIES, 1):
        view = reports.get(number)
        if view is None:
            table.add_row(f"#{number} {story.title}", story.label, "…", "", story.shows)
            continue
        colour = _COLOURS[view.agent.state]
        table.add_row(
            f"#{number} {story.title}",
            view.agent.id.role,
            f"[{colour}]{waits_words(view.agent)}[/{colour}]",
            "\n".join(_bar(use) for use in view.uses if use.observed > 0),
            story.shows,
        )
    return Group(table, f"{seconds:4.1f} s   {running.box_url}/{REPOSITORY}")


def _bar(use: LimitUse) -> str:
    share = min(use.observed / use.maximum, 1.0)
    filled = round(share * 10)
    colour = "red" if share >= 1 else "yellow" if share >= 0.8 else "green"
    name = use.name.removeprefix("max_")
    return (
        f"[{colour}]{'█' * filled}{'░' * (10 - filled)}[/{colour}] "
        f"{name} {figure(use.observed)}/{figure(use.maximum)}"
    )


def _conclude(console: Console, seen: list[Seen], wrong: list[str]) -> None:
    for each in seen:
        trip = each.report.agent.trip
        end = f"stopped by the {trip.layer}: {trip.reason}" if trip else "done"
        line = f"  {each.report.agent.id}: {each.report.agent.state}, {end}"
        console.print(cell(line), soft_wrap=True)
        console.print(f"    {each.issue['html_url']}")
        for issue in each.escalations:
            console.print(f"    needs a human: {issue['html_url']}")
    if not wrong:
        console.print("[green]Every agent reached the state that it should.[/green]")
