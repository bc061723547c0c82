"""A flood of junk waits for itself: refusals beyond the free ones are answered late, bounded."""

import asyncio

from app.services.intake.intake import RefusedDelivery
from app.web.webhook import FREE_REFUSALS_A_SECOND, MOST_HELD, Refusals

UNSIGNED = RefusedDelivery(401, "no valid signature")


async def held(refusals: Refusals) -> asyncio.Task[None]:
    """One more refusal, and the task that answers it."""
    refusals.note(UNSIGNED)
    answer = asyncio.create_task(refusals.slow_down())
    await asyncio.sleep(0)
    return answer


async def test_the_first_refusals_of_a_second_are_answered_at_once() -> None:
    refusals = Refusals()
    answers = [await held(refusals) for _ in range(FREE_REFUSALS_A_SECOND)]
    assert all(answer.done() for answer in answers)


async def test_further_ones_wait_and_what_waits_is_bounded() -> None:
    refusals = Refusals()
    for _ in range(FREE_REFUSALS_A_SECOND):
        await held(refusals)
    waiting = [await held(refusals) for _ in range(MOST_HELD)]
    assert not any(answer.done() for answer in waiting)
    assert (await held(refusals)).done(), "one more than may wait"
    for answer in waiting:
        answer.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert not (await held(refusals)).done(), "there is room again"
