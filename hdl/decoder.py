"""The decoder: from a command to what the units need, by the golden tables."""

from collections.abc import Iterator

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.faults import Cause
from golden.formats import FORMATS, IntegerFormat
from golden.instruction_set import FAMILIES, USES, MmaInstruction
from golden.layouts import fragment
from hdl.command import (
    COMMAND_BITS,
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    shape_code,
    type_code,
)
from hdl.config import CoreConfig
from hdl.dot_product.interface import Multiplicand, Result
from hdl.geometry import FragmentGeometry, block_order, fragment_geometry, legal_fragments
from hdl.load_store import CAUSE_BITS, LoadStoreRequest
from hdl.register_mover import MoveRequest
from hdl.tile_multiplier import TileRequest

__all__ = ["Decoded", "Decoder"]


class Decoded(data.Struct):
    """A command as the units take it; only the request that `opcode` names has a meaning.

    Members
    -------
    opcode : unsigned(3)
    cause : unsigned(4)
        Zero, or why the command is refused.
    memory : LoadStoreRequest
    tile : TileRequest
    move : MoveRequest
    """

    opcode: unsigned(3)
    cause: unsigned(CAUSE_BITS)
    memory: LoadStoreRequest
    tile: TileRequest
    move: MoveRequest


class Decoder(wiring.Component):
    """Tells legal commands from others and looks their constants up.

    The tables are made from `golden.instruction_set.FAMILIES` and the fragment layouts, for the formats that
    the configuration has, so that what the golden machine refuses is refused here, with the same cause.

    Combinational.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    command : In(160)
    decoded : Out(Decoded)
    """

    command: In(COMMAND_BITS)
    decoded: Out(Decoded)

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        legal = Signal()
        in_range = Signal()
        memory = MemoryCommand(self.command)
        m.d.comb += [
            self.decoded.opcode.eq(memory.opcode),
            in_range.eq(1),
        ]
        with m.Switch(memory.opcode):
            with m.Case(Opcode.LOAD, Opcode.STORE):
                self._memory(m, legal, in_range)
            with m.Case(Opcode.MMA):
                self._mma(m, legal, in_range)
            with m.Case(Opcode.FILL, Opcode.MOVE):
                self._move(m, legal, in_range)
        with m.If(~legal):
            m.d.comb += self.decoded.cause.eq(Cause.ILLEGAL_INSTRUCTION)
        with m.Elif(~in_range):
            m.d.comb += self.decoded.cause.eq(Cause.REGISTER_RANGE)
        return m

    def _fits(self, first: Signal, count: Signal) -> Signal:
        return first + count <= self._config.registers

    def _memory(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = MemoryCommand(self.command)
        request = self.decoded.memory
        store = command.opcode == Opcode.STORE
        global_space = command.space != 1
        geometry = Signal(FragmentGeometry)
        m.d.comb += [
            request.store.eq(store),
            request.register.eq(command.register),
            request.address.eq(command.address),
            request.has_stride.eq(command.has_stride),
            request.stride.eq(command.stride),
            request.geometry.eq(geometry),
            in_range.eq(self._fits(command.register, geometry.registers)),
        ]
        key = Cat(command.use, command.layout, command.tile_shape, command.element_type)
        with m.Switch(key):
            for use, name, shape, layout in legal_fragments(self._config):
                value = (
                    USES.index(use) | (layout == "col") << 2 | shape_code(shape) << 3 | type_code(name) << 7
                )
                with m.Case(value):
                    fields = fragment_geometry(use, name, shape, layout)
                    m.d.comb += [getattr(geometry, field).eq(item) for field, item in fields.items()]
                    m.d.comb += legal.eq(
                        (store if use == "d" else ~store) & global_space & (command.space != 3)
                    )

    def _mma(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = MmaCommand(self.command)
        tile = self.decoded.tile
        c_count = Signal(4)
        d_count = Signal(4)
        x_is_b = Signal()
        overlap = (command.c < command.d + d_count) & (command.d < command.c + c_count)
        in_place = (command.c == command.d) & (command.c_type == command.d_type)
        m.d.comb += [
            tile.x_is_b.eq(x_is_b),
            tile.x.eq(Mux(x_is_b, command.b, command.a)),
            tile.y.eq(Mux(x_is_b, command.a, command.b)),
            tile.c.eq(command.c),
            tile.d.eq(command.d),
            tile.hazard.eq(overlap & ~in_place),
            tile.operation.saturate.eq(command.saturate),
            tile.operation.bitwise_and.eq(command.bitwise_and),
            in_range.eq(
                self._fits(command.a, 8)
                & self._fits(command.b, 8)
                & self._fits(command.c, c_count)
                & self._fits(command.d, d_count)
            ),
        ]
        key = Cat(command.tile_shape, command.a_type, command.b_type, command.c_type, command.d_type)
        with m.Switch(key):
            for instruction in _legal_multiplies(self._config):
                shape = instruction.shape
                types = (instruction.a_type, instruction.b_type, instruction.c_type, instruction.d_type)
                value = shape_code(shape) | sum(
                    type_code(name) << (4 + 4 * place) for place, name in enumerate(types)
                )
                a = fragment("a", instruction.a_type, shape)
                b = fragment("b", instruction.b_type, shape)
                c = fragment("c", instruction.c_type, shape)
                d = fragment("d", instruction.d_type, shape)
                x, y = (a, b) if a.wide else (b, a)
                with m.Case(value):
                    m.d.comb += [
                        legal.eq(command.rounding == 0),
                        c_count.eq(c.registers),
                        d_count.eq(d.registers),
                        tile.wide.eq(x.x_blocks == 4),
                        x_is_b.eq(b.wide),
                        tile.x_order.eq(block_order(x)),
                        tile.y_order.eq(block_order(y)),
                        tile.operation.multiplicand.eq(Multiplicand[instruction.a_type.upper()]),
                        tile.operation.a_signed.eq(_is_signed(instruction.a_type)),
                        tile.operation.b_signed.eq(_is_signed(instruction.b_type)),
                        tile.operation.c_is_f16.eq(instruction.c_type == "f16"),
                        tile.operation.result.eq(_result(instruction)),
                    ]

    def _move(self, m: Module, legal: Signal, in_range: Signal) -> None:
        command = RegisterCommand(self.command)
        move = self.decoded.move
        is_move = command.opcode == Opcode.MOVE
        m.d.comb += [
            legal.eq(1),
            move.is_move.eq(is_move),
            move.destination.eq(command.destination),
            move.source.eq(command.source),
            move.count.eq(command.count),
            move.value.eq(command.value),
            in_range.eq(
                self._fits(command.destination, command.count)
                & (~is_move | self._fits(command.source, command.count))
            ),
        ]


def _legal_multiplies(config: CoreConfig) -> Iterator[MmaInstruction]:
    """Every combination of shape and types once; layouts do not matter to a multiply."""
    for family in FAMILIES:
        if family.name in config.dot_product.formats:
            for shape in family.shapes:
                for name in family.multiplicands:
                    for c_type in family.accumulators:
                        for d_type in family.accumulators:
                            yield MmaInstruction(
                                shape=shape,
                                a_layout="row",
                                b_layout="col",
                                a_type=name,
                                b_type=name,
                                c_type=c_type,
                                d_type=d_type,
                            )


def _is_signed(name: str) -> bool:
    item = FORMATS[name]
    return isinstance(item, IntegerFormat) and item.signed


def _result(instruction: MmaInstruction) -> Result:
    if instruction.d_type != "f16":
        return Result.F32
    return Result.F16 if instruction.c_type == "f16" else Result.F16_FROM_F32
