"""The command: play the stories, show them live, and say whether all went as it should."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from app.adapters.clock import SystemClock
from app.adapters.store.store import SqlStore
from app.cli.agents import STATE_COLOURS
from app.cli.demo.play import STORIES, Person, Seen, at_rest
from app.cli.demo.stage import REPOSITORY, Stage, StageFailed, stage
from app.cli.directories import settings_of
from app.cli.failing import fail
from app.cli.registry import open_registry
from app.cli.terminal import cell
from app.core.breaker.verdict import LimitUse, figure
from app.core.rules.plan import RuntimeName
from app.core.words.glance import glance
from app.core.words.report import Report, report
from app.doctor.runtimes import lacks
from app.services.views import waits_words

MOST_SECONDS: Final = 300.0
"""How long the stories may take before the demo says that they did not come to rest: a CLI starts
anew whenever an agent is woken, and the machine may have other work."""
LOOK_SECONDS: Final = 0.25
NO_SANDBOX: Final = (
    "WITHOUT A SANDBOX: this demo's agents run as you, and do what a script says.\n"
    "`squadron serve` locks real ones in."
)
_BAR_BLOCKS: Final = 10
INTERRUPTED: Final = 130
"""Exit code of `--once` without a verdict."""


def play(runtime: RuntimeName, *, ends: bool, as_json: bool) -> None:
    """Play the stories, and show them. `ends`: with them; else the box stays until Ctrl-C."""
    copilot_cli = settings_of().copilot_cli if runtime == "copilot" else None
    if runtime != "embedded" and (lacking := lacks(copilot_cli)[runtime]):
        fail(lacking)
    console = Console(stderr=as_json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the stage is taken down either way
    try:
        with stage(runtime, copilot_cli) as running:
            wrong = asyncio.run(_played(running, console, as_json, stays=not ends))
    except StageFailed as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED if ends else 0) from None
    if wrong:
        fail("\n".join(f"not as it should be: {line}" for line in wrong))


async def _played(running: Stage, console: Console, as_json: bool, *, stays: bool) -> list[str]:
    store = open_registry(running.settings)
    person = Person(running)
    person.open_issues()
    began = time.monotonic()
    console.print(f"[bold yellow]{NO_SANDBOX}[/bold yellow]", soft_wrap=True)
    console.print(f"{len(STORIES)} stories at {running.box_url}/{REPOSITORY}", soft_wrap=True)
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        while True:
            reports = await _reports(store)
            live.update(_screen(reports, time.monotonic() - began))
            person.merge_what_is_ready(reports)
            is_over = time.monotonic() - began > MOST_SECONDS
            if is_over or at_rest(reports):  # what their ends ask for may not be written yet
                seen = await _seen(store, person, reports)
                wrong = _verdict(reports, seen)
                if is_over or not wrong:
                    break
            await asyncio.sleep(LOOK_SECONDS)
    if as_json:
        agents = [each.as_json() for each in seen]
        sys.stdout.write(json.dumps({"box": running.box_url, "agents": agents}, indent=2) + "\n")
        sys.stdout.flush()
    else:
        _conclude(console, seen, wrong)
    if stays:
        console.print(
            f"\nLook around at [link]{running.box_url}/{REPOSITORY}[/link]; Ctrl-C ends the demo.",
            f"Who needs a person: [link]{running.pages_url}[/link]",
            "In another terminal, its registry:",
            f"SQUADRON_DATA_DIR={quote(str(running.settings.data_dir))} {_program()} agents",
            sep="\n",
            highlight=False,
            soft_wrap=True,
        )
        await asyncio.Event().wait()
    return wrong


async def _reports(store: SqlStore) -> dict[int, Report]:
    now = SystemClock().now()
    agents, queue = await store.agents(repository=REPOSITORY), await store.places_in_queue()
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


def _screen(reports: Mapping[int, Report], seconds: float) -> Text:
    """Within 80 columns and 24 lines, with what was printed before it."""
    lines = [Text()]
    for number, story in enumerate(STORIES, 1):
        view = reports.get(number)
        lines.append(Text(f"#{number} {story.shows}", "bold"))
        lines.append(Text("   …") if view is None else _standing(view))
    return Text("\n").join([*lines, Text(f"\n{seconds:4.1f} s", "dim")])


def _standing(view: Report) -> Text:
    state = (f"   {waits_words(view.agent):<20}", STATE_COLOURS[view.agent.state])
    nearest = glance(view).nearest
    return Text.assemble(state, *([] if nearest is None else _bar(nearest)))


def _program() -> str:
    """How this program was called, as a shell takes it."""
    called = Path(sys.argv[0])
    if called.suffix == ".py":  # `python -m app.cli.main`
        return f"{quote(sys.executable)} -m app.cli.main"
    here = Path.cwd()
    return quote(str(called.relative_to(here) if called.is_relative_to(here) else called))


def _bar(use: LimitUse) -> Sequence[tuple[str, str]]:
    """The use of a limit, its words and its colours."""
    share = min(use.share, 1.0)
    filled = round(share * _BAR_BLOCKS)
    colour = "red" if share >= 1 else "yellow" if share >= 0.8 else "green"
    used = f" {use.name.removeprefix('max_')} {figure(use.observed)}/{figure(use.maximum)}"
    return [("█" * filled + "░" * (_BAR_BLOCKS - filled), colour), (used, "")]


def _conclude(console: Console, seen: list[Seen], wrong: list[str]) -> None:
    for each in seen:
        agent, trip = each.report.agent, each.report.agent.trip
        end = f" ({trip.layer}: {trip.limit})" if trip else ""
        console.print(cell(f"{agent.id}: {agent.state}{end}"), soft_wrap=True)
        links = [("work", each.pull)] if each.pull and not trip else []
        links += [("needs a human", issue) for issue in each.escalations]
        for words, link in links:
            console.print(f"    {words}: {link['html_url']}", highlight=False, soft_wrap=True)
    if not wrong:
        console.print("[green]Every agent reached the state that it should.[/green]")
