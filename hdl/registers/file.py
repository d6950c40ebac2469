"""The fragment registers of all warps: 32 lanes of 32-bit registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, unsigned
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

    With more than 16 dot-product units a word and the same word of the next register are read or written
    together: odd registers have a memory of their own. X and Y have a port each then.

    Throughput one word read of each port, one quad read and one word written per cycle; latency
    `READ_LATENCY` cycles to read and one to write. What is read of a word in the cycle in which it is written
    is not defined: the scoreboard keeps commands apart that would do so, and the host is refused registers
    while the core works.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(register_write_signature(config, registers=word_registers))
        Always ready.
    word_read : In(word_read_signature(config)).array(word_registers)
    shared_read : In(shared_read_signature(config))
        Always ready.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "write": In(register_write_signature(config, registers=config.word_registers)),
                "word_read": In(word_read_signature(config)).array(config.word_registers),
                "shared_read": In(shared_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        count = config.word_registers
        words = config.all_registers * QUADS // config.word_quads
        inner = config.word_quads.bit_length() - 1
        shared = self.shared_read
        reads = [(port.enable, port.address, port.data) for port in self.word_read]
        reads.append((shared.enable, shared.address[inner:], shared.word))
        memories = [collision_free_memory(unsigned(word_bits(config)), words // count) for _ in range(count)]
        for number, memory in enumerate(memories):
            m.submodules[f"memory_{number}" if count > 1 else "memory"] = memory
            write = memory.write_port(granularity=LANE_BITS)
            place, part = self._place(self.write.address, number)
            lanes = self.write.lanes.word_select(part, 4 * config.word_quads)
            m.d.comb += [
                write.en.eq(lanes & self.write.enable.replicate(len(lanes))),
                write.addr.eq(place),
                write.data.eq(self.write.data.word_select(part, word_bits(config))),
            ]
        for index, (enable, address, data) in enumerate(reads):
            found = []
            for number, memory in enumerate(memories):
                port = memory.read_port()
                m.d.comb += [port.en.eq(enable), port.addr.eq(self._place(address, number)[0])]
                found.append(register(m, port.data, f"read_{index}_{number}"))
            odd = delay(m, address[: count - 1], READ_LATENCY, f"odd_{index}") if count > 1 else Const(0, 1)
            m.d.comb += data.eq(Mux(odd, Cat(*reversed(found)), Cat(*found)))
        m.d.comb += [self.write.ready.eq(1), shared.ready.eq(1)]
        in_word = delay(m, shared.address[:inner], READ_LATENCY, "in_word") if inner else 0
        m.d.comb += shared.data.eq(shared.word[: word_bits(config)].word_select(in_word, QUAD_BITS))
        return m

    def _place(self, address: Value, number: int) -> tuple[Value, Value]:
        """Where a memory has its word of those from an address on, and which of them this is."""
        if self._config.word_registers == 1:
            return address, Const(0, 1)
        return (address + 1 - number)[1 : len(address) + 1], address[0] ^ number
