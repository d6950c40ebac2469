"""What every stream owes its user, and the argument that a queue keeps its order."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Signal, Value, ValueLike

from formal.claims import Claim, implies


@dataclass(frozen=True)
class Watched:
    """One entry of a queue, any of them.

    Parameters
    ----------
    active : Signal
        It is in the queue.
    value : Signal
        What entered.
    ahead : Signal
        Entries that leave before it.
    level : Signal
        Entries in the queue.
    """

    active: Signal
    value: Signal
    ahead: Signal
    level: Signal


def keeps_order(
    claim: Claim, *, enters: ValueLike, value: ValueLike, leaves: ValueLike, leaving: ValueLike, places: int
) -> Watched:
    """Claim that what enters a queue leaves it once, in order and unchanged, and nothing else does.

    The solver picks any entry when it enters (input `watch`) and counts those ahead of it. What leaves when
    none is ahead must be that entry. As the solver may pick any, the n-th to leave is the n-th that entered,
    for every n; and as nothing leaves an empty queue, nothing else leaves.

    Parameters
    ----------
    claim : Claim
    enters, value : value-like
        An entry comes in, and which.
    leaves, leaving : value-like
        An entry goes out, and which.
    places : int
        The most entries there may be.

    Returns
    -------
    Watched
        For the invariants that an induction needs.
    """
    m = claim.module
    enters, leaves, value = Value.cast(enters), Value.cast(leaves), Value.cast(value)
    watch = claim.free(1, "watch")
    level = Signal(range(places + 2), name="level")
    watched = Watched(
        active=Signal(name="watched"),
        value=Signal(len(value), name="watched_value"),
        ahead=Signal(range(places + 2), name="watched_ahead"),
        level=level,
    )
    m.d.sync += level.eq(level + enters - leaves)
    with m.If(watched.active & leaves):
        m.d.sync += [watched.ahead.eq(watched.ahead - 1), watched.active.eq(watched.ahead != 0)]
    with m.If(watch & enters & ~watched.active):
        m.d.sync += [watched.active.eq(1), watched.value.eq(value), watched.ahead.eq(level - leaves)]
    claim.always("places_suffice", level <= places)
    claim.always("leaves_what_entered", implies(leaves, level != 0))
    claim.always("watched_is_in_queue", implies(watched.active, watched.ahead < level))
    first = watched.active & (watched.ahead == 0)
    claim.always("order", implies(first & leaves, Value.cast(leaving) == watched.value))
    return watched


def transferred(stream: Any) -> Value:
    """Whether a payload passes in this cycle."""
    return stream.valid & stream.ready


def offer_stays(claim: Claim, name: str, stream: Any, *, assumed: bool = False) -> None:
    """Claim that what is offered stays, unchanged, until it is taken.

    Parameters
    ----------
    claim : Claim
    name : str
        Of the stream.
    stream : stream interface
    assumed : bool
        Whether it is assumed, of a stream that the unit receives.
    """
    payload = Value.cast(stream.payload)
    before = claim.past(Cat(stream.valid & ~stream.ready, payload), name=f"{name}_before")
    stays = stream.valid & (payload == before[1:])
    (claim.assume if assumed else claim.always)(f"{name}_stays", implies(claim.started & before[0], stays))
