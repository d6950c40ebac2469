"""The fragment registers: 32 lanes of 32-bit registers, as a warp sees them."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hdl.config import QUADS, CoreConfig
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import (
    LANE_BITS,
    QUAD_BITS,
    quad_read_signature,
    register_write_signature,
    word_bits,
    word_read_signature,
)
from hdl.stream.pipeline import register

__all__ = ["RegisterFile"]


class RegisterFile(wiring.Component):
    """Registers in words of one or more quads.

    The fragment layouts make a quad (four neighbouring lanes) the natural unit: one register of it is, of a
    multiplicand, one contiguous run of k of a row of A or a column of B; of an accumulator four results.
    A tile of 256 results takes 32 + 32 + 64 quads of operands and 64 of results. So there are two read ports,
    each with a block RAM of its own: one for words, which belongs to the tile multiplier and may be busy in
    every cycle, and one for single quads, which all others share; few wires lead away from that. Words are as
    narrow as they can be, `CoreConfig.word_quads`: the write port is half busy then when all dot-product
    units are, and the other half is left for loads.

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
    quad_read : In(quad_read_signature(config))
        Always ready.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "write": In(register_write_signature(config)),
                "word_read": In(word_read_signature(config)),
                "quad_read": In(quad_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        words = config.registers * QUADS // config.word_quads
        inner = config.word_quads.bit_length() - 1
        m.submodules.memory = memory = collision_free_memory(unsigned(word_bits(config)), words)
        write_port = memory.write_port(granularity=LANE_BITS)
        word_port, quad_port = memory.read_port(), memory.read_port()
        m.d.comb += [
            write_port.en.eq(self.write.lanes & self.write.enable.replicate(len(self.write.lanes))),
            write_port.addr.eq(self.write.address),
            write_port.data.eq(self.write.data),
            self.write.ready.eq(1),
            word_port.en.eq(self.word_read.enable),
            word_port.addr.eq(self.word_read.address),
            self.word_read.data.eq(register(m, word_port.data, "word_read")),
            quad_port.en.eq(self.quad_read.enable),
            quad_port.addr.eq(self.quad_read.address[inner:]),
            self.quad_read.ready.eq(1),
        ]
        in_word = register(m, self.quad_read.address[:inner], "in_word") if inner else 0
        quad = quad_port.data.word_select(in_word, QUAD_BITS)
        m.d.comb += self.quad_read.data.eq(register(m, quad, "quad_read"))
        return m
