"""What every story is about: a repository, an issue in it, and people who do something."""

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.scripted.script import Answer, ComputedStep, Script, Step

REPOSITORY = "octo/demo"
PEOPLE = {
    "maria": "write",
    "ada": "admin",
    "tom": "triage",
    "rita": "read",
    "noel": "none",
}
SUMMARY = Answer("This is what I did.")
TRIES = "./try.sh"
"""A test run that is quick: it passes when the file `answer` holds 42."""
_TRY = '#!/bin/sh\nif [ "$(cat answer)" = 42 ]; then echo passed; else echo FAILED; exit 1; fi\n'


def repository(
    roles: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The files of a repository. `roles`: role → keys of its agent file's frontmatter."""
    known = {"test_commands": {"add": [f"sh {TRIES}", TRIES]}}
    agents = {
        f".squadron/agents/{role}.md": f"---\n{json.dumps(dict(keys))}\n---\nYou are {role}.\n"
        for role, keys in roles.items()
    }
    return {
        "README.md": "# Demo\n",
        "answer": "41\n",
        "try.sh": _TRY,
        ".squadron/config.yaml": json.dumps({**known, **(config or {})}, indent=1),
        **agents,
        **(files or {}),
    }


@dataclass(frozen=True, slots=True)
class Task:
    """An issue of a story, and the role that works on it."""

    repository: str
    number: int
    role: str

    @property
    def path(self) -> str:
        """Of the issue, in REST."""
        return f"/repos/{self.repository}/issues/{self.number}"

    @property
    def branch(self) -> str:
        """Of the agent, by the default naming."""
        return f"squadron/{self.role}/issue-{self.number}"

    def by(self, role: str) -> "Task":
        """The same issue, for another role."""
        return Task(self.repository, self.number, role)


class People(ABC):
    """What they do, by GitHub's REST interface; a story says how it is reached."""

    @abstractmethod
    def _push(self, files: Mapping[str, str], branch: str, by: str, repository: str) -> str:
        """As `pushes`."""

    @abstractmethod
    def does(self, login: str, method: str, path: str, content: Any = None) -> Any:
        """One REST call in a person's name, which GitHub has to allow; the answer."""

    def makes_ready(self, pull_request: str, by: str = "maria") -> None:
        """Somebody says that a draft, by its path in REST, is ready for review."""
        node = self.does(by, "GET", pull_request)["node_id"]
        ready = f'markPullRequestReadyForReview(input: {{pullRequestId: "{node}"}})'
        query = f"mutation {{ {ready} {{ pullRequest {{ isDraft }} }} }}"
        answer = self.does(by, "POST", "/graphql", {"query": query})
        assert "errors" not in answer, answer

    @abstractmethod
    def scripted(self, script: Script) -> None:
        """From now on the model knows this script, too."""

    @cached_property
    def _numbers(self) -> "itertools.count[int]":
        return itertools.count(1)

    def issue(
        self,
        title: str,
        *steps: Step | ComputedStep,
        summary: Answer = SUMMARY,
        body: str = "",
        by: str = "maria",
        labels: tuple[str, ...] = (),
        repository: str = REPOSITORY,
    ) -> Task:
        """Somebody opens an issue; whatever agent works on it takes these steps.

        `summary`: the model's answer when it is asked for one after a trip.
        """
        name = f"story-{next(self._numbers)}"
        self.scripted(Script(name, steps, summary))
        content = {"title": title, "body": f"SCENARIO:{name}\n{body}", "labels": [*labels]}
        opened = self.does(by, "POST", f"/repos/{repository}/issues", content)
        return Task(repository, opened["number"], "")

    def label(self, task: Task, *labels: str, by: str = "maria") -> None:
        """Somebody sets labels."""
        self.does(by, "POST", f"{task.path}/labels", {"labels": [*labels]})

    def comment(self, task: Task, body: str, by: str = "maria") -> None:
        """Somebody comments."""
        self.does(by, "POST", f"{task.path}/comments", {"body": body})

    def close(self, task: Task, by: str = "maria") -> None:
        """Somebody closes the issue."""
        self.does(by, "PATCH", task.path, {"state": "closed"})

    def pushes(
        self,
        files: Mapping[str, str],
        branch: str = "main",
        by: str = "maria",
        repository: str = REPOSITORY,
    ) -> str:
        """Somebody pushes a commit that changes those files to a branch, which is begun at `main`
        if there is none; its SHA."""
        return self._push(files, branch, by, repository)
