"""A webhook of an operator: takes POSTs by TLS on loopback and keeps what came."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


class Receiver:
    """What came, and the address that it came to."""

    def __init__(self, server: ThreadingHTTPServer, certificate: Path) -> None:
        self._server = server
        self.url = f"https://{HOST}:{server.server_port}/alerts?token=canary-hook-token"
        self.certificate = certificate
        """Whom a client has to trust."""
        self.received: list[Any] = []
        """Bodies, in the order they came."""

    def hang_up(self) -> None:
        """Nobody listens any more."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiver(directory: Path) -> Iterator[Receiver]:
    """A webhook that listens until the end, unless it hangs up before."""
    here: list[Receiver] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            here[0].received.append(body)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    certificate, key = _certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    here.append(Receiver(server, certificate))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="alerts' webhook")
    thread.start()
    try:
        yield here[0]
    finally:
        here[0].hang_up()
        thread.join()


def _certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for the loopback address that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "alerts' webhook")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = directory / "webhook.crt", directory / "webhook.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files
