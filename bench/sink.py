"""Answers 202 to whatever comes, in as few steps as possible: the load generator's ceiling."""

import asyncio
from argparse import ArgumentParser
from typing import cast

import uvloop

END = b"\r\n\r\n"
ANSWER = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"


class Sink(asyncio.Protocol):
    """Knows of HTTP only where a body's length stands."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            head, _, body = data.partition(END)
            _, _, rest = head.partition(b"Content-Length: ")
            self._missing = int(rest.partition(b"\r\n")[0] or 0) - len(body)
        if self._missing <= 0:
            self._missing = 0
            self._transport.write(ANSWER)


async def serve(port: int) -> None:
    """For ever."""
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    arguments = ArgumentParser()
    arguments.add_argument("--port", type=int, required=True)
    uvloop.run(serve(arguments.parse_args().port))
