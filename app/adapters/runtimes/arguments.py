"""What tools are called with: checked at the border, and told to the model where it is wrong."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

_MOST_PROBLEMS = 5

_Checked = TypeVar("_Checked", bound=BaseModel)


class BadCall(Exception):
    """A call that no tool can run; the text is for the model."""


class Args(BaseModel):
    """The arguments of one tool; its docstring is what the model is told about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def checked(tool: type[_Checked], name: str, args: object) -> _Checked:
    """The arguments of a call of the tool of that name. Raises `BadCall`."""
    try:
        return tool.model_validate(args)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(each) for each in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:_MOST_PROBLEMS]
        )
        raise BadCall(f"bad arguments of {name}: {problems}") from error


def description(tool: type[BaseModel]) -> str:
    """What the model is told about a tool, in one line."""
    return " ".join((tool.__doc__ or "").split())
