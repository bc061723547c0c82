"""Writes README's table of limits anew, from the catalogue: ``python -m docs.regenerate``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app.core.limits import CATALOGUE, LimitInfo, Trips

README: Final = Path(__file__).parents[1] / "README.md"
BEGIN: Final = "<!-- limits -->\n"
END: Final = "<!-- /limits -->\n"

_STOPS: Final = {
    Trips.BEYOND: "so many happen, asking for one more stops",
    Trips.REACHED: "stops when reached",
}


def limits_table() -> str:
    """All limits of the catalogue as a table."""
    return "".join(f"{line}\n" for line in _lines())


def regenerated(readme: str) -> str:
    """README's text with the present table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{limits_table()}{END}{after}"


def _lines() -> Iterator[str]:
    yield "| limit | default | what is counted | what is not | when it stops | may be | why |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for info in CATALOGUE.values():
        cells = (
            f"`{info.name}`",
            f"{info.default:,} {info.unit}",
            info.counted,
            info.not_counted,
            _STOPS[info.trips],
            _range(info),
            info.why,
        )
        yield f"| {' | '.join(cells)} |"


def _range(info: LimitInfo) -> str:
    return f"{info.least:,} to {info.most:,}" + (", `null`: off" if info.optional else "")


if __name__ == "__main__":
    README.write_text(regenerated(README.read_text(encoding="utf-8")), encoding="utf-8")
