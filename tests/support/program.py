"""`squadron` where a part of the world is another one: for programs that stories start."""

import sys

from app.bootstrap import Adapters
from app.cli.main import main
from app.cli.serve import serve_with, work_with


def squadron(adapters: Adapters) -> None:
    """As `squadron` does what its arguments say; who serves or works has these adapters."""
    match sys.argv[1:]:
        case ["serve", "--port", port]:
            serve_with(adapters, "127.0.0.1", int(port))
        case ["serve", "--no-worker", "--port", port]:
            serve_with(adapters, "127.0.0.1", int(port), runs_agents=False)
        case ["worker", "--port", port]:
            work_with(adapters, "127.0.0.1", int(port))
        case _:
            main()
