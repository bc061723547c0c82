"""From nothing to ready, and what the service weighs when it has nothing to do."""

import time
from typing import Final

from bench import servers

ROUNDS: Final = 3
IDLE_SECONDS: Final = 10
AIM_SECONDS, AIM_MEGABYTES = 3, 180


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    seconds, cpu_seconds, megabytes, idle = [], [], 0.0, 0.0
    for number in range(ROUNDS):
        with servers.service() as server:
            seconds.append(server.ready_after)
            cpu_seconds.append(server.cpu_seconds())
            if number == 0:
                time.sleep(IDLE_SECONDS)
                megabytes = server.resident_megabytes()
                idle = (server.cpu_seconds() - cpu_seconds[0]) / IDLE_SECONDS
    print(
        f"startup: {min(seconds):.1f} s from process start to /readyz, {min(cpu_seconds):.1f} s of"
        f" them computing (best of {ROUNDS}: {', '.join(f'{each:.1f}' for each in seconds)};"
        f" aim: {AIM_SECONDS} s); {megabytes:.0f} MB resident after {IDLE_SECONDS} s idle"
        f" (aim: {AIM_MEGABYTES} MB), {idle:.0%} of a core while idle"
    )


if __name__ == "__main__":
    main()
