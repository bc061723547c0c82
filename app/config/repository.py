"""A repository's `.squadron/` → its plan, or every mistake in it. Pure: files come in as contents.

A mistake inside one role breaks that role only; any other mistake in `config.yaml` leaves no plan,
because half a configuration is not what anybody wrote.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from app.config.builtin import BUILT_IN_ROLES
from app.config.names import is_role_name
from app.config.operator import OperatorConfig, problems_of
from app.config.roleplan import CONFIG_FILE, Repository, agent_path_of, plan_role
from app.config.schema import ConfigFile
from app.config.strict import read, without
from app.config.yamltree import Document, Mistake, Path, read_document
from app.core.plan import TRIGGER_PREFIX, ConfigProblem, EscalationRules, RepositoryPlan, RolePlan
from app.core.testruns import SuiteRules
from app.core.trust import Permission, TrustRules


@dataclass(frozen=True, slots=True)
class RepositoryReading:
    """What a repository's configuration comes to, and all that is wrong with it, by place."""

    plan: RepositoryPlan | None
    problems: tuple[ConfigProblem, ...]


def read_repository(
    files: Mapping[str, str | bytes], operator: OperatorConfig, *, root: str = ".squadron"
) -> RepositoryReading:
    """Reads the contents of `.squadron/`, by path relative to it (`config.yaml`, `agents/pm.md`).

    Without `config.yaml` everything has its default and the built-in roles exist. `root` is how
    problems name the directory. Never raises for what the files contain.
    """
    document = read_document(files.get(CONFIG_FILE, ""))
    config, mistakes = read(ConfigFile, document)
    if config is None:  # judge the rest, so that a person sees every mistake at once
        rest = without(document.plain(), [each.path for each in mistakes])
        config = ConfigFile.model_validate(rest)
    mistakes += (*_contradictions(config, document), *_misnamed(files, document))
    repository = Repository(files, config, document, root)
    roles, broken = _roles(repository, operator, mistakes)
    elsewhere = [each for each in mistakes if _role_of(each.path) is None]
    problems = {problem for each in broken.values() for problem in each}
    problems.update(problems_of(elsewhere, repository.named(CONFIG_FILE)))
    plan = None if elsewhere else _plan(config, roles, broken)
    return RepositoryReading(plan, tuple(sorted(problems, key=_by_place)))


def _misnamed(files: Mapping[str, str | bytes], document: Document) -> list[Mistake]:
    if "config.yml" not in files:
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
    return [
        Mistake(
            path := ("escalation", "labels", index),
            document.place(path),
            f"escalation.labels[{index}]: this label would start an agent",
        )
        for index, label in enumerate(config.escalation.labels)
        if label.casefold() in starting or label.startswith(TRIGGER_PREFIX)
    ]


def _roles(
    repository: Repository, operator: OperatorConfig, mistakes: Sequence[Mistake]
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
    roles: Mapping[str, RolePlan],
    broken: Mapping[str, tuple[ConfigProblem, ...]],
) -> RepositoryPlan:
    trust, escalation, suites = config.trust, config.escalation, config.test_commands
    return RepositoryPlan(
        labels=config.triggers.labels,
        events=config.triggers.events,
        trust=TrustRules(Permission[trust.start.upper()], trust.logins, trust.bots),
        roles=roles,
        broken=broken,
        branch_naming=config.branch_naming,
        escalation=EscalationRules(escalation.labels, escalation.assignees, escalation.mention),
        suites=SuiteRules(add=_command_words(suites.add), exclude=_command_words(suites.exclude)),
        enabled=config.enabled,
    )


def _command_words(lines: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shlex.split(line)) for line in lines)


def _by_place(problem: ConfigProblem) -> tuple[str, int, int, str]:
    return problem.file, problem.line, problem.column, problem.message
