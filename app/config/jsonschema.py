"""The JSON Schema of the configuration files, made from the models that read them.

It says what an editor can check: keys, kinds and ranges. What needs more than one place (does the
agent file exist, is the model on the operator's list) is said by `config check` alone; so is that
5.0 is no whole number, which it is to JSON Schema.
"""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic.json_schema import (
    GenerateJsonSchema,
    JsonSchemaMode,
    JsonSchemaValue,
    models_json_schema,
)
from pydantic_core import CoreSchema, core_schema

from app.config.schema import ConfigFile, Frontmatter, OperatorFile
from app.config.strict import Strict

FileKind = Literal["config", "agent", "operator"]

_MODELS: Final[Mapping[FileKind, type[Strict]]] = {
    "config": ConfigFile,
    "agent": Frontmatter,
    "operator": OperatorFile,
}
_MODE: Final[JsonSchemaMode] = "validation"


class _Brief(GenerateJsonSchema):
    """Without titles that only repeat the keys, and without the defaults of whole sections."""

    def field_title_should_be_set(self, schema: CoreSchema) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if isinstance(schema.get("default"), Strict):
            del described["default"]
        return described


def json_schema(kind: FileKind) -> Mapping[str, object]:
    """The schema (2020-12) of one kind of file; its definitions hold the other kinds too."""
    modes = [(model, _MODE) for model in _MODELS.values()]
    references, definitions = models_json_schema(modes, schema_generator=_Brief)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **references[_MODELS[kind], _MODE],
        **definitions,
    }
