"""The kinds of names that configuration files contain, each checked where it is read."""

import re
import shlex
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator

from app.config.branchnames import checked_branch_naming
from app.config.wording import did_you_mean, quoted
from app.core.plan import TRIGGER_PREFIX

MAX_ROLE_CHARACTERS: Final = 40
MAX_LABEL_CHARACTERS: Final = 50
MAX_COMMAND_CHARACTERS: Final = 2_000

PERMISSIONS: Final = ("admin", "maintain", "write", "triage")
RUNTIMES: Final = ("embedded",)
LATER_RUNTIMES: Final = ("copilot", "claude")
TOOLS: Final = ("bash", "view", "create", "edit")
CLOSING_TOOLS: Final = ("report_complete", "report_blocked")
TRIGGER_EVENTS: Final = ("issues.opened", "issues.reopened")
MODEL_PROVIDERS: Final = ("openai", "anthropic")

_ROLE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LOGIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,98}(\[bot\])?")
_MENTION: Final = re.compile(r"@[A-Za-z0-9][A-Za-z0-9_-]{0,98}(/[A-Za-z0-9][A-Za-z0-9_.-]{0,98})?")
_MODEL: Final = re.compile(r"([a-z][a-z0-9-]*):[^\s:][^\s]*")


ROLE_NAME_RULE: Final = (
    "a role's name has lower-case letters, digits and single hyphens, starts with a letter, "
    f"and has at most {MAX_ROLE_CHARACTERS} characters (like bug-fix)"
)


def is_role_name(name: str) -> bool:
    """Whether a role may have this name."""
    return len(name) <= MAX_ROLE_CHARACTERS and _ROLE.fullmatch(name) is not None


def role_name(name: str) -> str:
    """A role: `bug-fix`."""
    if not is_role_name(name):
        raise ValueError(ROLE_NAME_RULE)
    return name


def label(name: str) -> str:
    """A label as GitHub takes it."""
    if not 0 < len(name) <= MAX_LABEL_CHARACTERS or name != name.strip() or not name.isprintable():
        raise ValueError(
            f"a label has 1 to {MAX_LABEL_CHARACTERS} printable characters and no space at its ends"
        )
    return name


def trigger_label(name: str) -> str:
    """A label that starts a role."""
    if name.startswith(TRIGGER_PREFIX):
        raise ValueError(f"{TRIGGER_PREFIX}<role> always starts that role: leave it out")
    return label(name)


def login(name: str) -> str:
    """A GitHub login, of a person or (`…[bot]`) of an App."""
    if not _LOGIN.fullmatch(name):
        raise ValueError(f"must be a login, not {quoted(name)}")
    return name


def bot_login(name: str) -> str:
    """The exact login of an App: patterns would let strangers' Apps in."""
    if "*" in name:
        raise ValueError(f"{quoted(name)} would let other Apps in: name each App's exact login")
    return login(name)


def mention(name: str) -> str:
    """`@user` or `@org/team`."""
    if not _MENTION.fullmatch(name):
        raise ValueError(f"must be @user or @org/team, not {quoted(name)}")
    return name


def permission(name: str) -> str:
    """The least permission of a sender."""
    if name not in PERMISSIONS:
        raise ValueError(f"unknown permission {quoted(name)}{did_you_mean(name, PERMISSIONS)}")
    return name


def runtime(name: str) -> str:
    """A runtime of this version."""
    if name in LATER_RUNTIMES:
        raise ValueError(f"not supported by this version: runtime {name} (use embedded)")
    if name not in RUNTIMES:
        raise ValueError(f"unknown runtime {quoted(name)}{did_you_mean(name, RUNTIMES)}")
    return name


def tool(name: str) -> str:
    """A tool that a role may be given."""
    if name in CLOSING_TOOLS:
        raise ValueError(f"{name} is always there: leave it out")
    if name not in TOOLS:
        raise ValueError(f"unknown tool {quoted(name)}{did_you_mean(name, TOOLS)}")
    return name


def event(name: str) -> str:
    """An event that can start a role."""
    if name not in TRIGGER_EVENTS:
        near = did_you_mean(name, TRIGGER_EVENTS)
        raise ValueError(f"not supported by this version: event {quoted(name)}{near}")
    return name


def model(name: str) -> str:
    """`provider:name`."""
    match = _MODEL.fullmatch(name)
    if match is None:
        raise ValueError(f"must be provider:name (like openai:gpt-5), not {quoted(name)}")
    if match[1] not in MODEL_PROVIDERS:
        raise ValueError(
            f"unknown provider {quoted(match[1])}{did_you_mean(match[1], MODEL_PROVIDERS)}"
        )
    return name


def command(line: str) -> str:
    """A command line that is not empty."""
    if not line.strip() or len(line) > MAX_COMMAND_CHARACTERS:
        raise ValueError(f"a command has 1 to {MAX_COMMAND_CHARACTERS} characters")
    return line


def command_words(line: str) -> str:
    """A command line that can be split into words."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"cannot be split into words: {error}") from error
    if not words:
        raise ValueError("a command needs at least one word")
    return line


def agent_path(path: str) -> str:
    """The path of an agent file, below `.squadron/`."""
    parts = path.split("/")
    if path.startswith(("/", "~")) or "\\" in path or ".." in parts:
        raise ValueError(f"{quoted(path)} leaves .squadron/: name a file inside it")
    if not path.endswith(".md") or "" in parts or "." in parts:
        raise ValueError(f"must be the path of a .md file inside .squadron/, not {quoted(path)}")
    return path


RoleName: TypeAlias = Annotated[str, AfterValidator(role_name)]
Label: TypeAlias = Annotated[str, AfterValidator(label)]
TriggerLabel: TypeAlias = Annotated[str, AfterValidator(trigger_label)]
Login: TypeAlias = Annotated[str, AfterValidator(login)]
BotLogin: TypeAlias = Annotated[str, AfterValidator(bot_login)]
Mention: TypeAlias = Annotated[str, AfterValidator(mention)]
PermissionName: TypeAlias = Annotated[str, AfterValidator(permission)]
Runtime: TypeAlias = Annotated[str, AfterValidator(runtime)]
Tool: TypeAlias = Annotated[str, AfterValidator(tool)]
EventName: TypeAlias = Annotated[str, AfterValidator(event)]
ModelName: TypeAlias = Annotated[str, AfterValidator(model)]
Command: TypeAlias = Annotated[str, AfterValidator(command)]
SuiteCommand: TypeAlias = Annotated[str, AfterValidator(command), AfterValidator(command_words)]
AgentPath: TypeAlias = Annotated[str, AfterValidator(agent_path)]
BranchNaming: TypeAlias = Annotated[str, AfterValidator(checked_branch_naming)]
