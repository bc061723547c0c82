"""Each setting by which git runs a program, in an agent's clone: Squadron runs none of them.

`git help --config` lists git's settings. One whose name sounds like a program has a row here, or it
is said why it is none. Git of the host, in the same clone, runs the program: the trap is live.
"""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from tests.attacks.handover import ORDER, Scene, everything, host_git
from tests.contract.git_remote import git

pytestmark = pytest.mark.full

SOUNDS: Final = re.compile(
    r"alias\.|cmd$|command$|program$|\.editor$|pager(\.|$)|helper$|\.driver$"
    r"|filter\..*\.(clean|smudge|process)$|askpass$|gitproxy$|hookspath$|hook$|\.textconv$|external$|tool$|browser$|pack$|\.exec$|shell$"
    r"|fsmonitor$|viewer$|httpd$|vcs$|difffilter$|tunnel$|smtpserver$|submodule\.<name>\.update$"
    r"|<tool>\.path$|templatedir$|include.*path$",
    re.IGNORECASE,
)
"""Names that could be those of programs, or of files with more settings."""

CONFLICT: Final = (
    "git checkout -q -b a && echo a >app.py && git commit -qam a && git checkout -q -b b HEAD~1"
    " && echo b >app.py && git commit -qam b && git merge -q a"
)
TERMINAL: Final = "script -qec '{}' /dev/null"
"""Runs a command on a terminal, where git shows what it says by a pager."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A trap, and what springs it."""

    pairs: Mapping[str, str]
    """Settings and their values; `TRAP` is the program."""
    springs: str
    """For bash, on the host, in the clone."""
    attributes: str = ""
    """Of all files."""


def runs(key: str, springs: str, attributes: str = "", **more: str) -> Setting:
    """One setting that is a program; `more` are those that it needs, `__` for a point."""
    others = {name.replace("__", "."): value for name, value in more.items()}
    return Setting({key: "TRAP", **others}, springs, attributes)


FILL: Final = "printf 'protocol=https\\nhost=h.example\\n\\n' | git credential fill"
SETTINGS: Final[Mapping[str, Setting]] = {
    "alias.*": Setting({"alias.trap": "!TRAP"}, "git trap"),
    "browser.<tool>.cmd": runs("browser.trap.cmd", "git web--browse -t trap http://h.example"),
    "browser.<tool>.path": runs(
        "browser.lynx.path", "git web--browse --browser=lynx http://h.example"
    ),
    "core.alternateRefsCommand": runs(
        "core.alternateRefsCommand",
        "git clone -q --bare . ../far && (cd ../far/objects && pwd) >.git/objects/info/alternates"
        " && git receive-pack . </dev/null",
    ),
    "core.askPass": runs("core.askPass", FILL),
    "core.editor": runs("core.editor", "git commit --allow-empty"),
    "core.fsmonitor": runs("core.fsmonitor", "git status"),
    "core.gitProxy": runs("core.gitProxy", "git fetch git://h.example/x"),
    "core.pager": runs("core.pager", TERMINAL.format("git log")),
    "core.sshCommand": runs("core.sshCommand", "git fetch ssh://h.example/x"),
    "credential.helper": runs("credential.helper", FILL),
    "diff.<driver>.command": runs("diff.trap.command", "git --no-pager diff", "diff=trap"),
    "diff.<driver>.textconv": runs("diff.trap.textconv", "git --no-pager diff", "diff=trap"),
    "diff.external": runs("diff.external", "git --no-pager diff"),
    "difftool.<tool>.cmd": runs("difftool.trap.cmd", "git difftool -y --tool=trap HEAD"),
    "difftool.<tool>.path": runs("difftool.vimdiff.path", "git difftool -y --tool=vimdiff HEAD"),
    "filter.<driver>.clean": runs("filter.trap.clean", "git add -A", "filter=trap"),
    "filter.<driver>.smudge": runs(
        "filter.trap.smudge", "git checkout -q -f HEAD -- app.py", "filter=trap"
    ),
    "gpg.program": runs("gpg.program", "git commit --allow-empty -qS -m x"),
    "gpg.<format>.program": runs(
        "gpg.ssh.program",
        "git commit --allow-empty -qS -m x",
        gpg__format="ssh",
        user__signingKey="key::ssh-ed25519 AAAA",
    ),
    "gpg.ssh.defaultKeyCommand": runs(
        "gpg.ssh.defaultKeyCommand", "git commit --allow-empty -qS -m x", gpg__format="ssh"
    ),
    "interactive.diffFilter": runs(
        "interactive.diffFilter", TERMINAL.format("TERM=xterm git add -p </dev/null")
    ),
    "man.<tool>.cmd": runs("man.trap.cmd", "git help -m status", man__viewer="trap"),
    "man.<tool>.path": runs("man.man.path", "git help -m status", man__viewer="man"),
    "merge.<driver>.driver": runs("merge.trap.driver", CONFLICT, "merge=trap"),
    "mergetool.<tool>.cmd": runs("mergetool.trap.cmd", f"{CONFLICT}; git mergetool -y --tool=trap"),
    "mergetool.<tool>.path": runs(
        "mergetool.vimdiff.path", f"{CONFLICT}; git mergetool -y --tool=vimdiff"
    ),
    "pager.<cmd>": runs("pager.log", TERMINAL.format("git log")),
    "remote.<name>.receivepack": runs("remote.origin.receivepack", "git push -q origin HEAD"),
    "remote.<name>.uploadpack": runs("remote.origin.uploadpack", "git fetch -q origin"),
    "remote.<name>.vcs": Setting(
        {"remote.trap.vcs": "ext", "remote.trap.url": "TRAP %S"}, "git fetch trap"
    ),
    "sequence.editor": runs("sequence.editor", "git stash -q; git rebase -i --root"),
    "submodule.<name>.update": Setting(
        {"submodule.sub.update": "!TRAP", "submodule.sub.url": "/nowhere"},
        "git init -q sub && COMMIT -m 1 && git add sub"
        " && printf '[submodule \"sub\"]\\n path = sub\\n url = /nowhere\\n' >.gitmodules"
        " && COMMIT -m 2 && git submodule update sub".replace(
            "COMMIT", "git -C sub -c user.name=x -c user.email=x@h.example commit -q --allow-empty"
        ),
    ),
    "trailer.<token>.command": runs(
        "trailer.trap.command", "echo x | git interpret-trailers", trailer__trap__key="Trap: "
    ),
    "tar.<format>.command": runs("tar.trap.command", "git archive --format=trap HEAD"),
    "filter.<driver>.process": runs("filter.trap.process", "git add -A", "filter=trap"),
    "web.browser": Setting(
        {"web.browser": "trap", "browser.trap.cmd": "TRAP"}, "git web--browse http://h.example"
    ),
    "help.browser": Setting(
        {"help.browser": "trap", "browser.trap.cmd": "TRAP"},
        "git web--browse -c help.browser http://h.example",
    ),
}
NOT_HERE: Final[Mapping[str, str]] = {
    "core.fsmonitorHookVersion": "a number",
    "core.hooksPath": "test_git_handover.py lays hooks there",
    "diff.guitool": "names a tool of `difftool`",
    "diff.tool": "names a tool of `difftool`",
    "merge.guitool": "names a tool of `mergetool`",
    "merge.tool": "names a tool of `mergetool`",
    "man.viewer": "names a tool of `man`",
    "advice.ignoredHook": "a word of advice",
    "color.pager": "yes or no",
    "guitool.<name>.cmd": "of a program with windows, which nobody starts by himself",
    "guitool.<name>.prompt": "of a program with windows",
    "imap.tunnel": "of `git imap-send`, which nothing calls",
    "include.path": "test_git_handover.py includes a file",
    "includeIf.<condition>.path": "as `include.path`",
    "init.templateDir": "for repositories that are made, with hooks that nobody has run by then",
    "instaweb.browser": "of `git instaweb`, which nothing calls",
    "instaweb.httpd": "of `git instaweb`, which nothing calls",
    "sendemail.ccCmd": "of `git send-email`, which nothing calls",
    "sendemail.tocmd": "of `git send-email`, which nothing calls",
    "sendemail.smtpServer": "of `git send-email`, which nothing calls",
    "uploadpack.packObjectsHook": "git heeds it in a user's own settings alone",
}
"""Settings that sound like programs and have no row."""


def listed() -> list[str]:
    done = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_every_setting_that_sounds_like_a_program_has_a_row() -> None:
    names = [name for name in listed() if SOUNDS.search(name)]
    assert len(names) > 40
    assert {name for name in names if (name in SETTINGS) is (name in NOT_HERE)} == set()


@pytest.mark.parametrize("name", SETTINGS)
async def test_no_program_of_a_setting_runs(name: str, scene: Scene) -> None:
    def lay() -> None:
        setting = SETTINGS[name]
        for key, value in setting.pairs.items():
            scene.configure((key, value.replace("TRAP", scene.setting)))
        if setting.attributes:
            scene.write(".gitattributes", f"* {setting.attributes}\n")
        scene.write("app.py", "changed\n")

    scene.write("fix.py", "x = 1\n")
    lay()
    kept = await everything(scene)
    assert not scene.canary.exists(), scene.canary.read_text()
    assert kept.is_pushed
    if not scene.clone.exists():
        await scene.workspace.prepare(ORDER)
        lay()
    git(scene.clone, "config", "user.name", "somebody")
    git(scene.clone, "config", "user.email", "somebody@example.com")
    scene.write("app.py", "changed once more\n")
    host_git(scene, SETTINGS[name].springs)
    assert scene.canary.exists(), "the trap is a dud"
