"""The HTTP side of a worker: it tells how the worker does, and takes nothing."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from app.bootstrap import Service
from app.web.face import face, front_page

WHAT_IT_IS: Final = "This process is one of its workers: it runs agents, and takes no webhooks."


class WorkerApplication:
    """ASGI: what the process shows of itself."""

    def __init__(self, service: Service) -> None:
        self._face = _face(service)

    def running(self) -> AbstractAsyncContextManager[object]:
        """The service works, from its start to its end; as the lifespan of ASGI does it."""
        return self._face.router.lifespan_context(self._face)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        await self._face(scope, receive, send)


def _face(service: Service) -> FastAPI:
    is_working = False

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        nonlocal is_working
        await service.start()
        is_working = True
        try:
            yield
        finally:
            is_working = False
            await service.stop()

    def stopped() -> str:
        return "" if is_working else "starting or stopping"

    return face(service, front_page(WHAT_IT_IS), lifespan, stopped)
