"""The unit of row addresses: what a move reads, why it is refused, and the addresses of those that start."""

from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Bounded, Counterexample, Induction, prove
from formal.streams import transferred
from golden.tables.commands import MATRIX_ROW_BYTES
from golden.tables.faults import Cause
from hdl.config import CoreConfig
from hdl.memory import row_addresses
from hdl.registers.register_ports import READ_LATENCY

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIG = CoreConfig(address_bits=24, shared_bytes=4096, shared_base=0)
LANES, PLACES = 4, 16
"""Of a quad, and quads that are kept at most."""

MOST = LANES * PLACES


class Wire(wiring.Component):
    """In place of `StreamBuffer`, which is proven by itself."""

    def __init__(self, shape: Any) -> None:
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        connect(m, flipped(self.input), flipped(self.output))
        return m


def rows_of_moves(hdl: ModuleType = row_addresses) -> Claim:
    """`RowAddresses`: each move's addresses are read, checked, and leave in order if it starts.

    Between `start` and `done` the quads of the register are read from the first on, as many as the matrices
    have rows for. With `done` and until the next start, `cause` says whether one of those addresses is
    misaligned or beyond the address width. Of a move that is kept every address leaves once, in the order
    of the lanes, behind the moves before, to loads or to stores as the move is one; of a move that
    is not kept, none. The solver picks the address (inputs `watch`, `lane`).

    Assumes of the sequencer that it starts a move only when there is room and no other one is being read,
    keeps it once, only when it is not refused, and holds the request meanwhile; its register exists. The
    buffers at the two outputs are wires here. Proven by induction; the invariants say where in the memory the
    watched address is.
    """
    claim = Claim()
    with mock.patch.object(hdl, "StreamBuffer", Wire):
        unit = hdl.RowAddresses(CONFIG)
        inside = claim.include(unit)
    m = claim.module
    request = unit.request
    quads = Signal(range(2 * 8 + 1), name="quads_of_move")
    m.d.comb += quads.eq(2 << request.count_log2)
    claim.assume("a_count", request.count_log2 <= 2)
    claim.assume("a_register", request.register < CONFIG.registers)

    # What the sequencer has asked for: nothing, addresses that are being read, or a move's to be kept.
    reading, decided = Signal(name="move_reading"), Signal(name="move_decided")
    with m.If(unit.done):
        m.d.sync += [reading.eq(0), decided.eq(1)]
    with m.If(unit.keep):
        m.d.sync += decided.eq(0)
    with m.If(unit.start):
        m.d.sync += [reading.eq(1), decided.eq(0)]
    before = claim.past(Value.cast(request), name="request_before")
    claim.assume("starts_in_room", implies(unit.start, unit.room & ~reading))
    claim.assume("keeps_what_is_good", implies(unit.keep, decided & (unit.cause == 0) & ~unit.start))
    claim.assume("request_stays", implies(reading | decided, Value.cast(request) == before))

    # Which quads are read, and when they arrive.
    accepted = unit.read.enable & unit.read.ready
    asked = Signal(range(10), name="quads_asked")
    arrived = Signal(range(10), name="quads_arrived")
    granted = Signal(READ_LATENCY, name="was_granted")
    m.d.sync += granted.eq(Cat(accepted, granted))
    arrives = granted[-1]
    for count, event in ((asked, accepted), (arrived, arrives)):
        m.d.sync += count.eq(Mux(unit.start, 0, count + event))
    claim.always("reads_while_asked", implies(unit.read.enable, reading))
    claim.always(
        "reads_in_order", implies(unit.read.enable, unit.read.address == request.register * 8 + asked)
    )
    claim.always("reads_all", implies(unit.done, reading & (arrived == quads) & (asked == quads)))

    lanes = [unit.read.data.word_select(lane, 32) for lane in range(LANES)]
    misaligned, beyond = Signal(name="some_misaligned"), Signal(name="some_beyond")
    with m.If(unit.start):
        m.d.sync += [misaligned.eq(0), beyond.eq(0)]
    with m.If(arrives):
        m.d.sync += [
            misaligned.eq(misaligned | Cat(lane % MATRIX_ROW_BYTES != 0 for lane in lanes).any()),
            beyond.eq(beyond | Cat(lane >= 1 << CONFIG.address_bits for lane in lanes).any()),
        ]
    cause = Mux(misaligned, Cause.MISALIGNED_ADDRESS, Mux(beyond, Cause.ADDRESS_RANGE, 0))
    claim.always("cause", implies(unit.done | decided, unit.cause == cause))
    found = (inside.signal("misaligned") == misaligned) & (inside.signal("beyond") == beyond)
    claim.always("causes_so_far", implies(reading | decided, found))

    # Addresses that are to leave, and one of a move in flight that may have to.
    leaves = transferred(unit.load_rows) | transferred(unit.store_rows)
    leaving = Mux(unit.store_rows.valid, unit.store_rows.payload, unit.load_rows.payload)
    level = Signal(range(2 * MOST), name="level")
    m.d.sync += level.eq(level - leaves + Mux(unit.keep, LANES * quads, 0))
    watch = claim.free(1, "watch")
    lane = claim.chosen(unsigned(2), "lane")
    pending, active = Signal(name="watched_pending"), Signal(name="watched_active")
    value = Signal(32, name="watched_value")
    is_store = Signal(name="watched_is_store")
    quad = Signal(range(8), name="watched_quad")
    ahead = Signal(range(2 * MOST), name="watched_ahead")
    with m.If(active & leaves):
        m.d.sync += [ahead.eq(ahead - 1), active.eq(ahead != 0)]
    with m.If(pending & unit.keep):
        m.d.sync += [active.eq(1), ahead.eq(level - leaves + LANES * quad + lane)]
    with m.If(unit.keep | unit.start):
        m.d.sync += pending.eq(0)
    with m.Elif(watch & arrives & ~pending & ~active):
        m.d.sync += [
            *(pending.eq(1), value.eq(Array(lanes)[lane]), is_store.eq(request.is_store)),
            quad.eq(arrived),
        ]
    claim.always("one_output", ~(unit.load_rows.valid & unit.store_rows.valid))
    claim.always("leaves_what_started", implies(leaves, level != 0))
    first = active & (ahead == 0)
    claim.always("order", implies(first & leaves, leaving == value[: CONFIG.address_bits]))
    claim.always("output", implies(first & leaves, unit.store_rows.valid == is_store))
    claim.always("nothing_waits", implies(level != 0, unit.load_rows.valid | unit.store_rows.valid))
    claim.always("places_suffice", level <= MOST)
    claim.always("room", unit.room == (level + unit_lane(inside) <= MOST - LANES * 8))

    # Where it is in the memory.
    kept, newest, oldest = (inside.signal(name) for name in ("kept", "newest", "oldest"))
    under_way = (kept - oldest)[: len(kept)]
    claim.always("level", level + unit_lane(inside) == LANES * under_way)
    claim.always("lane_of_nothing", implies(under_way == 0, unit_lane(inside) == 0))
    claim.always("newest", implies(reading | decided, (newest - kept)[: len(kept)] == arrived))
    claim.always("newest_fits", implies(reading | decided, under_way + quads <= PLACES))
    claim.always("pending_arrived", implies(pending, (reading | decided) & (quad < arrived)))
    claim.always("pending_is_store", implies(pending, is_store == request.is_store))
    claim.always("active_is_in", implies(active, (ahead < level) & ~pending))
    claim.always("asked", implies(reading | decided, (asked <= quads) & (arrived <= asked)))
    claim.always("all_arrived", implies(decided, (arrived == quads) & (asked == quads)))
    place = Signal(range(PLACES), name="watched_place")
    from_oldest = Signal(range(2 * MOST), name="watched_from_oldest")
    m.d.comb += [
        from_oldest.eq(unit_lane(inside) + ahead),
        place.eq(Mux(pending, kept + quad, oldest + (from_oldest >> 2))),
    ]
    claim.always("lane_of_watched", implies(active, from_oldest[:2] == lane))
    word = claim.word(inside, "quads", place)
    stored = Value.cast(word)
    held = Array(stored.word_select(index, 32) for index in range(LANES))[lane]
    claim.always("stored", implies(pending | active, (held == value) & (stored[-1] == is_store)))
    claim.always("arrival", granted == Cat(_delayed(inside, "accepted")))
    _reads_in_flight(claim, inside, unit, reading, asked, arrived, quads)
    return claim


def unit_lane(inside: Any) -> Signal:
    """The lane of the oldest quad that leaves next."""
    return inside.signal("lane")


def _delayed(inside: Any, name: str) -> list[Signal]:
    """The registers of a bit that is delayed as reads are."""
    return [inside.signal(f"{name}_{cycle}") for cycle in range(1, READ_LATENCY + 1)]


def _reads_in_flight(
    claim: Claim, inside: Any, unit: Any, reading: Signal, asked: Signal, arrived: Signal, quads: Signal
) -> None:
    """Reads that were granted and have not arrived, and the read of the last quad."""
    accepted, last = Cat(_delayed(inside, "accepted")), Cat(_delayed(inside, "last"))
    asking = inside.signal("reading")
    claim.always("in_flight", implies(reading, asked == sum(accepted, arrived)))
    claim.always("none_in_flight", implies(~reading, ~(accepted.any() | asking)))
    claim.always("asking", implies(reading, asking == (asked != quads)))
    claim.always("next_quad", implies(asking, inside.signal("quad") == asked))
    ends = reading & (asked == quads)
    ended = Cat(last, unit.done)
    claim.always("last_is_accepted", last & ~accepted == 0)
    claim.always("ends_once", implies(reading, sum(ended, Const(0)) == ends))
    for cycles in range(1, len(ended)):
        claim.always(f"end_is_last_{cycles}", implies(ended[cycles], ~accepted[:cycles].any()))
    claim.always("no_end", implies(~reading, ~ended.any()))


def test_rows_of_moves() -> None:
    prove("row_addresses", rows_of_moves(), Induction(1))


@pytest.mark.parametrize(
    ("text", "fault", "broken"),
    [
        ("last_quad = Cat(1, ", "last_quad = Cat(0, ", "asking"),
        (
            "Mux(misaligned, Cause.MISALIGNED_ADDRESS, Mux(beyond, Cause.ADDRESS_RANGE, 0))",
            "Mux(beyond, Cause.ADDRESS_RANGE, Mux(misaligned, Cause.MISALIGNED_ADDRESS, 0))",
            "cause",
        ),
        # Addresses of a move that was refused leave with the next one's.
        ("m.d.sync += [newest.eq(kept), misaligned.eq(0)", "m.d.sync += [misaligned.eq(0)", "newest"),
        ("write.data.is_store.eq(self.request.is_store)", "write.data.is_store.eq(0)", "stored"),
    ],
)
def test_faulty(text: str, fault: str, broken: str) -> None:
    claim = rows_of_moves(faulty(row_addresses, text, fault))
    with pytest.raises(Counterexample, match=rf"after reset(.|\n)*broken: .*{broken}"):
        prove("faulty_row_addresses", claim, Bounded(16))
