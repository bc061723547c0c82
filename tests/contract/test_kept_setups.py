"""Results of setups that are kept, in real sandboxes: whole, in bounds, and nobody's but theirs."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import ArchivedSetups, Bounds, SandboxedProcesses
from app.adapters.sandbox.setups import LEFT_OVER_AFTER, Room
from app.ports import Ended, KeptSetupFailed, SetupOrder
from tests.contract.git_remote import git
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS, until

pytestmark = BUBBLEWRAP
NOW = datetime(2026, 11, 22, 10, 3, tzinfo=UTC)
LATER = NOW + timedelta(hours=5)
VENV = """\
python3 -m venv --without-pip .venv
mkdir -p node_modules/.bin node_modules/x "$HOME/.cache" pkg
echo 'print("by the tool")' > node_modules/x/cli.py
ln -s ../x/cli.py node_modules/.bin/x
printf '#!%s/.venv/bin/python\\nimport sys; print(sys.prefix)\\n' "$PWD" > .venv/bin/tool
chmod 755 .venv/bin/tool
echo "$HOME" > "$HOME/.cache/home"
mkdir -p shut/empty; chmod 555 shut
mkdir -p .git/hooks; echo '#!/bin/sh' > .git/hooks/pre-commit; git config core.abbrev 7
"""
USES = """\
.venv/bin/tool; python3 node_modules/.bin/x; cat ~/.cache/home; stat -c %a shut
test -d shut/empty && cat .git/hooks/pre-commit && git config core.abbrev && git status --short -uno
"""


@dataclass
class Place:
    """Two agents and more of one repository, each with a clone."""

    directory: Path
    room: Room = field(default_factory=Room)

    @property
    def kept(self) -> Path:
        return self.directory / "setups"

    @property
    def walls(self) -> SandboxedProcesses:
        return SandboxedProcesses(ProcessGroups(), self.directory / "accounts", (), Bounds())

    @property
    def setups(self) -> ArchivedSetups:
        return ArchivedSetups(self.kept, self.walls, ProcessGroups(), ("pypi.org",), self.room)

    def archives(self) -> list[Path]:
        return sorted(self.kept.glob("*/*.tar"))

    def commit(self, **files: str) -> None:
        origin = self.directory / "origin"
        for name, content in files.items():
            (origin / name).write_text(content)
        git(origin, "add", "-A")
        git(origin, "commit", "-q", "-m", "Some files")

    def order(self, agent: str, *commands: str) -> SetupOrder:
        clone = self.directory / "agents" / agent / "workspace"
        git(self.directory, "clone", "-q", str(self.directory / "origin"), str(clone))
        environment = {"PATH": os.environ["PATH"], "HOME": str(clone.with_name("home"))}
        return SetupOrder(7, commands, "", "some-files", clone, environment)

    async def inside(self, order: SetupOrder, command: str) -> Ended:
        """As the agent's own command."""
        return await self.walls.run(
            ["bash", "-c", command],
            cwd=order.workspace,
            environment=order.environment,
            timeout_seconds=MOST_SECONDS,
        )

    async def ran(self, order: SetupOrder, now: datetime = NOW) -> str:
        """Run its commands as an agent's setup is run, and keep what they leave; or why not."""
        begun = await self.setups.begin(order)
        assert begun
        for command in order.commands:
            ended = await self.inside(order, command)
            assert ended.exit_code == 0, ended.output
        return await self.setups.keep(order, begun, now)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    git(tmp_path, "init", "-q", "-b", "main", "origin")
    there = Place(tmp_path)
    there.commit(README="Hello.\n")
    return there


async def test_what_one_setup_has_made_works_in_the_next_agents_sandbox(place: Place) -> None:
    """Though virtual environments hold absolute paths."""
    first, second = place.order("first", VENV), place.order("second", VENV)
    assert await place.setups.take(first, NOW) is None
    assert await place.ran(first) == ""
    assert await place.setups.take(second, LATER) == NOW
    used = [(await place.inside(each, USES)).output for each in (first, second)]
    assert used[1] == used[0]
    assert used[1].splitlines() == [
        "/agent/workspace/.venv",
        "by the tool",
        "/agent/home",
        "555",
        "#!/bin/sh",
        "7",
    ]
    assert not any(place.kept.glob("unfinished/*"))
    assert place.kept.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "other",
    [
        {"commands": ("true",)},
        {"script": "true"},
        {"dependencies": "others"},
        {"repository_id": 8},
        {"environment": {"PATH": "/usr/bin"}},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_only_an_equal_setup_is_taken(place: Place, other: Mapping[str, object]) -> None:
    first, second = place.order("first", "echo 1 >made"), place.order("second", "echo 1 >made")
    assert await place.ran(first) == ""
    if given := other.get("environment"):
        assert isinstance(given, Mapping)
        other = {"environment": {**second.environment, **given}}
    unequal = replace(second, **other)  # type: ignore[arg-type]
    assert await place.setups.take(unequal, LATER) is None
    elsewhere = replace(place.setups, rules=("other.org",))
    assert await elsewhere.take(second, LATER) is None, "it could reach others"
    assert list(second.workspace.glob("made")) == []
    assert await place.setups.take(second, LATER) == NOW


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo x >>README", "it changes files that git tracks:\n M README"),
        ("rm README; git add -A", "it changes files that git tracks:\nD  README"),
        ("git commit -q --allow-empty -m x", "it changes more of .git than config and hooks"),
        ("git tag x", "it changes more of .git than config and hooks"),
        ("head -c 3M /dev/zero >large", " bytes, and at most 1048576 are kept"),
        ("head -c 1040K /dev/zero >$HOME/large", " bytes, and at most 1048576 are kept"),
        ("for i in $(seq 3000); do : >$i; done", "it cannot be packed into 1048576 bytes"),
        ("mkdir shut; chmod 0 shut", "workspace/shut/': Permission denied"),
    ],
)
async def test_what_cannot_be_given_to_another_is_not_kept(
    place: Place, command: str, why: str
) -> None:
    place.room = Room(one_bytes=1024**2)
    identity = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a"
    identity += " GIT_COMMITTER_EMAIL=a; "
    order = place.order("first", identity + command)
    assert why in await place.ran(order)
    assert place.archives() == [] and not any(place.kept.glob("unfinished/*"))


async def test_who_was_at_home_before_is_not_passed_on(place: Place) -> None:
    order = place.order("first", "true")
    await place.inside(order, "echo 'of the agent' >~/note")
    assert await place.setups.begin(order) == ""
    assert await place.ran(place.order("second", "true")) == ""
    assert await place.setups.take(order, LATER) is None


# --- whom it can harm ------------------------------------------------------------------------


async def test_an_agent_cannot_change_what_the_next_one_gets(place: Place) -> None:
    """Neither what is kept, which it does not see, nor by what it makes of its own copy."""
    first, second, third = (place.order(name, "echo good >made") for name in ("a", "b", "c"))
    assert await place.ran(first) == ""
    await place.setups.take(second, LATER)
    [archive] = place.archives()
    before = archive.read_bytes()
    harm = f"echo bad >made; echo bad >{archive}; ls {place.kept}; rm -rf {place.directory}/*"
    await place.inside(second, harm)
    assert archive.read_bytes() == before
    await place.setups.take(third, LATER)
    assert (third.workspace / "made").read_text() == "good\n"


@pytest.mark.parametrize("packed", ["made", "made/"])
async def test_a_link_in_the_next_clone_leads_nowhere(place: Place, packed: str) -> None:
    """`made` is laid there by the setup, and tracked by the other's branch: as a link out."""
    outside = place.directory / "outside"
    outside.mkdir()
    (outside / "file").write_text("as it was")
    make, leads_to = "echo new >made", outside / "file"
    if packed == "made/":
        make, leads_to = "mkdir made; echo new >made/file", outside
    first = place.order("first", make)
    (place.directory / "origin/made").symlink_to(leads_to)
    place.commit()
    second = place.order("second", make)
    assert await place.ran(first) == ""
    with pytest.raises(KeptSetupFailed, match="it would change files that git tracks here"):
        await place.setups.take(second, LATER)
    assert (outside / "file").read_text() == "as it was"
    assert place.archives() == [], "it does not fail for ever"


async def test_links_of_a_setup_are_packed_as_links(place: Place) -> None:
    secret = place.directory / "secret"
    secret.write_text("canary")
    first, second = (place.order(name, f"ln -s {secret} made") for name in ("first", "second"))
    assert await place.ran(first) == ""
    await place.setups.take(second, LATER)
    assert (second.workspace / "made").readlink() == secret
    [archive] = place.archives()
    assert b"canary" not in archive.read_bytes()


async def test_a_setup_cannot_have_the_service_take_a_link_for_an_archive(place: Place) -> None:
    """Its own git configuration runs while its result is packed, with a place to write."""
    desks = place.kept / "unfinished"
    lays = f"for d in {desks}/*; do ln -s /tmp/elsewhere $d/packed; done"
    order = place.order("first", f"git config core.fsmonitor '{lays}; false #'")
    assert await place.ran(order) == "what was packed is no plain file"
    assert place.archives() == []


# --- bounds and deaths -----------------------------------------------------------------------


async def test_what_was_taken_least_recently_goes_first(place: Place) -> None:
    place.room = Room(all_bytes=2_600_000)
    make = "head -c 1M /dev/urandom >made # {}"
    orders = [place.order(name, make.format(name)) for name in ("a", "b", "c")]
    for hours, order in enumerate(orders[:2]):
        assert await place.ran(order, NOW + timedelta(hours=hours)) == ""
    another = replace(place.order("another"), commands=orders[0].commands)
    assert await place.setups.take(another, LATER) == NOW
    assert await place.ran(orders[2], LATER + timedelta(hours=1)) == ""
    left = [
        await place.setups.take(replace(place.order(f"next-{n}"), commands=order.commands), LATER)
        for n, order in enumerate(orders)
    ]
    assert left == [NOW, None, LATER + timedelta(hours=1)]


async def test_what_is_old_is_neither_taken_nor_left(place: Place) -> None:
    first, second = place.order("first", "true"), place.order("second", "true")
    assert await place.ran(first) == ""
    old = NOW + place.room.age + timedelta(seconds=1)
    assert await place.setups.take(second, old) is None
    await place.setups.tidy(NOW + place.room.age)
    assert len(place.archives()) == 1
    assert await place.ran(second, old) == "", "another takes its place"
    await place.setups.tidy(old + place.room.age + timedelta(seconds=1))
    assert place.archives() == []


async def test_two_at_once_are_one(place: Place) -> None:
    first, second = place.order("first", "echo $$ >made"), place.order("second", "echo $$ >made")
    assert await place.ran(first) == ""
    assert await place.ran(second) == "an equal one was kept meanwhile"
    third = replace(place.order("third"), commands=first.commands)
    await place.setups.take(third, LATER)
    made = [(each.workspace / "made").read_text() for each in (first, third)]
    assert made[0] == made[1]


@pytest.mark.parametrize("size", [0, 512, 700, 5_000])
async def test_half_a_result_is_no_result(place: Place, size: int) -> None:
    first, second = place.order("first", VENV), place.order("second", VENV)
    assert await place.ran(first) == ""
    [archive] = place.archives()
    os.truncate(archive, size)
    with pytest.raises(KeptSetupFailed):
        await place.setups.take(second, LATER)
    assert place.archives() == []


KEEPS = """\
import asyncio, sys
from pathlib import Path
from tests.contract.test_kept_setups import Place
place = Place(Path(sys.argv[1]))
asyncio.run(place.ran(place.order("first", sys.argv[2])))
"""


def kept_until_killed(place: Place, command: str) -> None:
    """A process that keeps what the command has left ends by `kill -9` while it packs."""
    keeping = subprocess.Popen([sys.executable, "-c", KEEPS, str(place.directory), command])
    try:
        until(lambda: any(place.kept.glob("unfinished/*")), "it is being packed")
    finally:
        keeping.send_signal(signal.SIGKILL)
        keeping.wait(MOST_SECONDS)


async def test_what_a_death_cut_off_does_not_count(place: Place) -> None:
    endless = "git config core.fsmonitor 'sleep 3600 #'"
    kept_until_killed(place, endless)
    assert place.archives() == []
    assert await place.setups.take(place.order("second", endless), LATER) is None
    [desk] = place.kept.glob("unfinished/*")
    begun = datetime.fromtimestamp(desk.stat().st_mtime, UTC)
    await place.setups.tidy(begun + LEFT_OVER_AFTER - timedelta(seconds=1))
    assert desk.exists(), "it could be another worker's"
    await place.setups.tidy(begun + LEFT_OVER_AFTER + timedelta(seconds=1))
    assert not desk.exists()
