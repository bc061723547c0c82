"""The newest agent of a role on an issue, and whether an order is answered by it."""

from app.core.agents.agent import Agent
from app.core.steering.asks import is_answered
from app.core.words.refusals import AT_WORK, BEFORE_THE_END
from app.ports import Order
from app.services.starting.predecessor import ended_at
from app.services.world import World


async def newest_of(world: World, order: Order) -> Agent | None:
    """The newest agent of the post."""
    agents = await world.store.agents(repository=order.repository.full_name, issue=order.issue)
    of_role = (agent for agent in reversed(agents) if agent.id.role == order.role)
    return next((agent for agent in of_role if agent.parent is None), None)


async def answered_by(world: World, order: Order, newest: Agent | None) -> str:
    """Whether the newest agent of the post is what the order asks for, and how that is said."""
    if newest is None:
        return ""
    ended = await ended_at(world, newest)
    if not is_answered(order.at, newest.created_at, ended):
        return ""
    return AT_WORK if ended is None else BEFORE_THE_END
