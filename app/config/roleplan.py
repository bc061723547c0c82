"""One role: what all layers say about it becomes a `RolePlan`, or the problems that prevent it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.config.agentfile import AgentFile, read_agent_file
from app.config.builtin import READING_TOOLS, built_in_roles
from app.config.layers import Said, effective_limits, last_word, preset_said
from app.config.names import ROLE_NAME_RULE, is_role_name
from app.config.operator import OperatorConfig, problems_of
from app.config.schema import ConfigFile
from app.config.wording import did_you_mean, quoted
from app.config.yamltree import Document, Path
from app.core.effects.wanted import NEEDS_HUMAN
from app.core.rules.plan import TRIGGER_PREFIX, ConfigProblem, Layer, RoleKind, RolePlan, Tests

CONFIG_FILE = "config.yaml"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository's files with `config.yaml` read; paths are relative to `root`."""

    files: Mapping[str, str | bytes]
    config: ConfigFile
    document: Document
    root: str

    def named(self, path: str) -> str:
        """The name of a file in problems."""
        return f"{self.root}/{path if path.isprintable() else quoted(path)}"


def agent_path_of(repository: Repository, role: str) -> str:
    """Where the role's agent file is, if it has one."""
    block = repository.config.roles.get(role)
    return (block and block.agent) or default_agent_path(role)


def default_agent_path(role: str) -> str:
    """Where the agent file is of a role that names none; writing it out says nothing more."""
    return f"agents/{role}.md"


def plan_role(
    repository: Repository, role: str, operator: OperatorConfig
) -> RolePlan | tuple[ConfigProblem, ...]:
    """The role ready to work, or everything that is wrong with it."""
    path = agent_path_of(repository, role)
    if not is_role_name(role):  # the name of its file
        return (ConfigProblem(repository.named(path), 1, 1, ROLE_NAME_RULE),)
    own: AgentFile | None = None
    if path in repository.files:
        read = read_agent_file(repository.files[path])
        if not isinstance(read, AgentFile):
            return problems_of(read, repository.named(path))
        own = read
    built_in = built_in_roles().get(role)
    definition = own or built_in
    missing = _missing_definition(repository, role, path, has_own=own is not None)
    if definition is None or missing:
        return missing
    said = _layers(repository, role, operator, built_in, own)
    problems = _forbidden(repository, role, said, operator)
    if problems:
        return problems
    return _role_plan(repository, role, definition, said, operator)


def _missing_definition(
    repository: Repository, role: str, path: str, *, has_own: bool
) -> tuple[ConfigProblem, ...]:
    """A problem if the role has no definition, or names an agent file that is not there."""
    block = repository.config.roles.get(role)
    names_another = block is not None and block.agent not in (None, default_agent_path(role))
    if has_own or (role in built_in_roles() and not names_another):
        return ()
    if block and block.agent:
        place = repository.document.place(("roles", role, "agent"))
        near = did_you_mean(path, [name for name in repository.files if name.endswith(".md")])
        message = f"roles.{role}.agent: there is no file {repository.named(path)}{near}"
    else:
        at = mentioned_at(repository.config, role)
        place = repository.document.place(at, of_key=at[:1] != ("triggers",))
        near = did_you_mean(role, built_in_roles())
        message = f"the role {role} has no agent file {repository.named(path)} and is not built in"
        message += near
    return (ConfigProblem(repository.named(CONFIG_FILE), place.line, place.column, message),)


def mentioned_at(config: ConfigFile, role: str) -> Path:
    """The path of the first section that mentions the role."""
    if role in config.roles:
        return ("roles", role)
    if role in config.circuit_breakers.roles:
        return ("circuit_breakers", "roles", role)
    triggers = {"labels": config.triggers.labels, "events": config.triggers.events}
    return next(
        (
            ("triggers", section, trigger)
            for section, mapping in triggers.items()
            for trigger, started in mapping.items()
            if started == role
        ),
        ("roles", role),  # its block was too wrong to be kept
    )


def said_about(repository: Repository, role: str, operator: OperatorConfig) -> Sequence[Said]:
    """What everybody says about a role that `plan_role` has found sound, the last word last."""
    path = agent_path_of(repository, role)
    read = read_agent_file(repository.files[path]) if path in repository.files else None
    own = read if isinstance(read, AgentFile) else None
    return _layers(repository, role, operator, built_in_roles().get(role), own)


def _layers(
    repository: Repository,
    role: str,
    operator: OperatorConfig,
    built_in: AgentFile | None,
    own: AgentFile | None,
) -> list[Said]:
    """What everybody says about the role, the last word last."""
    config, document = repository.config, repository.document
    file = repository.named(CONFIG_FILE)
    breakers = config.circuit_breakers
    base: list[Said] = []
    if built_in is not None:
        head = built_in.frontmatter.written()
        base.append(Said(Layer.BUILT_IN, head, f"built-in {role}", built_in.document))
    at_defaults = ("circuit_breakers", "defaults")
    defaults = Said(Layer.REPOSITORY, breakers.defaults.written(), file, document, at_defaults)
    about_role = _about_role(repository, role, own)
    # Whoever names it, the built-in role too: a preset stands above all defaults.
    preset, _ = last_word([*base, *about_role], "preset", None)
    presets = [] if preset is None else [preset_said(preset)]
    return [*base, operator.defaults, defaults, *presets, *about_role]


def _about_role(repository: Repository, role: str, own: AgentFile | None) -> list[Said]:
    """What the repository says about this role alone."""
    config, document = repository.config, repository.document
    file = repository.named(CONFIG_FILE)
    breakers = config.circuit_breakers
    said: list[Said] = []
    if role in breakers.roles:
        keys, at = breakers.roles[role].written(), ("circuit_breakers", "roles", role)
        said.append(Said(Layer.REPOSITORY_ROLE, keys, file, document, at))
    if role in config.roles:
        keys, at_role = config.roles[role].written(), ("roles", role)
        said.append(Said(Layer.REPOSITORY_ROLE, keys, file, document, at_role))
    if own is not None:
        path = repository.named(agent_path_of(repository, role))
        said.append(Said(Layer.AGENT_FILE, own.frontmatter.written(), path, own.document))
    return said


def _forbidden(
    repository: Repository, role: str, said: Sequence[Said], operator: OperatorConfig
) -> tuple[ConfigProblem, ...]:
    """What is well-formed, but not allowed: a model off the list, a reviewer that writes."""
    problems: list[ConfigProblem] = []
    for key in ("model", "planning_model"):
        model, naming = last_word(said, key, None)
        if naming and not operator.allows_model(model):
            allowed = ", ".join(operator.models or ()) or "none"
            message = f"{model} is not on the operator's list (allowed: {allowed})"
            problems.append(naming.problem(key, message))
    return (*problems, *_against_its_kind(role, said), *_labels_of_others(repository, said))


def _against_its_kind(role: str, said: Sequence[Said]) -> list[ConfigProblem]:
    """What a role of its kind cannot have."""
    problems: list[ConfigProblem] = []
    kind, naming = last_word(said, "kind", RoleKind.WORK)
    built_in = built_in_roles().get(role)
    if naming and built_in is not None and kind != built_in.frontmatter.kind:
        message = f"the built-in role {role} is of kind {built_in.frontmatter.kind}: leave it out"
        return [naming.problem("kind", message)]
    tools, giving = last_word(said, "tools", ())
    writing = [tool for tool in tools if tool not in READING_TOOLS]
    if kind == RoleKind.REVIEW and giving and writing:
        message = f"a review role cannot write: leave {', '.join(writing)} out"
        problems.append(giving.problem("tools", message))
    _, preparing = last_word(said, "setup", ())
    if kind == RoleKind.REVIEW and preparing:
        message = "a review role runs nothing, for what it reads may be a stranger's: leave it out"
        problems.append(preparing.problem("setup", message))
    for key, unsaid in (("tests", Tests.EXPECTED), ("verify", ())):
        _, saying = last_word(said, key, unsaid)
        if kind != RoleKind.WORK and saying:
            problems.append(saying.problem(key, "only a role of kind work hands code over"))
    _, allowing = last_word(said, "may_label", ())
    if kind != RoleKind.TRIAGE and allowing:
        problems.append(allowing.problem("may_label", "only a role of kind triage sets labels"))
    return problems


def _labels_of_others(repository: Repository, said: Sequence[Said]) -> list[ConfigProblem]:
    """Labels that no agent may set: those that start one, and those that call a human."""
    labels, allowing = last_word(said, "may_label", ())
    config = repository.config
    calling = {*config.escalation.labels, config.escalation.waiting_label or "", NEEDS_HUMAN}
    reserved = {label.casefold() for label in {*config.triggers.labels, *calling}}
    wrong = [
        label
        for label in labels
        if label.casefold() in reserved or label.casefold().startswith(TRIGGER_PREFIX)
    ]
    if allowing is None or not wrong:
        return []
    message = f"labels that start agents or call humans are set by people: leave out {wrong[0]}"
    return [allowing.problem("may_label", message)]


def _role_plan(
    repository: Repository,
    role: str,
    definition: AgentFile,
    said: Sequence[Said],
    operator: OperatorConfig,
) -> RolePlan:
    limits, origins = effective_limits(said, operator.ceilings)
    kind = RoleKind(last_word(said, "kind", RoleKind.WORK)[0])
    unsaid = READING_TOOLS if kind is RoleKind.REVIEW else None
    verify = last_word(said, "verify", ())[0] or repository.config.verify
    return RolePlan(
        role=role,
        description=definition.frontmatter.description,
        prompt=definition.prompt,
        runtime=last_word(said, "runtime", "embedded")[0],
        model=last_word(said, "model", None)[0],
        planning_model=last_word(said, "planning_model", None)[0],
        tools=last_word(said, "tools", unsaid)[0],
        setup=last_word(said, "setup", ())[0],
        preset=last_word(said, "preset", None)[0],
        limits=limits,
        origins=origins,
        kind=kind,
        may_label=last_word(said, "may_label", ())[0],
        tests=Tests(last_word(said, "tests", Tests.EXPECTED)[0]),
        verify=verify if kind is RoleKind.WORK else (),
    )
