"""The picture in README: ``python -m docs.picture``, or `make picture`.

It plays the demo, opens the page of the issue that calls a human in headless Chromium, and keeps
what stands there as `docs/demo.png`. Chromium has to be installed (Debian's package `chromium`).
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

PICTURE: Final = Path(__file__).with_name("demo.png")
SIZE: Final = "1100,900"
"""Pixels: as wide as GitHub shows a page, and high enough for the figures of the stop."""
DEMO_SECONDS: Final = 300.0
END_SECONDS: Final = 30.0
BROWSER_SECONDS: Final = 60.0
QUIET: Final = (
    *("--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--no-sandbox"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""Chromium asks nobody but the box, which is trusted: it is part of this project."""
_NEEDS_HUMAN: Final = re.compile(r"needs a human: (http\S+)")
_LOOK_AROUND: Final = "Look around at"


def main() -> None:
    """Make the picture anew."""
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    command = [sys.executable, "-m", "app.cli.main", "demo"]
    demo = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=_environment()
    )
    deadline = threading.Timer(DEMO_SECONDS, os.killpg, (demo.pid, signal.SIGKILL))
    deadline.start()
    try:
        _photograph(browser, _page_of(demo))
    finally:
        deadline.cancel()
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=END_SECONDS)
    print(f"{PICTURE}: made anew")


def _environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}


def _page_of(demo: subprocess.Popen[str]) -> str:
    """The first page that calls a human, once all stories have come to rest."""
    assert demo.stdout is not None
    found = None
    for line in demo.stdout:
        if found is None and (named := _NEEDS_HUMAN.search(line)):
            found = named[1]
        if line.startswith(_LOOK_AROUND):
            break
    if found is None:
        sys.exit("the demo called no human")
    return found


def _photograph(browser: str, page: str) -> None:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                *(browser, *QUIET, f"--user-data-dir={profile}", f"--window-size={SIZE}"),
                *(f"--screenshot={PICTURE}", page),
            ],
            check=True,
            timeout=BROWSER_SECONDS,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
