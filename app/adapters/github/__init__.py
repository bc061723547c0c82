"""GitHub over REST, as one GitHub App: implements the `GitHub` port."""

from app.adapters.github.app import GitHubApp

__all__ = ["GitHubApp"]
