"""`Squad`: the service against the box and the scripted model, as on a real day.

Box and service are processes that speak HTTP; the model is a server in the test's own process.
Nothing is looked at from inside: a story acts as people do, on GitHub, and waits for what people
and the registry would see. On the way out everything has to be in order: see `check_order`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx

from app.adapters.workspace import agent_directory
from app.core.agents.agent import Agent, AgentId, EffectName, EffectState
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.script import ComputedStep, Script, Scripts, Step
from app.scripted.server import Recorded, ScriptedServer
from tests.support import processes
from tests.support.github import GitHub, git, running_box
from tests.support.people import PEOPLE, People, Task
from tests.support.registry import Registry, open_registry
from tests.support.service import Service
from tests.support.waiting import until

WEBHOOK_SECRET = "canary-webhook-secret"
MODEL_KEY = "canary-model-key"
ADMIN_TOKEN = "canary-admin-token"
CANARIES = (WEBHOOK_SECRET, MODEL_KEY, ADMIN_TOKEN, "PRIVATE KEY", "ghs_")

WITHOUT_SANDBOX: Mapping[str, Any] = {"mode": "off"}
"""What most stories say of it, which are quicker so, and run everywhere."""

MOST_COMMENTS = 3
"""Of one agent, besides answers to people."""
_MARK = re.compile(r"<!-- squadron:([a-z-]+):?(\S*?)(?::[a-z_]+)? -->")


class Model(Protocol):
    """The scripted model."""

    scripts: Scripts

    @property
    def requests(self) -> Iterable[Recorded]:
        """All that it was asked, oldest first."""
        ...


class Squad(People):
    """A running Squadron, and the people around it."""

    def __init__(self, github: GitHub, model: Model, service: Service, directory: Path) -> None:
        self.github = github
        self.model = model
        self.service = service
        self.directory = directory
        self.registry: Registry
        self.signals = directory / "signals"
        """Files by which a story tells a shell of an agent to go on."""
        self.signals.mkdir()
        self._tolerated: list[str] = []

    # --- what people do ----------------------------------------------------------------------

    def does(self, login: str, method: str, path: str, content: Any = None) -> Any:
        return self.github.does(login, method, path, content)

    def scripted(self, script: Script) -> None:
        scripts = (*self.model.scripts.scripts, script)
        self.model.scripts = Scripts(scripts, (SUMMARY_MARK,), (COMPACTION_MARK,))

    def give(self, role: str, title: str, *steps: Step | ComputedStep, **about: Any) -> Task:
        """Maria opens an issue and labels it for a role."""
        task = self.issue(title, *steps, **about).by(role)
        self.label(task, f"squadron:{role}")
        return task

    def merge(self, task: Task, by: str = "maria") -> None:
        """Somebody merges the agent's pull request; a draft is made ready for it before."""
        path = f"/repos/{task.repository}/pulls/{self.until_handed_over(task).pull_request}"
        if self.github.sees(path)["draft"]:
            self.makes_ready(path, by)
        self.github.does(by, "PUT", f"{path}/merge", {})

    def _push(self, files: Mapping[str, str], branch: str, by: str, repository: str) -> str:
        clone = self.github.clone(repository, by)
        known = git("branch", "--remotes", cwd=clone).split()
        start = branch if f"origin/{branch}" in known else "main"
        git("switch", "--quiet", "--force-create", branch, f"origin/{start}", cwd=clone)
        for path, text in files.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_text(text)
        git("add", "--all", cwd=clone)
        git("commit", "--quiet", "--message", f"Change {', '.join(files)}", cwd=clone)
        git("push", "--quiet", "origin", branch, cwd=clone)
        return git("rev-parse", "HEAD", cwd=clone).strip()

    def signal(self, name: str) -> Path:
        """The file that lets a shell go on which `waits_for` it; see `go`."""
        return self.signals / name

    def go(self, name: str) -> None:
        """Let the shell go on."""
        self.signal(name).touch()

    # --- what is to be seen ------------------------------------------------------------------

    def agents(self, task: Task) -> list[Agent]:
        """All agents that ever worked on the issue in that role, oldest first."""
        found = self.registry.agents(task.repository, task.number)
        return [agent for agent in found if agent.id.role == task.role]

    def agent(self, task: Task) -> Agent:
        """The newest agent of the task, as soon as there is one."""
        found = until(lambda: self.agents(task), f"an agent for {task}", failing=self.check_alive)
        return found[-1]

    def until(self, task: Task, state: State, waits_for: Waits | None = None) -> Agent:
        """The newest agent of the task in that state; another final state is a failure."""

        def look() -> Agent | None:
            agent = self.agent(task)
            if agent.state is state and waits_for in (None, agent.waits_for):
                return agent
            assert not agent.is_final, (
                f"{agent.id} is {agent.state}, not {state}: {agent.trip} {self.story(agent.id)}"
            )
            return None

        wanted = f"{state} ({waits_for})" if waits_for else f"{state}"
        return until(look, f"{task} is {wanted}", failing=self.check_alive)

    def until_handed_over(self, task: Task) -> Agent:
        """The agent, once its pull request is open, its check says what was seen of its tests, and
        our comment is there; what that says may follow later, for it is not edited too often."""
        self.until(task, State.SLEEPING, Waits.REVIEW)
        until(
            lambda: self.agent(task).pull_request,
            f"a pull request of {task}",
            failing=self.check_alive,
        )
        self.until_check(task, "success", "neutral", "action_required")
        until(lambda: self.comments(task), f"a comment on {task}", failing=self.check_alive)
        return self.agent(task)

    def until_escalated(self, task: Task) -> Agent:
        """The agent, once it is ESCALATED and a human was told everything."""
        agent = self.until(task, State.ESCALATED)

        def is_told() -> bool:  # and noted: by that the issue is known as the agent's own
            told = self.registry.effects(agent.id).get(EffectName.ISSUE)
            return told is not None and told.state is EffectState.DONE

        until(
            lambda: is_told() and self.github.escalations(task.repository, task.number),
            f"a needs-human issue for {task}",
            failing=self.check_alive,
        )
        return agent

    def until_logged(self, message: str, **fields: Any) -> dict[str, Any]:
        """The first line of the service's log with that message and those fields."""

        def look() -> dict[str, Any] | None:
            for line in self.service.lines():
                if line["message"] == message and fields.items() <= line.items():
                    return line
            return None

        return until(look, f"the log says {message!r} {fields}", failing=self.check_alive)

    def comments(self, task: Task) -> list[Any]:
        """Comments of our App on the issue."""
        return self.github.comments(task.repository, task.number)

    def asks_api(self, method: str, path: str, content: Any = None) -> httpx.Response:
        """One call of the service's API, as its operator."""
        bearer = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
        return self.service.http.request(method, path, json=content, headers=bearer)

    def checks(self, task: Task, ref: str | None = None) -> list[Any]:
        """Check runs of the role, newest first, on the head of its branch or on a commit."""
        agents = self.agents(task)
        if ref is None and agents and agents[-1].state is State.COMPLETED:
            ref = agents[-1].sha  # the branch of merged work is deleted
        return self.github.checks(task.repository, ref or task.branch, task.role)

    def until_settled(self, task: Task, older_head: str | None) -> list[Any]:
        """The check runs on an older head, newest first, once none of them is open: they are
        settled after the run on the new head has its conclusion."""

        def look() -> list[Any]:
            runs = self.checks(task, older_head)
            return runs if all(run["conclusion"] for run in runs) else []

        return until(look, f"no run on {older_head} is left open", failing=self.check_alive)

    def until_check(self, task: Task, *conclusions: str) -> list[Any]:
        """The check runs on the head of the branch, once the newest says one of these: that one
        counts."""

        def look() -> list[Any]:
            checks = self.checks(task)
            return checks if checks and checks[0]["conclusion"] in conclusions else []

        said = " or ".join(conclusions)
        return until(look, f"{task}: the check says {said}", failing=self.check_alive)

    def until_titled(self, task: Task, title: str) -> Any:
        """The newest check run on the head of the branch, once its title begins so."""

        def look() -> list[Any]:
            newest = self.checks(task)[:1]
            titles = [str(one["output"]["title"]) for one in newest]
            return newest if all(each.startswith(title) for each in titles) else []

        [check] = until(look, f"{task}: the check says {title!r}", failing=self.check_alive)
        return check

    def until_comment(self, task: Task, words: str) -> str:
        """Our one comment on the issue, once it says so."""

        def look() -> str:
            bodies = [one["body"] for one in self.comments(task)]
            return next((body for body in bodies if words in body), "")

        return until(look, f"{task}: the comment says {words!r}", failing=self.check_alive)

    def until_call(self, task: Task, words: str) -> str:
        """The comment by which our App calls people with these words."""

        def look() -> str:
            bodies = [one["body"] for one in self.github.calls(task.repository, task.number)]
            return next((body for body in bodies if words in body), "")

        return until(look, f"{task}: people are called with {words!r}", failing=self.check_alive)

    def prompts(self, task: Task) -> list[Recorded]:
        """Requests to the model that belong to the issue's story, oldest first."""
        body = self.github.sees(task.path)["body"]
        marker = body.split()[0]
        requests = list(self.model.requests)
        return [one for one in requests if f"{marker}\n" in json_text(one)]

    def processes(self, agent: AgentId) -> dict[int, str]:
        """Processes that were started for an agent."""
        return processes.carrying(f"SQUADRON_SEGMENT={agent}:")

    def workspace(self, agent: AgentId) -> Path:
        """The agent's clone."""
        return agent_directory(self.directory / "data", str(agent)) / "workspace"

    def story(self, agent: AgentId) -> str:
        """What happened to an agent, for the message of a test that failed."""
        return "\n".join(str(event) for event in self.registry.log(agent))

    # --- order -------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until everything that GitHub told was heard, and what follows from it was done."""
        until(
            lambda: self.github.is_idle() and self.registry.is_drained(),
            "all deliveries are handled",
            failing=self.check_alive,
        )

    def reconciles(self, passes: int = 1) -> list[dict[str, Any]]:
        """The log lines of so many whole passes that begin from now on."""
        seen = len(self._passes())
        wanted = passes + 1  # the first that ends may have begun before
        found = until(
            lambda: self._passes()[seen:] if len(self._passes()) >= seen + wanted else [],
            f"{passes} passes of reconciliation",
            failing=self.check_alive,
        )
        return found[1:wanted]

    def repairs(self, passes: int) -> list[str]:
        """What so many whole passes from now on repaired, in their words.

        Without the effects that had become due: an edit that was put off for the noise bound of
        a comment is due in any pass.
        """
        first, *_, last = self.reconciles(passes + 1)  # the first marks where the others begin
        lines = self.service.lines()
        between = lines[lines.index(first) : lines.index(last)]
        done = [line["repair"] for line in between if line["message"] == "repaired"]
        return [one for one in done if not one.startswith("effects of ")]

    def _passes(self) -> list[dict[str, Any]]:
        return [line for line in self.service.lines() if line["message"] == "reconciled"]

    def tolerates(self, words: str) -> None:
        """Error lines of the service that hold these words belong to the story."""
        self._tolerated.append(words)

    def check_alive(self) -> None:
        """Raises when the service has died, or says that something went wrong in it."""
        self.service.check_alive()
        wrong = [
            line
            for line in self.service.lines()
            if line["level"] in ("ERROR", "CRITICAL", "PLAIN")
            and line["message"] != "AGENT_FAILED"  # an error of the agent, none of the service
            and not any(words in json.dumps(line) for words in self._tolerated)
        ]
        assert not wrong, f"the service's log: {wrong[0]}"

    def check_order(self) -> None:
        """All was heard, nobody was asked for what GitHub has not, nothing died in the dark."""
        self.settle()
        self.check_alive()
        unknown = self.github.unknown_operations()
        assert not unknown, f"the box does not know {unknown}"
        self.check_quiet()

    def check_quiet(self) -> None:
        """No agent made noise: whatever we wrote says by its mark for which agent, or whom it
        answers, and no agent has more comments than it may."""
        of_agents: Counter[str] = Counter()
        for body in self.github.comments_made():
            marks = _MARK.findall(body)
            assert marks, f"a comment without a mark: {body[:300]}"
            of_agents.update(mark[1] for mark in marks if mark[0] == "effect")
        noisy = {agent: made for agent, made in of_agents.items() if made > MOST_COMMENTS}
        assert not noisy, f"more than {MOST_COMMENTS} comments of an agent: {noisy}"

    def check_nothing_is_left(self) -> None:
        """After the service has stopped: no process of it or of an agent."""
        left = processes.carrying(str(self.directory / "data"))
        assert not left, f"left over: {left}"


class ServedSquad(Squad):
    """The same with a service, a GitHub and a model of its own processes and ports."""

    model: ScriptedServer


def json_text(request: Recorded) -> str:
    """All words of a request to the model."""
    return "\n".join(message.text for message in request.conversation.messages)


@contextmanager
def squad(
    directory: Path,
    repositories: Mapping[str, Mapping[str, str]],
    *,
    database_url: str | None = None,
    reconciliation_seconds: int = 1,
    workers: int = 6,
    operator: Mapping[str, Any] | None = None,
    people: Mapping[str, str] = PEOPLE,
    further_environment: Mapping[str, str] | None = None,
    model_name: str = "openai:scripted",
    program: str = "app.cli.main",
    options: Sequence[str] = (),
) -> Iterator[ServedSquad]:
    """Start everything; stop it again and check that it is in order.

    `operator`: further keys of the operator's file, and None for one that it shall not have;
    `further_environment`: of the service; `program`: the module that is run as `squadron`;
    `options`: of its `serve`.
    """
    with ExitStack() as stack:
        model = stack.enter_context(ScriptedServer(Scripts(()), api_key=MODEL_KEY))
        port = processes.free_port()
        github = stack.enter_context(
            running_box(
                directory / "box",
                repositories,
                people,
                WEBHOOK_SECRET,
                f"http://127.0.0.1:{port}/webhook",
            )
        )
        data = directory / "data"
        operator_file = directory / "operator.yaml"
        rules = {
            "reconciliation_interval": reconciliation_seconds,
            "workers": {"agents": workers},
            "sandbox": WITHOUT_SANDBOX,
            **(operator or {}),
        }
        said = {key: value for key, value in rules.items() if value is not None}
        operator_file.write_text(json.dumps(said))
        url = database_url or f"sqlite:///{data / 'squadron.sqlite'}"
        environment = {
            **processes.base_environment(directory),
            "SQUADRON_GITHUB_APP_ID": str(github.about["app_id"]),
            "SQUADRON_GITHUB_PRIVATE_KEY_FILE": github.about["private_key_file"],
            "SQUADRON_WEBHOOK_SECRET": WEBHOOK_SECRET,
            "SQUADRON_ADMIN_TOKEN": ADMIN_TOKEN,
            "SQUADRON_GITHUB_API_URL": github.url,
            "SQUADRON_GITHUB_GIT_URL": github.about["git_url"],
            "SQUADRON_DATA_DIR": str(data),
            "SQUADRON_DATABASE_URL": url,
            "SQUADRON_CONFIG": str(operator_file),
            "SQUADRON_MODEL": model_name,
            "SQUADRON_MODEL_BASE_URL": f"{model.url}{'/v1' if 'openai:' in model_name else ''}",
            "SQUADRON_MODEL_API_KEY": MODEL_KEY,
            **(further_environment or {}),
        }
        data.mkdir(mode=0o700)
        service = Service(environment, port, directory / "service.log", program, options)
        here = ServedSquad(github, model, service, directory)
        stack.callback(service.close)
        stack.callback(service.stop)
        service.start()
        here.registry = stack.enter_context(open_registry(url))
        yield here
        here.check_order()
        service.stop()
        here.check_nothing_is_left()
        github.check_contract()
