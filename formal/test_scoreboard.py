"""The scoreboard: what a command in flight reads and writes is held for it, and given free again."""

from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Counterexample, Induction, prove
from hdl.config import CoreConfig
from hdl.control import scoreboard
from hdl.control.scoreboard import COMMON_UNITS, Footprint, Unit, slots, span_layout, tag_bits

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIG = CoreConfig(f64_units=1, address_bits=16, registers=256)
SLOTS, TAG_BITS = slots(CONFIG), tag_bits(CONFIG)
READS = {Unit.LOAD: 0, Unit.STORE: 1, Unit.TILE: 3, Unit.F64: 3, Unit.MOVE: 1}
"""Operands a unit reads."""


def _is(signal: Any, unit: Unit) -> Value:
    # By its number: a faulty scoreboard has an enumeration of its own.
    return Value.cast(signal) == unit.value


def ranges_meet(one: Any, other: Any) -> Value:
    """Whether two ranges of registers have one in common."""
    return one.valid & other.valid & (one.first <= other.last) & (other.first <= one.last)


def compares(board: Any, *, second: bool) -> Value:
    """Whether a scoreboard is given the operands of the first or the second cycle."""
    footprint = board.footprint
    operands = [*(footprint.reads[index] for index in range(3)), footprint.write]
    given: Value = Value.cast(board.compared) == Cat(operands[2:] if second else operands[:2])
    return given


def held(unit: Unit, hdl: ModuleType = scoreboard) -> Claim:
    """`Scoreboard`: any one command of `unit`, from its start to its end.

    The solver picks the command (input `watch`). The command allocated last is in conflict while the watched
    one is in flight and writes what the last one reads or touches what it writes; its bytes are held
    likewise. When no third one is in flight, nothing else is in conflict; without a second one, nothing is.
    The unit is full at its number of slots.

    Assumes of the units that work in order that they fetch and end only what was started, and end only what
    they have fetched; of the sequencer that it offers a command for two cycles at least and allocates nothing
    in a full unit. Proven by induction; the invariants say which slots of each ring are taken, and which of
    them has the watched command.
    """
    claim = Claim()
    board = hdl.Scoreboard(CONFIG)
    inside = claim.include(board)
    m = claim.module
    prepared, before = _offered(claim, board)
    rings = {each: _ring(claim, inside, board, each) for each in COMMON_UNITS}
    under_way, unread = rings[unit]

    watch = claim.free(1, "watch")
    watched = Signal(name="watched")
    reading = Signal(name="watched_reading")
    ahead = Signal(range(SLOTS[unit] + 1), name="watched_ahead")
    fetched_ahead = Signal(range(SLOTS[unit] + 1), name="watched_fetched_ahead")
    footprint = Signal(Footprint, name="watched_footprint")
    span = Signal(span_layout(CONFIG), name="watched_span")
    tag = Signal(TAG_BITS, name="watched_tag")
    until = Signal(data.StructLayout({"done": 1, "fetched": 1, "ended": 1}), name="last_waits_until")
    is_last = Signal(name="watched_is_last")
    last_unit = Signal(3, name="last_unit")
    starts = board.allocate & (_is(board.unit, unit))
    done, fetched = board.done[unit.value], board.fetched[unit.value]
    with m.If(watched & done):
        m.d.sync += [ahead.eq(ahead - 1), watched.eq(ahead != 0)]
    with m.If(reading & fetched):
        m.d.sync += [fetched_ahead.eq(fetched_ahead - 1), reading.eq(fetched_ahead != 0)]
    other = ~_is(board.unit, unit)
    writes, reads = board.footprint.write, [board.footprint.reads[index] for index in range(3)]
    against = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(unit)
    with m.If(board.allocate):
        m.d.sync += [
            last_unit.eq(board.unit),
            is_last.eq(0),
            until.fetched.eq(
                other & Cat(ranges_meet(writes, footprint.reads[each]) for each in range(READS[unit])).any()
            ),
        ]
        if unit is not Unit.STORE:
            met = Cat(ranges_meet(operand, footprint.write) for operand in reads).any()
            m.d.sync += until.done.eq(met | (other & ranges_meet(writes, footprint.write)))
        if against:
            bytes_meet = (span.first <= board.span.last) & (board.span.first <= span.last)
            m.d.sync += until.ended.eq(_is(board.unit, against) & bytes_meet)
    with m.If(watch & starts & ~watched):
        m.d.sync += [
            watched.eq(1),
            reading.eq(READS[unit] > 0),
            ahead.eq(under_way - done),
            fetched_ahead.eq(unread - fetched),
            footprint.eq(board.footprint),
            span.eq(board.span),
            tag.eq(board.tag),
            is_last.eq(1),
        ]
    with m.If(board.clear):
        m.d.sync += [watched.eq(0), reading.eq(0)]

    conflict = ~is_last & (until.done | (until.fetched & reading))
    span_conflict = ~is_last & until.ended
    count = sum((ring[0] for ring in rings.values()), Const(0))
    last_in_flight = Cat((last_unit == each.value) & (ring[0] != 0) for each, ring in rings.items()).any()
    claim.always("registers_held", implies(watched & conflict, board.conflict))
    claim.always("bytes_held", implies(watched & span_conflict, board.span_conflict))
    alone = watched & ~is_last & (count == 1 + last_in_flight)
    claim.always("registers_free", implies(alone, board.conflict == conflict))
    claim.always("bytes_free", implies(alone, board.span_conflict == span_conflict))
    claim.always("last_alone", implies(count == last_in_flight, ~board.conflict & ~board.span_conflict))
    same_unit_offered = claim.past(Value.cast(board.unit), name="unit_before") == Value.cast(board.unit)
    room = claim.past(~board.full & ~board.allocate, name="room")
    claim.always("room_stays", implies(claim.started & same_unit_offered & room, ~board.full))
    claim.always("full", implies(_is(board.unit, unit), board.full == (under_way == SLOTS[unit])))
    if unit in (Unit.LOAD, Unit.STORE):
        oldest_tag = getattr(board, f"{unit.name.lower()}_tag")
        claim.always("tag", implies(watched & (ahead == 0), oldest_tag == tag))

    # The slot of the watched command.
    name = unit.name.lower()
    place = Signal(range(2 * SLOTS[unit]), name="watched_place")
    oldest = inside.signal(f"{name}_oldest")
    beyond = oldest + ahead >= SLOTS[unit]
    m.d.comb += place.eq(oldest + ahead - Mux(beyond, SLOTS[unit], 0))
    slots = range(SLOTS[unit])

    def of_slot(what: str) -> Value:
        return Array(Value.cast(inside.signal(f"{name}_{index}_{what}")) for index in slots)[place]

    same = (of_slot("footprint") == Value.cast(footprint)) & of_slot("writing")
    claim.always("watched_slot", implies(watched, same))
    claim.always("watched_ahead", implies(watched, ahead < under_way))
    if READS[unit]:
        claim.always("watched_reading", implies(watched, of_slot("reading") == reading))
        claim.always("reading_watched", implies(reading, watched & (fetched_ahead < unread)))
        fetched_already = under_way - unread
        claim.always("reading_place", implies(reading, ahead == fetched_already + fetched_ahead))
        claim.always("read_place", implies(watched & ~reading, ahead < fetched_already))
    if unit in (Unit.LOAD, Unit.STORE):
        kept = (of_slot("span") == Value.cast(span)) & (of_slot("tag") == tag)
        claim.always("watched_bytes", implies(watched, kept))
        claim.always(
            "watched_until_ended", implies(watched & ~is_last, of_slot("until_ended") == until.ended)
        )
    if unit is not Unit.STORE:
        claim.always("watched_until_done", implies(watched & ~is_last, of_slot("until_done") == until.done))
        met = Cat(ranges_meet(before.footprint.reads[index], footprint.write) for index in range(2)).any()
        claim.always("watched_before", implies(watched & prepared, of_slot("before") == met))
    if READS[unit]:
        held_back = of_slot("until_fetched") == until.fetched
        claim.always("watched_until_fetched", implies(reading & ~is_last, held_back))
        met = Cat(
            ranges_meet(before.footprint.write, footprint.reads[each]) for each in range(READS[unit])
        ).any()
        claim.always("watched_met", implies(watched & prepared, of_slot("met") == met))
    claim.always(
        "watched_last", implies(watched & is_last, (ahead == under_way - 1) & (last_unit == unit.value))
    )
    same_unit = watched & (last_unit == unit.value)
    claim.always("watched_not_last", implies(same_unit & ~is_last, ahead + 1 < under_way))
    for each, ring in rings.items():
        newest = inside.signal(f"{each.name.lower()}_newest")
        for index in range(SLOTS[each]):
            is_of_last = (last_unit == each.value) & (ring[0] != 0) & (newest == (index + 1) % SLOTS[each])
            for what in _bits(each):
                bit = inside.signal(f"{each.name.lower()}_{index}_{what}")
                claim.always(f"{each.name.lower()}_{index}_last_{what}", implies(is_of_last, ~bit))
    return claim


def _bits(unit: Unit) -> list[str]:
    """What a slot of a unit says of the command allocated last."""
    is_access = unit in (Unit.LOAD, Unit.STORE)
    return (
        ["until_done"] * (unit is not Unit.STORE)
        + ["until_fetched"] * (READS[unit] > 0)
        + ["until_ended"] * is_access
    )


def _offered(claim: Claim, board: Any) -> tuple[Signal, Signal]:
    """Assume that a command stays for its two cycles; returns whether it had its first, and the command."""
    m = claim.module
    prepared = Signal(name="prepared")
    before = Signal(data.StructLayout({"unit": 3, "footprint": Footprint}), name="offered_before")
    m.d.sync += [
        prepared.eq(~board.allocate & (board.second | compares(board, second=False))),
        before.unit.eq(board.unit),
        before.footprint.eq(board.footprint),
    ]
    same = (before.unit == Value.cast(board.unit)) & (
        Value.cast(before.footprint) == Value.cast(board.footprint)
    )
    claim.assume("stays_for_two_cycles", implies(board.second, prepared & same))
    claim.assume("others_in_the_second", implies(board.second, compares(board, second=True)))
    claim.assume("allocated_in_the_second", implies(board.allocate, board.second))
    return prepared, before


def _ring(claim: Claim, inside: Any, board: Any, unit: Unit) -> tuple[Signal, Signal]:
    """Count a unit's commands in flight, and those that have not fetched; say which slots they have."""
    name, slots = unit.name.lower(), SLOTS[unit]
    starts = board.allocate & (_is(board.unit, unit))
    done, fetched = board.done[unit.value], board.fetched[unit.value]
    under_way = claim.counter(f"{name}_under_way", slots, more=starts, fewer=done)
    unread = claim.counter(f"{name}_not_fetched", slots, more=starts, fewer=fetched)
    with claim.module.If(board.clear):
        claim.module.d.sync += [under_way.eq(0), unread.eq(0)]
    claim.assume(f"{name}_starts", implies(starts, under_way < slots))
    if READS[unit]:
        claim.assume(f"{name}_fetches", implies(fetched, unread != 0))
        claim.assume(f"{name}_ends", implies(done, unread < under_way))
    else:
        claim.assume(f"{name}_ends", implies(done, under_way != 0))
        claim.assume(f"{name}_fetches", ~fetched)
    newest, next_unread, oldest = (inside.signal(f"{name}_{what}") for what in ("newest", "unread", "oldest"))
    claim.always(f"{name}_count", (under_way <= slots) & (newest == _wrapped(oldest + under_way, slots)))
    if READS[unit]:
        fetched_already = under_way - unread
        claim.always(f"{name}_unread_count", unread <= under_way)
        claim.always(f"{name}_unread_place", next_unread == _wrapped(oldest + fetched_already, slots))
    for index in range(slots):
        taken = _wrapped(Const(index) + slots - oldest, slots) < under_way
        claim.always(f"{name}_{index}_taken", inside.signal(f"{name}_{index}_writing") == taken)
        for what in _bits(unit):
            holds = inside.signal(f"{name}_{index}_{'reading' if what == 'until_fetched' else 'writing'}")
            claim.always(
                f"{name}_{index}_free_{what}", implies(~holds, ~inside.signal(f"{name}_{index}_{what}"))
            )
        if READS[unit]:
            to_read = taken & (_wrapped(Const(index) + slots - oldest, slots) >= under_way - unread)
            claim.always(f"{name}_{index}_to_read", inside.signal(f"{name}_{index}_reading") == to_read)
    claim.always(f"{name}_pointers", (newest < slots) & (oldest < slots))
    return under_way, unread


def _wrapped(place: Value, slots: int) -> Value:
    """A place in a ring, of one that may be a turn too far."""
    return Mux(place >= 2 * slots, place - 2 * slots, Mux(place >= slots, place - slots, place))


@pytest.mark.parametrize("unit", COMMON_UNITS)
def test_held(unit: Unit) -> None:
    prove(f"scoreboard_{unit.name.lower()}", held(unit), Induction())


@pytest.mark.parametrize(
    ("unit", "text", "fault"),
    [
        (Unit.TILE, "& (foreign | ~self.second)", ""),
        (Unit.TILE, "found | (before & slot.writing)", "found"),
        (Unit.F64, "slot.reading & foreign & met", "slot.reading & met"),
        (Unit.STORE, "(slot.span.first <= self.span.last)", "(slot.span.first < self.span.last)"),
        (Unit.F64, "found | (before & slot.writing)", "found | before"),
        (Unit.LOAD, "pointer == capacity - 1", "pointer == capacity - 2"),
        (Unit.STORE, "*(slot.reading, slot.writing)", "slot.reading"),
        (Unit.TILE, "slot.reading.eq(0), slot.until_fetched.eq(0)", "slot.reading.eq(0)"),
    ],
)
def test_faulty(unit: Unit, text: str, fault: str) -> None:
    with pytest.raises(Counterexample, match="broken after reset"):
        prove("faulty_scoreboard", held(unit, faulty(scoreboard, text, fault)), Induction(5))
