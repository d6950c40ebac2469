"""The decoder of a serial core: from a command to its constants, by the golden tables."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.walk_geometry import ProductGeometry, WalkGeometry, product_geometry, walk_geometry
from golden.tables.faults import Cause
from golden.tables.instruction_set import SPACES
from hdl.command import (
    COMMAND_BITS,
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    fragment_key,
    multiply_key,
)
from hdl.memory.beats import CAUSE_BITS
from hdl.memory.fragment_geometry import legal_fragments
from hdl.multiply.multiplies import legal_multiplies

__all__ = ["SerialDecoder"]

_SPACES = ("global", "generic")


class SerialDecoder(wiring.Component):
    """Tells legal commands from others and looks their constants up.

    What words 0 and 1 of a command decide: a warp other than 0, what is in no table, and registers out of
    range. The tables are
    those of `hdl.control.decoder`, for the formats of the configuration.

    Latency: 2 cycles to `cause`, 1 to all else: the registers are counted when the tables have been looked
    up. About 150 look-up tables; critical path expected: a table, 8 of them one after the other.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    head, operands : In(32)
        Words 0 and 1.
    cause : Out(4)
        Zero, or why the command is refused.
    walk : Out(WalkGeometry)
        Of a load or store.
    product : Out(ProductGeometry)
        Of a multiply.
    """

    head: In(8 * WORD_BYTES)
    operands: In(8 * WORD_BYTES)
    cause: Out(CAUSE_BITS)
    walk: Out(WalkGeometry)
    product: Out(ProductGeometry)

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        command = Signal(COMMAND_BITS)
        # Of the cycle, and kept for the next one.
        legal, found = Signal(), Signal()
        in_range = Signal()
        m.d.comb += command.eq(Cat(self.head, self.operands))
        with m.Switch(MemoryCommand(command).opcode):
            with m.Case(Opcode.LOAD, Opcode.STORE):
                self._memory(m, MemoryCommand(command), legal, in_range)
            with m.Case(Opcode.MMA):
                self._mma(m, MmaCommand(command), legal, in_range)
            with m.Case(Opcode.FILL, Opcode.MOVE):
                self._registers(m, RegisterCommand(command), legal, in_range)
        m.d.sync += [found.eq(legal), self.cause.eq(0)]
        with m.If(MemoryCommand(command).warp != 0):
            m.d.sync += self.cause.eq(Cause.WARP_RANGE)
        with m.Elif(~found):
            m.d.sync += self.cause.eq(Cause.ILLEGAL_INSTRUCTION)
        with m.Elif(~in_range):
            m.d.sync += self.cause.eq(Cause.REGISTER_RANGE)
        return m

    def _fits(self, first: Value, count: Value) -> Value:
        return first + count <= self._config.registers

    def _memory(self, m: Module, command: Any, legal: Signal, in_range: Signal) -> None:
        is_store = command.opcode == Opcode.STORE
        in_space = Signal()
        with m.Switch(command.space):
            with m.Case(*(SPACES.index(space) for space in _SPACES)):
                m.d.comb += in_space.eq(1)
        m.d.comb += in_range.eq(self._fits(command.register, self.walk.registers))
        with m.Switch(command.fragment):
            for use, name, shape, layout in legal_fragments(self._config):
                with m.Case(fragment_key(use, name, shape, layout)):
                    m.d.comb += legal.eq((is_store if use == "d" else ~is_store) & in_space)
                    m.d.sync += _assigned(self.walk, walk_geometry(use, name, shape, layout))

    def _mma(self, m: Module, command: Any, legal: Signal, in_range: Signal) -> None:
        product = self.product
        m.d.comb += in_range.eq(
            self._fits(command.a, product.a_registers)
            & self._fits(command.b, product.b_registers)
            & self._fits(command.c, product.c_registers)
            & self._fits(command.d, product.c_registers)
        )
        with m.Switch(command.multiply):
            for instruction in legal_multiplies(self._config):
                with m.Case(multiply_key(instruction)):
                    m.d.comb += legal.eq(
                        (command.rounding == 0)
                        & ~(command.saturate & (instruction.family.saturate == "never"))
                    )
                    m.d.sync += _assigned(product, product_geometry(instruction))

    def _registers(self, m: Module, command: Any, legal: Signal, in_range: Signal) -> None:
        is_fill = command.opcode == Opcode.FILL
        m.d.comb += [
            legal.eq(1),
            in_range.eq(
                self._fits(command.destination, command.count)
                & (is_fill | self._fits(command.source, command.count))
            ),
        ]


def _assigned(struct: Any, fields: dict[str, Any]) -> list[Any]:
    return [getattr(struct, name).eq(value) for name, value in fields.items()]
