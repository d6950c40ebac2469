"""The fragment registers of all warps: 32 lanes of 32-bit registers."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hdl.config import QUADS, CoreConfig
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import (
    LANE_BITS,
    QUAD_BITS,
    READ_LATENCY,
    register_write_signature,
    shared_read_signature,
    word_bits,
    word_read_signature,
)
from hdl.stream.pipeline import delay, register

__all__ = ["RegisterFile"]


class RegisterFile(wiring.Component):
    """Registers in words of one or more quads; warp w has those from ``w * registers`` on.

    The fragment layouts make a quad (four neighbouring lanes) the natural unit: one register of it is, of a
    multiplicand, one contiguous run of k of a row of A or a column of B; of an accumulator four results.
    A tile of 256 results takes 32 + 32 + 64 quads of operands and 64 of results. So there are two read ports,
    each with a block RAM of its own: one for words of multiplicands, which belongs to the tile multiplier,
    and one that gives it words of C, and in other cycles single quads to all others; few wires lead to those.
    Words are as narrow as they can be, `CoreConfig.word_quads`: the write port is half busy then when all
    dot-product units are, and the other half is left for loads.

    Throughput one word read, one quad read and one word written per cycle; latency `READ_LATENCY` cycles to
    read and one to write. What is read of a word in the cycle in which it is written is not
    defined: the scoreboard keeps commands apart that would do so, and the host is refused registers while the
    core works.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(register_write_signature(config))
        Always ready.
    word_read : In(word_read_signature(config))
    shared_read : In(shared_read_signature(config))
        Always ready.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "write": In(register_write_signature(config)),
                "word_read": In(word_read_signature(config)),
                "shared_read": In(shared_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        words = config.all_registers * QUADS // config.word_quads
        inner = config.word_quads.bit_length() - 1
        m.submodules.memory = memory = collision_free_memory(unsigned(word_bits(config)), words)
        write_port = memory.write_port(granularity=LANE_BITS)
        word_port, shared_port = memory.read_port(), memory.read_port()
        m.d.comb += [
            write_port.en.eq(self.write.lanes & self.write.enable.replicate(len(self.write.lanes))),
            write_port.addr.eq(self.write.address),
            write_port.data.eq(self.write.data),
            self.write.ready.eq(1),
            word_port.en.eq(self.word_read.enable),
            word_port.addr.eq(self.word_read.address),
            self.word_read.data.eq(register(m, word_port.data, "word_read")),
            shared_port.en.eq(self.shared_read.enable),
            shared_port.addr.eq(self.shared_read.address[inner:]),
            self.shared_read.ready.eq(1),
            self.shared_read.word.eq(register(m, shared_port.data, "shared_read")),
        ]
        in_word = delay(m, self.shared_read.address[:inner], READ_LATENCY, "in_word") if inner else 0
        m.d.comb += self.shared_read.data.eq(self.shared_read.word.word_select(in_word, QUAD_BITS))
        return m
