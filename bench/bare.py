"""The yardstick: an ASGI endpoint under our server flags that only verifies the signature."""

import hashlib
import hmac
from argparse import ArgumentParser

import uvicorn
from starlette.types import Receive, Scope, Send

from app.cli.serve import SERVER_FLAGS
from bench.deliveries import SECRET

ANSWER = b'{"accepted": true}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(ANSWER))]


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI entry. Any GET is answered as if all were well."""
    status = 200 if scope["method"] == "GET" or await _is_genuine(scope, receive) else 401
    status = 202 if scope["method"] == "POST" and status == 200 else status
    await send({"type": "http.response.start", "status": status, "headers": HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})


async def _is_genuine(scope: Scope, receive: Receive) -> bool:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    wanted = b"sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest().encode()
    return hmac.compare_digest(wanted, dict(scope["headers"]).get(b"x-hub-signature-256", b""))


if __name__ == "__main__":
    arguments = ArgumentParser()
    arguments.add_argument("--port", type=int, required=True)
    uvicorn.run(bare, port=arguments.parse_args().port, lifespan="off", **SERVER_FLAGS)
