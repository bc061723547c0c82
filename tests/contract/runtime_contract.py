"""What every runtime keeps: stories over a `Bench`, told once.

Each story plays the scripted model over HTTP to the runtime, a real CLI where it is one, with real
shells and a gate that remembers. A runtime joins by a `Bench` of its own. The stories' names are
the rows of the table in `docs/reference/runtimes.md`.
"""

import asyncio
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import SecretStr

from app.adapters.modelproxy import Bounds as DoorBounds
from app.adapters.modelproxy import ModelProxy, Upstream
from app.adapters.modelproxy.doors import SOCKET
from app.adapters.modelproxy.wires import Provider
from app.adapters.processes import ProcessGroups
from app.adapters.runtimes.door import ModelDoor
from app.adapters.sandbox import Bounds as SandboxBounds
from app.adapters.sandbox import SandboxedProcesses, UnwalledProcesses
from app.core.agents.events import ToolKind
from app.core.breaker.verdict import Answer as Said
from app.core.breaker.verdict import Verdict
from app.ports import (
    SEGMENT_VARIABLE,
    Continuation,
    Delegation,
    Gate,
    Halted,
    Idle,
    ReportedBlocked,
    ReportedComplete,
    Runtime,
    RuntimeFailed,
    Session,
    SessionOrder,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from app.scripted.script import Answer, Call, Conversation, Failure, Scripts, Speaker, calls, text
from app.scripted.server import ScriptedServer
from tests.contract.embedded import (
    KEY,
    SUMMARY_PROMPT,
    RecordingGate,
    processes_holding,
    processes_named,
    story,
    until,
)

AGENT = "octo/demo#1/bug-fix/1"
PROMPT = "SCENARIO:story fix it"
CANARY = "canary-of-the-service-7d1f"
"""In the environment of the process that the tests run in: no agent may see it."""
PATIENCE_SECONDS = 60.0
"""Far more than anything here takes: what is not there by then never comes."""


class Bench(ABC):
    """A workspace, a gate, a scripted model, and sessions of one runtime opened on them."""

    provider: ClassVar[Provider]
    model: ClassVar[str]
    """`provider:name`."""
    program: ClassVar[str]
    """In the command line of its CLI."""

    def __init__(self, directory: Path, server: ScriptedServer) -> None:
        self.directory = directory
        self.server = server
        self.gate: RecordingGate = RecordingGate()
        self.tools: tuple[str, ...] | None = None
        self.is_walled = False
        """Whether the CLI runs in the sandbox, as `sandbox.mode` says."""
        self.sandbox_bounds = SandboxBounds()
        self.door_bounds = DoorBounds()
        self.workspace = directory / "workspace"
        self.home = directory / "home"
        for each in (self.workspace, self.home):
            each.mkdir()

    @abstractmethod
    def runtime(self) -> Runtime:
        """One with small bounds of its own, which asks `self.door`."""

    def walls(self) -> SandboxedProcesses | UnwalledProcesses:
        if not self.is_walled:
            return UnwalledProcesses(ProcessGroups(), self.sandbox_bounds)
        accounts = self.directory / "accounts"
        return SandboxedProcesses(ProcessGroups(), accounts, (), self.sandbox_bounds)

    @abstractmethod
    def shell(self, command: str) -> Call:
        """The runtime's own way to run a command line."""

    @abstractmethod
    def write(self, path: str, content: str) -> Call:
        """The runtime's own way to write a file of the workspace."""

    @abstractmethod
    def ours(self, tool: str, **args: object) -> Call:
        """A call of one of our tools, under the name that the CLI gives it."""

    @abstractmethod
    def cli_pid(self, session: Session) -> int:
        """The process of the session's CLI."""

    def done(self, summary: str = "fixed") -> Call:
        return self.ours("report_complete", summary=summary)

    def play(self, *steps: Any, **more: Any) -> None:
        self.server.scripts = story(*steps, **more)

    @property
    def upstream(self) -> Upstream:
        suffix = "/v1" if self.provider == "openai" else ""
        return Upstream(self.server.url + suffix, SecretStr(KEY), self.provider)

    @asynccontextmanager
    async def door(self, order: SessionOrder, gate: Gate) -> AsyncIterator[ModelDoor]:
        socket = order.session_directory / SOCKET
        bounds, model = self.door_bounds, order.model
        opening = ModelProxy(self.upstream, gate, model=model, bounds=bounds, socket_path=socket)
        async with opening as proxy:
            yield proxy

    def order(self, **more: Any) -> SessionOrder:
        said: dict[str, Any] = {
            "agent": AGENT,
            "system_prompt": "You are a test.",
            "model": self.model,
            "planning_model": None,
            "most_output_tokens": None,
            "workspace": self.workspace,
            "session_directory": self.directory / "session",
            "environment": {
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": str(self.home),
                "LANG": "C.UTF-8",
                "SQUADRON_SEGMENT": f"{AGENT}:1:{self.directory}",
            },
            "tools": self.tools,
        }
        return SessionOrder(**{**said, **more})

    @asynccontextmanager
    async def session(self, **more: Any) -> AsyncIterator[Session]:
        """A session in the same directories as the ones before; closed at the end."""
        async with asyncio.timeout(PATIENCE_SECONDS * 2):
            session = await self.runtime().open(self.order(**more), self.gate)
        try:
            yield session
        finally:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await session.close()

    async def turn(self, session: Session, prompt: str = PROMPT) -> TurnEnd:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await session.turn(prompt)

    @property
    def marker(self) -> str:
        """A name for processes that no other run of these tests gives, even at the same time."""
        return f"sleep{self.directory}".replace("/", "-")


async def tools_work_until_the_agent_reports(bench: Bench) -> None:
    heard: list[str] = []

    def last(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(bench.done(), say="all done")

    bench.play(calls(bench.write("a.txt", "one\n")), calls(bench.shell("cat a.txt; exit 3")), last)
    async with bench.session() as session:
        assert not session.is_resumed
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert (bench.workspace / "a.txt").read_text() == "one\n"
    assert "one" in heard[0]
    (wrote, written), (ran, result) = bench.gate.ended
    assert (wrote.kind, written.ok) == (ToolKind.WRITE, True)
    assert (ran.kind, result.ok, result.exit_code) == (ToolKind.SHELL, False, 3)
    assert ran.args["command"] == "cat a.txt; exit 3"
    assert "one" in result.output


async def a_pipe_ends_as_the_gate_was_told(bench: Bench) -> None:
    bench.play(calls(bench.shell("false | cat")), calls(bench.done()))
    async with bench.session() as session:
        await bench.turn(session)
    (asked, result), *_ = bench.gate.ended
    assert asked.pipefail is (result.exit_code != 0)


async def a_command_that_succeeds_is_told_with_its_output(bench: Bench) -> None:
    bench.play(calls(bench.shell("echo to-stdout; echo to-stderr >&2")), calls(bench.done()))
    async with bench.session() as session:
        await bench.turn(session)
    (_, result), *_ = bench.gate.ended
    assert (result.ok, result.exit_code) == (True, 0)
    assert "to-stdout" in result.output
    assert "to-stderr" in result.output


async def a_turn_may_end_without_a_report_and_go_on(bench: Bench) -> None:
    bench.play(text("what now?"), calls(bench.done()))
    async with bench.session() as session:
        assert await bench.turn(session) == Idle("what now?")
        assert await bench.turn(session, "report!") == ReportedComplete("fixed")
    assert not bench.gate.allowed


async def a_denied_tool_does_not_run_and_the_model_hears_why(bench: Bench) -> None:
    heard: list[str] = []

    def last(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(bench.done())

    class Denying(RecordingGate):
        async def before_tool(self, call: ToolCall) -> Verdict:
            self.refused.append(call)
            return Verdict(Said.DENY, "DENIED: not today")

    bench.gate = Denying()
    bench.play(calls(bench.shell("echo ran > proof")), last)
    async with bench.session() as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert not (bench.workspace / "proof").exists()
    assert "DENIED: not today" in heard[0]
    assert not bench.gate.ended


async def after_a_halt_the_summary_turn_can_still_report(bench: Bench) -> None:
    bench.gate.most_tools = 1
    bench.play(
        calls(bench.shell("echo 1 >> proof"), say="first"),
        calls(bench.shell("echo 2 >> proof"), say="second"),
        calls(bench.shell("echo never >> proof")),
        summary=calls(bench.done("half"), say="short"),
    )
    async with bench.session() as session:
        assert await bench.turn(session) == Halted("second")
        assert len(bench.gate.usage) == 2
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await session.summarise(SUMMARY_PROMPT, 3) == ReportedComplete("half")
    assert (bench.workspace / "proof").read_text() == "1\n"
    assert [call.id for call, _ in bench.gate.ended] == [call.id for call in bench.gate.allowed]


async def a_summary_ends_at_its_bound_of_model_calls(bench: Bench) -> None:
    bench.play(*[calls(bench.shell(f"echo {n} >> proof"), say=f"step {n}") for n in range(9)])
    async with bench.session() as session:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await session.summarise(PROMPT, 2) == Halted("step 1")
    assert len(bench.gate.requests) == 2


async def a_warning_reaches_the_model_and_the_tool_runs(bench: Bench) -> None:
    seen: list[Conversation] = []

    def look(conversation: Conversation) -> Answer:
        seen.append(conversation)
        return calls(bench.done())

    bench.gate.warn_at = 1
    bench.play(calls(bench.shell("echo ran > proof")), look)
    async with bench.session() as session:
        await bench.turn(session)
    assert (bench.workspace / "proof").exists()
    told = [each.text for each in seen[0].messages]
    assert any("WRAP UP: close to max_tool_calls" in each for each in told)


async def what_people_wrote_while_a_tool_ran_is_read_with_its_result(bench: Bench) -> None:
    """Also with that of a command that failed; before anything else is asked for."""
    seen: list[str] = []

    def look(conversation: Conversation) -> Answer:
        seen.append("\n".join(each.text for each in conversation.messages))
        return calls(bench.shell("exit 3")) if len(seen) == 1 else calls(bench.done())

    bench.gate.words_after = ["ANN WROTE: use 7", "ANN WROTE: no, 8"]
    bench.play(calls(bench.shell("true")), look, look)
    async with bench.session() as session:
        await bench.turn(session)
    assert ["use 7" in each for each in seen] == [True, True]
    assert ["no, 8" in each for each in seen] == [False, True]
    assert seen[1].count("use 7") == 1


async def without_a_verdict_nothing_runs(bench: Bench) -> None:
    class Raising(RecordingGate):
        async def before_tool(self, call: ToolCall) -> Verdict:
            raise ConnectionError("the database is gone")

    bench.gate = Raising()
    bench.play(*[calls(bench.shell("echo ran > proof"))] * 50)
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), Halted)
    assert not (bench.workspace / "proof").exists()
    assert len(bench.gate.usage) < 10


async def what_is_no_verdict_denies(bench: Bench) -> None:
    class Babbling(RecordingGate):
        async def before_tool(self, call: ToolCall) -> Verdict:
            return None  # type: ignore[return-value]

    bench.gate = Babbling()
    bench.play(calls(bench.shell("echo ran > proof")), calls(bench.done()))
    async with bench.session() as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert not (bench.workspace / "proof").exists()


async def a_gate_that_does_not_answer_denies(bench: Bench) -> None:
    """The bench's bound on the gate's answer is small."""

    class Hanging(RecordingGate):
        async def before_tool(self, call: ToolCall) -> Verdict:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    bench.gate = Hanging()
    bench.play(calls(bench.shell("echo ran > proof")), calls(bench.done()))
    async with bench.session() as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert not (bench.workspace / "proof").exists()


async def what_cannot_be_recorded_ends_the_turn(bench: Bench) -> None:
    class Deaf(RecordingGate):
        async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
            raise ConnectionError("the database is gone")

    bench.gate = Deaf()
    bench.play(calls(bench.shell("true")), calls(bench.shell("echo ran > proof")))
    async with bench.session() as session:
        end = await bench.turn(session)
    assert isinstance(end, RuntimeFailed)
    assert "could not be recorded" in end.reason
    assert not (bench.workspace / "proof").exists()


async def parallel_calls_run_exactly_as_often_as_the_gate_allows(bench: Bench) -> None:
    bench.gate.most_tools = 7
    bench.play(calls(*(bench.shell(f"echo {n} >> proof") for n in range(16))))
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), Halted)
    assert len((bench.workspace / "proof").read_text().split()) == 7
    assert len(bench.gate.allowed) == len(bench.gate.ended) == 7
    assert len(bench.gate.usage) == 1


async def unknown_tools_count(bench: Bench) -> None:
    bench.play(calls(Call("launch_rocket", {"to": "moon"})), calls(bench.done()))
    async with bench.session() as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert [call.tool for call in bench.gate.allowed] == ["launch_rocket"]
    assert [result.ok for _, result in bench.gate.ended] == [False]


async def a_blocked_report_names_issues(bench: Bench) -> None:
    bench.play(calls(bench.ours("report_blocked", reason="needs an API", blocked_by=[4, 7])))
    async with bench.session() as session:
        assert await bench.turn(session) == ReportedBlocked("needs an API", (4, 7))
    assert not bench.gate.allowed


async def answers_of_which_nothing_runs_end_the_turn(bench: Bench) -> None:
    bench.play(*[calls(bench.ours("report_complete")) for _ in range(50)])
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), Halted)
    assert len(bench.gate.usage) < 10


async def only_the_tools_of_the_role_work(bench: Bench) -> None:
    bench.tools = ("view",)
    bench.play(calls(bench.shell("echo ran > proof")), calls(bench.done()))
    async with bench.session() as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert not (bench.workspace / "proof").exists()
    assert all(not result.ok for _, result in bench.gate.ended)


async def a_session_goes_on_in_a_new_process(bench: Bench) -> None:
    seen: list[Conversation] = []

    def look(conversation: Conversation) -> Answer:
        seen.append(conversation)
        return calls(bench.done())

    bench.play(calls(bench.shell("echo REMEMBER-ME")), text("so far"), look)
    async with bench.session() as session:
        assert await bench.turn(session) == Idle("so far")
    async with bench.session() as session:
        assert session.is_resumed
        assert await bench.turn(session, "go on") == ReportedComplete("fixed")
    assert any("REMEMBER-ME" in each for each in seen[0].said_by(Speaker.TOOL))


async def usage_is_what_the_server_sent(bench: Bench) -> None:
    bench.play(
        calls(bench.shell("true"), say="x" * 400),
        Answer(text="bye", cache_read_tokens=11, cache_write_tokens=7),
    )
    async with bench.session() as session:
        await bench.turn(session)
    assert len(bench.gate.usage) == len(bench.server.requests) == len(bench.gate.requests) == 2
    first, last = bench.gate.usage
    assert first.output_tokens > 100
    assert (last.cache_read_tokens, last.output_tokens) == (11, 1)


async def an_interrupt_ends_the_turn_while_the_model_thinks(bench: Bench) -> None:
    bench.play(Answer("late", think_seconds=300))
    async with bench.session() as session:
        turn = asyncio.create_task(bench.turn(session))
        await until(lambda: bench.server.requests, PATIENCE_SECONDS)
        await session.interrupt()
        assert isinstance(await turn, Halted)
    assert len(bench.server.requests) == 1


async def an_interrupt_lets_a_running_tool_end_and_asks_no_more(bench: Bench) -> None:
    bench.play(
        calls(bench.shell("touch begun; until [ -e go ]; do sleep 0.1; done; touch ended")),
        calls(bench.done()),
    )
    async with bench.session() as session:
        turn = asyncio.create_task(bench.turn(session))
        await until((bench.workspace / "begun").exists, PATIENCE_SECONDS)
        await session.interrupt()
        (bench.workspace / "go").touch()
        assert isinstance(await turn, Halted)
    assert (bench.workspace / "ended").exists()
    assert len(bench.server.requests) == 1
    assert [result.ok for _, result in bench.gate.ended] == [True]


async def closing_kills_everything_that_runs(bench: Bench) -> None:
    marker = bench.marker
    command = (
        f"touch begun; (setsid bash -c 'exec -a {marker} sleep 600' &) ;"
        f" bash -c 'trap \"\" TERM; exec -a {marker} sleep 600'"
    )
    bench.play(calls(bench.shell(command)))
    async with bench.session() as session:
        turn = asyncio.create_task(bench.turn(session))
        await until(lambda: len(processes_named(marker)) == 2, PATIENCE_SECONDS)
        await session.close()
        assert isinstance(await turn, Halted)
    if not bench.is_walled:  # what left its group is ended as the service does after a segment
        await ProcessGroups().kill_marked(bench.order().environment[SEGMENT_VARIABLE])
    await until(lambda: not processes_holding(marker), PATIENCE_SECONDS)
    assert [result.ok for _, result in bench.gate.ended] == [False]


async def a_killed_cli_fails_the_turn_and_the_next_session_goes_on(bench: Bench) -> None:
    """It may have saved what was said before it died, or not."""
    marker = bench.marker
    asked: list[Conversation] = []

    def first_waits(conversation: Conversation) -> Answer:
        asked.append(conversation)
        waiting = bench.shell(f"bash -c 'exec -a {marker} sleep 600'")
        return calls(waiting if len(asked) == 1 else bench.done("again"))

    bench.play(first_waits, first_waits)
    async with bench.session() as session:
        turn = asyncio.create_task(bench.turn(session))
        await until(lambda: processes_holding(marker), PATIENCE_SECONDS)
        os.kill(bench.cli_pid(session), signal.SIGKILL)
        end = await turn
        assert isinstance(end, RuntimeFailed)
        assert "signal 9" in end.reason
        await until(lambda: not processes_holding(marker), PATIENCE_SECONDS)
    async with bench.session() as session:
        end = await bench.turn(session, f"{PROMPT} again")
        assert isinstance(end, ReportedComplete | Idle)


async def the_agents_shell_sees_nothing_of_the_service(bench: Bench) -> None:
    """The caller puts `CANARY` into the environment of this process."""
    assert CANARY in os.environ.values()
    bench.play(calls(bench.shell("env; cat /proc/$PPID/environ | tr '\\0' '\\n'")), text("ok"))
    async with bench.session() as session:
        await bench.turn(session)
    (_, result), *_ = bench.gate.ended
    assert "HOME=" in result.output
    assert CANARY not in result.output
    assert KEY not in result.output
    said = str([each.body for each in bench.server.requests])
    assert CANARY not in said


async def behind_walls_tools_see_nothing_but_the_workspace(bench: Bench) -> None:
    secret = bench.directory / "secret"
    secret.write_text("TOP-SECRET")
    looks = f"cat {secret} /etc/shadow; touch {bench.directory}/escaped; id -u; touch here"
    output = await _seen_behind_walls(bench, looks)
    assert "TOP-SECRET" not in output and "root:" not in output
    assert "\n1000" in f"\n{output}"
    assert (bench.workspace / "here").exists()
    assert not (bench.directory / "escaped").exists()


async def behind_walls_a_whole_cli_is_as_its_tools_are(bench: Bench) -> None:
    """The shell's parent is the CLI: it is where the shell is, and that is not where we are."""
    looks = "for at in self $PPID; do readlink /proc/$at/ns/mnt; done; cat /proc/$PPID/cmdline"
    output = await _seen_behind_walls(bench, looks)
    outside = os.readlink("/proc/self/ns/mnt")  # noqa: PTH115
    shells, parents, parent = output.split("\n", 2)
    assert shells == parents != outside
    assert bench.program in parent


async def _seen_behind_walls(bench: Bench, command: str) -> str:
    if not bench.is_walled:
        pytest.skip("needs bubblewrap")
    bench.play(calls(bench.shell(command)), text("seen"))
    async with bench.session() as session:
        await bench.turn(session)
    (_, result), *_ = bench.gate.ended
    return result.output


async def a_model_that_fails_for_ever_fails_the_turn(bench: Bench) -> None:
    bench.play(*[Failure(404)] * 99)
    async with bench.session() as session:
        end = await bench.turn(session)
    assert isinstance(end, RuntimeFailed)
    assert "404" in end.reason
    assert KEY not in end.reason


async def the_gate_is_asked_before_the_model_is(bench: Bench) -> None:
    bench.gate.most_requests = 1
    bench.play(calls(bench.shell("true"), say="one"), calls(bench.done()))
    async with bench.session() as session:
        assert await bench.turn(session) == Halted("one")
    assert len(bench.server.requests) == 1


async def a_sub_agent_is_asked_for_judged_and_answered(bench: Bench) -> None:
    asked: list[Delegation | Continuation] = []
    heard: list[str] = []

    async def delegate(each: Delegation | Continuation) -> ToolResult:
        asked.append(each)
        return ToolResult(ok=len(asked) == 1, exit_code=None, output=f"REPORT-{len(asked)}")

    def look(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(bench.done()) if len(heard) == 3 else calls(task)

    task = bench.ours("task", role="docs", prompt="write")
    bench.gate.most_tools = 3
    bench.play(calls(task), look, look, look)
    async with bench.session(delegate=delegate) as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert [each.role for each in asked if isinstance(each, Delegation)] == ["docs"] * 3
    assert [(call.tool, call.spawns) for call in bench.gate.allowed] == [("task", True)] * 3
    assert [result.ok for _, result in bench.gate.ended] == [True, False, False]
    assert "REPORT-1" in heard[0] and "REPORT-2" in heard[1]


async def a_paused_sub_agent_is_let_go_on_and_answered(bench: Bench) -> None:
    asked: list[Delegation | Continuation] = []
    heard: list[str] = []

    async def delegate(each: Delegation | Continuation) -> ToolResult:
        asked.append(each)
        return ToolResult(ok=True, exit_code=None, output="REPORT-NOW")

    def look(conversation: Conversation) -> Answer:
        heard.append(conversation.last_tool_result)
        return calls(bench.done())

    more = {"agent": "octo/demo#1/docs/2", "limits": {"max_tool_calls": 3}, "prompt": "Go on."}
    bench.play(calls(bench.ours("continue_task", **more)), look)
    async with bench.session(delegate=delegate) as session:
        assert await bench.turn(session) == ReportedComplete("fixed")
    assert asked == [Continuation("octo/demo#1/docs/2", {"max_tool_calls": 3}, "Go on.")]
    assert [(call.tool, call.spawns) for call in bench.gate.allowed] == [("continue_task", False)]
    assert "REPORT-NOW" in heard[0]


Story = Callable[[Bench], Awaitable[None]]

STORIES: tuple[Story, ...] = (
    tools_work_until_the_agent_reports,
    a_pipe_ends_as_the_gate_was_told,
    a_command_that_succeeds_is_told_with_its_output,
    a_turn_may_end_without_a_report_and_go_on,
    a_denied_tool_does_not_run_and_the_model_hears_why,
    after_a_halt_the_summary_turn_can_still_report,
    a_summary_ends_at_its_bound_of_model_calls,
    a_warning_reaches_the_model_and_the_tool_runs,
    what_people_wrote_while_a_tool_ran_is_read_with_its_result,
    without_a_verdict_nothing_runs,
    what_is_no_verdict_denies,
    a_gate_that_does_not_answer_denies,
    what_cannot_be_recorded_ends_the_turn,
    parallel_calls_run_exactly_as_often_as_the_gate_allows,
    unknown_tools_count,
    a_blocked_report_names_issues,
    answers_of_which_nothing_runs_end_the_turn,
    only_the_tools_of_the_role_work,
    a_session_goes_on_in_a_new_process,
    usage_is_what_the_server_sent,
    an_interrupt_ends_the_turn_while_the_model_thinks,
    an_interrupt_lets_a_running_tool_end_and_asks_no_more,
    closing_kills_everything_that_runs,
    a_killed_cli_fails_the_turn_and_the_next_session_goes_on,
    the_agents_shell_sees_nothing_of_the_service,
    behind_walls_tools_see_nothing_but_the_workspace,
    behind_walls_a_whole_cli_is_as_its_tools_are,
    a_model_that_fails_for_ever_fails_the_turn,
    the_gate_is_asked_before_the_model_is,
    a_sub_agent_is_asked_for_judged_and_answered,
    a_paused_sub_agent_is_let_go_on_and_answered,
)


def empty_server() -> ScriptedServer:
    """One that plays what a bench tells it, for whoever has the real key."""
    return ScriptedServer(Scripts(()), api_key=KEY)
