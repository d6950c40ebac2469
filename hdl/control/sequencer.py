"""The sequencer: starts commands in order, as soon as their registers and their unit allow, and counts."""

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.command import COMMAND_BITS
from hdl.config import CoreConfig
from hdl.control.decoder import Decoded, Decoder
from hdl.control.scoreboard import TAG_BITS, Range, Scoreboard, Unit
from hdl.memory.access import AccessCheck
from hdl.memory.beats import CAUSE_BITS, access_layout
from hdl.memory.row_addresses import RowRequest
from hdl.multiply.f64.request import F64Request
from hdl.multiply.tile.request import TileRequest
from hdl.registers.mover import MoveRequest

__all__ = ["Sequencer", "State"]

_OPERANDS = 4


class State(enum.Enum, shape=4):
    """What the sequencer does with the command that it has."""

    IDLE = 0
    DECODE = 1
    DECODED = 2
    CHECK = 3
    OPERANDS = 4
    DISPATCH = 5
    STOP = 6
    FAULT = 7
    ROWS = 8


class _BusFault(data.Struct):
    """The oldest command that a memory refused; nothing while `cause` is zero."""

    cause: unsigned(CAUSE_BITS)
    tag: unsigned(TAG_BITS)


class Sequencer(wiring.Component):
    """Starts commands in order; they run side by side and may end in any order.

    A command is decoded, an access also checked for alignment and range; then its operands are asked of the
    scoreboard one by one, and it is handed to its unit when none is in conflict. Before that, the rows of a
    move of matrices are read from their register, which no other command is about to write then, and checked.
    As younger commands wait behind it, a refusal at this point leaves everything as if neither it nor they
    had been there.

    What a memory answers comes later: a load that fails writes nothing, a store stops counting; commands
    that need their registers have not been started. Others may have been, and they end as usual; nothing new
    is started. Where several fail, the oldest is reported. In `serial` mode each command ends before the
    next one starts, so nothing younger is ever under way.

    Throughput: a multiply each 8 cycles, a load or store each 11, a move of four matrices each 25. Latency: 7
    cycles from the queue to the unit of a multiply, 10 of a load or store.
    Expected critical path: the scoreboard's comparison.

    Parameters
    ----------
    config : CoreConfig
    count_from : int
        What `executed` counts from after reset; a testbench starts it near its limit.

    Members
    -------
    commands : In(stream.Signature(160))
    load, store, tile, f64, move : Out(stream.Signature(...))
        Requests to the units.
    rows : Out(RowRequest), rows_start : Out(1), rows_keep : Out(1)
        To `hdl.memory.row_addresses.RowAddresses`, where there is on-chip memory.
    rows_room : In(1), rows_done : In(1), rows_cause : In(4)
        From it.
    fetched, done : In(5)
        A bit for each `Unit`: its oldest command has read all its registers; is at its end.
    load_cause, store_cause : In(4)
        With `done`: zero, or the `Cause` of the failure.
    store_progress : In(16)
        With `done` of a failed store: bursts that the memory took.
    serial : In(1)
        One command at a time.
    clear : In(1)
        Leave the fault state.
    busy : Out(1)
        A command is in progress.
    cause : Out(4)
        Zero, or why the core stands still.
    progress : Out(16)
        Of the oldest store that failed.
    executed : Out(64)
        Commands executed to their end; at a fault, the index of the one at fault.
    stall_registers, stall_memory, stall_unit, stall_empty : Out(1)
        In this cycle nothing was started because: an operand is still in use; so are bytes of memory; the
        unit takes nothing; there was no command while others were under way.
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        self._count_from = count_from
        access = access_layout(config)
        super().__init__(
            {
                "commands": In(stream.Signature(COMMAND_BITS)),
                "load": Out(stream.Signature(access)),
                "store": Out(stream.Signature(access)),
                "tile": Out(stream.Signature(TileRequest)),
                "f64": Out(stream.Signature(F64Request)),
                "move": Out(stream.Signature(MoveRequest)),
                "rows": Out(RowRequest),
                "rows_start": Out(1),
                "rows_keep": Out(1),
                "rows_room": In(1),
                "rows_done": In(1),
                "rows_cause": In(CAUSE_BITS),
                "fetched": In(len(Unit)),
                "done": In(len(Unit)),
                "load_cause": In(CAUSE_BITS),
                "store_cause": In(CAUSE_BITS),
                "store_progress": In(16),
                "serial": In(1),
                "clear": In(1),
                "busy": Out(1),
                "cause": Out(CAUSE_BITS),
                "progress": Out(16),
                "executed": Out(64, init=count_from),
                "stall_registers": Out(1),
                "stall_memory": Out(1),
                "stall_unit": Out(1),
                "stall_empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.decoder = decoder = Decoder(self._config)
        m.submodules.check = check = AccessCheck(self._config)
        m.submodules.scoreboard = scoreboard = Scoreboard(self._config)
        state = Signal(State)
        command = Signal(COMMAND_BITS)
        decoded = Signal(Decoded)
        operand = Signal(range(_OPERANDS))
        asked = Signal(Range)
        dispatched = Signal(64, init=self._count_from)
        refusal = Signal(CAUSE_BITS)
        allowed = Signal()
        offered = Signal()
        started = Signal()
        stopped = Signal()
        asked_rows = Signal()
        listed = Signal()
        in_memory = (decoded.unit == Unit.LOAD) | (decoded.unit == Unit.STORE)
        operands = [
            *(decoded.footprint.reads[index] for index in range(_OPERANDS - 1)),
            decoded.footprint.write,
        ]
        checked = check.checked.payload
        m.d.comb += [
            decoder.command.eq(command),
            check.request.payload.eq(decoded.memory),
            self.commands.ready.eq(state == State.IDLE),
            self.load.payload.eq(checked.access),
            self.store.payload.eq(checked.access),
            self.tile.payload.eq(decoded.tile),
            self.f64.payload.eq(decoded.f64),
            self.move.payload.eq(decoded.move),
            self.rows.eq(decoded.rows),
            listed.eq(decoded.memory.listed & in_memory),
            self.rows_keep.eq(started & listed),
            scoreboard.unit.eq(decoded.unit),
            scoreboard.footprint.eq(decoded.footprint),
            scoreboard.span.first.eq(checked.first),
            scoreboard.span.last.eq(checked.last),
            scoreboard.tag.eq(dispatched),
            scoreboard.operand.eq(asked),
            scoreboard.is_write.eq(operand == _OPERANDS - 1),
            scoreboard.fetched.eq(self.fetched),
            scoreboard.done.eq(self.done),
            scoreboard.allocate.eq(started),
            check.checked.ready.eq((started & in_memory) | (state == State.STOP)),
            stopped.eq((state == State.STOP) & scoreboard.idle & check.request.ready),
        ]
        bus_fault = self._bus_fault(m, scoreboard)
        at_work = (state != State.IDLE) | ~scoreboard.idle | (bus_fault.cause != 0)
        m.d.comb += self.busy.eq(at_work & (state != State.FAULT))

        with m.Switch(state):
            with m.Case(State.IDLE):
                m.d.comb += self.stall_empty.eq(~self.commands.valid & ~scoreboard.idle)
                m.d.sync += [command.eq(self.commands.payload), operand.eq(0)]
                with m.If(self.commands.valid):
                    m.d.sync += state.eq(State.DECODE)
            with m.Case(State.DECODE):
                m.d.sync += [decoded.eq(decoder.decoded), state.eq(State.DECODED)]
            with m.Case(State.DECODED):
                m.d.sync += [refusal.eq(decoded.cause), asked.eq(operands[0])]
                with m.If(decoded.cause != 0):
                    m.d.sync += state.eq(State.STOP)
                with m.Elif(in_memory):
                    m.d.comb += check.request.valid.eq(1)
                    m.d.sync += state.eq(State.CHECK)
                with m.Else():
                    m.d.sync += state.eq(State.OPERANDS)
            with m.Case(State.CHECK):
                with m.If(check.checked.valid):
                    m.d.sync += [
                        refusal.eq(checked.cause),
                        state.eq(Mux(checked.cause != 0, State.STOP, State.OPERANDS)),
                    ]
            with m.Case(State.OPERANDS):
                last = operand == _OPERANDS - 1
                m.d.comb += [
                    self.stall_registers.eq(scoreboard.conflict),
                    self.stall_memory.eq(~scoreboard.conflict & last & scoreboard.span_conflict),
                ]
                with m.If(~self.stall_registers & ~self.stall_memory):
                    m.d.sync += [operand.eq(operand + 1), asked.eq(Array(operands)[operand + 1])]
                    with m.If(last):
                        m.d.sync += state.eq(Mux(listed, State.ROWS, State.DISPATCH))
            if self._config.shared_bytes:
                with m.Case(State.ROWS):
                    m.d.comb += [self.rows_start.eq(self.rows_room & ~asked_rows), self.stall_unit.eq(1)]
                    with m.If(self.rows_start):
                        m.d.sync += asked_rows.eq(1)
                    with m.If(self.rows_done):
                        m.d.sync += [
                            asked_rows.eq(0),
                            refusal.eq(self.rows_cause),
                            state.eq(Mux(self.rows_cause != 0, State.STOP, State.DISPATCH)),
                        ]
            with m.Case(State.DISPATCH):
                free = ~scoreboard.full & (~self.serial | scoreboard.idle) & (bus_fault.cause == 0)
                m.d.comb += [allowed.eq(offered | free), self.stall_unit.eq(~started)]
                m.d.sync += offered.eq(allowed & ~started)
                for unit, request in (
                    (Unit.LOAD, self.load),
                    (Unit.STORE, self.store),
                    (Unit.TILE, self.tile),
                    (Unit.F64, self.f64),
                    (Unit.MOVE, self.move),
                ):
                    with m.If(decoded.unit == unit):
                        m.d.comb += [request.valid.eq(allowed), started.eq(allowed & request.ready)]
                with m.If(started):
                    m.d.sync += [dispatched.eq(dispatched + 1), state.eq(State.IDLE)]
            with m.Case(State.STOP):
                with m.If(stopped):
                    m.d.sync += state.eq(State.FAULT)
            with m.Case(State.FAULT):
                with m.If(self.clear):
                    m.d.sync += [self.cause.eq(0), bus_fault.eq(0), refusal.eq(0), state.eq(State.IDLE)]

        behind = Signal(TAG_BITS)
        index = Signal(64)
        completed = Signal(range(len(Unit) + 1))
        m.d.comb += [
            behind.eq(Mux(bus_fault.cause != 0, dispatched[:TAG_BITS] - bus_fault.tag, 0)),
            index.eq(dispatched - behind),
            completed.eq(sum((self.done[unit.value] for unit in Unit), Const(0, 1))),
        ]
        m.d.sync += self.executed.eq(self.executed + completed)
        # What is offered to a unit already is started all the same: it may not be taken back.
        # Rows that are being read end as well, so that none comes when those of another command are expected.
        settled = allowed | (state == State.STOP) | (state == State.FAULT) | (state == State.ROWS)
        with m.If((bus_fault.cause != 0) & ~settled):
            m.d.sync += state.eq(State.STOP)
        with m.If(stopped):
            m.d.sync += [
                self.cause.eq(Mux(bus_fault.cause != 0, bus_fault.cause, refusal)),
                self.executed.eq(index),
                dispatched.eq(index),
            ]
        return m

    def _bus_fault(self, m: Module, scoreboard: Scoreboard) -> Signal:
        """Keep the oldest of the failures that the memories report."""
        oldest = Signal(_BusFault)
        load_first = Signal()
        store_first = Signal()
        load_failed = self.done[Unit.LOAD.value] & (self.load_cause != 0)
        store_failed = self.done[Unit.STORE.value] & (self.store_cause != 0)
        # All three are compared side by side: one after the other they would be the longest path.
        m.d.comb += [
            load_first.eq(load_failed & _replaces(oldest, scoreboard.load_tag)),
            store_first.eq(
                store_failed
                & Mux(
                    load_first,
                    _is_older(scoreboard.store_tag, scoreboard.load_tag),
                    _replaces(oldest, scoreboard.store_tag),
                )
            ),
        ]
        with m.If(store_first):
            m.d.sync += [
                oldest.cause.eq(self.store_cause),
                oldest.tag.eq(scoreboard.store_tag),
                self.progress.eq(self.store_progress),
            ]
        with m.Elif(load_first):
            m.d.sync += [oldest.cause.eq(self.load_cause), oldest.tag.eq(scoreboard.load_tag)]
        return oldest


def _replaces(oldest: Signal, tag: Value) -> Value:
    """Whether a failure with this tag comes before the one that is kept, if any is."""
    return (oldest.cause == 0) | _is_older(tag, oldest.tag)


def _is_older(one: Value, other: Value) -> Value:
    """Whether one tag comes before another, of fewer commands than half the tags there are."""
    age = (other - one)[:TAG_BITS]
    return (age != 0) & ~age[-1]
