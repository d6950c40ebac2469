"""The decoder: from a command to what the units need, by the golden tables."""

from itertools import product
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.tables.commands import MATRIX_COUNTS, MATRIX_ROW_BYTES, MATRIX_SPACES
from golden.tables.faults import Cause
from golden.tables.formats import FORMATS, IntegerFormat
from golden.tables.instruction_set import SPACES, USES, multiplicand_formats
from golden.tables.matrix_instructions import MmaInstruction
from hdl.command import (
    COMMAND_BITS,
    MatrixCommand,
    MatrixMove,
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    fragment_key,
    multiply_key,
)
from hdl.config import REGISTER_BITS, CoreConfig
from hdl.control.scoreboard import Footprint, Range, Unit
from hdl.dot_product.operands import Multiplicand, Result
from hdl.memory.access import AccessRequest
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.fragment_geometry import (
    FragmentGeometry,
    block_order,
    fragment_geometry,
    legal_fragments,
    log2_exact,
    matrix_geometry,
)
from hdl.memory.row_addresses import RowRequest
from hdl.multiply.f64.request import F64Request
from hdl.multiply.multiplies import legal_multiplies
from hdl.multiply.tile.chains import passes
from hdl.multiply.tile.request import TileRequest, TileShape
from hdl.registers.mover import MoveRequest

__all__ = ["Decoded", "Decoder", "is_signed", "multiplicand"]


class Decoded(data.Struct):
    """A command as the units take it; only the request for its `unit` has a meaning.

    Members
    -------
    unit : Unit
    cause : unsigned(4)
        Zero, or why the command is refused.
    footprint : Footprint
        The registers of its warp that it reads and writes.
    memory : AccessRequest
        For loads and stores, still to be checked.
    rows : RowRequest
        For loads and stores whose rows are listed, likewise.
    tile : TileRequest
    f64 : F64Request
    move : MoveRequest
    """

    unit: Unit
    cause: unsigned(CAUSE_BITS)
    footprint: Footprint
    memory: AccessRequest
    rows: RowRequest
    tile: TileRequest
    f64: F64Request
    move: MoveRequest


class Decoder(wiring.Component):
    """Tells legal commands from others and looks their constants up.

    The tables are made from `golden.tables.instruction_set.CORE_FAMILIES` and the fragment layouts, for the
    formats that the configuration has, so that what the golden machine refuses is refused here, with the
    same cause. Requests name registers as the register file numbers them: warp after warp.

    Combinational.

    Parameters
    ----------
    config : CoreConfig
    warp : int
        Whose commands these are. Warp 0 also gets the commands for warps that do not exist, and refuses them.

    Members
    -------
    command : In(160)
    decoded : Out(Decoded)
    """

    command: In(COMMAND_BITS)
    decoded: Out(Decoded)

    def __init__(self, config: CoreConfig, warp: int = 0) -> None:
        self._config = config
        self._warp = warp
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        # Fields that no statement below drives would become Verilog processes without inputs, which
        # Icarus Verilog never executes. A condition gives them an input; synthesis removes it.
        with m.If(self.command.any()):
            m.d.comb += self.decoded.as_value().eq(0)
        legal = Signal()
        in_range = Signal()
        memory = MemoryCommand(self.command)
        m.d.comb += in_range.eq(1)
        with m.Switch(memory.opcode):
            with m.Case(Opcode.LOAD, Opcode.STORE):
                self._memory(m, legal, in_range)
            with m.Case(Opcode.MMA):
                self._mma(m, legal, in_range)
            with m.Case(Opcode.FILL, Opcode.MOVE):
                self._move(m, legal, in_range)
            if self._config.shared_bytes:
                with m.Case(Opcode.MATRIX):
                    self._matrix(m, legal, in_range)
        with m.If(memory.warp != self._warp):
            m.d.comb += self.decoded.cause.eq(Cause.WARP_RANGE)
        with m.Elif(~legal):
            m.d.comb += self.decoded.cause.eq(Cause.ILLEGAL_INSTRUCTION)
        with m.Elif(~in_range):
            m.d.comb += self.decoded.cause.eq(Cause.REGISTER_RANGE)
        return m

    def _fits(self, first: Signal, count: Signal) -> Signal:
        return first + count <= self._config.registers

    def _in_file(self, register: Value) -> Value:
        """A register of the warp, as the register file numbers it."""
        bits = log2_exact(self._config.registers)
        return Cat(register[:bits], Const(self._warp, REGISTER_BITS - bits))

    def _memory(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = MemoryCommand(self.command)
        request = self.decoded.memory
        store = command.opcode == Opcode.STORE
        spaces = {"global", "generic"} | ({"shared"} if self._config.shared_bytes else set())
        in_space = Signal()
        footprint = self.decoded.footprint
        geometry = Signal(FragmentGeometry)
        with m.Switch(command.space):
            with m.Case(*(SPACES.index(space) for space in sorted(spaces))):
                m.d.comb += in_space.eq(1)
        with m.If(store):
            m.d.comb += [
                self.decoded.unit.eq(Unit.STORE),
                *_covers(footprint.reads[0], command.register, geometry.registers),
            ]
        with m.Else():
            m.d.comb += [
                self.decoded.unit.eq(Unit.LOAD),
                *_covers(footprint.write, command.register, geometry.registers),
            ]
        m.d.comb += [
            request.register.eq(self._in_file(command.register)),
            request.space.eq(command.space),
            request.address.eq(command.address),
            request.has_stride.eq(command.has_stride),
            request.stride.eq(command.stride),
            request.geometry.eq(geometry),
            in_range.eq(self._fits(command.register, geometry.registers)),
        ]
        with m.Switch(command.fragment):
            for use, name, shape, layout in legal_fragments(self._config):
                with m.Case(fragment_key(use, name, shape, layout)):
                    fields = fragment_geometry(use, name, shape, layout)
                    m.d.comb += [getattr(geometry, field).eq(item) for field, item in fields.items()]
                    m.d.comb += legal.eq((store if use == "d" else ~store) & in_space)

    def _mma(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = MmaCommand(self.command)
        tile = self.decoded.tile
        counts = {use: Signal(_COUNT_BITS, name=f"{use}_count") for use in USES}
        x_is_b = Signal()
        footprint = self.decoded.footprint
        m.d.comb += [
            self.decoded.unit.eq(Unit.TILE),
            *_covers(footprint.reads[0], command.a, counts["a"]),
            *_covers(footprint.reads[1], command.b, counts["b"]),
            *_covers(footprint.reads[2], command.c, counts["c"]),
            *_covers(footprint.write, command.d, counts["d"]),
            tile.x_is_b.eq(x_is_b),
            tile.x.eq(self._in_file(Mux(x_is_b, command.b, command.a))),
            tile.y.eq(self._in_file(Mux(x_is_b, command.a, command.b))),
            tile.c.eq(self._in_file(command.c)),
            tile.d.eq(self._in_file(command.d)),
            tile.operation.saturate.eq(command.saturate),
            tile.operation.bitwise_and.eq(command.bitwise_and),
            in_range.eq(
                self._fits(command.a, counts["a"])
                & self._fits(command.b, counts["b"])
                & self._fits(command.c, counts["c"])
                & self._fits(command.d, counts["d"])
            ),
        ]
        self._double(m, command)
        instructions = _different(self._config)
        has_wgmma = any(item.mnemonic == "wgmma" for item in instructions)
        with m.Switch(Cat(command.multiply, command.is_wgmma & has_wgmma)):
            for instruction in instructions:
                layouts = instruction.fragments
                a, b = layouts["a"], layouts["b"]
                x, y = (a, b) if a.wide else (b, a)
                with m.Case(multiply_key(instruction)):
                    m.d.comb += [
                        legal.eq(
                            ((len(instruction.family.roundings) > 0) | (command.rounding == 0))
                            & ~(command.saturate & (instruction.family.saturate == "never"))
                        ),
                        *(counts[use].eq(layouts[use].registers) for use in USES),
                    ]
                    if instruction.a_type == "f64":
                        m.d.comb += [
                            self.decoded.unit.eq(Unit.F64),
                            self.decoded.f64.tile.two_blocks.eq(a.x_blocks == 2),
                            self.decoded.f64.tile.k_blocks_log2.eq(log2_exact(a.y_blocks)),
                        ]
                        continue
                    m.d.comb += [
                        tile.tile_shape.eq(_TILE_SHAPES[x.x_blocks, y.x_blocks]),
                        tile.halves.eq(x.y_blocks == 2),
                        tile.passes.eq(passes(instruction, self._config.dot_product.profile) - 1),
                        tile.converted.eq(instruction.family.converted_to is not None),
                        x_is_b.eq(b.wide),
                        tile.x_order.eq(block_order(x)),
                        tile.y_order.eq(block_order(y)),
                        tile.operation.multiplicand.eq(
                            multiplicand(instruction.family.converted_to or instruction.a_type)
                        ),
                        tile.operation.a_e5m2.eq(instruction.a_type == "e5m2"),
                        tile.operation.b_e5m2.eq(instruction.b_type == "e5m2"),
                        tile.operation.a_signed.eq(is_signed(instruction.a_type)),
                        tile.operation.b_signed.eq(is_signed(instruction.b_type)),
                        tile.operation.c_is_f16.eq(instruction.c_type == "f16"),
                        tile.operation.result.eq(_result(instruction)),
                    ]

    def _double(self, m: Module, command: MmaCommand) -> None:
        f64 = self.decoded.f64
        m.d.comb += [
            f64.tile.rounding.eq(command.rounding),
            *(f64[use].eq(self._in_file(command[use])) for use in USES),
        ]

    def _move(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = RegisterCommand(self.command)
        move = self.decoded.move
        is_move = command.opcode == Opcode.MOVE
        footprint = self.decoded.footprint
        with m.If(command.count != 0):
            m.d.comb += _covers(footprint.write, command.destination, command.count)
            with m.If(is_move):
                m.d.comb += _covers(footprint.reads[0], command.source, command.count)
        m.d.comb += [
            legal.eq(1),
            self.decoded.unit.eq(Unit.MOVE),
            move.is_move.eq(is_move),
            move.destination.eq(self._in_file(command.destination)),
            move.source.eq(self._in_file(command.source)),
            move.count.eq(command.count),
            move.value.eq(command.value),
            in_range.eq(
                self._fits(command.destination, command.count)
                & (~is_move | self._fits(command.source, command.count))
            ),
        ]

    def _matrix(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = MatrixCommand(self.command)
        request, rows, move = self.decoded.memory, self.decoded.rows, self.decoded.move
        footprint = self.decoded.footprint
        in_memory = Signal()
        count = Signal(3)
        geometry = Signal(FragmentGeometry)
        with m.Switch(Cat(command.transposed, command.count_log2)):
            for transposed, (count_log2, matrices) in product((False, True), enumerate(MATRIX_COUNTS)):
                with m.Case(transposed | count_log2 << 1):
                    fields = matrix_geometry(matrices, transposed=transposed)
                    m.d.comb += [getattr(geometry, field).eq(item) for field, item in fields.items()]
                    m.d.comb += [count.eq(matrices), in_memory.eq(1)]
        spaces = [command.space == SPACES.index(space) for space in MATRIX_SPACES]
        m.d.comb += [
            request.register.eq(self._in_file(command.register)),
            request.space.eq(command.space),
            request.geometry.eq(geometry),
            # Elements of two rows, so that no line begins where one ends: addresses come from the register.
            request.has_stride.eq(1),
            request.stride.eq(MATRIX_ROW_BYTES),
            request.listed.eq(1),
            rows.register.eq(self._in_file(command.source)),
            rows.count_log2.eq(command.count_log2),
            rows.is_store.eq(command.move == MatrixMove.STORE),
            legal.eq(in_memory & Cat(spaces).any()),
            in_range.eq(self._fits(command.register, count) & self._fits(command.source, 1)),
            move.transposes.eq(1),
            move.destination.eq(self._in_file(command.register)),
            move.source.eq(self._in_file(command.source)),
        ]
        with m.Switch(command.move):
            with m.Case(MatrixMove.LOAD):
                m.d.comb += [
                    self.decoded.unit.eq(Unit.LOAD),
                    *_covers(footprint.write, command.register, count),
                    *_covers(footprint.reads[0], command.source, 1),
                ]
            with m.Case(MatrixMove.STORE):
                m.d.comb += [
                    self.decoded.unit.eq(Unit.STORE),
                    *_covers(footprint.reads[0], command.register, count),
                    *_covers(footprint.reads[1], command.source, 1),
                ]
            with m.Case(MatrixMove.REGISTER):
                m.d.comb += [
                    self.decoded.unit.eq(Unit.MOVE),
                    *_covers(footprint.write, command.register, 1),
                    *_covers(footprint.reads[0], command.source, 1),
                    legal.eq(1),
                    in_range.eq(self._fits(command.register, 1) & self._fits(command.source, 1)),
                ]
            with m.Default():
                m.d.comb += legal.eq(0)


_COUNT_BITS = 5
"""Of the registers of a fragment, at most 16: A of m16n8k16 in f64."""

_TILE_SHAPES = {
    (2, 2): TileShape.SQUARE_16,
    (4, 1): TileShape.WIDE_32,
    (2, 1): TileShape.WIDE_16,
    (1, 1): TileShape.SQUARE_8,
}
"""By the blocks of eight rows of X and Y."""


def _covers(operand: Range, first: Signal, count: Signal) -> list[Any]:
    """Make `operand` the range of `count` registers from `first` on; `count` is not zero."""
    return [operand.valid.eq(1), operand.first.eq(first), operand.last.eq(first + count - 1)]


def _different(config: CoreConfig) -> list[MmaInstruction]:
    """The multiplies with different keys: `wmma` and `mma` share a few shapes and types."""
    return list({multiply_key(item): item for item in legal_multiplies(config)}.values())


def multiplicand(name: str) -> Multiplicand:
    """What multiplicands of an element type are to a dot-product unit."""
    (format_,) = multiplicand_formats((name,))
    return Multiplicand[format_.upper()]


def is_signed(name: str) -> bool:
    """Whether an element type is of integers with a sign."""
    item = FORMATS[name]
    return isinstance(item, IntegerFormat) and item.signed


def _result(instruction: MmaInstruction) -> Result:
    if instruction.d_type != "f16":
        return Result.F32
    return Result.F16 if instruction.c_type == "f16" else Result.F16_FROM_F32
