"""Writes README's generated tables anew: ``python -m docs.regenerate``.

The limits come from the catalogue, what the runtimes keep from the record of their contract.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app.core.limits import CATALOGUE, LimitInfo, Trips

README: Final = Path(__file__).parents[1] / "README.md"
CONTRACT: Final = Path(__file__).with_name("contract.json")
"""Story → runtime → how it ended; `python -m tests.contract.record` writes it."""
HELD: Final = "held"

_STOPS: Final = {
    Trips.BEYOND: "so many happen, asking for one more stops",
    Trips.REACHED: "stops when reached",
    Trips.REPEATED: "so many happen, asking for the same again stops",
    Trips.SENT: "sent to the provider, never stops",
}


def regenerated(readme: str) -> str:
    """README's text with the present tables between their marks."""
    for mark, lines in (("limits", _limits()), ("contract", _contract())):
        begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
        before, _, rest = readme.partition(begin)
        _, _, after = rest.partition(end)
        table = "".join(f"{line}\n" for line in lines)
        readme = f"{before}{begin}{table}{end}{after}"
    return readme


def _contract() -> Iterator[str]:
    stories = json.loads(CONTRACT.read_text(encoding="utf-8"))
    runtimes = [*next(iter(stories.values()))]
    yield f"| what is seen | {' | '.join(f'`{each}`' for each in runtimes)} |"
    yield f"| --- |{' --- |' * len(runtimes)}"
    for story, ends in stories.items():
        said = ("yes" if ends[each] == HELD else ends[each] for each in runtimes)
        yield f"| {story.replace('_', ' ')} | {' | '.join(said)} |"


def _limits() -> Iterator[str]:
    yield "| limit | default | what is counted | what is not | when it stops | may be | why |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for info in CATALOGUE.values():
        cells = (
            f"`{info.name}`",
            _default(info),
            info.counted,
            info.not_counted,
            _STOPS[info.trips],
            _range(info),
            info.why,
        )
        yield f"| {' | '.join(cells)} |"


def _default(info: LimitInfo) -> str:
    return f"off ({info.unit})" if info.default is None else f"{info.default:,} {info.unit}"


def _range(info: LimitInfo) -> str:
    return f"{info.least:,} to {info.most:,.0f}" + (", `null`: off" if info.optional else "")


if __name__ == "__main__":
    README.write_text(regenerated(README.read_text(encoding="utf-8")), encoding="utf-8")
