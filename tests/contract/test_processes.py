"""Child processes: bounded, with exactly their environment, and gone with their group."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import uvloop

from app.adapters.processes import ProcessGroups
from app.ports import SEGMENT_VARIABLE, Ended

PATH = {"PATH": os.environ["PATH"]}


async def shell(
    command: str,
    *,
    environment: dict[str, str] | None = None,
    timeout_seconds: float = 30,
    most_output_bytes: int = 1_000_000,
    stdin: bytes = b"",
    apart: bool = False,
) -> Ended:
    return await ProcessGroups().run(
        ["bash", "-c", command],
        cwd=Path("/"),
        environment=PATH | (environment or {}),
        timeout_seconds=timeout_seconds,
        most_output_bytes=most_output_bytes,
        stdin=stdin,
        apart=apart,
    )


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 (other processes make it true)
            await asyncio.sleep(0.01)


async def until_ended(pid: int) -> None:
    await until(lambda: not is_running(pid))


async def until_written(file: Path) -> int:
    """The number in a file, once somebody has written a whole line into it."""
    await until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())  # noqa: ASYNC240


def started(*argv: str, environment: Mapping[str, str] = PATH) -> subprocess.Popen[bytes]:
    """A process that is not one of `ProcessGroups`."""
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)


async def test_output_and_exit_code_come_back() -> None:
    assert await shell("echo out; echo err >&2; exit 3") == Ended(3, "out\nerr\n")


async def test_the_two_outputs_can_be_had_apart() -> None:
    assert await shell("echo out; echo err >&2", apart=True) == Ended(0, "out\n", "err\n")


async def test_stdin_is_given_as_bytes_and_empty_otherwise() -> None:
    given = bytes(range(65, 91)) * 50_000
    assert (await shell("wc -c", stdin=given)).output.strip() == str(len(given))
    assert (await shell("wc -c")).output.strip() == "0"


async def test_the_environment_is_exactly_the_one_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUADRON_WEBHOOK_SECRET", "canary")
    ended = await ProcessGroups().run(
        ["/usr/bin/env"], cwd=Path("/"), environment={"ONLY": "this"}, timeout_seconds=30
    )
    assert ended.output == "ONLY=this\n"


async def test_long_output_keeps_head_and_tail_and_says_what_was_cut() -> None:
    ended = await shell("echo first; head -c 3000000 /dev/zero; echo last", most_output_bytes=1000)
    assert ended.exit_code == 0
    assert ended.output.startswith("first\n")
    assert ended.output.endswith("last\n")
    assert "[… 2999011 bytes cut …]" in ended.output
    assert len(ended.output) < 1100


@pytest.mark.parametrize(("length", "is_cut"), [(1000, False), (1001, True)])
async def test_output_is_cut_beyond_the_bound_only(length: int, is_cut: bool) -> None:
    ended = await shell(f"printf '%{length}s' x", most_output_bytes=1000)
    assert ("bytes cut" in ended.output) is is_cut


async def test_output_that_is_not_text_is_read_leniently() -> None:
    assert (await shell(r"printf 'a\xffb'")).output == "a�b"


async def test_at_the_time_bound_the_whole_group_is_killed(tmp_path: Path) -> None:
    ended = await shell(
        f"trap '' TERM; sleep 60 & echo $! >{tmp_path}/child; echo so far; wait",
        timeout_seconds=0.5,
    )
    assert ended == Ended(None, "so far\n")
    await until_ended(await until_written(tmp_path / "child"))


async def test_cancellation_kills_the_whole_group(tmp_path: Path) -> None:
    running = asyncio.create_task(shell(f"sleep 60 & echo $! >{tmp_path}/child; wait"))
    child = await until_written(tmp_path / "child")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until_ended(child)


async def test_a_background_child_that_keeps_the_pipe_ends_with_the_leader(tmp_path: Path) -> None:
    ended = await shell(f"sleep 60 & echo $! >{tmp_path}/child; echo done")
    assert ended == Ended(0, "done\n")
    await until_ended(await until_written(tmp_path / "child"))


async def test_what_left_the_group_with_the_pipe_does_not_hold_up_the_answer(
    tmp_path: Path,
) -> None:
    leaves = f"setsid bash -c 'echo $$ >{tmp_path}/child; sleep 60' & "
    ended = await shell(
        f"{leaves} while [ ! -s {tmp_path}/child ]; do :; done; echo done",
        environment={SEGMENT_VARIABLE: "octo/demo#1/escapes/1:1"},
    )
    assert ended == Ended(0, "done\n")
    child = await until_written(tmp_path / "child")
    assert is_running(child)
    assert await ProcessGroups().kill_marked("octo/demo#1/escapes/1:1") >= 1
    await until_ended(child)


async def test_a_program_that_does_not_exist_is_an_os_error() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(FileNotFoundError):
        await ProcessGroups().run(
            ["/does/not/exist"], cwd=Path("/"), environment={}, timeout_seconds=1
        )
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208


async def test_nothing_stays_open_or_running_after_many_runs() -> None:
    await shell("true")
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    await asyncio.gather(*(shell("echo x") for _ in range(20)))
    await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1  # noqa: PTH208


async def test_the_child_dies_with_a_killed_service(tmp_path: Path) -> None:
    program = (
        "import asyncio, pathlib\n"
        "from app.adapters.processes import ProcessGroups\n"
        f"command = ['bash', '-c', 'echo $$ >{tmp_path}/child; exec sleep 60']\n"
        "asyncio.run(ProcessGroups().run(command, cwd=pathlib.Path('/'), environment="
        f"{{'PATH': {os.environ['PATH']!r}}}, timeout_seconds=60))\n"
    )
    with started(sys.executable, "-c", program, environment=os.environ) as service:
        child = await until_written(tmp_path / "child")
        service.send_signal(signal.SIGKILL)
    await until_ended(child)


async def test_only_processes_with_exactly_the_marker_are_killed() -> None:
    def sleeper(marker: str) -> subprocess.Popen[bytes]:
        return started("setsid", "sleep", "60", environment=PATH | {SEGMENT_VARIABLE: marker})

    def is_asleep(child: subprocess.Popen[bytes]) -> bool:
        return Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n"

    marked, other, unmarked = sleeper("a:1"), sleeper("a:12"), started("sleep", "60")
    try:
        await until(lambda: all(is_asleep(child) for child in (marked, other, unmarked)))
        assert await ProcessGroups().kill_marked("a:1") == 1
        assert marked.wait(10) == -signal.SIGKILL
        assert other.poll() is None
        assert unmarked.poll() is None
        assert await ProcessGroups().kill_marked("a:1") == 0
    finally:
        for child in (marked, other, unmarked):
            child.kill()
            child.communicate()


async def test_processes_that_fork_away_are_hunted_down(tmp_path: Path) -> None:
    flees = (
        "import os, time\n"
        "deadline = time.monotonic() + 20\n"
        "while time.monotonic() < deadline:\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
        f"    open({str(tmp_path / 'fled')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "    time.sleep(0.002)\n"
    )
    environment = PATH | {SEGMENT_VARIABLE: "flees:1"}
    with started(sys.executable, "-c", flees, environment=environment):
        await until(lambda: (tmp_path / "fled").exists())
        await ProcessGroups().kill_marked("flees:1")
    fled = [int(line) for line in (tmp_path / "fled").read_text().splitlines()]
    assert [pid for pid in fled if is_running(pid)] == []
    assert await ProcessGroups().kill_marked("flees:1") == 0


async def test_the_hunter_spares_itself() -> None:
    program = (
        "import asyncio\n"
        "from app.adapters.processes import ProcessGroups\n"
        "print(asyncio.run(ProcessGroups().kill_marked('self:1')))\n"
    )
    environment = {**os.environ, SEGMENT_VARIABLE: "self:1"}
    with started(sys.executable, "-c", program, environment=environment) as hunter:
        assert hunter.communicate(timeout=30)[0] == b"0\n"
    assert hunter.returncode == 0


def test_the_same_under_the_event_loop_of_the_service() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(shell("sleep 60 & cat", stdin=b"hi")) == Ended(0, "hi")
        assert runner.run(shell("sleep 60", timeout_seconds=0.2)).exit_code is None
