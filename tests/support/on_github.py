"""`squadron` for which the box is GitHub's own: the limits on content hold, so it keeps a pace.

It is told that its GitHub is api.github.com, and the network leads to the box.
"""

import os
from typing import Final

import httpx

from app.bootstrap import Adapters
from tests.support.program import squadron

GITHUB: Final = "https://api.github.com"


class LeadsToTheBox(httpx.AsyncHTTPTransport):
    """A network in which the box answers for GitHub. A client that is closed leaves it open: others
    have requests under way."""

    def __init__(self, box: httpx.URL) -> None:
        super().__init__()
        self._box = box

    async def __aenter__(self) -> "LeadsToTheBox":
        return self

    async def __aexit__(self, *_: object) -> None:
        """As `aclose`."""

    async def aclose(self) -> None:
        """The network ends with the process."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(
            scheme=self._box.scheme, host=self._box.host, port=self._box.port
        )
        return await super().handle_async_request(request)


if __name__ == "__main__":
    box = os.environ["SQUADRON_GITHUB_API_URL"]
    os.environ["SQUADRON_GITHUB_API_URL"] = GITHUB
    squadron(Adapters(github=LeadsToTheBox(httpx.URL(box))))
