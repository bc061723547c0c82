"""How the services are joined: each is made once, of the world and of those it stands on.

The order is that of the layers, lowest first. What a service needs it is given by name.
"""

from typing import NamedTuple, assert_never

from app.ports import (
    HandleDelivery,
    Handler,
    Publish,
    Reconcile,
    Redeliver,
    RunSegment,
    Work,
)
from app.services.commands.acting import Acting
from app.services.commands.answers import Hearing
from app.services.commands.handbrakes import Handbrakes
from app.services.commands.hear import Commanding
from app.services.commands.obey import Obeying
from app.services.commands.raise_limits import Raising
from app.services.configuration.adapting import Adapting
from app.services.configuration.broken_issue import ConfigTrouble
from app.services.configuration.in_force import InForce
from app.services.configuration.moved_repositories import Moving
from app.services.configuration.plans import Plans
from app.services.configuration.pull_request_check import ConfigReviews
from app.services.configuration.triggers import Triggers
from app.services.drain import Drain
from app.services.effects.needs_human import NeedsHuman
from app.services.effects.publisher import Publisher
from app.services.guard import Guard
from app.services.handlers.delivery import Routing
from app.services.handlers.effects import Publishing
from app.services.handlers.reconciliation import Reconciliation
from app.services.handlers.redelivery import Redelivery
from app.services.handlers.segment import Segments
from app.services.intake.dispatch import KnownPlans
from app.services.money.alerts import Alerting
from app.services.money.funding import Money
from app.services.moves.brakes import BrakeWatch, Braking
from app.services.moves.capping import Capping
from app.services.moves.funds import Funds
from app.services.moves.moves import Moves
from app.services.moves.providers import Providers
from app.services.moves.room import Room
from app.services.moves.stopping import Stopping
from app.services.patience import patient
from app.services.reconciling.ageing import Ageing
from app.services.reconciling.housekeeping import Housekeeping
from app.services.reconciling.needs_human import NeedsHumanTurns
from app.services.reconciling.publications import Publications
from app.services.reconciling.repository import RepositoryLooks
from app.services.reconciling.reviews import Judging
from app.services.segment.attempt import Stops
from app.services.segment.open_issue import Opening
from app.services.segment.sub_agent_rows import SubAgents
from app.services.segment.verifying import Verifying
from app.services.starting.answers import Answers
from app.services.starting.creating import Creating
from app.services.starting.put_off import WaitingStarts
from app.services.starting.rates import UserRates
from app.services.starting.refusing import Refusing
from app.services.starting.start import Starting
from app.services.starting.taken_back import NotBegun
from app.services.starting.trust import Trusting
from app.services.starting.unheard import Unheard
from app.services.steering.access import Access
from app.services.steering.feedback import Feedback
from app.services.steering.look import Looking
from app.services.steering.missing import Missing
from app.services.steering.ownership import Overriding
from app.services.world import World


class Services(NamedTuple):
    """What is reached from outside."""

    perform: Handler
    """What is done for each kind of work."""
    raising: Raising
    """For the API."""
    plans: KnownPlans
    """For the dispatcher."""
    in_force: InForce
    """For the pages."""
    acting: Acting
    """For the pages."""
    handbrakes: Handbrakes
    """For the pages."""
    housekeeping: Housekeeping
    """For the timetable."""
    ageing: Ageing
    """For the timetable."""


def wired(world: World, drain: Drain, brakes: BrakeWatch) -> Services:
    """All services of one process."""
    # Configuration, and what agents may spend
    guard = Guard()
    moving = Moving(world, guard)
    plans = Plans(world, moving=moving)
    alerting = Alerting(world)
    money = Money(world, alerting=alerting, plans=plans)

    # Moves: the only ones that change what state an agent is in
    moves = Moves(world, money=money)
    stopping = Stopping(world, moves=moves)
    braking = Braking(world, moves=moves)
    room = Room(world, moves=moves)
    capping = Capping(world, moves=moves)
    funds = Funds(world, moves=moves, money=money)
    providers = Providers(world, moves=moves, alerting=alerting)

    # Effects: what people see on GitHub
    publisher = Publisher(world)
    needs_human = NeedsHuman(world)

    # Starts
    trusting = Trusting(world, plans=plans)
    triggers = Triggers(world)
    answers = Answers(world)
    rates = UserRates(world, answers=answers)
    refusing = Refusing(world, answers=answers)
    starting = Starting(
        world,
        plans=plans,
        money=money,
        trusting=trusting,
        moving=moving,
        triggers=triggers,
        refusing=refusing,
        creating=Creating(world, money=money, rates=rates, refusing=refusing),
    )

    # Steering: what GitHub's state says about an agent that is there
    missing = Missing(world.clock)
    looking = Looking(
        world,
        moves=moves,
        stopping=stopping,
        braking=braking,
        ownership=Overriding(world, plans=plans, trusting=trusting),
        feedback=Feedback(world, trusting=trusting, rates=rates),
        missing=missing,
    )
    access = Access(world, looking=looking, guard=guard)

    # Commands: what people say
    raising = Raising(world, rates=rates, money=money, moves=moves)
    obeying = Obeying(
        world,
        starting=starting,
        moves=moves,
        raising=raising,
        not_begun=NotBegun(world),
        unheard=Unheard(world, plans=plans, triggers=triggers, starting=starting),
        looking=looking,
    )
    commanding = Commanding(world, trusting=trusting, rates=rates, obeying=obeying)
    acting = Acting(world, trusting=trusting, rates=rates, obeying=obeying, needs_human=needs_human)
    hearing = Hearing(world, rates=rates, looking=looking, commanding=commanding)

    # Both what a delivery tells and what a pass finds
    config_trouble = ConfigTrouble(world, plans=plans)
    config_reviews = ConfigReviews(world, plans=plans)
    sub_agents = SubAgents(world, plans=plans, money=money, moves=moves)

    stops = Stops(drain, brakes)
    segments = Segments(
        world,
        moves=moves,
        stopping=stopping,
        publisher=publisher,
        sub_agents=sub_agents,
        braking=braking,
        room=room,
        capping=capping,
        funds=funds,
        providers=providers,
        stops=stops,
        opening=Opening(world),
        verifying=Verifying(world, stops),
        looking=looking,
    )
    deliveries = Routing(
        world,
        trusting=trusting,
        starting=starting,
        looking=looking,
        missing=missing,
        needs_human=needs_human,
        commanding=commanding,
        hearing=hearing,
        config_reviews=config_reviews,
        config_trouble=config_trouble,
    )
    repositories = RepositoryLooks(
        world,
        looking=looking,
        missing=missing,
        trusting=trusting,
        starting=starting,
        triggers=triggers,
        plans=plans,
        config_trouble=config_trouble,
        config_reviews=config_reviews,
        hearing=hearing,
        guard=guard,
    )
    reconciliation = Reconciliation(
        world,
        looking=looking,
        waiting_starts=WaitingStarts(world, starting=starting, guard=guard),
        publications=Publications(world, publisher=publisher, guard=guard),
        money=money,
        alerting=alerting,
        sub_agents=sub_agents,
        adapting=Adapting(world, plans=plans, guard=guard),
        needs_human=NeedsHumanTurns(world, needs_human=needs_human, guard=guard),
        judging=Judging(world, looking=looking, guard=guard),
        access=access,
        repositories=repositories,
        braking=braking,
        room=room,
        capping=capping,
        funds=funds,
        providers=providers,
        moving=moving,
        drain=drain,
        guard=guard,
    )
    publishing = Publishing(world, publisher=publisher, looking=looking)
    redelivery = Redelivery(world)

    async def perform(work: Work) -> None:
        match work:
            case HandleDelivery():
                await deliveries.handle(work)
            case RunSegment():
                await segments.run(work)
            case Publish():
                await publishing.handle(work)
            case Reconcile():
                await reconciliation.handle(work)
            case Redeliver():
                await redelivery.handle(work)
            case _:
                assert_never(work)

    housekeeping = Housekeeping(world, Guard())
    return Services(
        patient(perform, world.clock, drain),
        raising,
        plans,
        InForce(world, plans),
        acting,
        Handbrakes(world, trusting),
        housekeeping,
        Ageing(world),
    )
