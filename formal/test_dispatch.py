"""The dispatch to a unit: no request is lost, each report goes to its warp, and nobody waits forever."""

from types import ModuleType

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal, Value, unsigned

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Induction, prove
from formal.streams import keeps_order
from hdl.control import dispatch
from hdl.stream import turns as stream_turns
from hdl.stream.distributed_memory import table_address

pytestmark = pytest.mark.formal

WIDTH = 4
"""Of a payload, of which no bit is looked at."""


def turns(warps: int, event: str, hdl: ModuleType = dispatch) -> Claim:
    """`Dispatch`: requests reach a ready unit, once; the n-th `event` goes to the warp of the n-th request.

    While a warp wants the unit, every other one is served at most once before it; and a turn whose holder
    wants nothing passes on in the next cycle, if anybody wants.

    Assumes of a warp what `formal.test_sequencer` proves: its request follows the cycle in which it wants and
    sees ready, and it does not want then. Assumes of the unit that it stays ready until it is given a
    request, reports only what it was given, and has no more than `in_flight`. Proven by induction.
    """
    claim = Claim()
    m = claim.module
    places = 2 * warps
    unit = hdl.Dispatch(unsigned(WIDTH), warps=warps, in_flight=places)
    opened = claim.include(unit)
    turn = opened.signal("turn")
    valid = Cat(request.valid for request in unit.requests)
    ready = Cat(request.ready for request in unit.requests)
    report, reported = getattr(unit, event), getattr(unit, f"warp_{event}")

    for warp, request in enumerate(unit.requests):
        follows = claim.past(unit.wants[warp] & request.ready, name=f"started_{warp}")
        claim.assume(f"request_{warp}_follows_its_turn", request.valid == (claim.started & follows))
        claim.assume(f"no_wish_{warp}_in_a_request", ~(request.valid & unit.wants[warp]))
        offered = implies(request.valid, unit.request.payload == request.payload)
        claim.always(f"payload_{warp}_is_passed_on", offered)
    waiting = claim.past(unit.request.ready & ~unit.request.valid, name="was_ready")
    claim.assume("unit_stays_ready", implies(claim.started & waiting, unit.request.ready))
    claim.always("every_request_is_given", unit.request.valid == valid.any())
    claim.always("one_at_a_time", implies(valid.any(), valid == (Const(1, warps) << turn)[:warps]))
    claim.always("given_when_ready", implies(unit.request.valid, unit.request.ready))
    claim.always("ready_in_turn", ready == Mux(unit.request.ready, Const(1, warps) << turn, 0)[:warps])
    claim.always("turn_exists", turn < warps)

    number = Signal(range(warps), name="number_of_the_warp")
    told = Signal(range(warps), name="warp_that_is_told")
    for warp in range(warps):
        with m.If(valid[warp]):
            m.d.comb += number.eq(warp)
        with m.If(reported[warp]):
            m.d.comb += told.eq(warp)
    watched = keeps_order(claim, enters=valid.any(), value=number, leaves=report, leaving=told, places=places)
    claim.assume("in_flight_at_most", implies(valid.any(), watched.level < places))
    claim.assume("reports_what_was_given", implies(report, watched.level != 0))
    first = watched.active & (watched.ahead == 0)
    one = (Const(1, warps) << watched.value)[:warps]
    claim.always("watched_exists", implies(watched.active, watched.value < warps))
    claim.always("one_is_told", implies(first & report, reported == one))
    claim.always("told_what_is_reported", implies(reported, report))

    newest = opened.signal("newest")
    place = opened.signal({"fetched": "unread", "done": "oldest"}[event])
    word = claim.word(opened, "order", table_address((place + watched.ahead)[: len(place)]))
    claim.always("pointers", (newest - place)[: len(newest)] == watched.level[: len(newest)])
    claim.always("watched_place", implies(watched.active, Value.cast(word) == watched.value))

    chosen = claim.chosen(range(warps), "chosen")
    claim.assume("chosen_exists", chosen < warps)
    wants = (unit.wants >> chosen)[0]
    served = Signal(range(warps + 2), name="others_served")
    with m.If(~wants):
        m.d.sync += served.eq(0)
    with m.Else():
        m.d.sync += served.eq(served + valid.any())
    distance = Mux(chosen >= turn, chosen - turn, chosen + warps - turn)
    claim.always("every_other_once", served + distance <= warps - 1)
    held = (unit.wants >> turn)[0]
    moves = claim.past(unit.wants.any() & ~held, name="turn_was_free")
    wanted = claim.past(unit.wants, name="wanted")
    claim.always("turn_passes_on", implies(claim.started & moves, (wanted >> turn)[0]))
    return claim


@pytest.mark.parametrize("event", ["fetched", "done"])
@pytest.mark.parametrize("warps", [2, 3, 8])
def test_turns(warps: int, event: str) -> None:
    prove(f"dispatch_{warps}_{event}", turns(warps, event), Induction(2))


FAULTS_OF_TURNS = [
    ("m.Case(holder), m.If(~wants[holder])", "m.Case(holder)"),
    ("reversed(range(1, count))", "range(1, count)"),
    ("range(1, count)", "range(1, count - 1)"),
]
FAULTS = [
    ("write.data.eq(turn)", "write.data.eq(turn + 1)"),
    ("newest.eq(newest + given)", "newest.eq(newest + self.request.ready)"),
    ("oldest.eq(oldest + self.done)", "oldest.eq(oldest + self.done + self.fetched)"),
    ("request.ready.eq(self.request.ready)", "request.ready.eq(1)"),
    ("self.request.payload.eq(request.payload)", "self.request.payload.eq(self.requests[0].payload)"),
    ("given.eq(request.valid)", "given.eq(self.request.ready)"),
]
"""A piece of the source, and what stands there instead; likewise of `hdl.stream.turns`."""


@pytest.mark.parametrize(("text", "fault"), FAULTS)
def test_faulty(text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="broken"):
        prove("faulty_dispatch", turns(3, "done", faulty(dispatch, text, fault)), Induction(8))


@pytest.mark.parametrize(("text", "fault"), FAULTS_OF_TURNS)
def test_faulty_turns(text: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "take_turns", faulty(stream_turns, text, fault).take_turns)
    with pytest.raises(Counterexample, match="broken"):
        prove("faulty_turns", turns(3, "done", dispatch), Induction(8))
