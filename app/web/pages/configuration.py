"""Configurations of repositories: what is in force, what is wrong, and what did not start."""

from datetime import datetime

from starlette.requests import Request

from app.bootstrap import Service
from app.config.settings import git_url_of
from app.core.rules.brakes import Place
from app.core.words.refusals import standing_words
from app.services.configuration.in_force import configuration_json
from app.services.plan_views import about_words, shown_limits, value_words, whence_words
from app.web.pages.addresses import NotThere, given, read_of_an_address
from app.web.pages.served import Answer


class ConfigurationsPage:
    """All repositories that are known."""

    template = "configurations.html"
    is_live = False

    def __init__(self, service: Service) -> None:
        self._in_force = service.in_force

    async def answer(self, _: Request, now: datetime) -> Answer:
        """Of now."""
        found = await self._in_force.repositories()
        return Answer({"repositories": found}, lambda: {"repositories": [*found]})


class ConfigurationPage:
    """One repository's."""

    template = "configuration.html"
    is_live = False

    def __init__(self, service: Service) -> None:
        self._in_force = service.in_force
        self._github = git_url_of(service.settings.github_api_url)

    async def answer(self, request: Request, now: datetime) -> Answer:
        """Of now, as far as GitHub answers."""
        with read_of_an_address():
            every = "all" in given(request.query_params, ("all",))
        at = request.path_params
        seen = await self._in_force.of(f"{at['owner']}/{at['name']}", now)
        if seen is None:
            raise NotThere("Squadron knows no such repository.")
        shown = {
            "seen": seen,
            "every": every,
            "github": f"{self._github}/{seen.repository}",
            "limits_of": lambda plan: shown_limits(plan, every=every),
            "about_words": about_words,
            "value_words": value_words,
            "whence_words": whence_words,
            "standing_words": standing_words,
            "is_paused": Place.repository(seen.repository) in [each.place for each in seen.brakes],
        }
        return Answer(shown, lambda: configuration_json(seen))
