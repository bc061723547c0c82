"""git over HTTP: `git http-backend` behind the box's tokens.

A request is spooled completely before git sees it. Handing chunks through looks cheaper, but the
server listens for a disconnect on the channel the body comes from, and then pushes lose bytes.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator
from datetime import datetime
from typing import IO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.githubbox.events import Events
from app.githubbox.git import MAX_GIT_SECONDS, end, environment
from app.githubbox.identity import (
    AsApp,
    AsInstallation,
    AsUser,
    BadCredentials,
    Caller,
    Identity,
    Nobody,
    sees,
)
from app.githubbox.moves import moved
from app.githubbox.state import Repository, Role, User

MAX_PUSH_BYTES = 1 << 30
CHUNK_BYTES = 1 << 16
ROUTE = re.compile(
    r"/(?P<owner>[^/]+)/(?P<repo>[^/]+?)(?:\.git)?"
    r"/(?P<service>info/refs|git-upload-pack|git-receive-pack)"
)
PRE_RECEIVE = """#!/bin/sh
# Refuses a push whole, in the words of GitHub; the box sets the variables for each push.
while read -r _ new ref; do
  case " $BOX_PROTECTED " in *" $ref "*)
    echo "error: GH006: Protected branch update failed for $ref." >&2
    exit 1 ;;
  esac
  [ "$BOX_WORKFLOWS" = refused ] || continue
  case "$new" in *[!0]*) ;; *) continue ;; esac
  file=$(git log --format= --name-only "$new" --not --all -- .github/workflows | head -n 1)
  if [ -n "$file" ]; then
    printf 'refusing to allow a GitHub App to create or update workflow `%s`' "$file" >&2
    echo ' without `workflows` permission' >&2
    exit 1
  fi
done
"""


async def serve(
    request: Request,
    repository: Repository | None,
    service: str,
    identity: Identity,
    events: Events,
    now: datetime,
) -> Response:
    """Answer one of git's three requests. A push moves references, and `events` tells of it."""
    pushes = "git-receive-pack" in (service, request.query_params.get("service"))
    try:
        caller = identity.caller(request.headers.get("authorization"))
    except BadCredentials:
        return _unauthorized()
    if repository is None or not sees(caller, repository):
        if isinstance(caller, Nobody):
            return _unauthorized()
        return _text(404, "Repository not found.")
    if not _may(caller, repository, pushes):
        if isinstance(caller, Nobody):
            return _unauthorized()
        return _text(403, f"Permission to {repository.full_name}.git denied.")
    if pushes and repository.archived:
        return _text(403, "ERROR: This repository was archived so it is read-only.")
    body = await _spool(request)
    if body is None:
        return _text(413, "The push is too large.")
    with body:
        if service != "git-receive-pack":
            return await _backend(request, repository, service, body, caller)
        async with repository.git.lock:
            before = await repository.git.refs()
            answer = await _backend(request, repository, service, body, caller)
            await moved(repository, before, events, _name(caller, identity), now)
        return answer


def _may(caller: Caller, repository: Repository, pushes: bool) -> bool:
    match caller:
        case AsInstallation():
            return caller.may("contents", "write" if pushes else "read")
        case AsUser(user):
            return repository.role(user) >= (Role.WRITE if pushes else Role.READ) or (
                not pushes and not repository.private
            )
        case Nobody():
            return not pushes and not repository.private
        case AsApp():
            return False


def _name(caller: Caller, identity: Identity) -> User:
    return caller.user if isinstance(caller, AsUser) else identity.bot


async def _spool(request: Request) -> IO[bytes] | None:
    body = tempfile.TemporaryFile()  # noqa: SIM115 - closed by serve
    async for chunk in request.stream():
        body.write(chunk)
        if body.tell() > MAX_PUSH_BYTES:
            body.close()
            return None
    return body


async def _backend(
    request: Request, repository: Repository, service: str, body: IO[bytes], caller: Caller
) -> Response:
    """Run git http-backend on a spooled request and spool its answer."""
    head, size = request.headers, body.tell()
    body.seek(0)
    workflows = not isinstance(caller, AsInstallation) or caller.may("workflows", "write")
    variables = environment() | {
        "GIT_PROJECT_ROOT": str(repository.git.path.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repository.git.path.name}/{service}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.url.query,
        "REMOTE_USER": "box",
        "CONTENT_TYPE": head.get("content-type", ""),
        "CONTENT_LENGTH": str(size),
        "HTTP_CONTENT_ENCODING": head.get("content-encoding", ""),
        "GIT_PROTOCOL": head.get("git-protocol", ""),
        "BOX_PROTECTED": " ".join(f"refs/heads/{name}" for name in repository.protected),
        "BOX_WORKFLOWS": "allowed" if workflows else "refused",
    }
    answer = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has been sent
    process = await asyncio.create_subprocess_exec(
        "git",
        "http-backend",
        stdin=body,
        stdout=answer,
        stderr=asyncio.subprocess.DEVNULL,
        env=variables,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(MAX_GIT_SECONDS):
            await process.wait()
    finally:
        await end(process)
    return _answer(answer)


def _answer(answer: IO[bytes]) -> Response:
    """The CGI answer of git: a block of headers, an empty line, the content."""
    answer.seek(0)
    status, headers = 200, {}
    while line := answer.readline().decode("latin-1").strip():
        name, _, value = line.partition(": ")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            headers[name] = value
    return StreamingResponse(_chunks(answer), status, headers)


async def _chunks(answer: IO[bytes]) -> AsyncIterator[bytes]:
    with answer:
        while chunk := answer.read(CHUNK_BYTES):
            yield chunk


def _unauthorized() -> Response:
    return Response(
        "Bad credentials\n", 401, {"WWW-Authenticate": 'Basic realm="GitHub"'}, "text/plain"
    )


def _text(status: int, text: str) -> Response:
    return Response(text + "\n", status, media_type="text/plain")
