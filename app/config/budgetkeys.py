"""`budgets:` in a repository's file and in the operator's: shared money for a window."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.config.names import is_role_name, login
from app.config.strict import Strict
from app.config.wording import quoted
from app.core.budgets.budgets import Budget, Scope, Window
from app.core.limits import LEAST_USD, MOST_USD
from app.core.money import nanousd

_SLUG: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
_NAMES: Final = {
    Scope.INSTALLATION: (re.compile(_SLUG), "the login of an account (octo)"),
    Scope.REPOSITORY: (re.compile(f"{_SLUG}/{_SLUG}"), "a repository (octo/demo)"),
    Scope.TEAM: (re.compile(f"{_SLUG}/{_SLUG}"), "a team (octo/leads)"),
    Scope.ISSUE: (re.compile(f"{_SLUG}/{_SLUG}#[1-9][0-9]{{0,8}}"), "an issue (octo/demo#12)"),
}
_NAMES_AT_HOME: Final = {
    **_NAMES,
    Scope.TEAM: (re.compile(f"({_SLUG}/)?{_SLUG}"), "a team (leads, or octo/leads)"),
    Scope.ISSUE: (re.compile("#?[1-9][0-9]{0,8}"), "the number of an issue (12)"),
}
"""In a repository's own file, which says whose issues and teams are meant."""


def _number_as_text(value: object) -> object:
    """`name: 12` means issue 12."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class BudgetBlock(Strict):
    """A bound on what all agents of one kind spend together; without a name, of each on its own."""

    scope: Literal["installation", "repository", "team", "role", "issue", "user"]
    """Whose spending is added up."""
    window: Literal["day", "week", "month", "total"]
    """In UTC; weeks start on Monday; `total` never starts again."""
    max_cost_usd: float = Field(ge=LEAST_USD, le=MOST_USD)
    """USD in one window."""
    name: Annotated[str | None, BeforeValidator(_number_as_text)] = Field(
        default=None,
        validate_default=True,
        json_schema_extra={"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]},
    )
    """The one role, user, team, issue, repository or account that is meant; a team has to be."""

    is_at_home: ClassVar = False
    """Whether it stands in the file of the repository that it counts in."""

    @field_validator("name")
    @classmethod
    def _name_of_its_scope(cls, name: str | None, info: ValidationInfo) -> str | None:
        if "scope" not in info.data:
            return name
        scope = Scope(info.data["scope"])
        if name is None:
            if scope is Scope.TEAM:  # GitHub says who is in a team, not in which teams somebody is
                raise ValueError(f"must be {cls._names()[scope][1]}: one entry for each team")
            return None
        if scope is Scope.USER:
            return login(name)
        if scope is Scope.ROLE:
            if not is_role_name(name):
                raise ValueError(f"must be the name of a role (bug-fix), not {quoted(name)}")
            return name
        pattern, example = cls._names()[scope]
        if not pattern.fullmatch(name):
            raise ValueError(f"must be {example}, not {quoted(name)}")
        return name

    @classmethod
    def _names(cls) -> Mapping[Scope, tuple[re.Pattern[str], str]]:
        """How what is meant is named where the block stands, and an example of it."""
        return _NAMES_AT_HOME if cls.is_at_home else _NAMES

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = super().__get_pydantic_json_schema__(schema, handler)
        is_teams = {"properties": {"scope": {"const": Scope.TEAM}}, "required": ["scope"]}
        has_name = {"properties": {"name": {"not": {"type": "null"}}}, "required": ["name"]}
        section = handler.resolve_ref_schema(described)
        section.update({"if": is_teams, "then": has_name})
        return described

    def budget(self) -> Budget:
        """The budget that it describes."""
        return Budget(Scope(self.scope), Window(self.window), nanousd(self.max_cost_usd), self.name)


class RepositoryBudgetBlock(BudgetBlock):
    """A budget inside one repository."""

    scope: Literal["repository", "team", "role", "issue", "user"]
    """Whose spending in this repository is added up."""

    is_at_home: ClassVar = True

    @field_validator("name")
    @classmethod
    def _not_another_repository(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is not None and info.data.get("scope") == Scope.REPOSITORY:
            raise ValueError("leave it out: the repository of this file is meant")
        return name
