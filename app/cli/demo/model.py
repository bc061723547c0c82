"""`python -m app.cli.demo.model`: the scripted model as a process of its own.

It listens on the loopback interface and plays the demo's stories to whoever asks it as
`openai:scripted`: an agent that is told to mend `area()` mends it. The tutorial uses it in place
of a model that costs money.
"""

import argparse
import json
import signal
from collections.abc import Sequence
from typing import Final

from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.demo import scripts
from app.scripted.server import ScriptedServer

RUNTIME: Final = "embedded"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print where the model is on the first line of standard output, and serve it until a signal
    ends it."""
    parser = argparse.ArgumentParser(prog="python -m app.cli.demo.model", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    given = parser.parse_args(arguments)
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    model = ScriptedServer(scripts(RUNTIME, SUMMARY_MARK, COMPACTION_MARK), port=given.port)
    with model:
        print(json.dumps({"url": f"{model.url}/v1"}), flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
