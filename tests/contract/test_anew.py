"""A process that starts itself anew: what stays, and what is gone."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from app.adapters.anew import VARIABLE, Comeback
from tests.support.waiting import MOST_SECONDS

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

LIVES = """\
import os, socket, subprocess, sys, threading
from datetime import UTC, datetime
from pathlib import Path
from app.adapters.anew import Comeback, end_children, start_anew

comeback = Comeback.taken(os.environ)
if comeback is None:
    listener = socket.create_server(("127.0.0.1", 0))
    kept_open = open(os.devnull)
    child = subprocess.Popen(["sleep", "600"])
    print(os.getpid(), *listener.getsockname(), kept_open.fileno(), child.pid, flush=True)
    since = datetime(2026, 5, 4, 12, tzinfo=UTC)
    threading.Thread(target=start_anew, args=(since, [listener])).start()
    threading.Event().wait()
end_children()
[listener] = comeback.listeners()
listener.settimeout(10)
socket.create_connection(listener.getsockname())
listener.accept()
open_now = sorted(int(name) for name in os.listdir("/proc/self/fd"))
child = Path(f"/proc/{sys.stdin.readline().strip()}").exists()
print(os.getpid(), *listener.getsockname(), comeback.since.isoformat(), "VAR" in os.environ, child)
"""


def test_number_and_listeners_stay_and_what_was_started_is_gone() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LIVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        number, host, port, _, child = process.stdout.readline().split()
        said, _ = process.communicate(f"{child}\n", timeout=MOST_SECONDS)
    assert said.split() == [number, host, port, NOON.isoformat(), "False", "False"]
    assert number == str(process.pid)
    assert not Path(f"/proc/{child}").exists()


def test_a_first_life_knows_of_none_before() -> None:
    environ = {"OTHER": "1"}
    assert Comeback.taken(environ) is None
    assert environ == {"OTHER": "1"}


def test_what_the_life_before_has_said_is_taken_once() -> None:
    environ = {VARIABLE: f"{NOON.timestamp()} 7 9"}
    assert Comeback.taken(environ) == Comeback(NOON, (7, 9))
    assert environ == {}
    environ = {VARIABLE: f"{NOON.timestamp()}"}
    assert Comeback.taken(environ) == Comeback(NOON, ())
