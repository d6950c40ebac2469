"""The operand storage: blocks of A and B in the order of the register file's words."""

from collections.abc import Iterable, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import ReadPort
from amaranth.lib.wiring import In

from hdl.component import Component
from hdl.config import QUADS, CoreConfig
from hdl.memory.chunks import CHUNK_BITS, chunk_layout
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import READ_LATENCY, word_bits, word_read_signature
from hdl.stream.pipeline import delay, register
from hdl.warpgroup.chunk_fetch import ChunkTag, chunk_place
from hdl.warpgroup.request import BLOCKS

_ELEMENT = 16
_ELEMENTS = CHUNK_BITS // _ELEMENT

STORED_B = 4 * BLOCKS
"""Register of the first block of B, where the first one of A is 0; a block has four."""


class OperandStorage(Component):
    """Keeps operands as fragments, and answers reads of their words as the register file does.

    A block of 16 rows of 32 bytes is four registers of a fragment: the halves of 16 rows of A, or of two
    tiles of B. A register is eight rows of 16 bytes, a row in each quad. Each operand has two memories. A
    group of rows and a half of k differ in one bit each; the memory is the exclusive or of both. So the two
    halves of a row, the two groups of a half, and both registers of a word are in different memories.

    A chunk of a transposed operand has one element of each of eight rows: it is written to all quads at
    once, 16 bits in each.

    Throughput: chunks of a beat and a word of each port per cycle. Latency: `READ_LATENCY`. Expected
    critical path: the choice of an element, of two chunks and two orders.
    Testbench: cocotb_tests/warpgroup/test_warpgroup.py, through `WarpgroupMultiplier`.

    Members
    -------
    chunks : In(chunk_layout(config))
    read : In(word_read_signature(config)).array(word_registers)
        Of X and Y, or of both.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "chunks": In(chunk_layout(config)),
                "read": In(word_read_signature(config)).array(config.word_registers),
            }
        )

    def _logic(self, m: Module) -> None:
        ports = [[self._memory(m, is_b, number) for number in range(2)] for is_b in range(2)]
        if self._config.word_registers > 1:
            for port, memories, is_b in zip(self.read, ports, (False, True), strict=True):
                m.d.comb += port.data.eq(self._read(m, port, memories, Const(is_b, 1)))
            return
        (port,) = self.read
        is_b = port.address[Steps(self._config).word_number_bits :][5]
        found = [self._read(m, port, memories, Const(number, 1)) for number, memories in enumerate(ports)]
        late = delay(m, is_b, READ_LATENCY, "late_is_b")
        m.d.comb += port.data.eq(Mux(late, found[1], found[0]))

    def _memory(self, m: Module, is_b: int, number: int) -> ReadPort:
        """One of the two memories of an operand; returns its port to read."""
        chunks = self.chunks
        tag = Signal(ChunkTag, name=f"tag_{is_b}_{number}")
        m.d.comb += tag.eq(chunks.tag)
        lanes = len(chunks.mask)
        memory = collision_free_memory(QUADS * CHUNK_BITS, 2 * BLOCKS, style="block")
        m.submodules[f"{'ab'[is_b]}_{number}"] = memory
        write = memory.write_port(granularity=_ELEMENT)
        inner = lanes.bit_length() - 1
        given = []
        for lane in range(lanes):
            half, row, group = chunk_place(Cat(Const(lane, inner), tag.first[inner:]), tag.distance_log2)
            here = chunks.valid & chunks.mask[lane] & (tag.is_b == is_b) & ((half ^ group) == number)
            given.append(
                (here, row, chunks.data.word_select(lane, CHUNK_BITS), Mux(tag.transposed, half, group))
            )
        m.d.comb += write.addr.eq(Cat(_any(here & place for here, _, _, place in given), tag.block))
        for quad in range(QUADS):
            for element in range(_ELEMENTS):
                index = quad * _ELEMENTS + element
                enables, values = [], []
                for here, row, data, _ in given:
                    enable = here & (row == Mux(tag.transposed, element, quad))
                    value = Mux(
                        tag.transposed, data.word_select(quad, _ELEMENT), data.word_select(element, _ELEMENT)
                    )
                    enables.append(enable)
                    values.append(Mux(enable, value, 0))
                m.d.comb += [
                    write.en[index].eq(_any(enables)),
                    write.data.word_select(index, _ELEMENT).eq(_any(values)),
                ]
        return memory.read_port()

    def _read(self, m: Module, port: Any, memories: Sequence[ReadPort], is_b: Const) -> Value:
        """The word that a port has asked for, as it comes."""
        name = f"read_{'ab'[is_b.value]}"
        bits = Steps(self._config).word_number_bits
        enable = register(m, port.enable, f"{name}_enable", reset_less=False)
        address = register(m, port.address, f"{name}_address")
        number, place = address[:bits], address[bits:]
        # Of A the half is the higher bit, of B the group.
        group, half = (place[1], place[0]) if is_b.value else (place[0], place[1])
        found = []
        for each, memory in enumerate(memories):
            of_group = group if is_b.value else half ^ each
            m.d.comb += [memory.en.eq(enable), memory.addr.eq(Cat(of_group, place[2:5]))]
            found.append(register(m, memory.data, f"{name}_{each}"))
        width = word_bits(self._config)
        second = delay(m, group ^ half, READ_LATENCY - 1, f"{name}_second")
        part = delay(m, number, READ_LATENCY - 1, f"{name}_part") if bits else Const(0, 1)
        words = [found[0].word_select(part, width), found[1].word_select(part, width)]
        first = Mux(second, words[1], words[0])
        if self._config.word_registers == 1:
            return first
        return Cat(first, Mux(second, words[0], words[1]))


def _any(values: Iterable[Value]) -> Value:
    """The disjunction of values."""
    found, *others = values
    for value in others:
        found = found | value
    return found
