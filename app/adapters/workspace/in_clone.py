"""git in an agent's clone, by processes with no more rights than the agent's own shell."""

from dataclasses import dataclass
from pathlib import Path

from app.adapters.workspace.host_git import LOCAL_SECONDS, SYSTEM_PATH
from app.ports import Processes


@dataclass(frozen=True, slots=True)
class CloneGit:
    """git in the agent's clone, with the rights of the agent's own shell.

    Host git must not run there: the clone's configuration is the agent's.
    """

    processes: Processes
    directory: Path

    async def run(self, *arguments: str) -> str:
        """Run a command; what went wrong, or nothing."""
        quiet = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
        ended = await self.processes.run(
            ["git", *quiet, *arguments],
            cwd=self.directory,
            environment={
                "PATH": SYSTEM_PATH,
                "LC_ALL": "C",
                "HOME": str(self.directory),
                "GIT_ALLOW_PROTOCOL": "file",
                "GIT_TERMINAL_PROMPT": "0",
            },
            timeout_seconds=LOCAL_SECONDS,
        )
        said = ended.excess or ended.output[:500] or "git did not end well"
        return "" if ended.exit_code == 0 else said


async def fetch_bundle(processes: Processes, clone: Path, bundle: Path, ref: str, to: str) -> str:
    """Bring one reference of a bundle into a clone; what went wrong, or nothing."""
    return await CloneGit(processes, clone).run(
        *("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"),
        *(str(bundle), f"+{ref}:refs/remotes/origin/{to}"),
    )
