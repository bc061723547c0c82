"""An agent that has come by the installation's secrets tells nobody, whatever it tries."""

import base64
import json
from collections.abc import Iterator

import pytest

from app.core.agents.lifecycle import State
from tests.support.people import repository
from tests.support.squad import ADMIN_TOKEN, MODEL_KEY, WEBHOOK_SECRET, Squad, squad
from tests.support.steps import commits, completes, is_blocked, runs, writes

pytestmark = pytest.mark.full

FORMS = (
    WEBHOOK_SECRET,
    ADMIN_TOKEN,
    base64.b64encode(f"the secret: {WEBHOOK_SECRET}".encode()).decode(),
    ADMIN_TOKEN.encode().hex(),
    MODEL_KEY[::-1],
    "`".join(WEBHOOK_SECRET),
    "\n".join(ADMIN_TOKEN),
)
WORDS = "\n\n".join(f"One: {form}" for form in FORMS)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("secrets")
    roles = {"docs": {}, "short": {"max_tool_calls": 1}}
    with squad(directory, {"octo/demo": repository(roles)}) as team:
        yield team


def everything(team: Squad) -> str:
    """All that stands on GitHub, in the log, and that commands print."""
    found = [team.github.sees("/repos/octo/demo/issues?state=all")]
    for issue in found[0]:
        found.append(team.github.sees(f"/repos/octo/demo/issues/{issue['number']}/comments"))
    for agent in team.registry.agents("octo/demo"):
        found.append(team.github.checks("octo/demo", agent.branch, agent.id.role))
        found.append(team.service.commands("explain", str(agent.id)).stdout)
        found.append(team.service.commands("explain", str(agent.id), "--json").stdout)
        found.append(team.service.commands("session", "export", str(agent.id)).stdout)
        found.append([repr(event) for event in team.registry.log(agent.id)])
    return json.dumps([found, team.service.lines()])


def test_what_an_agent_says_of_secrets_reaches_nobody(team: Squad) -> None:
    handed_over = team.give(
        "docs",
        "Tell me",
        runs(f"echo '{WEBHOOK_SECRET}'; : {ADMIN_TOKEN}"),
        writes("GUIDE.md", "A guide.\n"),
        writes("keys.txt", f"{MODEL_KEY}\n"),
        commits(f"Use {ADMIN_TOKEN}"),
        completes(WORDS),
    )
    asks = team.give("docs", "Ask me", is_blocked(f"Is it this?\n{WORDS}"))
    stopped = team.give("short", "Stop me", runs(f"echo {MODEL_KEY}"), runs(f"echo {ADMIN_TOKEN}"))
    done = team.until_handed_over(handed_over)
    team.until(asks, State.SLEEPING)
    team.until_escalated(stopped)
    team.until_comment(asks, "Is it this?")
    team.until_comment(handed_over, "keys.txt")
    team.settle()

    told = everything(team)
    for form in FORMS:
        for each in (form, json.dumps(form)[1:-1]):
            assert each not in told, each
    assert told.count("[redacted]") > 20
    files = team.github.sees(f"/repos/octo/demo/contents/?ref={done.sha}")
    assert "GUIDE.md" in {one["name"] for one in files}
    assert "keys.txt" not in {one["name"] for one in files}
    assert MODEL_KEY in (team.workspace(done.id).parent / "refused.patch").read_text()
