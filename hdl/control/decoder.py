"""The decoder: from a command to what the units need, by the golden tables."""

from itertools import product

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.tables.commands import MATRIX_COUNTS, MATRIX_SPACES
from golden.tables.faults import Cause
from golden.tables.instruction_set import SPACES, USES
from hdl.command import (
    COMMAND_BITS,
    MatrixCommand,
    MatrixMove,
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    WgmmaCommand,
)
from hdl.component import Component
from hdl.config import REGISTER_BITS, CoreConfig
from hdl.control.decoded import Decoded, Operand, Operands, name_registers, side_layout
from hdl.control.lookup import MORE_BITS, Constants, drive_all, is_share, look_up
from hdl.control.scoreboard import Unit
from hdl.control.side_decoder import decode_side_operands
from hdl.dot_product.operands import Multiplicand, Result
from hdl.memory.fragment_geometry import log2_exact, matrix_geometry
from hdl.warpgroup.request import A_REGISTERS, WgmmaRequest


class Decoder(Component):
    """Tells legal commands from others and looks their constants up.

    The tables are made from `golden.tables.instruction_set.CORE_FAMILIES` and the fragment layouts, for the
    formats of the configuration. So decoder and golden machine refuse the same commands with the same
    cause. Requests name registers as the register file numbers them: warp after warp.

    A command's constants are looked up as it is taken; its last registers are found and compared with their
    limit in the cycles behind.

    Latency: 1 cycle. Expected critical path: a table, eight levels; or the choice of an operand and a sum.

    Parameters
    ----------
    config : CoreConfig
    warp : int
        Whose commands these are. Warp 0 also gets the commands for warps that do not exist, and refuses them.

    Members
    -------
    command : In(160)
    take : In(1)
        The command is taken.
    decoded : Out(Decoded)
        Of the command that was taken last.
    accesses : Out(1)
        It is a load or store, whose addresses are checked.
    side : Out(side_layout(config))
        Likewise, if multiplies may have side operands.
    share : Out(WgmmaRequest)
        The request, if it is a `wgmma`. Only where there is `wgmma`.
    """

    def __init__(self, config: CoreConfig, warp: int = 0) -> None:
        self._config = config
        self._warp = warp
        members = {"command": In(COMMAND_BITS), "take": In(1), "decoded": Out(Decoded), "accesses": Out(1)}
        if config.has_side_operands:
            members["side"] = Out(side_layout(config))
        if config.wgmma:
            members["share"] = Out(WgmmaRequest)
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        command = Signal(COMMAND_BITS, reset_less=True)
        # It begins with ones, so the many zeros of the tables become no synchronous resets, which come late.
        ones = Constants.from_bits((1 << Constants.as_shape().size) - 1)
        found = Signal(Constants, reset_less=True, init=ones)
        is_tile = Signal()
        with m.If(self.take):
            m.d.sync += [command.eq(self.command), found.eq(look_up(m, self._config, self.command))]
            if self._config.wgmma:
                m.d.sync += is_tile.eq(is_share(m, self._config, self.command))
        operands = Signal(Operands)
        side, ranges, has_scales = None, [], self._config.scales
        if self._config.has_side_operands:
            drive_all(m, self.side, command)
            side = Signal(data.ArrayLayout(Operand, len(self.side.registers)), name="side_operands")
            drive_all(m, side, command)
            ranges = list(zip(self.side.registers, side, strict=True))
        drive_all(m, self.decoded, command)
        drive_all(m, operands, command)
        legal = Signal()
        memory = MemoryCommand(command)
        self._requests(m, command, found)
        with m.Switch(memory.opcode):
            with m.Case(Opcode.LOAD):
                m.d.comb += [self.decoded.unit.eq(Unit.LOAD), legal.eq(found.accessible)]
                m.d.comb += name_registers(operands.write, memory.register, found.fragment_more)
            with m.Case(Opcode.STORE):
                m.d.comb += [self.decoded.unit.eq(Unit.STORE), legal.eq(found.accessible)]
                m.d.comb += name_registers(operands.reads[0], memory.register, found.fragment_more)
            with m.Case(Opcode.MMA):
                self._mma(m, MmaCommand(command), found, operands, legal, side if has_scales else None)
            if self._config.sparse:
                with m.Case(Opcode.SPARSE):
                    self._mma(m, MmaCommand(command), found, operands, legal, side, is_sparse=True)
            with m.Case(Opcode.FILL, Opcode.MOVE):
                self._move(m, RegisterCommand(command), found, operands, legal)
            if self._config.shared_bytes:
                with m.Case(Opcode.MATRIX):
                    self._matrix(m, MatrixCommand(command), operands, legal)
            if self._config.wgmma:
                with m.Case(Opcode.WGMMA):
                    self._share(m, WgmmaCommand(command), found, operands, legal, is_tile)
        footprint = self.decoded.footprint
        beyond = [
            self._beyond(m, range_, operand)
            for range_, operand in (
                *((footprint.reads[index], operands.reads[index]) for index in range(3)),
                (footprint.write, operands.write),
                *ranges,
            )
        ]
        unit = self.decoded.unit
        m.d.comb += [
            self.decoded.beyond.eq(Cat(beyond)),
            self.accesses.eq((unit == Unit.LOAD) | (unit == Unit.STORE)),
        ]
        with m.If(memory.warp != self._warp):
            m.d.comb += self.decoded.cause.eq(Cause.WARP_RANGE)
        with m.Elif(~legal):
            m.d.comb += self.decoded.cause.eq(Cause.ILLEGAL_INSTRUCTION)

    def _beyond(self, m: Module, range_: data.View, operand: data.View) -> Value:
        """Let `range_` be the registers of an operand; returns whether some of them are missing."""
        bits = log2_exact(self._config.registers)
        last = Signal(signed(MORE_BITS + 1))
        m.d.comb += [
            last.eq(operand.first + operand.more),
            range_.valid.eq(operand.valid),
            range_.first.eq(operand.first[:bits]),
            range_.last.eq(last[:bits]),
        ]
        return (last[bits:] != 0) & ~last[-1]

    def _in_file(self, register: Value) -> Value:
        """A register of the warp, as the register file numbers it."""
        bits = log2_exact(self._config.registers)
        return Cat(register[:bits], Const(self._warp, REGISTER_BITS - bits))

    def _requests(self, m: Module, command: Signal, found: data.View) -> None:
        """The requests of all units, whatever the opcode.

        Only the one for the unit of the command has a meaning. Zeros in the others would be resets of their
        registers, which are known late.
        """
        memory, mma = MemoryCommand(command), MmaCommand(command)
        register, matrix = RegisterCommand(command), MatrixCommand(command)
        access, rows, move = self.decoded.memory, self.decoded.rows, self.decoded.move
        tile, f64 = self.decoded.tile, self.decoded.f64
        x_is_b = found.tile.x_is_b
        saturate, bitwise_and = mma.saturate, mma.bitwise_and
        if self._config.scales or self._config.dot_product.small:
            # They tell elements apart, where a multiply can neither saturate nor be of single bits.
            saturate = saturate | found.tile.operation.saturate
            bitwise_and = Mux(found.tile.operation.multiplicand == Multiplicand.B1, bitwise_and, 0)
            bitwise_and = bitwise_and | found.tile.operation.bitwise_and
        m.d.comb += [
            access.register.eq(self._in_file(memory.register)),
            access.space.eq(memory.space),
            access.address.eq(memory.address),
            access.has_stride.eq(memory.has_stride),
            access.stride.eq(memory.stride),
            access.geometry.eq(found.geometry),
            rows.register.eq(self._in_file(matrix.source)),
            rows.count_log2.eq(matrix.count_log2),
            rows.is_store.eq(matrix.move == MatrixMove.STORE),
            tile.eq(found.tile),
            f64.eq(found.f64),
            tile.x.eq(self._in_file(Mux(x_is_b, mma.b, mma.a))),
            tile.y.eq(self._in_file(Mux(x_is_b, mma.a, mma.b))),
            tile.c.eq(self._in_file(mma.c)),
            tile.d.eq(self._in_file(mma.d)),
            tile.operation.saturate.eq(saturate),
            tile.operation.bitwise_and.eq(bitwise_and),
            f64.tile.rounding.eq(mma.rounding),
            *(f64[use].eq(self._in_file(mma[use])) for use in USES),
            move.is_move.eq(register.opcode == Opcode.MOVE),
            move.destination.eq(self._in_file(register.destination)),
            move.source.eq(self._in_file(register.source)),
            move.count.eq(register.count),
            move.value.eq(register.value),
        ]

    def _mma(
        self,
        m: Module,
        command: data.View,
        found: data.View,
        operands: data.View,
        legal: Signal,
        side: data.View | None,
        *,
        is_sparse: bool = False,
    ) -> None:
        selects: Value = Const(1)
        if side is not None:
            selects = decode_side_operands(
                *(m, self._config, command, found, self.side, side, self._in_file), is_sparse=is_sparse
            )
        for index, use in enumerate("abc"):
            m.d.comb += name_registers(operands.reads[index], command[use], found.more[index])
        m.d.comb += [
            *name_registers(operands.write, command.d, found.more[3]),
            self.decoded.unit.eq(Mux(found.is_f64, Unit.F64, Unit.TILE)),
            legal.eq(found.multiplies if side is None else found.multiplies & selects),
        ]

    def _share(
        self,
        m: Module,
        command: data.View,
        found: data.View,
        operands: data.View,
        legal: Signal,
        is_tile: Signal,
    ) -> None:
        operation = found.tile.operation
        is_narrow = operation.result == Result.F16
        kind = Value.cast(operation.multiplicand)
        is_float, is_half = ~kind[3], (kind == Multiplicand.F16) | (kind == Multiplicand.BF16)
        tiles = command.tiles_less_one
        more = Mux(is_narrow, Cat(Const(1, 1), tiles), Cat(Const(3, 2), tiles))
        share, in_file = self.share, self._in_file
        # A is read again for each tile, so no tile may write it.
        behind, before = command.a - command.d, command.d - command.a
        overlaps = command.a_in_registers & Mux(behind < 0, before < A_REGISTERS, behind <= more)
        m.d.comb += [
            *name_registers(
                operands.reads[0],
                Mux(command.a_in_registers, command.a, 0),
                A_REGISTERS - 1,
                command.a_in_registers,
            ),
            *name_registers(operands.reads[2], command.d, more, command.scale_d),
            *name_registers(operands.write, command.d, more),
            self.decoded.unit.eq(Unit.WGMMA),
            legal.eq(
                is_tile
                & found.multiplies
                & ~overlaps
                & (is_float | ~command.negated.any())
                & ((is_half & ~(command.transposed[0] & command.a_in_registers)) | ~command.transposed.any())
            ),
            share.tile.eq(found.tile),
            share.tile.x.eq(in_file(command.a)),
            share.tile.d.eq(in_file(command.d)),
            share.tile.operation.saturate.eq(command.saturate),
            share.tile.operation.bitwise_and.eq(command.bitwise_and),
            share.a.eq(command.a_matrix),
            share.b.eq(command.b_matrix),
            *(
                share[name].eq(command[name])
                for name in ("tiles_less_one", "a_in_registers", "scale_d", "negated", "transposed")
            ),
        ]

    def _move(
        self, m: Module, command: data.View, found: data.View, operands: data.View, legal: Signal
    ) -> None:
        is_any = ~found.move_more[-1]
        with m.If(command.opcode == Opcode.MOVE):
            m.d.comb += name_registers(operands.reads[0], command.source, found.move_more, is_any)
        m.d.comb += name_registers(operands.write, command.destination, found.move_more, is_any)
        m.d.comb += [self.decoded.unit.eq(Unit.MOVE), legal.eq(1)]

    def _matrix(self, m: Module, command: data.View, operands: data.View, legal: Signal) -> None:
        request = self.decoded.memory
        in_memory = Signal()
        more = Signal(2)
        with m.Switch(Cat(command.transposed, command.count_log2)):
            for transposed, (count_log2, matrices) in product((False, True), enumerate(MATRIX_COUNTS)):
                with m.Case(transposed | count_log2 << 1):
                    fields = matrix_geometry(matrices, transposed=transposed)
                    m.d.comb += [request.geometry[field].eq(item) for field, item in fields.items()]
                    m.d.comb += [more.eq(matrices - 1), in_memory.eq(1)]
        spaces = [command.space == SPACES.index(space) for space in MATRIX_SPACES]
        m.d.comb += [
            request.space.eq(command.space),
            request.listed.eq(1),
            self.decoded.move.transposes.eq(1),
            legal.eq(in_memory & Cat(spaces).any()),
        ]
        with m.Switch(command.move):
            with m.Case(MatrixMove.LOAD):
                m.d.comb += [
                    self.decoded.unit.eq(Unit.LOAD),
                    *name_registers(operands.write, command.register, more),
                    *name_registers(operands.reads[0], command.source, 0),
                ]
            with m.Case(MatrixMove.STORE):
                m.d.comb += [
                    self.decoded.unit.eq(Unit.STORE),
                    *name_registers(operands.reads[0], command.register, more),
                    *name_registers(operands.reads[1], command.source, 0),
                ]
            with m.Case(MatrixMove.REGISTER):
                m.d.comb += [
                    self.decoded.unit.eq(Unit.MOVE),
                    *name_registers(operands.write, command.register, 0),
                    *name_registers(operands.reads[0], command.source, 0),
                    legal.eq(1),
                ]
            with m.Default():
                m.d.comb += legal.eq(0)
