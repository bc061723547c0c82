"""The closing tools, the same on every runtime: how an agent ends its turn by itself."""

from collections.abc import Mapping
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from app.adapters.runtimes.arguments import Args
from app.core.agents.events import LineComment
from app.core.agents.work import MOST_BLOCKERS
from app.core.effects.review import (
    MOST_COMMENT_CHARACTERS,
    MOST_COMMENTS,
    MOST_PATH_CHARACTERS,
    MOST_SUMMARY_CHARACTERS,
)
from app.core.limits import CATALOGUE, Action, LimitName
from app.ports import (
    IncreaseRequested,
    Report,
    ReportedBlocked,
    ReportedComplete,
    ReviewSubmitted,
    SessionOrder,
)

MOST_CLAIM_CHARACTERS = 4_000

ASKABLE: Final = tuple(
    name for name, info in CATALOGUE.items() if Action.REQUEST_INCREASE in info.actions
)
"""The limits that an agent may ask more of."""


class ReportComplete(Args):
    """The work is done, or there is nothing to change. Ends your turn."""

    summary: str = Field(description="What you did, for people.")


class _LineComment(Args):
    path: str = Field(min_length=1, max_length=MOST_PATH_CHARACTERS)
    line: int = Field(ge=1, description="As the pull request leaves the file; one of the change.")
    body: str = Field(min_length=1, max_length=MOST_COMMENT_CHARACTERS)


class SubmitReview(Args):
    """Post your review of the pull request: a comment, never an approval. Ends your turn."""

    summary: str = Field(min_length=1, max_length=MOST_SUMMARY_CHARACTERS)
    comments: list[_LineComment] = Field(
        default=[], max_length=MOST_COMMENTS, description="Findings, each on its line."
    )


def _issue_numbers(value: object) -> object:
    """Models write `12`, `"#12"` or `["12"]` for the issues that block them."""
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return [each.strip().removeprefix("#") if isinstance(each, str) else each for each in listed]


class ReportBlocked(Args):
    """You cannot go on. Ends your turn."""

    reason: str = Field(description="What you need, for people.")
    blocked_by: Annotated[list[int], BeforeValidator(_issue_numbers)] = Field(
        default=[],
        max_length=MOST_BLOCKERS,
        description="Issues that must be closed first; empty: a person must answer.",
    )


def _askable(name: object) -> object:
    if name not in ASKABLE:
        raise ValueError(f"there is no such limit to ask more of; there are: {', '.join(ASKABLE)}")
    return name


class RequestIncrease(Args):
    """Ask whoever gave you this work for more of one of your limits, before it stops you. Ends your
    turn; you go on in this session once that is answered."""

    limit: Annotated[
        LimitName,
        BeforeValidator(_askable),
        WithJsonSchema({"type": "string", "enum": list(ASKABLE)}),
    ]
    amount: float = Field(
        gt=0, allow_inf_nan=False, description="How much more, in the unit of the limit."
    )
    evidence: str = Field(
        min_length=1,
        max_length=MOST_CLAIM_CHARACTERS,
        description="What you have achieved and what you need more for.",
    )

    @model_validator(mode="after")
    def _counts_are_whole(self) -> Self:
        info = CATALOGUE[self.limit]
        if not info.is_money and not self.amount.is_integer():
            raise ValueError(f"amount: {self.limit} is counted in whole {info.unit}")
        if self.amount > info.most:
            raise ValueError(f"amount: more than {info.most:g} {info.unit} are never granted")
        return self


ClosingTool = ReportComplete | SubmitReview | ReportBlocked | RequestIncrease

_CLOSING: Mapping[str, type[ClosingTool]] = {
    "report_complete": ReportComplete,
    "report_blocked": ReportBlocked,
    "request_increase": RequestIncrease,
}
_CLOSING_A_REVIEW: Mapping[str, type[ClosingTool]] = {
    "submit_review": SubmitReview,
    "report_blocked": ReportBlocked,
    "request_increase": RequestIncrease,
}


def closing_tools(order: SessionOrder) -> Mapping[str, type[ClosingTool]]:
    """By name; they are on offer whatever tools the role may use."""
    return _CLOSING if order.change is None else _CLOSING_A_REVIEW


def reported(closing: ClosingTool) -> Report | IncreaseRequested:
    """How the turn ends."""
    match closing:
        case ReportComplete():
            return ReportedComplete(closing.summary)
        case SubmitReview():
            comments = (LineComment(each.path, each.line, each.body) for each in closing.comments)
            return ReviewSubmitted(closing.summary, tuple(comments))
        case ReportBlocked():
            return ReportedBlocked(closing.reason, tuple(closing.blocked_by))
        case RequestIncrease():
            return IncreaseRequested(closing.limit, closing.amount, closing.evidence)
