"""The control: `squadron` whose look-up of markers finds nothing, so nothing prevents doubles.

Reconciliation looks for doubles with the same look-ups, so it removes none either.
"""

from collections.abc import Sequence

from app import bootstrap
from app.adapters.github import GitHubApp
from app.cli.main import main
from app.core.effects.check_run import CheckRun
from app.ports import Posted, Repository


class Blind(GitHubApp):
    """GitHub, as somebody sees it who looks for nothing before writing."""

    async def comments(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        return []

    async def marked_issues(
        self, repository: Repository, label: str, marker: str
    ) -> Sequence[Posted]:
        return []

    async def checks(self, repository: Repository, sha: str, name: str) -> Sequence[CheckRun]:
        return []


if __name__ == "__main__":
    setattr(bootstrap, GitHubApp.__name__, Blind)
    main()
