"""The fragment registers of all warps: 32 lanes of 32-bit registers."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value, unsigned
from amaranth.lib.wiring import In

from hdl.component import Component
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


class RegisterFile(Component):
    """Registers in words of one or more quads; warp w has those from ``w * registers`` on.

    The fragment layouts make a quad (four neighbouring lanes) the natural unit: one register of it is, of a
    multiplicand, one contiguous run of k of a row of A or a column of B; of an accumulator four results.
    A tile of 256 results takes 32 + 32 + 64 quads of operands and 64 of results. So there are two read ports,
    each with a block RAM of its own: one for words of multiplicands, which belongs to the tile multiplier,
    and one that gives it words of C, and in other cycles single quads to all others; few wires lead to those.
    Words are as narrow as they can be, `CoreConfig.word_quads`: the write port is half busy then when all
    dot-product units are, and the other half is left for loads.

    With more than 16 dot-product units a word and the same word of the next register are read or written
    together: the registers lie in four memories in turns. X, Y and C have a port each then; results take all
    cycles of their write port, and the other writes go to the two memories that these leave.

    Throughput one word read of each port, quads of a beat read and words written per cycle; latency
    `READ_LATENCY` cycles to read. Every port is registered before the block RAMs: its users lie all over the
    FPGA. A read sees what was written in the cycles before; what is read of a word in the cycle in which it
    is written is not defined: the scoreboard keeps commands apart that would do so, and the host is refused
    registers while the core works.
    Expected critical path: the choice among the users of a port to its register.

    Members
    -------
    write : In(register_write_signature(config, registers=word_registers)).array(word_registers)
        The first one is always ready, a second one unless both want the same memory. `data` comes a cycle
        after all else, from `hdl.registers.register_ports.share_write_port`.
    word_read : In(word_read_signature(config)).array(1 or 3)
    shared_read : In(shared_read_signature(config))
        Always ready.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "write": In(register_write_signature(config, registers=config.word_registers)).array(
                config.word_registers
            ),
            "word_read": In(word_read_signature(config)).array(2 * config.word_registers - 1),
            "shared_read": In(shared_read_signature(config)),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        count = config.register_memories
        words = config.all_registers * QUADS // config.word_quads
        inner = config.word_quads.bit_length() - 1
        shared = self.shared_read
        users = [(port.enable, port.address, port.data) for port in self.word_read]
        users.append((shared.enable, shared.address[inner:], shared.word))
        reads = [
            (
                register(m, enable, f"read_{index}_enable", reset_less=False),
                register(m, address, f"read_{index}_address"),
                found,
            )
            for index, (enable, address, found) in enumerate(users)
        ]
        memories = [collision_free_memory(unsigned(word_bits(config)), words // count) for _ in range(count)]
        first, *second = self.write
        m.d.comb += [first.ready.eq(1), shared.ready.eq(1)]
        for port in second:
            both = self._written(first) & self._written(port)
            m.d.comb += port.ready.eq(~first.enable | ~both.any())
        writes = [
            _Write(
                register(m, port.enable & port.ready, f"write_{index}_enable", reset_less=False),
                register(m, port.address, f"write_{index}_address"),
                port.data,
                register(m, port.lanes, f"write_{index}_lanes"),
            )
            for index, port in enumerate(self.write)
        ]
        for number, memory in enumerate(memories):
            m.submodules[f"memory_{number}" if count > 1 else "memory"] = memory
            write = memory.write_port(granularity=LANE_BITS)
            for port in writes:
                place, part, _ = self._place(port.address, number)
                lanes = port.lanes.word_select(part, 4 * config.word_quads)
                enable = port.enable & self._written(port)[number] if second else port.enable
                with m.If(enable) if port is not writes[0] else nullcontext():
                    m.d.comb += [
                        write.en.eq(lanes & enable.replicate(len(lanes))),
                        write.addr.eq(place),
                        write.data.eq(port.data.word_select(part, word_bits(config))),
                    ]
        for index, (enable, address, data) in enumerate(reads):
            found = []
            for number, memory in enumerate(memories):
                port = memory.read_port()
                m.d.comb += [port.en.eq(enable), port.addr.eq(self._place(address, number)[0])]
                found.append(register(m, port.data, f"read_{index}_{number}"))
            if count == 1:
                m.d.comb += data.eq(found[0])
                continue
            of_first = delay(m, address[: count.bit_length() - 1], READ_LATENCY - 1, f"first_{index}")
            with m.Switch(of_first):
                for number in range(count):
                    with m.Case(number):
                        m.d.comb += data.eq(Cat(found[number], found[(number + 1) % count]))
        in_word: Value = delay(m, shared.address[:inner], READ_LATENCY, "in_word") if inner else Const(0, 1)
        word = shared.word[: word_bits(config)]
        m.d.comb += shared.data.eq(
            word.word_select(in_word, QUAD_BITS)
            if config.beat_quads == 1
            else word.bit_select(in_word * QUAD_BITS, len(shared.data))
        )

    def _written(self, port: Any) -> Value:
        """In which memories a write would change lanes, a bit for each."""
        places = [self._place(port.address, number) for number in range(self._config.register_memories)]
        lanes = 4 * self._config.word_quads
        return Cat(is_here & port.lanes.word_select(part, lanes).any() for _, part, is_here in places)

    def _place(self, address: Value, number: int) -> tuple[Value, Value, Value]:
        """Where a memory has its word of those from an address on, which one it is, and if there is one."""
        if self._config.register_memories == 1:
            return address, Const(0, 1), Const(1)
        after = (number - address)[:2]
        # Behind the last memory comes the first one, with the word of the next place.
        place = address[2:] if number else (address[2:] + address[1])[:-1]
        return place, after[0], ~after[1]


@dataclass(frozen=True)
class _Write:
    """A write that takes place, in the cycle after its port had it."""

    enable: Value
    address: Value
    data: Value
    lanes: Value
