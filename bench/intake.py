"""Signed deliveries against the real service, next to an endpoint that only verifies them."""

import os
from contextlib import AbstractContextManager
from typing import Final

import uvloop

from app.cli.serve import SERVER_FLAGS
from bench import databases, disk, servers
from bench.deliveries import BODY_BYTES, signed
from bench.load import Load, send

CONNECTIONS: Final = (16, 64)
SECONDS: Final = 3.0
WARM_UP_SECONDS: Final = 0.5
ROUNDS: Final = 3
AIM_PER_SECOND, AIM_SHARE, AIM_P99_MILLISECONDS = 4_000, 1 / 5, 25


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    print(
        f"intake: {BODY_BYTES / 1_000:g} kB signed deliveries, each its own id, keep-alive;"
        f" best of {ROUNDS} rounds of {SECONDS:g} s; aims: {AIM_PER_SECOND:,}/s,"
        f" {AIM_SHARE:.2f} of the bare endpoint, p99 < {AIM_P99_MILLISECONDS} ms"
    )
    print(f"  {disk.floor()}")
    print("  server flags:", " ".join(f"{name}={flag}" for name, flag in SERVER_FLAGS.items()))
    ceiling = {n: _best("generator against a sink", servers.sink(), n) for n in CONNECTIONS}
    bare = {n: _best("bare endpoint", servers.bare(), n) for n in CONNECTIONS}
    for kind in databases.KINDS:
        for connections in CONNECTIONS:
            with databases.empty(kind) as database:
                found = _best(f"squadron on {kind}", servers.service(database), connections)
            share = found.per_second / bare[connections].per_second
            print(
                f"    = {share:.2f} of the bare endpoint;"
                f" the generator can do {ceiling[connections].per_second:,.0f}/s"
            )


def _best(name: str, starting: AbstractContextManager[servers.Server], connections: int) -> Load:
    """The fastest round against one server; afterwards its inbox is compared."""
    with starting as server:
        acknowledged: set[str] = set()
        loads = []
        computed = []
        for number in range(ROUNDS + 1):
            series = f"{connections}-{number}-{os.getpid()}"
            seconds = SECONDS if number else WARM_UP_SECONDS
            before = server.cpu_seconds()
            load = uvloop.run(
                send(server.port, signed(series), connections=connections, seconds=seconds)
            )
            computed.append((server.cpu_seconds() - before) / len(load.accepted))
            acknowledged |= load.accepted
            loads.append(load)
        best = max(loads[1:], key=lambda load: load.per_second)
        all_rounds = ", ".join(f"{load.per_second:,.0f}" for load in loads[1:])
        print(
            f"  {name}, {connections} connections: {best.per_second:,.0f}/s"
            f" (rounds: {all_rounds}), p50 {best.milliseconds(50):.1f} ms,"
            f" p99 {best.milliseconds(99):.1f} ms, {1e6 * min(computed[1:]):.0f} µs of processor"
            f" each, refused {sum(each.refused for each in loads)}"
        )
        if server.database:
            kept = servers.rows(server.database)
            print(
                f"    acknowledged ids {len(acknowledged):,}, rows {len(kept):,},"
                f" the same: {'yes' if kept == acknowledged else 'NO'}"
            )
        return best


if __name__ == "__main__":
    main()
