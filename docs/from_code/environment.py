"""The variables of the environment."""

from collections.abc import Iterator

from app.config.variables import PREFIX, VARIABLES, Variable
from docs.from_code.markdown import sentence, table


def variables() -> Iterator[str]:
    """Every variable."""
    heads = ("variable", "without it", "what it is")
    return table(heads, (_row(name, each) for name, each in VARIABLES.items()))


def _row(name: str, variable: Variable) -> tuple[str, ...]:
    without = "`serve` does not start" if variable.is_required else variable.default or "nothing"
    file = f", or `{PREFIX}{name}_FILE`" if variable.is_secret else ""
    return f"`{PREFIX}{name}`{file}", without, sentence(variable.meaning)
