"""`squadron` on a machine whose internet is the machine itself: hosts below `.test` are there, on
one port, at an address that no sandbox reaches in earnest."""

import os
from collections.abc import Sequence
from typing import Final

from app.adapters.sandbox import Egress
from app.bootstrap import Adapters
from tests.support.program import squadron

PORT: Final = "LOCAL_INTERNET_PORT"
"""The environment variable that says where all the hosts listen."""
ADDRESS: Final = "127.0.0.1"


async def _resolved(name: str, port: int) -> Sequence[str]:
    if not name.endswith(".test"):
        raise OSError(-2, "Name or service not known")
    return [ADDRESS]


def _local(hosts: tuple[str, ...]) -> Egress:
    """As the product makes it, but for what the internet is."""
    ports = (int(os.environ[PORT]),)
    return Egress(hosts, ports, lambda address: address == ADDRESS, _resolved)


if __name__ == "__main__":
    squadron(Adapters(egress=_local))
