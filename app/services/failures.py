"""From the failures of the GitHub port to the values that decisions about retries are made of."""

from app.core.effects import retry
from app.core.steering.github_away import GitHubAway
from app.ports import GitAway, GitHubFailed, NoAccess, PortFailed, RateLimited, Refused


def failure_of(error: GitHubFailed) -> retry.FailedCall:
    """The core's value for an exception of the port; its reason is the exception's text.

    A failure of no known kind counts as unreachable: the next try looks before it writes.
    """
    match error:
        case RateLimited():
            return retry.RateLimited(str(error), error.resets_at)
        case Refused():
            return retry.Refused(str(error))
        case _:
            return retry.Unreachable(str(error))


def github_away(error: PortFailed) -> GitHubAway | None:
    """That GitHub, or its git, cannot be asked now, if that is what failed."""
    cause = error.__cause__ if isinstance(error, GitAway) else error
    match cause:
        case RateLimited(resets_at=resets_at):
            return GitHubAway(str(error), resets_at)
        case Refused():
            return None
        case GitHubFailed():
            return GitHubAway(str(error))
        case _:
            return GitHubAway(str(error)) if isinstance(error, GitAway) else None


def no_access(error: BaseException) -> str | None:
    """Why the App is not let in, if that is what failed; git's failures name it as their cause."""
    for each in (error, error.__cause__):
        if isinstance(each, NoAccess):
            return str(each)
    return None
