"""The sequencer: starts commands in order, as soon as their registers and their unit allow, and counts."""

from dataclasses import dataclass, fields

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.tables.faults import Cause
from hdl.command import COMMAND_BITS
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.control.decoded import Decoded, side_layout
from hdl.control.decoder import Decoder
from hdl.control.scoreboard import BLOCK_BITS, COMPARED, Scoreboard, Unit, slots, tag_bits, unit_count
from hdl.dot_product.operands import Result
from hdl.memory.access import AccessCheck
from hdl.memory.beats import CAUSE_BITS, access_layout
from hdl.memory.row_addresses import RowRequest
from hdl.multiply.f64.request import F64Request
from hdl.multiply.tile.request import TileRequest
from hdl.multiply.tile.side_operands import side_request
from hdl.registers.mover import MoveRequest
from hdl.warpgroup.descriptor_check import DescriptorCheck
from hdl.warpgroup.request import WgmmaRequest


def unit_members(config: CoreConfig) -> dict[str, wiring.Member]:
    """What passes between a sequencer and the units; see `Sequencer`."""
    access = access_layout(config)
    return {
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
        "fetched": In(unit_count(config)),
        "done": In(unit_count(config)),
        "load_cause": In(CAUSE_BITS),
        "store_cause": In(CAUSE_BITS),
        "store_progress": In(16),
        **({"side": Out(side_request(config)), "reads_side": Out(1)} if config.has_side_operands else {}),
    }


def looks_ahead(config: CoreConfig) -> bool:
    """Whether commands read registers before they start: addresses of rows, or side operands."""
    return bool(config.shared_bytes) or config.has_side_operands


class _Issued(data.Struct):
    """What the third stage keeps of a command; only the request for its `unit` has a meaning."""

    unit: Unit
    listed: unsigned(1)
    rows: RowRequest
    tile: TileRequest
    f64: F64Request
    move: MoveRequest


@dataclass(frozen=True)
class _Handover:
    """What the stages tell each other.

    `has_command`, `has_decoded` and `has_issued` say that a stage has a command. In this cycle, a command is
    decoded (`decode`), takes its slot (`allocate`), or starts (`start`). `accesses`: the second stage's
    command is a load or store, which is checked. `refused` is the second stage's
    command, `refused_rows` the third stage's, for its rows. `failed`: a memory has reported a failure.
    `halt` empties all stages. After it, `stopped` says that everything in flight has ended.
    """

    has_command: Signal
    has_decoded: Signal
    has_issued: Signal
    decode: Signal
    allocate: Signal
    start: Signal
    accesses: Signal
    refused: Signal
    refused_rows: Signal
    reading_rows: Signal
    failed: Signal
    running: Signal
    halt: Signal
    stopped: Signal


class Sequencer(Component):
    """Starts the commands of one warp in order; they run side by side and may end in any order.

    A pipeline of three stages, each with a command of its own. The first decodes. The second compares the
    command with those in flight (`hdl.control.scoreboard.Scoreboard`): two cycles, and one more for each two
    side operands. Meanwhile an access is checked for alignment and range. Then the command takes its slot.
    The third waits until no conflict is left
    and hands the command to its unit. Before that, the rows of a move of matrices are read from their
    register, which no other command is about to write then, and checked. As commands start in order, a
    refused command and all younger ones have no side effects.

    A stage takes a command only when it was empty or is certain to empty, by its own registers; so no ready
    is a condition of another one in the same cycle. A unit that is ready stays so until it is given a
    request: the third stage looks at its ready one cycle before it offers the request, and the slots of the
    scoreboard see neither.

    What a memory answers comes later: a load that fails writes nothing, a store stops counting; commands
    that need their registers have not been started. Others may have been, and they end as usual; nothing new
    is started. Where several fail, the oldest is reported. In `serial` mode each command ends before the
    next one starts, so nothing younger is ever in flight.

    Throughput: a command each 2 cycles; a load or store each 8, a move of four matrices each 20. Latency: 6
    cycles from the queue to the unit, 9 of a load or store.
    Expected critical path: the decoder, the scoreboard's comparison.
    Testbench: cocotb_tests/control/test_sequencer.py, through `Warps`.

    Parameters
    ----------
    config : CoreConfig
    warp : int
    count_from : int
        What `executed` counts from after reset; a testbench starts it near its limit.

    Members
    -------
    commands : In(stream.Signature(160))
    load, store, tile, f64, move : Out(stream.Signature(...))
        Requests to the units, each for one cycle; its unit was ready in the cycle before.
    wgmma : Out(stream.Signature(WgmmaRequest))
        Likewise, where there is `wgmma`.
    wants : Out(unit_count(config))
        A bit for each `Unit`: a command can start as soon as it is ready.
    rows : Out(RowRequest), rows_start : Out(1), rows_keep : Out(1)
        To `hdl.memory.row_addresses.RowAddresses`, where there is on-chip memory; to be kept a cycle after
        the start, with the request to the unit.
    wants_rows : Out(1)
        From the moment a command needs `rows_room` to its start or refusal.
    rows_room : In(1), rows_done : In(1), rows_cause : In(4)
        From it.
    side : Out(side_request(config)), reads_side : Out(1)
        If multiplies may have side operands: these are asked for in place of row addresses, in the same way.
    fetched, done : In(unit_count(config))
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
        Commands executed to their end, a cycle late while busy; at a fault, the index of the one at fault.
    stall_registers, stall_memory, stall_unit, queue_empty : Out(1)
        In this cycle nothing was started because: an operand is still in use; so are bytes of memory; the
        unit takes nothing; there was no command while others were in flight.
    """

    def __init__(self, config: CoreConfig, warp: int = 0, *, count_from: int = 0) -> None:
        self._config = config
        self._warp = warp
        self._count_from = count_from
        members = {
            "commands": In(stream.Signature(COMMAND_BITS)),
            **unit_members(config),
            "wants": Out(unit_count(config)),
            "wants_rows": Out(1),
            "serial": In(1),
            "clear": In(1),
            "busy": Out(1),
            "cause": Out(CAUSE_BITS),
            "progress": Out(16),
            "executed": Out(64, init=count_from),
            "stall_registers": Out(1),
            "stall_memory": Out(1),
            "stall_unit": Out(1),
            "queue_empty": Out(1),
        }
        if config.wgmma:
            members["wgmma"] = Out(stream.Signature(WgmmaRequest))
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.submodules.scoreboard = scoreboard = Scoreboard(self._config)
        m.submodules.check = check = AccessCheck(self._config)
        pipe = _Handover(**{field.name: Signal(name=field.name) for field in fields(_Handover)})
        decoded = Signal(Decoded, reset_less=True)
        side = Signal(side_layout(self._config), reset_less=True) if self._config.has_side_operands else None
        share = Signal(WgmmaRequest, reset_less=True)  # of a decoded `wgmma`
        compared = Signal(COMPARED, reset_less=True)
        tag_values = 1 << tag_bits(self._config)
        tag = Signal(range(tag_values), init=self._count_from % tag_values)  # of the next command
        change = Signal(signed(len(tag)))  # of `executed`: what has completed, or is taken back
        in_flight = Signal(range(sum(slots(self._config).values()) + 1))
        completed = Signal(range(len(self.done) + 1))
        was_quiet, quiet = Signal(init=1), Signal()  # nothing is in flight, and all that was has been counted
        bus_fault = self._bus_fault(m, scoreboard, pipe.failed)
        m.d.comb += [
            scoreboard.tag.eq(tag),
            scoreboard.compared.eq(compared),
            scoreboard.fetched.eq(self.fetched),
            scoreboard.done.eq(self.done),
            quiet.eq(was_quiet & (in_flight == 0)),
            completed.eq(sum(self.done, Const(0, 1))),
        ]
        # A refused command was not counted; some that were are younger than the one that failed.
        takes_back = pipe.stopped & pipe.failed
        m.d.sync += [
            change.eq(Mux(takes_back, bus_fault.tag - self.executed, completed)),
            was_quiet.eq(in_flight == 0),
            self.executed.eq(self.executed + change),
            in_flight.eq(in_flight + pipe.start - completed),
            tag.eq(Mux(self.cause != 0, self.executed, tag + pipe.allocate)),
        ]
        # A command that starts is in flight long before the next one could start.
        one_at_work = Signal()
        m.d.sync += one_at_work.eq(self.serial & (in_flight != 0))
        may_start = ~pipe.failed & ~one_at_work
        m.submodules.decoder = Decoder(self._config, self._warp)
        shares = self._check_shares(m, pipe, decoded, share, scoreboard) if self._config.wgmma else None
        self._decode(m, pipe, decoded, side, compared)
        self._compare(m, pipe, decoded, side, compared, scoreboard, check, shares)
        self._issue(m, pipe, decoded, side, scoreboard, check, may_start, share)
        checked_cause = check.checked.payload.cause
        if shares is not None:
            checked_cause = Mux(decoded.unit == Unit.WGMMA, Cause.ADDRESS_RANGE, checked_cause)
        refused_cause = Mux(decoded.beyond == 0, checked_cause, Cause.REGISTER_RANGE)
        refused_cause = Mux(decoded.cause == 0, refused_cause, decoded.cause)
        self._stop(m, pipe, scoreboard, refused_cause, bus_fault, quiet & check.request.ready)
        has_any = pipe.has_command | pipe.has_decoded | pipe.has_issued
        with m.If(pipe.running):
            m.d.comb += [
                self.busy.eq(has_any | ~quiet | pipe.failed),
                self.queue_empty.eq(~has_any & ~self.commands.valid & (in_flight != 0)),
            ]

    def _decode(
        self,
        m: Module,
        pipe: "_Handover",
        decoded: data.View,
        side: data.View | None,
        compared: data.View,
    ) -> None:
        """First stage: a command from the queue, decoded as soon as the second stage empties."""
        decoder: Decoder = m.submodules.decoder
        m.d.comb += [
            decoder.command.eq(self.commands.payload),
            decoder.take.eq(self.commands.ready),
            self.commands.ready.eq(pipe.running & ~pipe.has_command),
            pipe.decode.eq(pipe.has_command & (~pipe.has_decoded | pipe.allocate)),
        ]
        with m.If(pipe.decode):
            m.d.sync += [
                decoded.eq(decoder.decoded),
                pipe.accesses.eq(decoder.accesses),
                pipe.has_command.eq(0),
            ]
            if side is not None:
                m.d.sync += side.eq(decoder.side)
            m.d.sync += [compared[index].eq(decoder.decoded.footprint.reads[index]) for index in (0, 1)]
        with m.If(self.commands.ready):
            m.d.sync += pipe.has_command.eq(self.commands.valid)
        with m.If(pipe.halt):
            m.d.sync += pipe.has_command.eq(0)

    def _check_shares(
        self, m: Module, pipe: "_Handover", decoded: data.View, share: Signal, scoreboard: Scoreboard
    ) -> DescriptorCheck:
        """What a `wgmma` needs beside the other commands: its request, and the check of its descriptors."""
        m.submodules.share_check = check = DescriptorCheck(self._config)
        m.d.comb += [
            check.request.eq(share),
            scoreboard.narrow.eq(share.tile.operation.result == Result.F16),
        ]
        with m.If(pipe.decode):
            m.d.sync += share.eq(m.submodules.decoder.share)
        return check

    def _compare(
        self,
        m: Module,
        pipe: "_Handover",
        decoded: data.View,
        side: data.View | None,
        compared: data.View,
        scoreboard: Scoreboard,
        check: AccessCheck,
        shares: DescriptorCheck | None,
    ) -> None:
        """Second stage: compare operands with those in flight; accesses are checked meanwhile."""
        checked = check.checked.payload
        in_memory = pipe.accesses
        m.d.comb += [
            check.request.payload.eq(decoded.memory),
            scoreboard.unit.eq(decoded.unit),
            scoreboard.footprint.eq(decoded.footprint),
            scoreboard.span.first.eq(checked.first[BLOCK_BITS:]),
            scoreboard.span.last.eq(checked.last[BLOCK_BITS:]),
            scoreboard.allocate.eq(pipe.allocate),
        ]
        # The side operands, two at a time.
        registers = [] if side is None else [Value.cast(item) for item in side.registers]
        pairs = [Cat(registers[place : place + 2]) for place in range(0, len(registers), 2)]
        # A cycle late: while the command waits, its unit's slots only become free.
        full = Signal()
        m.d.sync += full.eq(scoreboard.full)
        with m.FSM(name="compare") as comparing:
            with m.State("EMPTY"):
                with m.If(pipe.decode & ~pipe.halt):
                    m.next = "FIRST"
            with m.State("FIRST"):
                legal = (decoded.cause == 0) & (decoded.beyond == 0)
                m.d.comb += check.request.valid.eq(in_memory & legal & ~pipe.halt)
                if shares is not None:
                    m.d.comb += shares.start.eq(1)
                # Whether the command is legal is late; of one that is not, nothing that is compared counts.
                goes_on = ~in_memory | check.request.ready
                with m.If(goes_on):
                    m.d.sync += compared[0].eq(decoded.footprint.reads[2])
                    m.d.sync += compared[1].eq(decoded.footprint.write)
                    if side is not None:
                        with m.If(side.present):
                            m.d.sync += compared.eq(pairs[0])
                with m.If(pipe.halt):
                    m.next = "EMPTY"
                with m.Elif(~legal):
                    m.next = "REFUSED"
                with m.Elif(goes_on):
                    m.next = "SECOND"
                    if side is not None:
                        with m.If(side.present):
                            m.next = "SIDE_0"
            for number, following in enumerate(
                [*pairs[1:], Cat(decoded.footprint.reads[2], decoded.footprint.write)] if pairs else []
            ):
                with m.State(f"SIDE_{number}"):
                    m.d.comb += scoreboard.again.eq(1)
                    m.d.sync += compared.eq(following)
                    m.next = f"SIDE_{number + 1}" if number < len(pairs) - 1 else "SECOND"
                    with m.If(pipe.halt):
                        m.next = "EMPTY"
            with m.State("SECOND"):
                is_checked = ~in_memory | check.checked.valid
                legal = ~in_memory | checked.legal
                if shares is not None:
                    is_other = decoded.unit != Unit.WGMMA
                    is_checked &= is_other | shares.done
                    legal &= is_other | shares.legal
                # With an empty third stage, a failure is all that can halt the pipeline now.
                m.d.comb += [
                    scoreboard.second.eq(1),
                    self.stall_unit.eq(is_checked & legal & full & ~pipe.has_issued),
                    pipe.allocate.eq(is_checked & legal & ~full & ~pipe.has_issued & ~pipe.failed),
                ]
                with m.If(pipe.halt):
                    m.next = "EMPTY"
                with m.Elif(is_checked & ~legal):
                    m.next = "REFUSED"
                with m.Elif(pipe.allocate):
                    m.next = "EMPTY"
                    with m.If(pipe.decode):
                        m.next = "FIRST"
            with m.State("REFUSED"):
                m.d.comb += pipe.refused.eq(1)
                with m.If(pipe.halt):
                    m.next = "EMPTY"
        m.d.comb += pipe.has_decoded.eq(~comparing.ongoing("EMPTY"))

    def _issue(
        self,
        m: Module,
        pipe: "_Handover",
        decoded: data.View,
        side: data.View | None,
        scoreboard: Scoreboard,
        check: AccessCheck,
        may_start: Value,
        share: Signal,
    ) -> None:
        """Third stage: wait for the last conflict to end, and give the command to its unit."""
        issued = Signal(_Issued, reset_less=True)
        listed = decoded.memory.listed & pipe.accesses
        if side is not None:
            listed |= side.present
            asked = Signal(side_layout(self._config), name="issued_side", reset_less=True)
            with m.If(~pipe.has_issued):
                m.d.sync += asked.eq(side)
            m.d.comb += [self.side.eq(asked.request), self.reads_side.eq(asked.present)]
        with m.If(~pipe.has_issued):
            m.d.sync += [
                issued.unit.eq(decoded.unit),
                issued.listed.eq(listed),
                *(issued[name].eq(decoded[name]) for name in ("rows", "tile", "f64", "move")),
            ]
        access = check.checked.payload.access
        requests = {
            Unit.LOAD: (self.load, access),
            Unit.STORE: (self.store, access),
            Unit.TILE: (self.tile, issued.tile),
            Unit.F64: (self.f64, issued.f64),
            Unit.MOVE: (self.move, issued.move),
        }
        if self._config.wgmma:
            issued_share = Signal(WgmmaRequest, reset_less=True)
            with m.If(~pipe.has_issued):
                m.d.sync += issued_share.eq(share)
            requests[Unit.WGMMA] = self.wgmma, issued_share
        wanted, unit_ready = Signal(), Signal()
        for unit, (request, payload) in requests.items():
            m.d.comb += request.payload.eq(payload)
            m.d.sync += request.valid.eq(pipe.start & (issued.unit == unit))
            with m.If(issued.unit == unit):
                m.d.comb += [unit_ready.eq(request.ready), self.wants[unit.value].eq(wanted)]
        m.d.comb += [
            pipe.start.eq(wanted & unit_ready),
            check.checked.ready.eq(self.load.valid | self.store.valid | ~pipe.running),
            self.rows.eq(issued.rows),
        ]
        free, was_free = Signal(), Signal()
        m.d.sync += [self.rows_keep.eq(pipe.start & issued.listed), was_free.eq(free)]
        with m.FSM(name="issue") as issuing:
            with m.State("EMPTY"):
                with m.If(pipe.allocate):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += [
                    self.stall_registers.eq(scoreboard.conflict),
                    self.stall_memory.eq(~scoreboard.conflict & scoreboard.span_conflict),
                    free.eq(~scoreboard.conflict & ~scoreboard.span_conflict & may_start),
                    wanted.eq(free & ~issued.listed),
                    self.stall_unit.eq(~self.stall_registers & ~self.stall_memory & ~pipe.start),
                ]
                if looks_ahead(self._config):
                    m.d.comb += [
                        self.wants_rows.eq(was_free & issued.listed & ~pipe.failed),
                        self.rows_start.eq(self.wants_rows & self.rows_room),
                    ]
                    with m.If(self.rows_start):
                        m.next = "ROWS"
                with m.If(pipe.halt | pipe.start):
                    m.next = "EMPTY"
            if looks_ahead(self._config):
                with m.State("ROWS"):
                    m.d.comb += [self.wants_rows.eq(1), pipe.reading_rows.eq(1), self.stall_unit.eq(1)]
                    with m.If(self.rows_done):
                        m.next = "LISTED"
                with m.State("LISTED"):
                    legal = self.rows_cause == 0
                    m.d.comb += [
                        pipe.refused_rows.eq(~legal),
                        self.wants_rows.eq(1),
                        wanted.eq(legal & may_start),
                        self.stall_unit.eq(~pipe.start),
                    ]
                    with m.If(pipe.halt | pipe.start):
                        m.next = "EMPTY"
        m.d.comb += pipe.has_issued.eq(~issuing.ongoing("EMPTY"))

    def _stop(
        self,
        m: Module,
        pipe: "_Handover",
        scoreboard: Scoreboard,
        refused_cause: Value,
        bus_fault: data.View,
        is_quiet: Value,
    ) -> None:
        """Empty the stages at a refusal or failure, and report it when all that started has ended."""
        refusal = Signal(CAUSE_BITS)
        with m.FSM(name="core", init="START"):
            with m.State("START"):
                m.d.comb += scoreboard.clear.eq(1)
                m.next = "RUN"
            with m.State("RUN"):
                # Rows that are being read come to their end: no later command may see them.
                m.d.comb += [
                    pipe.running.eq(1),
                    pipe.halt.eq(
                        (pipe.failed & ~pipe.reading_rows)
                        | (pipe.refused & ~pipe.has_issued)
                        | pipe.refused_rows
                    ),
                ]
                m.d.sync += refusal.eq(Mux(pipe.refused_rows, self.rows_cause, refused_cause))
                with m.If(pipe.halt):
                    m.next = "STOP"
            with m.State("STOP"):
                m.d.comb += [self.busy.eq(1), pipe.stopped.eq(is_quiet)]
                with m.If(pipe.stopped):
                    m.next = "TAKE_BACK"
            with m.State("TAKE_BACK"):
                m.d.comb += [self.busy.eq(1), scoreboard.clear.eq(1)]
                m.d.sync += self.cause.eq(Mux(pipe.failed, bus_fault.cause, refusal))
                m.next = "FAULT"
            with m.State("FAULT"):
                with m.If(self.clear):
                    m.d.sync += [self.cause.eq(0), bus_fault.eq(0), pipe.failed.eq(0)]
                    m.next = "RUN"

    def _bus_fault(self, m: Module, scoreboard: Scoreboard, failed: Signal) -> Signal:
        """Keep the oldest of the failures that the memories report; `failed` is there a cycle earlier."""
        layout = data.StructLayout({"cause": CAUSE_BITS, "tag": tag_bits(self._config)})
        oldest, load, store = (Signal(layout, name=name) for name in ("oldest", "load_fault", "store_fault"))
        progress = Signal.like(self.progress, reset_less=True)
        load_first = Signal()
        store_first = Signal()
        load_cause = Mux(self.done[Unit.LOAD.value], self.load_cause, 0)
        store_cause = Mux(self.done[Unit.STORE.value], self.store_cause, 0)
        m.d.sync += [
            load.cause.eq(load_cause),
            load.tag.eq(scoreboard.load_tag),
            store.cause.eq(store_cause),
            store.tag.eq(scoreboard.store_tag),
            progress.eq(self.store_progress),
        ]
        with m.If((load_cause | store_cause).any()):
            m.d.sync += failed.eq(1)
        # All three are compared side by side: one after the other they would be the longest path.
        m.d.comb += [
            load_first.eq((load.cause != 0) & _replaces(oldest, load.tag)),
            store_first.eq(
                (store.cause != 0)
                & Mux(load_first, _is_older(store.tag, load.tag), _replaces(oldest, store.tag))
            ),
        ]
        with m.If(store_first):
            m.d.sync += [oldest.eq(store), self.progress.eq(progress)]
        with m.Elif(load_first):
            m.d.sync += oldest.eq(load)
        return oldest


def _replaces(oldest: data.View, tag: Value) -> Value:
    """Whether a failure with this tag comes before the one that is kept, if any is."""
    return (oldest.cause == 0) | _is_older(tag, oldest.tag)


def _is_older(one: Value, other: Value) -> Value:
    """Whether one tag comes before a different one, of fewer commands than half the tags there are."""
    return ~(other - one)[len(one) - 1]
