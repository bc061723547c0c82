"""`squadron init`: a first configuration for a repository, which changes nothing as it stands."""

from importlib import resources
from pathlib import Path
from typing import Final

from app.cli.failing import fail
from app.cli.terminal import say

FILE: Final = Path(".squadron", "config.yaml")


def write_starter(directory: Path) -> None:
    """Write it, where nothing is yet."""
    if not directory.is_dir():
        fail(f"{directory} is not a directory: name the repository that Squadron is to work on")
    target = directory / FILE
    starter = resources.files("app.config").joinpath("starter.yaml").read_text(encoding="utf-8")
    try:
        target.parent.mkdir(exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(starter)
    except FileExistsError:
        fail(f"{target} is there already, and was left as it is: `squadron config check` reads it")
    except OSError as error:
        fail(f"{target} cannot be written: {error.strerror}")
    say(
        f"wrote {target}. Change what you like, `squadron config check {directory}`, and push it"
        " to the default branch."
    )
