"""A repository's `.squadron/` → its plan, or every mistake in it. Pure: files come in as contents.

A mistake inside one role breaks that role only; any other mistake in `config.yaml` leaves no plan,
because half a configuration is not what anybody wrote.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from app.config.builtin import BUILT_IN_ROLES
from app.config.layers import Said, effective_limits
from app.config.names import PULL_REQUEST_EVENTS, is_role_name
from app.config.operator import OperatorConfig, problems_of
from app.config.roleplan import CONFIG_FILE, Repository, agent_path_of, plan_role
from app.config.schema import ConfigFile
from app.config.strict import read_most
from app.config.toosmall import RolePrice, too_small
from app.config.wording import did_you_mean, dotted
from app.config.yamltree import Document, Mistake, Path, read_document
from app.core.limits import Limits
from app.core.rules.plan import (
    TRIGGER_PREFIX,
    ConfigProblem,
    EscalationRules,
    Layer,
    RepositoryPlan,
    RoleKind,
    RolePlan,
)
from app.core.rules.trust import Permission, TrustRules
from app.testruns import SuiteRules

SETUP_FILE: Final = "setup.sh"
VERIFY_FILE: Final = "verify.sh"
MAX_SCRIPT_BYTES: Final = 100_000
"""Linux hands a command no longer word than 131,071 bytes."""


@dataclass(frozen=True, slots=True)
class RepositoryReading:
    """What a repository's configuration comes to, and all that is wrong with it, by place."""

    plan: RepositoryPlan | None
    problems: tuple[ConfigProblem, ...]
    is_switched_off: bool = False
    """Whether `config.yaml` says `enabled: false`, whatever else is wrong in it."""
    too_small: tuple[ConfigProblem, ...] = ()
    """Limits, by place, that do not pay for the first steps of their role's agents, as far as
    that can be said before."""


def read_repository(
    files: Mapping[str, str | bytes],
    operator: OperatorConfig,
    *,
    root: str = ".squadron",
    price_of: RolePrice = lambda model: None,
) -> RepositoryReading:
    """Reads the contents of `.squadron/`, by path relative to it (`config.yaml`, `agents/pm.md`).

    Without `config.yaml` everything has its default and the built-in roles exist. `root` is how
    problems name the directory; `price_of` tells what a role's model costs, for `too_small`. Never
    raises for what the files contain.
    """
    document = read_document(files.get(CONFIG_FILE, ""))
    config, mistakes = read_most(ConfigFile, document)
    mistakes += (*_contradictions(config, document), *_misnamed(files, document))
    repository = Repository(files, config, document, root)
    roles, broken = _roles(repository, operator, mistakes)
    mistakes += _budgets_of_nobody(config, document, {*roles, *broken})
    mistakes += _misdirected(config, document, roles)
    elsewhere = [each for each in mistakes if _role_of(each.path) is None]
    problems = {problem for each in broken.values() for problem in each}
    problems.update(problems_of(elsewhere, repository.named(CONFIG_FILE)))
    setup, verify = _script(repository, SETUP_FILE), _script(repository, VERIFY_FILE)
    problems.update(each for each in (setup, verify) if isinstance(each, ConfigProblem))
    plan = None
    if isinstance(setup, str) and isinstance(verify, str) and not elsewhere:
        plan = _plan(config, _default_limits(repository, operator), roles, broken)
        plan = replace(plan, setup_script=setup, verify_script=verify)
    ordered = tuple(sorted(problems, key=_by_place))
    small = [
        each for role in roles.values() for each in too_small(repository, role, operator, price_of)
    ]
    return RepositoryReading(
        plan, ordered, _is_switched_off(document), tuple(sorted(set(small), key=_by_place))
    )


def _is_switched_off(document: Document) -> bool:
    written = document.plain()
    return isinstance(written, dict) and written.get("enabled") is False


def _script(repository: Repository, name: str) -> str | ConfigProblem:
    content = repository.files.get(name, "")
    data = content.encode() if isinstance(content, str) else content
    try:
        if b"\0" not in data and len(data) <= MAX_SCRIPT_BYTES:
            return data.decode()
        why = f"larger than {MAX_SCRIPT_BYTES // 1000} kB, or no text"
    except UnicodeDecodeError:
        why = "not UTF-8"
    return ConfigProblem(repository.named(name), 1, 1, why)


def _misnamed(files: Mapping[str, str | bytes], document: Document) -> list[Mistake]:
    if "config.yml" not in files or CONFIG_FILE in files:
        return []
    message = "there is a config.yml: only config.yaml is read, rename it"
    return [Mistake((), document.place(()), message)]


def _role_of(path: Path) -> str | None:
    """The role whose block the path is in; None: it is not inside one."""
    match path:
        case ("roles", str(role), *_) | ("circuit_breakers", "roles", str(role), *_):
            return role if is_role_name(role) else None
        case _:
            return None


def _contradictions(config: ConfigFile, document: Document) -> list[Mistake]:
    """Keys that are right alone and wrong together. To GitHub, labels are equal in any case."""
    starting = {label.casefold() for label in config.triggers.labels}
    set_by_us: list[tuple[Path, str]] = [
        (("escalation", "labels", index), label)
        for index, label in enumerate(config.escalation.labels)
    ]
    if (waiting := config.escalation.waiting_label) is not None:
        set_by_us.append((("escalation", "waiting_label"), waiting))
    return [
        Mistake(path, document.place(path), f"{dotted(path)}: this label would start an agent")
        for path, label in set_by_us
        if label.casefold() in starting or label.casefold().startswith(TRIGGER_PREFIX)
    ]


def _budgets_of_nobody(
    config: ConfigFile, document: Document, roles: Collection[str]
) -> tuple[Mistake, ...]:
    """Budgets of roles that do not exist: they would bound nothing."""
    return tuple(
        Mistake(
            path := ("budgets", index, "name"),
            document.place(path),
            f"{dotted(path)}: there is no role {block.name}{did_you_mean(block.name, roles)}",
        )
        for index, block in enumerate(config.budgets)
        if block.scope == "role" and block.name is not None and block.name not in roles
    )


def _misdirected(
    config: ConfigFile, document: Document, roles: Mapping[str, RolePlan]
) -> tuple[Mistake, ...]:
    """Events whose role does not work on what they are about: nothing would ever start."""
    mistakes = []
    for event, role in config.triggers.events.items():
        planned = roles.get(role)
        is_review = planned is not None and planned.kind is RoleKind.REVIEW
        if planned is None or is_review == (event in PULL_REQUEST_EVENTS):
            continue
        path = ("triggers", "events", event)
        works_on = "pull requests" if is_review else "issues"
        message = f"{dotted(path)}: {role} works on {works_on}, so this event never starts it"
        mistakes.append(Mistake(path, document.place(path), message))
    return tuple(mistakes)


def _roles(
    repository: Repository,
    operator: OperatorConfig,
    mistakes: Sequence[Mistake],
) -> tuple[dict[str, RolePlan], dict[str, tuple[ConfigProblem, ...]]]:
    """Every role that exists or is mentioned: ready, or broken and why."""
    plans: dict[str, RolePlan] = {}
    broken: dict[str, tuple[ConfigProblem, ...]] = {}
    file = repository.named(CONFIG_FILE)
    wrong = {role for each in mistakes if (role := _role_of(each.path)) is not None}
    for role in sorted(_role_names(repository) | wrong):
        in_block = problems_of([each for each in mistakes if _role_of(each.path) == role], file)
        planned = plan_role(repository, role, operator)
        if isinstance(planned, RolePlan) and not in_block:
            plans[role] = planned
        else:
            broken[role] = in_block + (() if isinstance(planned, RolePlan) else planned)
    return plans, broken


def _role_names(repository: Repository) -> set[str]:
    config = repository.config
    mentioned = {
        *BUILT_IN_ROLES,
        *config.roles,
        *config.circuit_breakers.roles,
        *config.triggers.labels.values(),
        *config.triggers.events.values(),
    }
    used = {agent_path_of(repository, role) for role in config.roles}
    paths = {PurePosixPath(path) for path in repository.files if path not in used}
    by_file = {path.stem for path in paths if path.match("agents/*.md") and len(path.parts) == 2}
    return mentioned | by_file


def _plan(
    config: ConfigFile,
    default_limits: Limits,
    roles: Mapping[str, RolePlan],
    broken: Mapping[str, tuple[ConfigProblem, ...]],
) -> RepositoryPlan:
    trust, escalation, suites = config.trust, config.escalation, config.test_commands
    return RepositoryPlan(
        labels=config.triggers.labels,
        events=config.triggers.events,
        trust=TrustRules(Permission[trust.start.upper()], trust.logins, trust.bots, trust.teams),
        default_limits=default_limits,
        roles=roles,
        broken=broken,
        branch_naming=config.branch_naming,
        escalation=EscalationRules(
            escalation.labels,
            escalation.assignees,
            escalation.mention,
            escalation.waiting_label,
            escalation.max_issue_depth,
            escalation.max_issues_per_day,
        ),
        suites=SuiteRules(add=_command_words(suites.add), exclude=_command_words(suites.exclude)),
        budgets=tuple(block.budget() for block in config.budgets),
        co_author=config.co_author,
        protected_paths=config.protected_paths,
        enabled=config.enabled,
    )


def _default_limits(repository: Repository, operator: OperatorConfig) -> Limits:
    """Of a role that only the defaults speak about."""
    keys = repository.config.circuit_breakers.defaults.written()
    said = Said(Layer.REPOSITORY, keys, repository.named(CONFIG_FILE), repository.document)
    return effective_limits([operator.defaults, said], operator.ceilings)[0]


def _command_words(lines: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(line)) for line in lines)


def _by_place(problem: ConfigProblem) -> tuple[str, int, int, str]:
    return problem.file, problem.line, problem.column, problem.message
