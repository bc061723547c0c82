"""People, bots and organisations in GraphQL."""

from __future__ import annotations

from app.githubbox.graphql_pages import Node
from app.githubbox.render import Render
from app.githubbox.state import User


def account(render: Render, user: User) -> Node:
    """Whoever has an account. A bot's login has no `[bot]` here."""
    return {
        "__typename": user.kind,
        "id": f"U_{user.id}",
        "databaseId": user.id,
        "login": user.login.removesuffix("[bot]"),
        "name": user.login,
        "url": f"{render.url}/{user.login}",
        "avatarUrl": f"{render.url}/_box/avatar/{user.id}",
    }
