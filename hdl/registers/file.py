"""The fragment registers: 32 lanes of 32-bit registers, as a warp sees them."""

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hdl.collision_free_memory import collision_free_memory
from hdl.config import QUADS, CoreConfig
from hdl.pipeline import delay, register
from hdl.registers.ports import (
    LANE_BITS,
    QUAD_BITS,
    READ_LATENCY,
    register_read_signature,
    register_write_signature,
    word_bits,
)

__all__ = ["RegisterFile"]


class RegisterFile(wiring.Component):
    """Registers in words of one or more quads.

    The fragment layouts make a quad (four neighbouring lanes) the natural unit: one register of it is, of a
    multiplicand, one contiguous run of k of a row of A or a column of B; of an accumulator four results.
    A tile of 256 results takes 32 + 32 + 64 quads of operands and 64 of results, so with as many quads in a
    word as there are dot-product units one read port and one write port are half busy when all units are, and
    the other half is left for loads and stores. Block RAM is wide anyway: more ports would cost copies.

    Throughput one word read and one written per cycle, by whoever is given the port; latency `READ_LATENCY`
    cycles to read and one to write. What is read of a word in the cycle in which it is written is not
    defined: the scoreboard keeps commands apart that would do so, and the host is refused registers while the
    core works.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(register_write_signature(config))
        Always ready.
    read : In(register_read_signature(config))
        Always ready.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "write": In(register_write_signature(config)),
                "read": In(register_read_signature(config)),
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
        read_port = memory.read_port()
        m.d.comb += [
            write_port.en.eq(self.write.lanes & self.write.enable.replicate(len(self.write.lanes))),
            write_port.addr.eq(self.write.address),
            write_port.data.eq(self.write.data),
            self.write.ready.eq(1),
            read_port.en.eq(self.read.enable),
            read_port.addr.eq(self.read.address[inner:]),
            self.read.ready.eq(1),
        ]
        word = register(m, read_port.data, "word_read")
        in_word = delay(m, self.read.address[:inner], READ_LATENCY, "in_word") if inner else 0
        m.d.comb += [self.read.data.eq(word), self.read.quad.eq(word.word_select(in_word, QUAD_BITS))]
        return m
