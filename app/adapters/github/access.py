"""Why the App is not let in, and where people can change that: asked of GitHub when it happens."""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from app.adapters.github.call import Answer, Call
from app.adapters.github.failures import MissingPermission
from app.adapters.github.reading import dig, needed_text, text
from app.adapters.github.tokens import PERMISSIONS, Scope
from app.ports import NoAccess, Refused

_LEVELS = ("", "read", "write", "admin")


class Access:
    """Finds the reason of a refusal. Every method may raise `RateLimited` or `Unreachable`."""

    def __init__(self, ask: Callable[[Call], Awaitable[Answer]]) -> None:
        """`ask` does a call as the App itself."""
        self._ask = ask

    async def no_token(self, scope: Scope) -> Refused:
        """Why GitHub gives no token of that scope: `NoAccess`, unless a permission is missing."""
        what = f"No access to {scope.repository or f'installation {scope.installation_id}'}"
        try:
            installation = (await self._ask(_installation(scope))).body
        except Refused as refused:
            if refused.status != 404:
                return refused
            return NoAccess(f"{what}: the App is not installed there any more")
        page = needed_text(installation, "html_url")
        if dig(installation, "suspended_at") is not None:
            return NoAccess(f"{what}: the installation is suspended; to end that: {page}")
        if missing_here := _lacking(scope, installation):
            missing = MissingPermission(what, words(missing_here), missing_here)
            return await self.missing_permission(scope, missing)
        return NoAccess(
            f"{what}: it is not one of the installation's repositories (taken out, renamed,"
            f" transferred or deleted); see {page}"
        )

    async def missing_permission(
        self, scope: Scope, refused: MissingPermission
    ) -> MissingPermission:
        """The same refusal, with all that the App lacks for such work, not only for this one
        request, and the two pages where it can be granted."""
        try:
            app = (await self._ask(Call("GET", "/app"))).body
            installation = (await self._ask(_installation(scope))).body
        except Refused:
            return refused  # what is known is enough to go on with
        return MissingPermission(
            refused.refusal,
            words(_lacking(scope, installation)) or refused.needed,
            refused.lacking,
            f": add it in the App's settings ({settings_page(app)}), then let the owner of the"
            f" installation accept the change ({text(installation, 'html_url')})",
        )


def lacking(needed: Mapping[str, str], holder: object) -> Mapping[str, str]:
    """What is needed and an App, or an installation of it, does not have, each with its level."""
    granted = dig(holder, "permissions")
    return {
        name: level
        for name, level in needed.items()
        if _LEVELS.index(level) > _LEVELS.index(text(granted, name) or "")
    }


def words(permissions: Mapping[str, str]) -> str:
    """As GitHub writes them in its headers."""
    return ", ".join(f"{name}={level}" for name, level in permissions.items())


def settings_page(app: object) -> str:
    """The page of the App's permissions, which only its owner sees."""
    public = urlsplit(needed_text(app, "html_url"))
    owner = text(app, "owner", "login")
    is_organization = text(app, "owner", "type") == "Organization"
    place = f"organizations/{owner}/settings" if is_organization else "settings"
    web = f"{public.scheme}://{public.netloc}"
    return f"{web}/{place}/apps/{needed_text(app, 'slug')}/permissions"


def _lacking(scope: Scope, installation: object) -> Mapping[str, str]:
    """What a token of that scope takes and the owner has not granted."""
    return lacking(PERMISSIONS[scope.purpose], installation)


def _installation(scope: Scope) -> Call:
    return Call("GET", f"/app/installations/{scope.installation_id}")
