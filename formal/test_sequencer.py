"""The sequencer: what it starts it has asked for, once, and it starts what nothing holds back."""

from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from amaranth.asserts import AnySeq
from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import Out

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Bounded, Counterexample, Induction, prove
from formal.streams import offer_stays, transferred
from formal.test_scoreboard import compares
from hdl.config import PRESETS
from hdl.control import sequencer
from hdl.control.decoded import Decoded
from hdl.control.decoder import Decoder
from hdl.control.scoreboard import COMMON_UNITS, Scoreboard, Unit, slots
from hdl.memory.beats import CAUSE_BITS

pytestmark = [pytest.mark.formal, pytest.mark.long]

CONFIG = PRESETS["small"]
CHECKED = 4
"""Of `check.fsm_state`: the outcome is there. Its states are numbered as the source names them."""

FIRST = 1
"""Of `compare_state`, likewise: the first two operands are compared."""

LISTED = 3
"""Of `issue_state`, likewise: the rows have been read."""


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
    """`Sequencer`: each command goes to its unit once, in order, and when nothing it needs is in use.

    Each command taken is in one of the stages until it is started or dropped at a fault; each start gives one
    unit one request, in the cycle after one in which the command wants that unit and the unit is ready, with
    the operands that were compared. It is offered to the scoreboard as `formal.test_scoreboard` assumes, and
    started after an answer of no conflict.
    While the scoreboard sees none, the unit has a free slot and is ready, and no memory has failed, a command
    is started in the cycle in which the third stage has it; the addresses of rows come before. Nothing is
    started during a fault, which is shown when everything started has ended. Serial mode changes at rest.

    A load or store with listed rows has them read once, between the answer and its start, which keeps them;
    if one is refused, it is not started. The unit of row addresses, too, answers anything, as far as it was
    asked (`formal.test_row_addresses`).

    The decoder and the scoreboard give any answers in any cycle. Assumes that commands stay on offer, and
    that units end only what they were given. Proven by induction.
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
    start, halt, running = (inside.signal(name) for name in ("start", "halt", "running"))
    stages = [inside.signal(f"has_{name}") for name in ("command", "decoded", "issued")]
    pending = Signal(range(4), name="commands_pending")
    m.d.sync += pending.eq(pending + transferred(unit.commands) - start)
    with m.If(halt):
        m.d.sync += pending.eq(0)
    claim.always("each_in_a_stage", pending == sum(stages, Const(0, 1)))
    claim.always("starts_what_came", implies(start, stages[2] & running & ~halt))
    claim.always("allocates_what_is_there", implies(scoreboard.allocate, stages[1] & ~stages[2]))
    claim.always("stages_are_empty_in_a_fault", implies(~running, ~Cat(stages).any()))

    issued = data.View(data.Layout.cast(hdl._Issued), Value.cast(inside.signal("issued")))
    decoded = data.View(data.Layout.cast(Decoded), Value.cast(inside.signal("decoded")))
    requests = {
        Unit.LOAD: unit.load,
        Unit.STORE: unit.store,
        Unit.TILE: unit.tile,
        Unit.F64: unit.f64,
        Unit.MOVE: unit.move,
    }
    was_started, was_unit = claim.past(start, name="was_started"), claim.past(issued.unit, name="was_unit")
    waited = Signal(name="command_issued_before")
    m.d.sync += waited.eq(stages[2] & ~start & ~halt)
    for which, request in requests.items():
        name = which.name.lower()
        wants = unit.wants[which.value]
        was_ready = claim.past(request.ready & wants, name=f"{name}_was_ready")
        given = was_started & (was_unit == which.value)
        claim.always(f"{name}_is_given", implies(claim.started, request.valid == given))
        claim.always(f"{name}_was_ready", implies(claim.started, request.valid == was_ready))
        claim.always(f"{name}_not_wanted_when_given", ~(request.valid & wants))
        payload = Value.cast(request.payload)
        same = payload == claim.past(payload, name=f"{name}_payload_before")
        stays = request.valid | (waited & (issued.unit.as_value() == which.value))
        claim.always(f"{name}_payload_stays", implies(claim.started & stays, same))
    allocated = claim.past(scoreboard.allocate, name="was_allocated")
    for name in ("unit", "rows", "tile", "f64", "move"):
        before = claim.past(decoded[name], name=f"{name}_before")
        kept = Value.cast(issued[name]) == before
        claim.always(f"{name}_as_compared", implies(claim.started & allocated, kept))

    _offered(claim, scoreboard, inside, decoded)
    _checked(claim, unit, inside, scoreboard.second & _is_access(decoded), stages[2] & _is_access(issued))
    free = Signal(name="nothing_needed_is_in_use")
    was_free = Signal(name="was_free_since_allocation")
    m.d.comb += free.eq(stages[2] & ~scoreboard.conflict & ~scoreboard.span_conflict)
    m.d.sync += was_free.eq((was_free | free) & ~scoreboard.allocate & ~start & ~halt)
    claim.always("starts_what_is_free", implies(start, free | was_free))
    failed = Value.cast(inside.signal("oldest"))[:CAUSE_BITS] != 0
    obstacle = unit.serial | failed | ~Cat(request.ready for request in requests.values()).all()
    known = Cat(issued.unit.as_value() == which.value for which in requests).any()
    claim.always("starts_at_once", implies(free & ~obstacle & ~issued.listed & known & ~halt, start))
    same = unit.serial == claim.past(unit.serial, name="serial_before")
    claim.assume("mode_changes_at_rest", implies(claim.started & unit.busy, same))
    claim.always("serial_alone", implies(start & unit.serial, inside.signal("in_flight") == 0))
    _faults(claim, unit, inside, start)
    _rows_of(claim, unit, inside, issued, start, free | was_free)
    return claim


def _offered(claim: Claim, scoreboard: Any, inside: Any, decoded: Any) -> None:
    """What the scoreboard's proof assumes of the sequencer."""
    compared = Value.cast(scoreboard.unit) == Value.cast(decoded.unit)
    compared &= Value.cast(scoreboard.footprint) == Value.cast(decoded.footprint)
    claim.always("compares_what_was_decoded", compared)
    offer = Cat(scoreboard.unit, scoreboard.footprint)
    same = offer == claim.past(offer, name="offer")
    room = claim.past(~scoreboard.full & ~scoreboard.allocate, name="room")
    claim.assume("room_stays", implies(claim.started & same & room, ~scoreboard.full))
    came = claim.past(inside.signal("decode") | scoreboard.allocate, name="came")
    is_first = inside.signal("compare_state") == FIRST
    claim.always("first_operands_first", implies(is_first, compares(scoreboard, second=False)))
    prepared = claim.past(scoreboard.second | compares(scoreboard, second=False), name="prepared")
    stays = same & prepared & ~came
    claim.always("stays_for_two_cycles", implies(claim.started & scoreboard.second, stays))
    claim.always("others_in_the_second", implies(scoreboard.second, compares(scoreboard, second=True)))
    claim.always(
        "allocated_in_the_second", implies(scoreboard.allocate, scoreboard.second & ~scoreboard.full)
    )


def _is_access(command: Any) -> Value:
    unit = Value.cast(command.unit)
    return (unit == Unit.LOAD.value) | (unit == Unit.STORE.value)


def _checked(claim: Claim, unit: Any, inside: Any, compared: Value, issued: Value) -> None:
    """Invariants: the access check has the load or store of the third stage or of the second, not both."""
    state = inside.signal("check.fsm_state")
    given = issued | unit.load.valid | unit.store.valid
    claim.always("issued_is_checked", implies(given, state == CHECKED))
    claim.always("compared_is_checked", implies(compared, (state != 0) & ~given))


def _faults(claim: Claim, unit: Any, inside: Any, start: Signal) -> None:
    """Nothing starts between a failure and its report, which comes when all that started has ended."""
    m = claim.module
    in_flight = Signal(8, name="started_and_not_ended")
    most = sum(slots(CONFIG).values())
    done = sum((unit.done[which.value] for which in COMMON_UNITS), Const(0, 1))
    m.d.sync += in_flight.eq(in_flight + start - done)
    claim.assume("ends_what_was_started", done <= in_flight)
    claim.assume("as_many_as_there_are_slots", implies(start, in_flight < most))
    claim.always("counts_in_flight", (in_flight == inside.signal("in_flight")) & (in_flight <= most))
    claim.always("fault_is_the_end", implies(unit.cause != 0, (in_flight == 0) & ~unit.busy))
    claim.always("fault_starts_nothing", implies(unit.cause != 0, ~inside.signal("running")))
    claim.always("busy_with_commands", implies(inside.signal("running") & (in_flight != 0), unit.busy))


def _rows_of(claim: Claim, unit: Any, inside: Any, issued: Any, start: Signal, free: Value) -> None:
    """The addresses of rows: asked for once, good before the start, kept by it and by nothing else."""
    m = claim.module
    in_rows = inside.signal("reading_rows")
    asked, good, answered = Signal(name="rows_asked"), Signal(name="rows_good"), Signal(name="rows_answered")
    claim.assume("rows_answer_what_was_asked", implies(unit.rows_done, asked))
    stays = unit.rows_cause == claim.past(unit.rows_cause, name="rows_cause_before")
    claim.assume("rows_cause_stays", implies(answered, stays))
    with m.If(unit.rows_start):
        m.d.sync += asked.eq(1)
    with m.If(unit.rows_done):
        m.d.sync += [asked.eq(0), good.eq(unit.rows_cause == 0), answered.eq(1)]
    with m.If(start | inside.signal("halt")):
        m.d.sync += [good.eq(0), answered.eq(0)]
    has_issued = inside.signal("has_issued")
    claim.always(
        "rows_asked_once", implies(unit.rows_start, has_issued & ~asked & ~answered & unit.rows_room)
    )
    claim.always("rows_are_those_decoded", Value.cast(unit.rows) == Value.cast(issued.rows))
    claim.always("rows_of_what_is_free", implies(unit.rows_start, free & issued.listed))
    claim.always("rows_before_start", implies(start & issued.listed, good & ~asked))
    claim.always("rows_wanted_to_the_start", implies(unit.rows_start | asked | answered, unit.wants_rows))
    claim.always("start_keeps_rows", unit.rows_keep == claim.past(start & issued.listed, name="kept_rows"))
    claim.always("no_fault_while_reading", implies(asked, ~inside.signal("halt")))
    # Invariants.
    claim.always("asked_while_reading", asked == in_rows)
    claim.always("answered_once", implies(answered, has_issued & issued.listed & ~asked))
    claim.always("listed_only", implies(asked, has_issued & issued.listed))
    claim.always("good_as_answered", implies(answered, good == (unit.rows_cause == 0)))
    claim.always("answered_state", answered == (inside.signal("issue_state") == LISTED))
    claim.always("free_when_asked", implies(asked | answered, free))


def test_dispatched() -> None:
    prove("sequencer", dispatched(), Induction(2))


FAULTS = [
    ("free.eq(~scoreboard.conflict & ~scoreboard.span_conflict & may_start)", "free.eq(may_start)", 11),
    ("pipe.start.eq(wanted & unit_ready)", "pipe.start.eq(wanted)", 11),
    ("~full & ~pipe.has_issued & ~pipe.failed", "~pipe.has_issued & ~pipe.failed", 11),
    ("(~pipe.has_decoded | pipe.allocate)", "1", 11),
    ("compared[1].eq(decoded.footprint.write)", "compared[1].eq(0)", 11),
    ("quiet & check.request.ready", "check.request.ready", 14),
    ("self.rows_keep.eq(pipe.start & issued.listed)", "self.rows_keep.eq(pipe.start)", 11),
    # Rows are read behind the access check.
    ("wanted.eq(legal & may_start)", "wanted.eq(may_start)", 18),
    ("self.rows_start.eq(self.wants_rows & self.rows_room)", "self.rows_start.eq(self.wants_rows)", 18),
    ("[self.wants_rows.eq(1), pipe.reading_rows.eq(1)", "[pipe.reading_rows.eq(1)", 18),
]
"""A piece of the source, what stands there instead, and the cycles in which that is found."""


@pytest.mark.parametrize(("text", "fault", "cycles"), FAULTS)
def test_faulty(text: str, fault: str, cycles: int) -> None:
    with pytest.raises(Counterexample, match="after reset"):
        prove("faulty_sequencer", dispatched(faulty(sequencer, text, fault)), Bounded(cycles))
