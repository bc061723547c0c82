"""The kinds of names that configuration files contain, each checked where it is read."""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from pathspec import GitIgnoreSpec
from pydantic import AfterValidator, WithJsonSchema

from app.config.branchnames import checked_branch_naming
from app.config.wording import did_you_mean, quoted
from app.core.limits import Action, LimitName
from app.core.limits.presets import PRESETS
from app.core.rules.plan import TRIGGER_PREFIX, RoleKind, Tests

MAX_ROLE_CHARACTERS: Final = 40
MAX_LABEL_CHARACTERS: Final = 50
MAX_COMMAND_CHARACTERS: Final = 2_000
MAX_PATTERN_CHARACTERS: Final = 500
MAX_MODEL_CHARACTERS: Final = 200
MAX_HOST_CHARACTERS: Final = 253
MAX_PATH_CHARACTERS: Final = 4_096

PERMISSIONS: Final = ("admin", "maintain", "write", "triage")
RUNTIMES: Final = ("embedded", "copilot", "claude")
TOOLS: Final = ("bash", "view", "create", "edit", "task", "open_issue")
CLOSING_TOOLS: Final = ("report_complete", "report_blocked", "request_increase", "submit_review")
ISSUE_EVENTS: Final = ("issues.opened", "issues.reopened")
PULL_REQUEST_EVENTS: Final = tuple(
    f"pull_request.{action}" for action in ("opened", "reopened", "ready_for_review", "synchronize")
)
TRIGGER_EVENTS: Final = (*ISSUE_EVENTS, *PULL_REQUEST_EVENTS)
MODEL_PROVIDERS: Final = ("openai", "anthropic")
OTHER_ACTIONS: Final[Mapping[str, Action]] = {
    "terminate": Action.ESCALATE,
    "stop": Action.ESCALATE,
    "continue": Action.WARN,
}
"""What other tools call our actions."""

_ROLE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LOGIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,98}(\[bot\])?")
_MENTION: Final = re.compile(r"@[A-Za-z0-9][A-Za-z0-9_-]{0,98}(/[A-Za-z0-9][A-Za-z0-9_.-]{0,98})?")
_TEAM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,98}/[A-Za-z0-9][A-Za-z0-9_.-]{0,98}")
_MODEL: Final = re.compile(r"([a-z][a-z0-9-]*):[^\s:][^\s]*")
_MODEL_WORD: Final = re.compile(r"\S+")
_HOST_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST: Final = re.compile(
    rf"(?!([^.]*\.)*[0-9]+$)(\*\.(?=[^.]+\.))?{_HOST_LABEL}(\.{_HOST_LABEL})*"
)
"""No address; and a star stands for names below one that somebody owns."""
_MOUNT: Final = re.compile(r"(?!/(tmp|agent)(/|$))(/(?!\.{1,2}(/|$))[^/\r\n]+)+")
_OCTET: Final = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_LOOPBACK: Final = rf"127(\.{_OCTET}){{3}}"
_THIS_MACHINE: Final = re.compile(rf"localhost|{_LOOPBACK}|::1")
_ENDPOINT: Final = re.compile(r"https?://[^\s/?#@]+[^\s?#@]*")
_WEBHOOK: Final = re.compile(
    rf"https://[^\s#@]+|http://(localhost|{_LOOPBACK}|\[::1\])(:[0-9]+)?([/?][^\s#@]*)?"
)


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


def team(name: str) -> str:
    """`org/team`, as in the address of its page."""
    if not _TEAM.fullmatch(name):
        raise ValueError(f"must be a team with its organization (octo/leads), not {quoted(name)}")
    return name


def permission(name: str) -> str:
    """The least permission of a sender."""
    if name not in PERMISSIONS:
        raise ValueError(f"unknown permission {quoted(name)}{did_you_mean(name, PERMISSIONS)}")
    return name


def runtime(name: str) -> str:
    """A runtime of this version."""
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


def kind(name: str) -> RoleKind:
    """What a role's agents work on."""
    if name not in set(RoleKind):
        raise ValueError(f"unknown kind {quoted(name)}{did_you_mean(name, RoleKind)}")
    return RoleKind(name)


def tests_word(name: str) -> Tests:
    """What a role's check needs of tests."""
    if name not in set(Tests):
        raise ValueError(f"must be expected or none, not {quoted(name)}")
    return Tests(name)


def model(name: str) -> str:
    """`provider:name`."""
    match = _MODEL.fullmatch(name)
    if match is None:
        raise ValueError(f"must be provider:name (like openai:gpt-5), not {quoted(name)}")
    provider(match[1])
    return name


def provider(name: str) -> str:
    """Whose models Squadron can ask."""
    if name not in MODEL_PROVIDERS:
        raise ValueError(f"unknown provider {quoted(name)}{did_you_mean(name, MODEL_PROVIDERS)}")
    return name


def model_word(name: str) -> str:
    """What the operator calls a model, or many (`openai:*`)."""
    if len(name) > MAX_MODEL_CHARACTERS or not _MODEL_WORD.fullmatch(name):
        raise ValueError(
            f"a model has a name of 1 to {MAX_MODEL_CHARACTERS} characters without spaces"
            f" (like openai:gpt-5), not {quoted(name)}"
        )
    return name


def host_name(name: str) -> str:
    """A host without scheme, port and path, or all below it."""
    if len(name) > MAX_HOST_CHARACTERS or not _HOST.fullmatch(name):
        like = "like pypi.org or *.pypi.org"
        raise ValueError(f"must be the name of a host ({like}), not {quoted(name)}")
    return name


def mount_path(path: str) -> str:
    """A directory or file of the machine that a sandbox can show."""
    for own in ("/tmp", "/agent"):
        if path == own or path.startswith(f"{own}/"):
            raise ValueError(
                f"{quoted(path)} would be hidden by the {own} that each sandbox has of its own:"
                " move it elsewhere (like /opt/tools)"
            )
    if len(path) > MAX_PATH_CHARACTERS or not _MOUNT.fullmatch(path):
        raise ValueError(f"must be an absolute path (like /opt/tools), not {quoted(path)}")
    return path


def limit(name: str) -> LimitName:
    """A limit of the catalogue."""
    if name not in set(LimitName):
        raise ValueError(f"unknown limit {quoted(name)}{did_you_mean(name, LimitName)}")
    return LimitName(name)


def action(name: str) -> Action:
    """What happens at a limit."""
    if name in OTHER_ACTIONS:
        raise ValueError(f"unknown action {quoted(name)}: write {OTHER_ACTIONS[name]}")
    if name not in set(Action):
        raise ValueError(f"unknown action {quoted(name)}{did_you_mean(name, Action)}")
    return Action(name)


def preset(name: str) -> str:
    """A set of limits that has a name."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {quoted(name)}{did_you_mean(name, PRESETS)}")
    return name


def endpoint_url(address: str) -> str:
    """Where something is asked, without a slash at the end."""
    try:
        parts = urlsplit(address)
        is_usable = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an address that is none
        is_usable = False
    if not is_usable or not _ENDPOINT.fullmatch(address):
        # Not shown: it may hold a password.
        raise ValueError("must be an address like https://host/path, without credentials")
    return address.rstrip("/")


def webhook_url(address: str) -> str:
    """An address that something may be posted to: in plain text only to this very machine."""
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and parts.port != 0 and _is_private(parts)
    except ValueError:  # a port or an address that is none
        usable = False
    if not usable or parts.username is not None or parts.fragment:
        # Not shown: such addresses hold secrets.
        raise ValueError(
            "must be an address like https://host/path, without user and fragment"
            " (http only for localhost)"
        )
    return address


def _is_private(address: SplitResult) -> bool:
    """Whether nobody on the way can read what is posted."""
    is_here = _THIS_MACHINE.fullmatch(address.hostname or "") is not None
    return address.scheme == "https" or (address.scheme == "http" and is_here)


def command(line: str) -> str:
    """A command line that is not empty."""
    if not line.strip() or len(line) > MAX_COMMAND_CHARACTERS:
        raise ValueError(f"a command has 1 to {MAX_COMMAND_CHARACTERS} characters")
    return line


def path_pattern(pattern: str) -> str:
    """A pattern of paths, as `.gitignore` has them, that names something: `infra/**`, `*.lock`."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"a pattern has at most {MAX_PATTERN_CHARACTERS} characters")
    try:
        found = GitIgnoreSpec.from_lines([pattern]).patterns
    except ValueError:
        found = []
    if not any(each.include is not None for each in found):
        raise ValueError(f"{quoted(pattern)} names no path; write it as in .gitignore: infra/**")
    return pattern


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
    if len(parts) != 2 or parts[0] != "agents":
        raise ValueError(f"must be a file in agents/, as in agents/NAME.md, not {quoted(path)}")
    return path


def _words(words: Iterable[str]) -> WithJsonSchema:
    """For the JSON Schema: one of these."""
    return WithJsonSchema({"type": "string", "enum": [str(word) for word in words]})


def _text(pattern: re.Pattern[str] | str, most: int | None = None) -> WithJsonSchema:
    """For the JSON Schema: all of a text."""
    source = pattern if isinstance(pattern, str) else pattern.pattern
    bound = {} if most is None else {"maxLength": most}
    return WithJsonSchema({"type": "string", "pattern": f"^(?:{source})$", **bound})


RoleName: TypeAlias = Annotated[str, AfterValidator(role_name), _text(_ROLE, MAX_ROLE_CHARACTERS)]
Label: TypeAlias = Annotated[str, AfterValidator(label)]
TriggerLabel: TypeAlias = Annotated[str, AfterValidator(trigger_label)]
Login: TypeAlias = Annotated[str, AfterValidator(login), _text(_LOGIN)]
BotLogin: TypeAlias = Annotated[str, AfterValidator(bot_login), _text(_LOGIN)]
Mention: TypeAlias = Annotated[str, AfterValidator(mention), _text(_MENTION)]
Team: TypeAlias = Annotated[str, AfterValidator(team), _text(_TEAM)]
PermissionName: TypeAlias = Annotated[str, AfterValidator(permission), _words(PERMISSIONS)]
Runtime: TypeAlias = Annotated[str, AfterValidator(runtime), _words(RUNTIMES)]
Tool: TypeAlias = Annotated[str, AfterValidator(tool), _words(TOOLS)]
Kind: TypeAlias = Annotated[str, AfterValidator(kind), _words(RoleKind)]
TestsWord: TypeAlias = Annotated[str, AfterValidator(tests_word), _words(Tests)]
EventName: TypeAlias = Annotated[str, AfterValidator(event), _words(TRIGGER_EVENTS)]
ModelName: TypeAlias = Annotated[
    str, AfterValidator(model), _text(rf"({'|'.join(MODEL_PROVIDERS)}):[^\s:][^\s]*")
]
Limit: TypeAlias = Annotated[str, AfterValidator(limit), _words(LimitName)]
ActionName: TypeAlias = Annotated[str, AfterValidator(action), _words(Action)]
PresetName: TypeAlias = Annotated[str, AfterValidator(preset), _words(PRESETS)]
ModelWord: TypeAlias = Annotated[
    str, AfterValidator(model_word), _text(_MODEL_WORD, MAX_MODEL_CHARACTERS)
]
HostName: TypeAlias = Annotated[str, AfterValidator(host_name), _text(_HOST, MAX_HOST_CHARACTERS)]
MountPath: TypeAlias = Annotated[
    str, AfterValidator(mount_path), _text(_MOUNT, MAX_PATH_CHARACTERS)
]
ProviderName: TypeAlias = Annotated[str, AfterValidator(provider), _text("|".join(MODEL_PROVIDERS))]
EndpointUrl: TypeAlias = Annotated[str, AfterValidator(endpoint_url), _text(_ENDPOINT)]
WebhookUrl: TypeAlias = Annotated[str, AfterValidator(webhook_url), _text(_WEBHOOK)]
Command: TypeAlias = Annotated[str, AfterValidator(command)]
SuiteCommand: TypeAlias = Annotated[str, AfterValidator(command), AfterValidator(command_words)]
AgentPath: TypeAlias = Annotated[str, AfterValidator(agent_path)]
PathPattern: TypeAlias = Annotated[str, AfterValidator(path_pattern)]
BranchNaming: TypeAlias = Annotated[str, AfterValidator(checked_branch_naming)]
