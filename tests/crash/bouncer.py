"""PgBouncer in front of a PostgreSQL server, in session mode."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.crash.own_postgres import USER
from tests.support.processes import free_port
from tests.support.waiting import until

SERVER_CONNECTIONS = 40


@contextmanager
def bouncer(directory: Path, server: str) -> Iterator[str]:
    """The address of the same database behind it. `directory`: somebody else's may read it."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    behind, port = urlsplit(server), free_port()
    users, rules = directory / "users.txt", directory / "pgbouncer.ini"
    users.write_text(f'"{USER}" ""\n')
    rules.write_text(
        f"""[databases]
* = host={behind.hostname} port={behind.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = session
default_pool_size = {SERVER_CONNECTIONS}
max_client_conn = 200
"""
    )
    for each in (users, rules):
        each.chmod(0o644)
    somebody = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []  # it refuses root
    process = subprocess.Popen(
        [*somebody, program, "-q", str(rules)], cwd="/", start_new_session=True
    )
    try:
        until(lambda: _is_reached(port), "PgBouncer listens")
        yield behind._replace(netloc=f"{USER}@127.0.0.1:{port}").geturl()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _is_reached(port: int) -> bool:
    with socket.socket() as here:
        here.settimeout(1)
        return here.connect_ex(("127.0.0.1", port)) == 0
