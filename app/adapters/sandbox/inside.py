"""Runs inside the sandbox, before a command that prepares a workspace: gives the service a port of
the sandbox's own loopback to listen at, and becomes the command. Needs the standard library alone.

    python inside.py SOCKET PORT COMMAND…

A socket stays in the network that it was made in, whoever holds it: so the service answers inside,
and nothing has to run there for it.
"""

import os
import socket
import sys

ANSWER_SECONDS = 10.0


def main() -> None:
    """Ends with 125 where the service does not listen, with 127 where there is no such command."""
    place, port, *command = sys.argv[1:]
    try:
        with (
            socket.create_server(("127.0.0.1", int(port))) as listener,
            socket.socket(socket.AF_UNIX) as service,
        ):
            service.settimeout(ANSWER_SECONDS)
            service.connect(place)
            socket.send_fds(service, [b"?"], [listener.fileno()])
            if service.recv(1) != b"!":
                raise OSError("the service did not take the port")
    except OSError as error:
        sys.stderr.write(f"no way out of the sandbox: {error}\n")
        sys.exit(125)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
