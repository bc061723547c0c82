"""The operator's file (`SQUADRON_CONFIG`): what holds for every repository of an installation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from app.config.layers import Said
from app.config.schema import OperatorFile
from app.config.strict import read
from app.config.yamltree import MAX_FILE_BYTES, Document, Mistake, read_document
from app.core.limits import LimitName
from app.core.plan import ConfigProblem, Layer


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in USD per million tokens."""

    input: float
    output: float
    cache_read: float | None
    """None: as `input`."""


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """What the operator decides for every repository."""

    defaults: Said = field(
        default_factory=lambda: Said(Layer.OPERATOR, {}, "SQUADRON_CONFIG", Document())
    )
    """Limits below every repository's."""
    ceilings: Mapping[LimitName, int] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    """Patterns of the models that roles may name; None: any."""
    pricing: Mapping[str, Price] = field(default_factory=dict)
    reconciliation_interval_seconds: int = 300
    worker_agents: int = 4
    """Agents that one worker runs at once."""

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


def _operator_config(read_file: OperatorFile, file: str, document: Document) -> OperatorConfig:
    ceilings = read_file.ceilings.written()
    return OperatorConfig(
        defaults=Said(Layer.OPERATOR, read_file.defaults.written(), file, document, ("defaults",)),
        ceilings={name: ceilings[name] for name in LimitName if ceilings.get(name) is not None},
        models=read_file.models,
        pricing={
            model: Price(price.input, price.output, price.cache_read)
            for model, price in read_file.pricing.items()
        },
        reconciliation_interval_seconds=read_file.reconciliation_interval,
        worker_agents=read_file.workers.agents,
    )
