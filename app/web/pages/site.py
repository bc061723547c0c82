"""The pages, and who comes in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app.bootstrap import Service
from app.doctor.check import Check
from app.ports import StoreUnavailable
from app.web.pages.acting import ActForm
from app.web.pages.addresses import NotThere, NotUnderstood
from app.web.pages.agent import AgentPage
from app.web.pages.brakes import BrakeForm
from app.web.pages.configuration import ConfigurationPage, ConfigurationsPage
from app.web.pages.costs import CostsPage
from app.web.pages.doctor import DoctorForm
from app.web.pages.door import LocalDoor
from app.web.pages.fleet import FleetPage
from app.web.pages.forms import NotOwnForm
from app.web.pages.health import HealthPage
from app.web.pages.html import Templates
from app.web.pages.limits import LimitsPage
from app.web.pages.live import Live, TooManyOpen
from app.web.pages.needs_you import NeedsYouPage
from app.web.pages.served import Pages
from app.web.pages.triage import TriagePage
from app.web.pages.you import YouForm

LOOPBACK: Final = "127.0.0.1"
_AGENT: Final = "/agents/{owner}/{name}/{issue:int}/{role}/{attempt:int}"

_CONFIGURATION: Final = "/configuration/{owner}/{name}"


@dataclass(frozen=True, slots=True)
class LocalPages:
    """Where people at this machine open the pages."""

    port: int
    """Of the loopback address."""
    token: SecretStr
    """In the link that lets them in."""
    is_closing: Callable[[], bool]
    """Whether the server ends, and waits for whoever is still being answered."""
    examine: Callable[[], Sequence[Check]]
    """Makes all checks of the doctor; takes its time."""


def site(service: Service, local: LocalPages) -> ASGIApp:
    """All pages of an installation, for HTTP."""
    templates = Templates()
    live = Live(service.store.commit_mark, service.clock, local.is_closing)
    pages, you = Pages(templates, live, service.clock), YouForm(templates)
    app = Starlette(
        routes=[
            *pages.routes(NeedsYouPage(service), "/", "/needs-you"),
            *pages.routes(FleetPage(service), "/fleet"),
            *pages.routes(TriagePage(service), "/triage"),
            *pages.routes(LimitsPage(service), "/limits"),
            *pages.routes(ConfigurationsPage(service), "/configuration"),
            *pages.routes(ConfigurationPage(service), _CONFIGURATION),
            *pages.routes(HealthPage(service), "/health"),
            *pages.routes(CostsPage(service), "/costs"),
            *pages.routes(AgentPage(service), _AGENT),
            Route("/act", ActForm(service.acting, templates).hear, methods=["POST"]),
            Route("/brake", BrakeForm(service.handbrakes, templates).hear, methods=["POST"]),
            Route("/doctor", DoctorForm(local.examine, templates).hear, methods=["POST"]),
            Route("/you", you.ask, methods=["GET"]),
            Route("/you", you.hear, methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("app.web.pages", "static")])),
        ],
        exception_handlers={
            NotUnderstood: pages.not_understood,
            NotThere: pages.not_there,
            NotOwnForm: pages.not_own,
            404: pages.not_there,
            StoreUnavailable: pages.unavailable,
            TooManyOpen: pages.too_many,
        },
    )
    return LocalDoor(app, local.token, templates)
