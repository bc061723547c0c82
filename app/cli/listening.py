"""Where the web server listens, taken before anything else is begun."""

import socket
from collections.abc import Sequence
from typing import Final

_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


class CannotListen(Exception):
    """Somebody else has the port, or the address is none of this machine."""


def taken(host: str, port: int) -> Sequence[socket.socket]:
    """A socket on each address that `host` has, all on one port; 0 takes any free one.

    They are bound, and nobody is let in until the server listens. Raises `CannotListen`.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            if family not in _FAMILIES:
                continue
            bound = socket.socket(family, kind, protocol)
            sockets.append(bound)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bound.bind((address[0], port, *address[2:]))
            port = bound.getsockname()[1]
    except (OSError, OverflowError) as error:
        for bound in sockets:
            bound.close()
        why = error.strerror if isinstance(error, OSError) else error
        raise CannotListen(
            f"port {port} of {host} cannot be listened on: {why}; --port takes another"
        ) from error
    return sockets


def address_of(listener: socket.socket) -> str:
    """As people open it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
