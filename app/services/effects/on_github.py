"""What is on GitHub of an agent already, for the texts about it."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from app.core.agents.agent import Effect, EffectName, EffectState
from app.core.words.report import Links, Report
from app.services.effects.branch import DELETED


def seen_on_github(view: Report, effects: Mapping[EffectName, Effect]) -> Report:
    """The report with what its effects have come to."""
    review, branch = effects.get(EffectName.REVIEW), effects.get(EffectName.BRANCH)
    is_refused = review is not None and review.state is EffectState.REFUSED
    return replace(
        view,
        review_refused=review.error if review is not None and is_refused else "",
        is_branch_deleted=branch is not None and branch.content == DELETED,
        links=Links(
            call=_url(effects, EffectName.CALL),
            check=_url(effects, EffectName.CHECK),
            needs_human=_url(effects, EffectName.ISSUE),
        ),
    )


def with_comparison(view: Report, page: str) -> Report:
    """The report with a link to what the branch changes; `page`: the repository's in a browser."""
    ends = f"{quote(view.agent.default_branch)}...{quote(view.agent.branch)}"
    return replace(view, links=replace(view.links, comparison=f"{page}/compare/{ends}"))


def _url(effects: Mapping[EffectName, Effect], name: EffectName) -> str:
    effect = effects.get(name)
    return (effect.url or "") if effect is not None else ""
