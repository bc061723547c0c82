"""The check `squadron/config` on a pull request that touches `.squadron/`."""

import logging
from collections.abc import Mapping

from app.core.rules.merge import Merged, merge
from app.core.rules.plan import ConfigProblem, RepositoryPlan
from app.core.words.config_review import (
    CHECK_NAME,
    DIRECTORY,
    ConfigReview,
    as_in_branch,
    reviewed,
    touches_configuration,
)
from app.ports import Annotation, CheckText, Repository, Unreadable
from app.services.configuration.plans import Plans
from app.services.world import World

log = logging.getLogger("squadron.config")


class ConfigReviews:
    """Reads what a pull request would put in force, and says so on its head. Changes nothing."""

    def __init__(self, world: World, plans: Plans) -> None:
        self._world = world
        self._plans = plans

    async def review(self, repository: Repository, number: int) -> bool:
        """Check the present head of an open pull request, once; whether anything was written.

        May raise `GitHubFailed`.
        """
        github = self._world.github
        pull = await github.pull_request(repository, number)
        if not pull.is_open:
            return False
        paths = await github.changed_files(repository, number)
        if paths is not None and not touches_configuration(paths):
            return False
        if paths is None and not await self._differs(repository, pull.head_sha):
            return False
        head, sign = pull.head_sha, f"config:{pull.head_sha}"
        async with self._world.exclusive(f"config:{repository.full_name}:{head}"):
            runs = await github.checks(repository, head, CHECK_NAME)
            if any(run.external_id == sign for run in runs):
                return False
            review = await self._reviewed(repository, head)
            await github.create_check(repository, head, CHECK_NAME, sign, _check(review))
        log.info(
            "configuration reviewed",
            extra={
                "repository": repository.full_name,
                "pull_request": number,
                "problems": len(review.problems),
            },
        )
        return True

    async def _differs(self, repository: Repository, head: str) -> bool:
        """Whether a change of more files than GitHub lists is one of the configuration as well."""
        github = self._world.github
        parted = await github.parted(repository, head)
        if parted is None:
            return True
        try:
            base = await github.configuration(repository, parted)
            return base != await github.configuration(repository, head)
        except Unreadable:
            return True

    async def _reviewed(self, repository: Repository, head: str) -> ConfigReview:
        self._plans.forget(repository.full_name)  # the default branch may have moved untold
        before = (await self._plans.of(repository)).plan
        try:
            files = await self._world.github.configuration(repository, head)
        except Unreadable as why:  # the author mends it
            problem = ConfigProblem(why.path, 1, 1, why.message)
            return reviewed(before, None, (problem,))
        merged = await self._merged(repository, head, files)
        after = await self._world.read_configuration(merged.files)
        in_branch = await self._world.read_configuration(files)
        differing = {
            f"{DIRECTORY}{path}"
            for path in {*files, *merged.files}
            if files.get(path) != merged.files.get(path)
        }
        return reviewed(
            self._as_started(before),
            self._as_started(after.plan),
            after.problems,
            shown=as_in_branch(after.problems, in_branch.problems, differing),
            clashes=merged.clashes,
        )

    async def _merged(
        self, repository: Repository, head: str, files: Mapping[str, bytes]
    ) -> Merged:
        """What the default branch would hold: also what has changed there since, for that is no
        part of this change."""
        github = self._world.github
        parted = await github.parted(repository, head)
        if parted is None:
            return Merged(files, ())
        try:
            base = await github.configuration(repository, parted)
            ours = await github.configuration(repository)
        except Unreadable:  # there is nothing that this could be merged with
            return Merged(files, ())
        return merge(base, ours, files)

    def _as_started(self, plan: RepositoryPlan | None) -> RepositoryPlan | None:
        return None if plan is None else plan.budgeted(self._world.house.budgets)


def _check(review: ConfigReview) -> CheckText:
    return CheckText(
        conclusion="success" if review.is_valid else "failure",
        title=review.title,
        summary=review.summary,
        annotations=tuple(
            Annotation(each.file, each.line, each.message) for each in review.problems
        ),
    )
