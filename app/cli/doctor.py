"""`squadron doctor`: every check of an installation, for people and for programs."""

import json
import os
from dataclasses import asdict

import typer
from rich.console import Console
from rich.markup import escape

from app.cli.terminal import clean, say
from app.doctor.examined import examined


def examine(*, as_json: bool, is_offline: bool, pings: bool) -> None:
    """Show every check. Ends the command with 1 if one of them failed."""
    checks = list(examined(os.environ, is_offline=is_offline, pings=pings))
    ok = all(check.ok for check in checks)
    if as_json:
        found = {"ok": ok, "checks": [asdict(check) for check in checks]}
        say(json.dumps(found, indent=2))
    else:
        console = Console(soft_wrap=True, highlight=False)
        for check in checks:
            sign = "[green]ok[/green]" if check.ok else "[red]NO[/red]"
            console.print(f"{sign}  {_plain(check.name)}: {_plain(check.message)}")
            if check.fix:
                console.print(f"    [bold]{_plain(check.fix)}[/bold]")
    raise typer.Exit(0 if ok else 1)


def _plain(text: str) -> str:
    """Without markup, and without what a terminal obeys."""
    return escape(clean(text))
