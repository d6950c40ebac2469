"""Metadata of sparse multiplies: read and checked before they start, kept until their rows are issued."""

from typing import Any, Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.tables.faults import Cause
from hdl.component import Component
from hdl.config import QUADS, REGISTER_BITS, CoreConfig
from hdl.memory.beats import CAUSE_BITS
from hdl.multiply.tile.rows import part_memory, row_buffers, row_read_layout
from hdl.multiply.tile.sparse import CODE_BITS, is_undefined, lane_codes
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import (
    LANE_BITS,
    QUAD_BITS,
    READ_LATENCY,
    quad_read_signature,
    word_bits,
)
from hdl.stream.pipeline import delay, register

_LANES: Final = QUAD_BITS // LANE_BITS
_HALF: Final = LANE_BITS // 2

CODES_OF_WORD: Final = _LANES * CODE_BITS
"""Bits of the codes for one register word of a row of A."""


class MetadataRequest(data.Struct):
    """Whose metadata is asked for; the register exists, and the instruction has the selector."""

    register: unsigned(REGISTER_BITS)
    selector: unsigned(2)
    halves: unsigned(1)
    """A row of A is two register words, and has metadata for both; otherwise one."""
    of_bytes: unsigned(1)
    """Integers, whose metadata lies otherwise."""
    is_tf32: unsigned(1)


class MetadataReader(Component):
    """Reads the metadata of a sparse multiply before it starts, checks it, and keeps it until it is used.

    What is kept are the codes that choose elements of B (`hdl.multiply.tile.sparse.lane_codes`), as many bits
    as the register has. The metadata of a multiply that is refused is written over by the next one; a
    multiply that starts keeps its own. It is used in the order of the starts.

    Throughput: a register word per cycle in, if the reads are granted. Latency: 6 cycles from `start` to
    `done`, and one for each word; codes in the cycle after `read_enable`.
    Critical path expected: a nibble to a code, two levels; sixteen nibbles of a quad to a flag.
    Testbench: tests/hdl/test_metadata_reader.py; the codes through the core, tests/sim/test_sim_sparse.py.

    Members
    -------
    request : In(MetadataRequest)
        Stable from `start` to `keep`.
    start : In(1)
        Read the metadata of `request`; only while `room`, and while no other is being read.
    room : Out(1)
    done : Out(1)
        High for one cycle when the last word has been checked.
    cause : Out(4)
        With `done`, and after it: zero, or why the multiply is refused.
    keep : In(1)
        The multiply starts.
    read : Out(quad_read_signature(config))
        Its data is not used.
    word : In(word_bits(config))
        The word with the quad, in time with that data.
    read_enable : In(1)
    asked : In(row_read_layout(config))
        Rows of the oldest multiply that has been kept.
    low, high : Out(32 * rows of X in a step)
        Codes for the low and the high half of these rows.
    release : In(1)
        The oldest multiply needs its metadata no more.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._slots = max(8, 2 * row_buffers(config))
        rows = Steps(config).x_rows
        members = {
            "request": In(MetadataRequest),
            "start": In(1),
            "room": Out(1),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "keep": In(1),
            "read": Out(quad_read_signature(config)),
            "word": In(word_bits(config)),
            "read_enable": In(1),
            "asked": In(row_read_layout(config)),
            "low": Out(CODES_OF_WORD * rows),
            "high": Out(CODES_OF_WORD * rows),
            "release": In(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        steps = Steps(self._config)
        kept = Signal(range(2 * self._slots))
        oldest = Signal.like(kept)
        arrived = self._read(m)
        quads = range(self._config.word_quads)
        request = self.request
        codes, undefined = [], []
        for quad in quads:
            found, wrong = _checked(m, f"quad_{quad}", request, self.word.word_select(quad, QUAD_BITS))
            codes.append(found)
            undefined.append(wrong)
        number = Signal(range(max(steps.words_per_register, 2)))
        has_undefined = Signal()
        m.d.comb += [
            self.room.eq(kept - oldest != self._slots),
            self.cause.eq(Mux(has_undefined, Cause.UNDEFINED_METADATA, 0)),
        ]
        with m.If(self.start):
            m.d.sync += [number.eq(0), has_undefined.eq(0)]
        with m.If(arrived):
            m.d.sync += [number.eq(number + 1), has_undefined.eq(has_undefined | Cat(undefined).any())]
        with m.If(self.keep):
            m.d.sync += kept.eq(kept + 1)
        with m.If(self.release):
            m.d.sync += oldest.eq(oldest + 1)

        # The lowest bits of an address to read choose the half of a row, the block, and the part of a word.
        parts = [
            [codes[part * steps.x_rows + row] for row in range(steps.x_rows)] for part in range(steps.x_parts)
        ]
        word = steps.x_part_bits
        number_bits = steps.word_number_bits
        asked, slot_bits = self.asked, len(kept) - 1
        block = asked.x[word + number_bits]
        for name, halves in (("low", (0, 1)), ("high", (1,))):
            part_memory(
                m,
                f"{name}_codes",
                getattr(self, name),
                depth=self._slots * steps.words_per_register,
                write_enable=arrived,
                write_address=Cat(number[:number_bits], kept[:slot_bits]),
                write_data=Cat(
                    row[block][half] for part in parts for block in (0, 1) for half in halves for row in part
                ),
                read_enable=self.read_enable,
                read_address=Cat(
                    *([asked.second] if len(halves) > 1 else []),
                    block,
                    asked.x[: word + number_bits],
                    oldest[:slot_bits],
                ),
            )

    def _read(self, m: Module) -> Value:
        """Ask for the words one after the other; returns whether one arrived in the cycle before."""
        config = self._config
        inner = (config.word_quads - 1).bit_length()
        reading = Signal()
        number = Signal(range(max(QUADS // config.word_quads, 2)))
        accepted = Signal()
        last = Signal()
        bits = 3 - inner
        m.d.comb += [
            self.read.enable.eq(reading),
            self.read.address.eq(Cat(Const(0, inner), number[:bits], self.request.register)),
            accepted.eq(reading & self.read.ready),
            last.eq(accepted & (number == QUADS // config.word_quads - 1)),
        ]
        m.d.sync += self.done.eq(delay(m, last, READ_LATENCY + 1, "last", reset_less=False))
        with m.If(self.start):
            m.d.sync += [reading.eq(1), number.eq(0)]
        with m.Elif(accepted):
            m.d.sync += [number.eq(number + 1), reading.eq(~last)]
        return delay(m, accepted, READ_LATENCY + 1, "accepted", reset_less=False)


def _checked(m: Module, name: str, request: Any, quad: Value) -> tuple[list[list[Value]], Value]:
    """The codes of a quad by the block of rows and the half of a row; and whether a nibble is undefined."""
    lanes = [quad.word_select(lane, LANE_BITS) for lane in range(_LANES)]
    # A selector counts lanes, or pairs of them.
    of_lanes = ~request.of_bytes & ~request.halves
    pair = Mux(of_lanes, request.selector[1], request.selector[0])
    even, odd = (Mux(pair, lanes[2 + lane], lanes[lane]) for lane in (0, 1))
    first = register(m, Mux(of_lanes & request.selector[0], odd, even), f"{name}_first")
    second = register(m, odd, f"{name}_second")
    more = [register(m, lane, f"{name}_{lane_number}") for lane_number, lane in enumerate(lanes[2:], 2)]
    codes: list[list[Value]] = []
    undefined = []
    for block in (0, 1):
        halves = ((first, (first, second)[block]), (second, more[block]))
        codes.append([])
        for half, (word, integers) in enumerate(halves):
            groups = word.word_select(block, _HALF)
            used = request.halves if half else 1
            found = []
            for lane in range(_LANES):
                nibble, nibbles = groups.word_select(lane, 4), integers.word_select(lane, 8)
                found.append(lane_codes(nibble, nibbles, request.of_bytes))
                both = Mux(request.of_bytes, nibbles, Cat(nibble, nibble))
                wrong = [is_undefined(both.word_select(each, 4), request.is_tf32) for each in (0, 1)]
                undefined.append(Cat(wrong).any() & used)
            codes[-1].append(Cat(found))
    return codes, Cat(undefined).any()
