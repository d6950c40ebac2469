"""Side operands: metadata and block scales, read before a multiply starts, kept until its rows are issued."""

from collections.abc import Sequence
from typing import Final

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from golden.tables.faults import Cause
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.beats import CAUSE_BITS
from hdl.multiply.tile.metadata import CODES_OF_WORD, MetadataRequest, checked_codes
from hdl.multiply.tile.rows import part_memory, row_buffers, row_read_layout
from hdl.multiply.tile.scales import SCALES, ScaleRequest, scale_bits, scales_of_quad
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import QUAD_BITS, READ_LATENCY, quad_read_signature, word_bits
from hdl.stream.pipeline import delay

_BLOCKS: Final = 2
"""Of eight rows of A each, where multiplies have side operands."""


def side_registers(config: CoreConfig) -> tuple[str, ...]:
    """Names of the registers with side operands, in the order in which they are read."""
    return SCALES * config.scales + ("metadata",) * config.sparse


def side_request(config: CoreConfig) -> data.StructLayout:
    """Whose side operands are asked for; registers exist, and selectors are legal.

    Members
    -------
    is_sparse : unsigned(1), metadata : MetadataRequest
        If multiplies may be sparse: this one is.
    vec : unsigned(2), scale_a, scale_b : ScaleRequest
        If multiplies may have block scales: 1, 2 or 3 for ``.scale_vec::1X``, 2X or 4X; 0 for none.
    """
    of_sparse: dict[str, ShapeLike] = {"is_sparse": 1, "metadata": MetadataRequest}
    of_scales: dict[str, ShapeLike] = {"vec": 2, **dict.fromkeys(SCALES, ScaleRequest)}
    return data.StructLayout({**(of_sparse if config.sparse else {}), **(of_scales if config.scales else {})})


def side_members(config: CoreConfig) -> dict[str, Member]:
    """What a step's rows come with, as the tile multiplier takes it.

    Members
    -------
    low_codes, high_codes : In(32 * rows of X in a step)
        If multiplies may be sparse: codes for the low and the high half of these rows.
    scale_a, scale_b : In(8 or 32 times the rows of X, of Y in a step)
        If they may have block scales: of these rows.
    """
    steps, bits = Steps(config), scale_bits(config)
    codes = In(CODES_OF_WORD * steps.x_rows)
    of_scales = {"scale_a": In(bits * steps.x_rows), "scale_b": In(bits * steps.y_rows)}
    return {
        **({"low_codes": codes, "high_codes": codes} if config.sparse else {}),
        **(of_scales if config.scales else {}),
    }


class SideOperandReader(Component):
    """Reads side operands before their multiply starts, checks them, and keeps them until they are used.

    Of metadata the codes that choose elements of B are kept (`hdl.multiply.tile.sparse.lane_codes`), as many
    bits as the register has; of scales the bytes that the multiply takes. Those of a multiply that is refused
    are written over by the next one; a multiply that starts keeps its own. They are used in the order of the
    starts.

    Throughput: a register word per cycle in, if the reads are granted. Latency: 6 cycles from `start` to
    `done`, and one for each word; operands in the cycle after `read_enable`.
    Critical path expected: of `checked_codes` or `scales_of_quad`, to the write port of a memory.
    Testbench: cocotb_tests/multiply/test_side_operands.py.

    Members
    -------
    request : In(side_request(config))
        Stable from `start` to `keep`.
    start : In(1)
        Read the side operands of `request`; only while `room`, and while no others are being read.
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
    low_codes, high_codes, scale_a, scale_b : Out(...)
        As of `side_members`.
    release : In(1)
        The oldest multiply needs its side operands no more.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._slots = max(8, 2 * row_buffers(config))
        members = {
            "request": In(side_request(config)),
            "start": In(1),
            "room": Out(1),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
            "keep": In(1),
            "read": Out(quad_read_signature(config)),
            "word": In(word_bits(config)),
            "read_enable": In(1),
            "asked": In(row_read_layout(config)),
            **{name: Out(member.shape) for name, member in side_members(config).items()},
            "release": In(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        names = side_registers(config)
        first, last = self._range(names)
        kept = Signal(range(2 * self._slots))
        oldest = Signal.like(kept)
        m.d.comb += self.room.eq((kept - oldest)[: len(kept)] != self._slots)
        with m.If(self.keep):
            m.d.sync += kept.eq(kept + 1)
        with m.If(self.release):
            m.d.sync += oldest.eq(oldest + 1)
        arrived = self._read(m, names, first, last)
        # The register that arrives, and its word.
        register, number = self._count(m, "arrived", self.start, arrived, first)
        place = Cat(number, kept[:-1])
        quads = [self.word.word_select(quad, QUAD_BITS) for quad in range(config.word_quads)]
        if config.sparse:
            enable = arrived & (register == names.index("metadata"))
            self._metadata(m, quads, enable, place, oldest[:-1])
        for name in SCALES if config.scales else ():
            enable = arrived & (register == names.index(name))
            self._scales(m, name, quads, enable, place, oldest[:-1])

    def _range(self, names: Sequence[str]) -> tuple[Value, Value]:
        """The first and the last register that a multiply reads: all, or the registers of its kind."""
        bits = (len(names) - 1).bit_length()
        first, last = Const(0, bits), Const(len(names) - 1, bits)
        if not (self._config.sparse and self._config.scales):
            return first, last
        return Mux(self.request.vec == 0, last, first), Mux(self.request.is_sparse, last, len(SCALES) - 1)

    def _count(self, m: Module, name: str, start: Value, event: Value, first: Value) -> tuple[Signal, Value]:
        """Count words, from the first one of a register on; returns the register and the word's number."""
        bits = Steps(self._config).word_number_bits
        place = Signal(bits + max(len(first), 1), name=f"{name}_place")
        with m.If(start):
            m.d.sync += place.eq(Cat(Const(0, bits), first))
        with m.Elif(event):
            m.d.sync += place.eq(place + 1)
        register = Signal(len(place) - bits, name=f"{name}_register")
        m.d.comb += register.eq(place[bits:])
        return register, place[:bits]

    def _read(self, m: Module, names: Sequence[str], first: Value, last: Value) -> Value:
        """Ask for the words one after the other; returns whether one arrived in the cycle before."""
        inner = (self._config.word_quads - 1).bit_length()
        reading = Signal()
        accepted = Signal()
        ends = Signal()
        register, number = self._count(m, "asked", self.start, accepted, first)
        firsts = [Value.cast(self.request[name].register) for name in names]
        m.d.comb += [
            self.read.enable.eq(reading),
            self.read.address.eq(Cat(Const(0, inner), number, Array(firsts)[register])),
            accepted.eq(reading & self.read.ready),
            ends.eq(accepted & (register == last) & (number == Steps(self._config).words_per_register - 1)),
        ]
        m.d.sync += self.done.eq(delay(m, ends, READ_LATENCY + 1, "ends", reset_less=False))
        with m.If(self.start):
            m.d.sync += reading.eq(1)
        with m.Elif(ends):
            m.d.sync += reading.eq(0)
        return delay(m, accepted, READ_LATENCY + 1, "accepted", reset_less=False)

    def _parts(self, rows: Sequence[Value]) -> list[Sequence[Value]]:
        """What is kept of the rows of X of a word, in the parts that steps take."""
        steps = Steps(self._config)
        return [rows[part * steps.x_rows :][: steps.x_rows] for part in range(steps.x_parts)]

    def _metadata(
        self, m: Module, quads: Sequence[Value], enable: Value, place: Value, oldest: Value
    ) -> None:
        """Check the nibbles of a word, and keep their codes."""
        steps, asked = Steps(self._config), self.asked
        codes, undefined = [], []
        for number, quad in enumerate(quads):
            found, wrong = checked_codes(m, f"quad_{number}", self.request.metadata, quad)
            codes.append(found)
            undefined.append(wrong)
        has_undefined = Signal()
        m.d.comb += self.cause.eq(Mux(has_undefined, Cause.UNDEFINED_METADATA, 0))
        with m.If(self.start):
            m.d.sync += has_undefined.eq(0)
        with m.Elif(enable):
            m.d.sync += has_undefined.eq(has_undefined | Cat(undefined).any())
        # The lowest bits of an address to read choose the half of a row, the block, and the part of a word.
        word = steps.x_part_bits + steps.word_number_bits
        block = asked.x[word]
        for name, halves in (("low_codes", (0, 1)), ("high_codes", (1,))):
            part_memory(
                m,
                name,
                getattr(self, name),
                depth=self._slots * steps.words_per_register,
                write_enable=enable,
                write_address=place,
                write_data=Cat(
                    row[block][half]
                    for part in self._parts(codes)
                    for block in range(_BLOCKS)
                    for half in halves
                    for row in part
                ),
                read_enable=self.read_enable,
                read_address=Cat(*([asked.second] if len(halves) > 1 else []), block, asked.x[:word], oldest),
            )

    def _scales(
        self, m: Module, name: str, quads: Sequence[Value], enable: Value, place: Value, oldest: Value
    ) -> None:
        """Keep the scales of a word: of both blocks of rows of X, or of the rows of Y."""
        steps, asked, request = Steps(self._config), self.asked, self.request
        found = [
            scales_of_quad(m, f"{name}_{number}", self._config, request[name], request.vec, quad)
            for number, quad in enumerate(quads)
        ]
        word = steps.x_part_bits + steps.word_number_bits
        if name == "scale_a":
            rows = [row[block] for part in self._parts(found) for block in range(_BLOCKS) for row in part]
            address = Cat(asked.x[word], asked.x[:word], oldest)
        else:
            rows = [row[0] for row in found]
            address = Cat(asked.y[: steps.word_number_bits], oldest)
        part_memory(
            m,
            name,
            getattr(self, name),
            depth=self._slots * steps.words_per_register,
            write_enable=enable,
            write_address=place,
            write_data=Cat(rows),
            read_enable=self.read_enable,
            read_address=address,
        )
