"""The sequencer: what it starts it has asked for, once, and it starts what nothing holds back."""

from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from amaranth.asserts import AnySeq
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import Out

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Bounded, Counterexample, Induction, prove
from formal.streams import offer_stays, transferred
from hdl.config import PRESETS
from hdl.control import sequencer
from hdl.control.decoder import Decoded, Decoder
from hdl.control.scoreboard import Scoreboard, Unit
from hdl.memory.beats import CAUSE_BITS

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIG = PRESETS["small"]
OPERANDS = 4


def unknown(component: Any) -> Any:
    """A component with the same ports whose outputs are anything in any cycle."""

    class Unknown(component):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            for _, member, signal in self.signature.flatten(self):
                if member.flow == Out:
                    value = Value.cast(signal)
                    m.d.comb += value.eq(AnySeq(len(value)))
            return m

    return Unknown


def dispatched(hdl: ModuleType = sequencer) -> Claim:
    """`Sequencer`: each command goes to its unit once, after each operand had an answer of no conflict.

    Between the moment when it is taken from the queue and its start no other command is started, and the
    bytes of memory were free too. A request stays on offer; only one unit has one. While the scoreboard sees
    no conflict, the unit has a free slot and takes what it is offered, and no memory has failed, a command is
    started in the fifth cycle after its first question at the latest; cycles in which the addresses of its
    rows are read do not count.

    A load or store with listed rows has them read once, between the answers and its start, which keeps them;
    if one is refused, it is not started. The unit of row addresses, too, answers anything, as far as it was
    asked (`formal.test_row_addresses`).

    The decoder and the scoreboard give any answers in any cycle; what the scoreboard's mean is proven in
    `formal.test_scoreboard`. Assumes that commands stay on offer. Proven by induction.
    """
    claim = Claim()
    boards: list[Any] = []

    def board(config: Any) -> Any:
        boards.append(unknown(Scoreboard)(config))
        return boards[0]

    with mock.patch.object(hdl, "Decoder", unknown(Decoder)), mock.patch.object(hdl, "Scoreboard", board):
        unit = hdl.Sequencer(CONFIG)
        inside = claim.include(unit)
    m = claim.module
    scoreboard = boards[0]
    offer_stays(claim, "commands", unit.commands, assumed=True)
    requests = {
        Unit.LOAD: unit.load,
        Unit.STORE: unit.store,
        Unit.TILE: unit.tile,
        Unit.F64: unit.f64,
        Unit.MOVE: unit.move,
    }
    decoded = data.View(data.Layout.cast(Decoded), Value.cast(inside.signal("decoded")))
    state = inside.signal("state")
    started = Signal(name="a_unit_takes")
    m.d.comb += started.eq(Cat(transferred(request) for request in requests.values()).any())
    pending = Signal(name="command_pending")
    with m.If(transferred(unit.commands)):
        m.d.sync += pending.eq(1)
    with m.Elif(started | (state == hdl.State.STOP.value)):
        m.d.sync += pending.eq(0)
    claim.always("starts_what_came", implies(started, pending & ~transferred(unit.commands)))
    claim.always("allocates_what_starts", scoreboard.allocate == started)
    offered = Cat(request.valid for request in requests.values())
    claim.always("one_unit", (offered & (offered - 1)[: len(offered)]) == 0)

    operands = [*(decoded.footprint.reads[index] for index in range(OPERANDS - 1)), decoded.footprint.write]
    asking = state == hdl.State.OPERANDS.value
    answered = Signal(OPERANDS, name="answered")
    bytes_free = Signal(name="bytes_free")
    for index, operand in enumerate(operands):
        asked = (
            asking
            & (Value.cast(scoreboard.operand) == Value.cast(operand))
            & (scoreboard.is_write == (index == OPERANDS - 1))
        )
        with m.If(asked & ~scoreboard.conflict):
            m.d.sync += answered[index].eq(1)
    with m.If(asking & ~scoreboard.span_conflict):
        m.d.sync += bytes_free.eq(1)
    with m.If(started | (state == hdl.State.IDLE.value)):
        m.d.sync += [answered.eq(0), bytes_free.eq(0)]
    claim.always("asked_for_all", implies(started, answered.all()))
    claim.always("asked_for_bytes", implies(started, bytes_free))
    for which, request in requests.items():
        claim.always(
            f"{which.name.lower()}_is_meant", implies(request.valid, Value.cast(decoded.unit) == which.value)
        )
        offer_stays(claim, which.name.lower(), request)

    _rows_of(claim, unit, inside, decoded, started, hdl)
    operand = inside.signal("operand")
    dispatching = state == hdl.State.DISPATCH.value
    asked_so_far = Cat((operand > index) | dispatching for index in range(OPERANDS))
    claim.always("answers_so_far", implies(asking | dispatching, (answered & asked_so_far) == asked_so_far))
    for index, wanted in enumerate(operands):
        right = Value.cast(inside.signal("asked")) == Value.cast(wanted)
        claim.always(f"asks_{index}", implies(asking & (operand == index), right))
    before = Cat(state == hdl.State[name].value for name in ("DECODE", "DECODED", "CHECK")).any()
    claim.always("begins_with_first", implies(before, operand == 0))
    checking = state == hdl.State.CHECK.value
    first = Value.cast(inside.signal("asked")) == Value.cast(operands[0])
    claim.always("first_is_ready", implies(checking, first))
    in_rows = state == hdl.State.ROWS.value
    claim.always("bytes_so_far", implies(dispatching | in_rows, bytes_free))
    claim.always("all_answered_before_rows", implies(in_rows, answered.all()))

    failed = Value.cast(inside.signal("oldest"))[:CAUSE_BITS] != 0
    obstacle = scoreboard.conflict | scoreboard.span_conflict | scoreboard.full | unit.serial | failed
    obstacle |= ~Cat(request.ready for request in requests.values()).all()
    clear_for = Signal(3, name="clear_for")
    at_work = asking | dispatching
    m.d.sync += clear_for.eq(0)
    with m.If(at_work & ~obstacle & ~started):
        m.d.sync += clear_for.eq(clear_for + 1)
    known = Cat(decoded.unit.as_value() == which.value for which in requests).any()
    claim.assume("a_known_unit", known)
    claim.always("started_in_time", clear_for <= OPERANDS)
    claim.always("clear_while_asking", implies(asking, clear_for <= operand))
    stopping = state == hdl.State.STOP.value
    in_work = ((state != hdl.State.IDLE.value) & (state <= hdl.State.DISPATCH.value)) | in_rows
    claim.always("pending_in_work", implies(~stopping, pending == in_work))
    claim.always("offered_while_dispatching", implies(inside.signal("offered"), dispatching))
    return claim


def _rows_of(claim: Claim, unit: Any, inside: Any, decoded: Any, started: Signal, hdl: ModuleType) -> None:
    """The addresses of rows: asked for once, good before the start, kept by it and by nothing else."""
    m = claim.module
    in_rows = inside.signal("state") == hdl.State.ROWS.value
    units = Value.cast(decoded.unit)
    listed = decoded.memory.listed & ((units == Unit.LOAD.value) | (units == Unit.STORE.value))
    asked, good = Signal(name="rows_asked"), Signal(name="rows_good")
    claim.assume("rows_answer_what_was_asked", implies(unit.rows_done, asked))
    with m.If(unit.rows_start):
        m.d.sync += asked.eq(1)
    with m.If(unit.rows_done):
        m.d.sync += [asked.eq(0), good.eq(unit.rows_cause == 0)]
    with m.If(inside.signal("state") == hdl.State.IDLE.value):
        m.d.sync += good.eq(0)
    claim.always("rows_asked_once", implies(unit.rows_start, in_rows & ~asked & ~good & unit.rows_room))
    claim.always("rows_are_those_decoded", Value.cast(unit.rows) == Value.cast(decoded.rows))
    claim.always("rows_before_start", implies(started & listed, good & ~asked))
    claim.always("rows_of_listed_alone", implies(asked | in_rows, listed & in_rows))
    claim.always("start_keeps_rows", unit.rows_keep == (started & listed))
    # Invariants.
    dispatching = inside.signal("state") == hdl.State.DISPATCH.value
    claim.always("asked_as_noted", inside.signal("asked_rows") == asked)
    claim.always("good_while_dispatching", implies(dispatching & listed, good))
    early = Cat(
        inside.signal("state") == hdl.State[name].value
        for name in ("IDLE", "DECODE", "DECODED", "CHECK", "OPERANDS", "ROWS")
    ).any()
    claim.always("not_good_early", implies(early & (inside.signal("state") != 0), ~good))


def test_dispatched() -> None:
    prove("sequencer", dispatched(), Induction(2))


FAULTS = [
    ("with m.If(~self.stall_registers & ~self.stall_memory):", "with m.If(~self.stall_memory):", 11),
    ("stall_memory.eq(~scoreboard.conflict & last & scoreboard.span_conflict)", "stall_memory.eq(0)", 11),
    ("m.d.sync += offered.eq(allowed & ~started)", "m.d.sync += offered.eq(0)", 11),
    ("asked.eq(Array(operands)[operand + 1])", "asked.eq(Array(operands)[operand])", 11),
    ("self.rows_keep.eq(started & listed)", "self.rows_keep.eq(started)", 11),
    # Rows are read behind the access check.
    ("Mux(self.rows_cause != 0, State.STOP, State.DISPATCH)", "State.DISPATCH", 18),
    ("self.rows_room & ~asked_rows", "~asked_rows", 18),
]
"""A piece of the source, what stands there instead, and the cycles in which that is found."""


@pytest.mark.parametrize(("text", "fault", "cycles"), FAULTS)
def test_faulty(text: str, fault: str, cycles: int) -> None:
    with pytest.raises(Counterexample, match="after reset"):
        prove("faulty_sequencer", dispatched(faulty(sequencer, text, fault)), Bounded(cycles))
