"""What a storm costs while GitHub is away: deliveries of all kinds next to comments alone, and the
largest bodies that there are."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import uvloop

from bench import servers
from bench.deliveries import LARGEST_BODY_BYTES, Request, largest, mixed, signed
from bench.load import Load, send

CONNECTIONS: Final = 64
LARGE_CONNECTIONS: Final = 4
SECONDS: Final = 3.0
QUIET_SECONDS: Final = 3.0
ROUNDS: Final = 3
AIM_SHARE: Final = 0.8
AIM_MEMORY_RATIO: Final = 2


def main() -> None:
    """Print the figures: of the rounds, the best pair; the machine may have other work."""
    for part in (_mixed, _large):
        with servers.service() as server:
            part(server)


def _mixed(server: servers.Server) -> None:
    pairs = [(_load(server, signed, n), _load(server, mixed, n)) for n in range(ROUNDS)]
    alone, storm = max(pairs, key=lambda pair: pair[1].per_second / pair[0].per_second)
    print(
        f"storm: comments alone {alone.per_second:,.0f}/s, p99 {alone.milliseconds(99):.1f} ms;"
        f" of all kinds {storm.per_second:,.0f}/s, p99 {storm.milliseconds(99):.1f} ms,"
        f" refused {storm.refused}; = {storm.per_second / alone.per_second:.2f} of it, p99"
        f" {storm.milliseconds(99) / alone.milliseconds(99):.1f} times (aim: {AIM_SHARE};"
        f" best of {ROUNDS})",
        flush=True,
    )


def _load(
    server: servers.Server,
    deliveries: Callable[[str], Iterator[Request]],
    number: int,
    connections: int = CONNECTIONS,
) -> Load:
    requests = deliveries(f"{deliveries.__name__}-{number}-{os.getpid()}")
    return uvloop.run(send(server.port, requests, connections=connections, seconds=SECONDS))


def _large(server: servers.Server) -> None:
    before, kept_before = server.resident_megabytes(), _kept_megabytes(server)
    load = _load(server, largest, 0, LARGE_CONNECTIONS)
    uvloop.run(_quiet(server.port))
    after, kept = server.resident_megabytes(), _kept_megabytes(server) - kept_before
    received = len(load.accepted) * LARGEST_BODY_BYTES / 1e6
    print(
        f"storm: {len(load.accepted)} bodies of {LARGEST_BODY_BYTES / 1e6:g} MB,"
        f" {LARGE_CONNECTIONS} at once, refused {load.refused}: memory {before:.0f} MB before,"
        f" {after:.0f} MB afterwards = {after / before:.1f} times (aim: {AIM_MEMORY_RATIO});"
        f" the database grew by {kept:.1f} MB = {kept / received:.4f} of what was sent",
        flush=True,
    )


async def _quiet(port: int) -> None:
    """Some small ones, slowly: until what the large ones took has been given back."""
    await send(port, signed("quiet"), connections=1, seconds=QUIET_SECONDS, per_second=2)


def _kept_megabytes(server: servers.Server) -> float:
    path = Path(server.database.removeprefix("sqlite:///"))
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*")) / 1e6


if __name__ == "__main__":
    main()
