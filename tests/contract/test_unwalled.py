"""Where there is no sandbox: whatever a command does to outlive itself, it does not."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import Bounds, ControlGroups, UnwalledProcesses, below_reaper, reaper
from app.ports import SEGMENT_VARIABLE, Ended, Processes, Stay
from tests.support.waiting import until

PROJECT = Path(__file__).parents[2]
LONG = 600.0
"""More than `until` waits: what ends by itself proves nothing."""


class BelowReapers(ProcessGroups):
    """The reaper alone, as where no control group can be made."""

    async def run(
        self, argv: Sequence[str], *, environment: Mapping[str, str], **more: Any
    ) -> Ended:
        under = [*below_reaper(environment), *argv]
        return await super().run(under, environment=environment, **more)


def unwalled() -> UnwalledProcesses:
    return UnwalledProcesses(ProcessGroups(), Bounds())


@pytest.fixture(params=[BelowReapers, unwalled], ids=["reaper", "both"])
def processes(request: pytest.FixtureRequest) -> Processes:
    made: Callable[[], Processes] = request.param
    return made()


@pytest.fixture
def name() -> Iterator[str]:
    """A word in the command line of whatever tries to stay."""
    word = f"stays-{uuid4()}"
    yield word
    for pid in alive(word):
        os.kill(pid, signal.SIGKILL)


def alive(word: str) -> list[int]:
    """Processes with that word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if word.encode() in line.split(b"\0") and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def escapes(word: str, times: int = 3) -> str:
    """A command that starts so many processes of that name, each orphaned, in a session of its own
    and without any variable, and goes on when they are there."""
    stays = f"touch $0; exec -a {word} sleep {LONG:g}"
    away = f"( env -i setsid bash -c '( setsid bash -c \"{stays}\" & )' there-$i & )"
    there = " && ".join(f"[ -e there-{each} ]" for each in range(times))
    return f"for i in $(seq 0 {times - 1}); do {away}; done; until {there}; do sleep 0.01; done; "


def environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), SEGMENT_VARIABLE: f"{home.name}:1"}


async def run(processes: Processes, directory: Path, line: str, seconds: float = LONG) -> Ended:
    return await processes.run(
        ["bash", "-c", line],
        cwd=directory,
        environment=environment(directory),
        timeout_seconds=seconds,
    )


@pytest.mark.parametrize("ends", ["exit 3", "kill -9 $$", "exec false"])
async def test_nothing_outlives_a_command_that_ends(
    processes: Processes, tmp_path: Path, name: str, ends: str
) -> None:
    ended = await run(processes, tmp_path, escapes(name) + ends)
    assert ended.exit_code == {"exit 3": 3, "kill -9 $$": 137, "exec false": 1}[ends], ended.output
    assert alive(name) == []


async def test_nothing_outlives_a_command_that_is_cancelled(
    processes: Processes, tmp_path: Path, name: str
) -> None:
    running = asyncio.create_task(run(processes, tmp_path, f"{escapes(name)}touch on; sleep 600"))
    await asyncio.to_thread(until, (tmp_path / "on").exists, "they are there")
    assert len(alive(name)) == 3
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await asyncio.to_thread(until, lambda: not alive(name), "all of them are gone")


async def test_nothing_outlives_a_command_that_kills_what_stands_above_it(
    processes: Processes, tmp_path: Path, name: str
) -> None:
    ended = await run(processes, tmp_path, f"{escapes(name)}kill -9 $PPID; sleep 600")
    assert ended.exit_code == 137
    assert alive(name) == []


async def test_a_control_group_has_what_gets_away_from_its_reapers(
    tmp_path: Path, name: str
) -> None:
    if ControlGroups(Bounds()).version is None:
        pytest.skip("no control group can be made here")
    outer = "outer=$(cut -d' ' -f4 /proc/$PPID/stat); "
    line = f"{outer}{escapes(name)}setsid kill -9 $PPID $outer; sleep 600"
    await run(unwalled(), tmp_path, line)
    assert alive(name) == []


async def test_what_carries_the_marker_is_killed_with_all_that_it_has_started(
    tmp_path: Path, name: str
) -> None:
    """As at the next start of a service."""
    line = f"{escapes(name)}touch on; sleep 600"
    running = asyncio.create_task(run(BelowReapers(), tmp_path, line))
    await asyncio.to_thread(until, (tmp_path / "on").exists, "they are there")
    await unwalled().kill_marked(f"{tmp_path.name}:1")
    assert alive(name) == []
    assert (await running).exit_code == 137


async def test_who_kills_by_marker_waits_for_those_who_reap(tmp_path: Path, name: str) -> None:
    running = asyncio.create_task(
        run(BelowReapers(), tmp_path, f"{escapes(name)}touch on; sleep 600")
    )
    await asyncio.to_thread(until, (tmp_path / "on").exists, "they are there")
    marked = set(alive(f"{SEGMENT_VARIABLE}={tmp_path.name}:1"))
    reapers = marked & set(alive(reaper.__file__))
    assert len(reapers) == 2
    for each in reapers:
        os.kill(each, signal.SIGSTOP)
    with pytest.raises(TimeoutError, match=f"{SEGMENT_VARIABLE}={tmp_path.name}:1 does not end"):
        await unwalled().kill_marked(f"{tmp_path.name}:1")
    for each in reapers:
        os.kill(each, signal.SIGCONT)
    await unwalled().kill_marked(f"{tmp_path.name}:1")
    assert alive(name) == []
    await running


def test_nothing_outlives_a_service_that_is_killed(tmp_path: Path, name: str) -> None:
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.contract.test_unwalled import BelowReapers, run\n"
        "asyncio.run(run(BelowReapers(), Path(sys.argv[1]), sys.argv[2]))\n"
    )
    line = f"{escapes(name)}touch on; sleep 600"
    seen = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), line], env=seen
    ) as service:
        until((tmp_path / "on").exists, "they are there")
        assert len(alive(name)) == 3
        service.kill()
    until(lambda: not alive(name), "all of them are gone")


async def test_a_command_gets_its_words_its_input_and_its_marker(tmp_path: Path) -> None:
    ended = await unwalled().run(
        ["bash", "-c", f'cat; echo "$0 ${SEGMENT_VARIABLE}"; echo wrong >&2', "a word"],
        cwd=tmp_path,
        environment=environment(tmp_path),
        timeout_seconds=LONG,
        stdin=b"given\n",
        apart=True,
    )
    assert ended == Ended(0, f"given\na word {tmp_path.name}:1\n", "wrong\n")


async def test_a_command_that_is_not_there_is_told_as_a_shell_tells_it(tmp_path: Path) -> None:
    ended = await unwalled().run(
        ["no-such-command"], cwd=tmp_path, environment=environment(tmp_path), timeout_seconds=LONG
    )
    assert ended == Ended(127, "no-such-command: No such file or directory\n")


async def test_a_program_that_stays_takes_what_it_started_along(tmp_path: Path, name: str) -> None:
    stay = Stay(tmp_path, environment(tmp_path))
    async with unwalled().around(stay) as entered:
        started = subprocess.Popen(  # noqa: ASYNC220
            [*entered.before, "bash", "-c", f"{escapes(name)}touch on; sleep 600"],
            cwd=tmp_path,
            env=environment(tmp_path),
            start_new_session=True,
        )
        await asyncio.to_thread(until, (tmp_path / "on").exists, "they are there")
        os.killpg(started.pid, signal.SIGKILL)
        await asyncio.to_thread(started.wait)
    await asyncio.to_thread(until, lambda: not alive(name), "all of them are gone")


@pytest.mark.skipif(
    os.getuid() != 0, reason="only root mounts /proc anew, and becomes another user"
)
def test_nothing_outlives_a_command_where_each_user_sees_its_own_processes_alone(name: str) -> None:
    """`hidepid=1`: what is known of others' processes is refused, and not left out."""
    with TemporaryDirectory(dir="/var/tmp") as directory:
        program = Path(directory, "reaper.py")  # where that user may read it
        program.write_bytes(Path(reaper.__file__).read_bytes())
        Path(directory).chmod(0o755)
        stays = f"env -i setsid bash -c 'exec -a {name} sleep {LONG:g}' &"
        line = (
            "mount -t proc -o hidepid=1 proc /proc && exec setpriv --reuid=65534 --regid=65534"
            f' --clear-groups /usr/bin/python3 -I -S {program} -- bash -c "$0"'
        )
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", line, f"{stays} {stays} sleep 0.2; exit 4"],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    if "mount" in done.stderr:
        pytest.skip(f"/proc cannot be mounted here: {done.stderr.strip()}")
    assert done.returncode == 4, done.stderr
    assert alive(name) == []
