"""Does a flood of junk hold signed deliveries up? Their p99 may at most double.

Signed deliveries keep to a timetable; a latency counts from when its delivery was due. The junk
comes from a process of its own, as fast as it is refused: unsigned, wrongly signed, 2 MB large.
"""

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvloop

from bench import servers
from bench.deliveries import LARGE_BODY_BYTES, junk, signed
from bench.load import Load, send

CONNECTIONS: Final = 16
PER_SECOND: Final = 200
JUNK_CONNECTIONS: Final = 16
SECONDS: Final = 3.0
ROUNDS: Final = 3
END_SECONDS: Final = 60
AIM_RATIO: Final = 2


def main() -> None:
    """Print the figures: of the rounds, the best pair; the machine may have other work."""
    pairs = []
    with servers.service() as server:
        uvloop.run(_signed(server.port, "warm-up"))
        for number in range(ROUNDS):
            quiet = uvloop.run(_signed(server.port, f"quiet-{number}"))
            with _junk(server.port) as flood:
                flooded = uvloop.run(_signed(server.port, f"flooded-{number}"))
            pairs.append((quiet.milliseconds(99), flooded.milliseconds(99), flooded.refused, flood))
    quiet_p99, flooded_p99, lost, flood = min(pairs, key=lambda pair: pair[1] / pair[0])
    print(
        f"flood: {PER_SECOND} signed deliveries/s on {CONNECTIONS} connections: p99"
        f" {quiet_p99:.1f} ms; under a flood of junk ({JUNK_CONNECTIONS} connections,"
        f" {' '.join(flood)}): {flooded_p99:.1f} ms, signed ones refused {lost};"
        f" = {flooded_p99 / quiet_p99:.1f} times (aim: {AIM_RATIO}; best of {ROUNDS}:"
        f" {', '.join(f'{pair[1] / pair[0]:.1f}' for pair in pairs)})"
    )


async def _signed(port: int, series: str) -> Load:
    requests = signed(series)
    return await send(
        port, requests, connections=CONNECTIONS, seconds=SECONDS, per_second=PER_SECOND
    )


@contextmanager
def _junk(port: int) -> Iterator[list[str]]:
    """A flood for as long as the block lasts; what it says about itself is known afterwards."""
    words: list[str] = []
    command = [sys.executable, "-m", "bench.flood", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield words
        output, _ = process.communicate(timeout=END_SECONDS)
        words += output.split()
    finally:
        process.kill()
        process.wait()


def _flood(port: int) -> None:
    load = uvloop.run(send(port, junk("junk"), connections=JUNK_CONNECTIONS, seconds=SECONDS + 0.5))
    print(f"{load.refused / load.seconds:,.0f} a second, every 22nd of {LARGE_BODY_BYTES:,} bytes")


if __name__ == "__main__":
    arguments = ArgumentParser()
    arguments.add_argument("--port", type=int, help="send junk there, instead of measuring")
    target = arguments.parse_args().port
    main() if target is None else _flood(target)
