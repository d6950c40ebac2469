"""Moves words: between memory and registers, from register to register, from results to registers."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.signatures import memory_signature, register_read_signature, register_write_signature
from boards.serial_core.walk_geometry import BYTE_BITS, LANE_BITS, REGISTER_BITS

__all__ = ["Transfer", "WordMover"]


class Transfer(enum.Enum, shape=3):
    """From where to where.

    LOAD, STORE
        Memory to registers, registers to memory; in the order of the walk.
    FILL
        A value to registers.
    MOVE
        Registers to registers.
    RESULT
        The multiplier's results to registers.
    """

    LOAD = 0
    STORE = 1
    FILL = 2
    MOVE = 3
    RESULT = 4


class WordMover(wiring.Component):
    """Moves one word (or byte) in two cycles: in the first it is read, in the second written.

    A word is written before the next one is read, so an overlapping move copies what the registers before it
    have become: register by register, as the golden machine does.

    Throughput: a word in two cycles. Latency: two cycles. Critical path expected: from the registers to the
    memory, through no logic. About 150 look-up tables.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    clear : In(1)
        Begin with the first word; some time before `active`.
    active : In(1)
        Move.
    transfer : In(Transfer)
    destination, source : In(8)
        First registers; what is stored is at `destination`.
    last_register : In(8)
        Registers less one, where it is not the walk that counts.
    value : In(32)
        Of a fill.
    bytewise : In(1)
        Of a load: a place of the walk is a byte.
    address, byte, lane, register_offset, is_last
        Of the walk, as its members are.
    next : Out(1)
        The walk may go on.
    done : Out(1)
        The last word is written in this cycle.
    progress : Out(9)
        Words of a store that the memory took before the first that was missing; no fragment has more than
        256.
    registers_read : Out(register_read_signature(config))
    registers_write : Out(register_write_signature(config))
    memory : Out(memory_signature(config))
    result_address : Out(8)
    result : In(32)
        What is there, one cycle later.

    Testbench
    ---------
    cocotb_tests/boards/serial_core/test_serial_core.py, through `SerialCore`.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        width = 8 * WORD_BYTES
        super().__init__(
            {
                "clear": In(1),
                "active": In(1),
                "transfer": In(Transfer),
                "destination": In(8),
                "source": In(8),
                "last_register": In(8),
                "value": In(width),
                "bytewise": In(1),
                "address": In(config.address_bits),
                "byte": In(BYTE_BITS),
                "lane": In(LANE_BITS),
                "register_offset": In(REGISTER_BITS),
                "is_last": In(1),
                "next": Out(1),
                "done": Out(1),
                "progress": Out(LANE_BITS + REGISTER_BITS + 1),
                "registers_read": Out(register_read_signature(config)),
                "registers_write": Out(register_write_signature(config)),
                "memory": Out(memory_signature(config)),
                "result_address": Out(LANE_BITS + REGISTER_BITS),
                "result": In(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        register_bits = self._config.registers.bit_length() - 1
        read, write, memory = self.registers_read, self.registers_write, self.memory
        writes = Signal()
        index = Signal(LANE_BITS + register_bits)
        in_walk = (self.transfer == Transfer.LOAD) | (self.transfer == Transfer.STORE)
        lane = Mux(in_walk, self.lane, index[:LANE_BITS])
        register = Signal(register_bits)
        m.d.comb += register.eq(Mux(in_walk, self.register_offset, index[LANE_BITS:]))

        loaded = memory.read_data
        selected = loaded.word_select(self.address[:BYTE_BITS], 8).replicate(WORD_BYTES)
        first = Mux(self.transfer == Transfer.MOVE, self.source, self.destination)
        m.d.comb += [
            read.enable.eq(self.active & ~writes),
            read.address.eq(Cat(lane, (first + register)[:register_bits])),
            write.address.eq(Cat(lane, (self.destination + register)[:register_bits])),
            memory.address.eq(self.address),
            memory.data.eq(read.data),
            self.result_address.eq(index),
        ]
        with m.Switch(self.transfer):
            with m.Case(Transfer.LOAD):
                m.d.comb += write.data.eq(Mux(self.bytewise, selected, loaded))
            with m.Case(Transfer.FILL):
                m.d.comb += write.data.eq(self.value)
            with m.Case(Transfer.MOVE):
                m.d.comb += write.data.eq(read.data)
            with m.Case(Transfer.RESULT):
                m.d.comb += write.data.eq(self.result)

        refused = Signal()
        last = index[:LANE_BITS].all() & (index[LANE_BITS:] == self.last_register)
        m.d.sync += writes.eq(self.active & ~writes)
        with m.If(self.active & ~writes):
            m.d.comb += memory.enable.eq(self.transfer == Transfer.LOAD)
        with m.If(self.active & writes):
            m.d.comb += [self.next.eq(1), self.done.eq(Mux(in_walk, self.is_last, last))]
            m.d.sync += index.eq(index + 1)
            with m.If(self.transfer == Transfer.STORE):
                m.d.comb += [memory.enable.eq(1), memory.write.eq(1)]
                with m.If(memory.missing):
                    m.d.sync += refused.eq(1)
                with m.Elif(~refused):
                    m.d.sync += self.progress.eq(self.progress + 1)
            with m.Else():
                m.d.comb += write.bytes.eq(Mux(self.bytewise, 1 << self.byte, ~0))
        with m.If(self.clear):
            m.d.sync += [index.eq(0), self.progress.eq(0), refused.eq(0)]
        return m
