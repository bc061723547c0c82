"""Work is checked in a clean checkout behind the walls: real git, real shells, the sandbox."""

from collections.abc import Iterator

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.events import Known, Verified, Waits
from app.core.agents.lifecycle import State
from tests.support.people import repository
from tests.support.sandbox import BUBBLEWRAP
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import commits, completes, runs, writes

pytestmark = [pytest.mark.full, BUBBLEWRAP]

LOOKS = (
    "test -e made/by-setup",  # what the setup has made is there
    "test ! -e scratch",  # and nothing that git ignores, or nobody committed
    "test ! -e ~/installed",
    "grep -q 42 answer",
    "! timeout 5 bash -c ': < /dev/tcp/192.0.2.1/80'",
    'test -z "$(git status --porcelain)"',
)
VERIFY = '#!/usr/bin/env bash\necho "$PWD"\ntest ! -e refused || { echo NO; exit 3; }\n'
ROLES = {"fixer": {"setup": ["mkdir -p made && echo it > made/by-setup"]}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    files = {
        ".gitignore": "made/\nscratch\n",
        ".squadron/verify.sh": VERIFY,
        "requirements.txt": "nothing\n",
    }
    held = repository(ROLES, {"verify": [*LOOKS]}, files)
    with squad(
        tmp_path_factory.mktemp("verified"),
        {"octo/demo": held},
        operator={"sandbox": {"mode": "required"}},
    ) as started:
        yield started


def verified(team: Squad, agent: AgentId) -> list[Verified]:
    return [event for event in team.registry.log(agent) if isinstance(event, Verified)]


def test_a_clean_checkout_decides_and_not_the_agents_workspace(team: Squad) -> None:
    steps = [
        runs("echo mine > scratch; echo mine > ~/installed; cat made/by-setup"),
        writes("answer", "42\n"),
        writes("refused", "x\n"),
        commits("Answer"),
        completes("Done."),
        runs("git rm --quiet refused"),
        commits("Better"),
        completes("Done."),
    ]
    task = team.give("fixer", "The answer is wrong", *steps)
    agent = team.until(task, State.SLEEPING)
    assert agent.waits_for is Waits.REVIEW
    bad, good = verified(team, agent.id)
    assert (bad.sound, bad.why) == (Known.NO, "`.squadron/verify.sh` ended with exit code 3.")
    assert bad.output == "/agent/workspace\nNO"
    assert (good.sound, good.sha) == (Known.YES, agent.sha)
    assert "ended with exit code 3" in json_text(team.prompts(task)[-1])
    assert not (team.workspace(agent.id).parent / "apart").exists()
    shown = team.service.commands("explain", str(agent.id))
    assert "was checked in a clean checkout: it is sound" in shown.stdout
