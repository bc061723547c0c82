"""The operator's file (`SQUADRON_CONFIG`): what holds for every repository of an installation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path

from app.config.layers import Said
from app.config.schema import ModelEndpoint, ModelPrice, OperatorFile, Sandbox
from app.config.strict import read
from app.config.wording import dotted
from app.config.yamltree import MAX_FILE_BYTES, Document, Mistake, read_document
from app.core.budgets.budgets import Budget
from app.core.limits import LimitName
from app.core.money import Price
from app.core.rules.caps import Caps
from app.core.rules.plan import Adaptive, Alerts, ConfigProblem, Layer, OnUnmeasurable, SandboxMode


@dataclass(frozen=True, slots=True)
class SandboxRules:
    """What keeps agents' processes apart from the machine."""

    mode: SandboxMode = "required"
    mounts: tuple[Path, ...] = ()
    """Paths of the machine that agents may read."""
    egress: tuple[str, ...] = ()
    """Hosts that setup commands may reach."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the models of a provider are asked."""

    base_url: str | None = None
    """None: the provider's own."""
    api_key_file: Path | None = None
    """None: it wants no key."""


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """What the operator decides for every repository."""

    defaults: Said = field(
        default_factory=lambda: Said(Layer.OPERATOR, {}, "SQUADRON_CONFIG", Document())
    )
    """Limits below every repository's."""
    ceilings: Mapping[LimitName, float] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    """Patterns of the models that roles may name; None: any."""
    pricing: Mapping[str, Price] = field(default_factory=dict)
    """By `provider:name` or bare name."""
    on_unmeasurable: OnUnmeasurable = "warn"
    budgets: tuple[Budget, ...] = ()
    starts_per_user_per_hour: int = 100
    alerts: Alerts = field(default_factory=Alerts)
    adaptive: Adaptive = "off"
    reconciliation_interval_seconds: int = 300
    max_starts_per_pass: int = 10
    worker_agents: int = 4
    """Agents that one worker runs at once."""
    caps: Caps = field(default_factory=Caps)
    """Of agents at work at once, in all workers together."""
    worker_timeout_seconds: int = 60
    """After which others take over from a worker that was not heard of."""
    database_wait_seconds: int = 600
    """For which a process waits that has lost its database."""
    min_free_mib: int = 1_024
    """Of the disk with the data directory; below it no agent begins to work."""
    artifact_mib_per_agent: int = 16
    """That are kept of an agent for other machines, compressed."""
    pack_after_days: int = 30
    """Days after an agent's end after which its log is packed."""
    sandbox: SandboxRules = SandboxRules()
    providers: Mapping[str, Endpoint] = field(default_factory=dict)
    """By provider, as models name it."""

    def allows_model(self, model: str) -> bool:
        """Whether a role may name `model` (`provider:name`)."""
        return self.models is None or any(fnmatchcase(model, each) for each in self.models)


@dataclass(frozen=True, slots=True)
class OperatorReading:
    """The operator's configuration, or why there is none."""

    config: OperatorConfig | None
    problems: tuple[ConfigProblem, ...]


def read_operator(content: str | bytes, file: str) -> OperatorReading:
    """What the operator's file says; `file` is its name in problems. Without a problem the
    configuration is there, with one it is not."""
    document = read_document(content)
    read_file, mistakes = read(OperatorFile, document)
    if read_file is not None:
        mistakes = (*mistakes, *_contradictions(read_file, document))
    if read_file is None or mistakes:
        return OperatorReading(None, problems_of(mistakes, file))
    return OperatorReading(_operator_config(read_file, file, document), ())


def load_operator(path: Path | None) -> OperatorReading:
    """The operator's file from disk; without a path, the defaults."""
    if path is None:
        return OperatorReading(OperatorConfig(), ())
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror} (SQUADRON_CONFIG names this file)"
        return OperatorReading(None, (ConfigProblem(str(path), 1, 1, message),))
    return read_operator(content, str(path))


def problems_of(mistakes: Iterable[Mistake], file: str) -> tuple[ConfigProblem, ...]:
    """The mistakes of one file as problems, by place."""
    ordered = sorted(mistakes, key=lambda mistake: (mistake.place, mistake.message))
    return tuple(
        ConfigProblem(file, each.place.line, each.place.column, each.message) for each in ordered
    )


def _contradictions(read_file: OperatorFile, document: Document) -> list[Mistake]:
    """Defaults above the ceilings of the same file: one of the two is not what was meant. A
    provider of which nothing is said."""
    defaults, ceilings = read_file.defaults.written(), read_file.ceilings.written()
    found: list[Mistake] = []
    for name in LimitName:
        default, ceiling = defaults.get(name), ceilings.get(name)
        if default is not None and ceiling is not None and default > ceiling:
            path = ("defaults", name.value)
            message = f"{default} is above this file's own ceilings.{name} of {ceiling}"
            found.append(Mistake(path, document.place(path), f"{dotted(path)}: {message}"))
    for provider, said in read_file.providers.items():
        if not said.model_fields_set:
            path = ("providers", provider)
            message = "says neither `base_url` nor `api_key_file`"
            found.append(Mistake(path, document.place(path), f"{dotted(path)}: {message}"))
    return found


def _operator_config(read_file: OperatorFile, file: str, document: Document) -> OperatorConfig:
    ceilings, alerts = read_file.ceilings.written(), read_file.alerts
    return OperatorConfig(
        defaults=Said(Layer.OPERATOR, read_file.defaults.written(), file, document, ("defaults",)),
        ceilings={name: ceilings[name] for name in LimitName if ceilings.get(name) is not None},
        models=read_file.models,
        pricing={model: _price(price) for model, price in read_file.pricing.items()},
        on_unmeasurable=read_file.on_unmeasurable,
        budgets=tuple(block.budget() for block in read_file.budgets),
        starts_per_user_per_hour=read_file.rate.starts_per_user_per_hour,
        alerts=Alerts(alerts.cost_usd_per_hour, alerts.trips_per_hour, alerts.webhook),
        adaptive=read_file.adaptive,
        reconciliation_interval_seconds=read_file.reconciliation_interval,
        max_starts_per_pass=read_file.max_starts_per_pass,
        worker_agents=read_file.workers.agents,
        caps=Caps(read_file.workers.per_repository, read_file.workers.per_role),
        worker_timeout_seconds=read_file.worker_timeout,
        database_wait_seconds=read_file.database_wait,
        min_free_mib=read_file.min_free_mib,
        artifact_mib_per_agent=read_file.artifact_mib_per_agent,
        pack_after_days=read_file.pack_after_days,
        sandbox=_sandbox_rules(read_file.sandbox),
        providers={
            name: _endpoint(said, Path(file).parent) for name, said in read_file.providers.items()
        },
    )


def _sandbox_rules(said: Sandbox) -> SandboxRules:
    return SandboxRules(said.mode, tuple(map(Path, said.mounts)), tuple(said.egress))


def _endpoint(said: ModelEndpoint, directory: Path) -> Endpoint:
    file = None if said.api_key_file is None else directory / said.api_key_file
    return Endpoint(said.base_url, file)


def _price(price: ModelPrice) -> Price:
    return Price(
        _decimal(price.input),
        _decimal(price.output),
        None if price.cache_read is None else _decimal(price.cache_read),
        None if price.cache_write is None else _decimal(price.cache_write),
    )


def _decimal(usd: float) -> Decimal:
    """The number as it was written: the shortest text that is this float."""
    return Decimal(repr(usd))
