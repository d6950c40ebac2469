"""The row memories: operands of two tiles in the order in which the dot-product units want them."""

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.multiply.tile.chains import has_chains, has_conversion
from hdl.multiply.tile.sparse import spread
from hdl.multiply.tile.tile_steps import BLOCKS, Steps, fields
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS, tile_word_bits, word_bits

_K_HALVES = 2


def row_buffers(config: CoreConfig) -> int:
    """Tiles that the row memories hold: one is issued, the others come or wait.

    With 16 units and more a tile is issued in fewer cycles than its words take from the register file: with
    64 units m16n8k16 in 2, and a buffer is taken for 11. With 4 units the words of a sparse multiply take as
    many cycles as its issue.
    """
    few = config.dot_product_units < 16 and not config.sparse
    return max(2 if few else 4, config.dot_product_units // 8)


def row_write_layout(config: CoreConfig) -> data.StructLayout:
    """Where words from the register file go.

    Members
    -------
    x, y : array of struct
        For each word of X, of Y: whether there is one (`valid`), its number within a register and above it
        the block of rows (`word_block`), and whether it is of the second half of k (`second`).
    c : unsigned(2)
        There is a word of C, of pair 0 and of pair 1: an f16 accumulator holds both.
    c_apart : unsigned(1)
        The word of pair 1 is in the next register.
    c_word_block : unsigned
        Its number within a register, and above it the block of results.
    buffer : unsigned
        Of all words.
    y_sparse, y_odd : unsigned(1)
        If multiplies may be sparse: this one is, and its word of Y is the second of two that `spread` takes.
    """
    bits = Steps(config).word_number_bits + 2
    places = data.ArrayLayout(fields(valid=1, word_block=bits, second=1), config.word_registers)
    of_c = fields(c=2, c_apart=1, c_word_block=bits, buffer=_buffer_bits(config))
    of_y = {"y_sparse": 1, "y_odd": 1} if config.sparse else {}
    return data.StructLayout({"x": places, "y": places, **of_c.members, **of_y})


def _buffer_bits(config: CoreConfig) -> int:
    return (row_buffers(config) - 1).bit_length()


def row_widths(config: CoreConfig) -> dict[str, int]:
    """Bits of what is read, by the name of the memory."""
    steps = Steps(config)
    width = word_bits(config)
    of_x, of_c = width >> steps.x_part_bits, width >> steps.c_part_bits
    odd = {"y_low_odd": width, "y_high_odd": width} if config.sparse else {}
    return {"x_low": of_x, "x_high": of_x, "y_low": width, "y_high": width, "c_0": of_c, "c_1": of_c, **odd}


def row_read_layout(config: CoreConfig) -> data.StructLayout:
    """What a step needs.

    Members
    -------
    buffer : unsigned
    second : unsigned(1)
        The low half of a row is its second word.
    x, y, c : unsigned
        Word and block as in `row_write_layout`; y has one bit of the block. Of x and c, below them, the part
        of the word.
    step : unsigned
        For what is carried from one dot product of a chain to the next.
    """
    steps = Steps(config)
    word = steps.word_number_bits + 2
    return fields(
        buffer=_buffer_bits(config),
        second=1,
        x=steps.x_part_bits + word,
        y=word - 1,
        c=steps.c_part_bits + word,
        step=steps.bits,
    )


class RowMemories(Component):
    """Six memories that are written a register word at a time.

    So a word is written as it comes, and one read gives all that a step needs: of X and Y the low and the
    high half of the rows, of C the elements of a pair of register words.

    With two registers in a word, words come in pairs, which differ in the lowest bit of their block or in the
    half of k. A memory of X or Y then is two: one has the first half of k of the even blocks and the second
    half of the odd ones. So both words are written at once, and a block's low and high half are read at once;
    where the low half is the second word, the high one is the first.

    A step takes the rows of Y of one word; of X it takes one of the equal parts of a word, and so it does of
    the elements of C once lanes are put in the order of the steps. Only that part is read: block RAM whose
    ports differ in width chooses it, so nothing has to behind the memory, and few wires lead away from it. No
    row memory needs banks that are addressed apart. The low half of a row has a place for each of its two
    register words: for a chain each word is the low half in its turn, and no multiplexer is needed.

    A seventh memory carries the results of all but the last dot product of chains, if the configuration has
    any. An eighth one keeps the elements of C that are added after the last one, if there are multiplies of
    fp8 that becomes f16.

    A row of Y of a sparse multiply has twice as many words. Of each two of them the even lanes lie where a
    dense row has one, the odd ones in memories of their own (`hdl.multiply.tile.sparse.spread`).

    Latency: read data in the cycle after `read_enable`, and until the next one. A buffer is written by one
    stage while the other one reads another buffer, or elements of C that came before; nothing here keeps them
    apart.
    Critical path expected: a memory's read, at the start of a path that ends in the issue stage.

    Members
    -------
    write : In(row_write_layout(config))
    x_data, y_data, c_data : In(tile_word_bits(config))
    read_enable : In(1)
    read : In(row_read_layout(config))
    x_low, x_high : Out(128 * rows of X in a step)
    y_low, y_high : Out(word_bits(config))
        Rows of X and Y, the lowest quad in the low 128 bits.
    y_low_odd, y_high_odd : Out(word_bits(config))
        Odd lanes of rows of Y, if multiplies may be sparse.
    c_0, c_1 : Out(32 * elements of a pair in a step)
        Elements of C of both pairs, or twice those that hold both.
    carry_enable : In(1)
    carry_step : In(bits of a step)
    carry_data : In(32 * units)
    carry : Out(32 * units)
        What was written for the step; zero if the configuration has no chains.
    addend_enable : In(1)
    addend_step : In(bits of a step)
    addend_data : In(32 * units)
    addend_read_step : In(bits of a step)
    addend : Out(32 * units)
        In the cycle after, what was written for that step; zero without conversion of fp8.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        carried = LANE_BITS * config.dot_product_units
        members = {
            "write": In(row_write_layout(config)),
            **{f"{name}_data": In(tile_word_bits(config)) for name in "xyc"},
            "read_enable": In(1),
            "read": In(row_read_layout(config)),
            **{name: Out(bits) for name, bits in row_widths(config).items()},
            "carry_enable": In(1),
            "carry_step": In(Steps(config).bits),
            "carry_data": In(carried),
            "carry": Out(carried),
            "addend_enable": In(1),
            "addend_step": In(Steps(config).bits),
            "addend_data": In(carried),
            "addend_read_step": In(Steps(config).bits),
            "addend": Out(carried),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        steps = Steps(self._config)
        write, read = self.write, self.read
        for name, parts_log2, count in (("x", steps.x_part_bits, BLOCKS), ("y", 0, BLOCKS // 2)):
            walk = self._rows if self._config.word_registers == 1 else self._paired_rows
            words = steps.words_per_register * count
            given = getattr(self, f"{name}_data")
            if name == "y" and self._config.sparse:
                self._sparse_rows(m, walk, words)
                continue
            walk(m, name, parts_log2, words, given)
        lanes = [lane for part in range(1 << steps.c_part_bits) for lane in steps.c_lanes(part)]
        width = word_bits(self._config)
        next_word = Mux(write.c_apart, self.c_data[-width:], self.c_data[:width])
        for pair, word in enumerate((self.c_data[:width], next_word)):
            part_memory(
                m,
                f"c_{pair}",
                getattr(self, f"c_{pair}"),
                depth=row_buffers(self._config) * BLOCKS * steps.words_per_register,
                write_enable=write.c[pair],
                write_address=Cat(write.c_word_block, write.buffer),
                write_data=Cat(word.word_select(lane, LANE_BITS) for lane in lanes),
                read_enable=self.read_enable,
                read_address=Cat(read.c, read.buffer),
            )
        if has_chains(self._config):
            self._results(m, "carry", self.read_enable, read.step)
        if has_conversion(self._config):
            self._results(m, "addend", Const(1), self.addend_read_step)

    def _results(self, m: Module, name: str, read_enable: Value, read_step: Value) -> None:
        """A memory of a word for each unit and step."""
        read_data = getattr(self, name)
        memory = collision_free_memory(len(read_data), 1 << Steps(self._config).bits)
        m.submodules[f"{name}_memory"] = memory
        write_port, read_port = memory.write_port(), memory.read_port()
        m.d.comb += [
            write_port.en.eq(getattr(self, f"{name}_enable")),
            write_port.addr.eq(getattr(self, f"{name}_step")),
            write_port.data.eq(getattr(self, f"{name}_data")),
            read_port.en.eq(read_enable),
            read_port.addr.eq(read_step),
            read_data.eq(read_port.data),
        ]

    def _sparse_rows(self, m: Module, walk: Callable[..., None], words: int) -> None:
        """The memories of Y where it may have twice as many words, and even and odd lanes lie apart."""
        write, given = self.write, self.y_data
        first, second = given[: word_bits(self._config)], given[-word_bits(self._config) :]
        lanes: tuple[list[Value], list[Value]] = ([], [])
        for quad in range(self._config.word_quads):
            pair = (first.word_select(quad, QUAD_BITS), second.word_select(quad, QUAD_BITS))
            for found, spread_lanes in zip(lanes, spread(pair), strict=True):
                found.append(spread_lanes)
        paired = self._config.word_registers > 1
        halves = Const(0b11, 2) if paired else Mux(write.y_sparse, Cat(~write.y_odd, write.y_odd), 0b11)
        enables = halves.replicate(self._config.word_quads)
        even = Cat(Mux(write.y_sparse, Cat(lanes[0]), first), given[len(first) :])
        walk(m, "y", 0, words, even, enables=enables)
        walk(m, "y", 0, words, Cat(Cat(lanes[1]), given[len(first) :]), enables=enables, part="_odd")

    def _rows(
        self,
        m: Module,
        name: str,
        parts_log2: int,
        words: int,
        given: Value,
        *,
        enables: Value | None = None,
        part: str = "",
    ) -> None:
        """The memories of the low and the high half of rows, of a word at a time."""
        buffers = row_buffers(self._config)
        read, asked = self.read, self.read[name]
        place = self.write[name][0]
        word_block = place.word_block[: len(asked) - parts_log2]
        high = place.valid & place.second
        part_memory(
            m,
            f"{name}_low{part}",
            getattr(self, f"{name}_low{part}"),
            depth=buffers * _K_HALVES * words,
            write_enable=place.valid if enables is None else place.valid.replicate(len(enables)) & enables,
            write_address=Cat(word_block, place.second, self.write.buffer),
            write_data=given,
            read_enable=self.read_enable,
            read_address=Cat(asked, read.second, read.buffer),
        )
        part_memory(
            m,
            f"{name}_high{part}",
            getattr(self, f"{name}_high{part}"),
            depth=buffers * words,
            write_enable=high if enables is None else high.replicate(len(enables)) & enables,
            write_address=Cat(word_block, self.write.buffer),
            write_data=given,
            read_enable=self.read_enable,
            read_address=Cat(asked, read.buffer),
        )

    def _paired_rows(
        self,
        m: Module,
        name: str,
        parts_log2: int,
        words: int,
        given: Value,
        *,
        enables: Value | None = None,
        part: str = "",
    ) -> None:
        """The same of two words at a time."""
        asked, width = self.read[name], word_bits(self._config)
        places = self.write[name]
        crossed = places[0].word_block[0] ^ places[0].second
        found = []
        for number in range(2):
            place = Mux(crossed, places[1 - number].as_value(), places[number].as_value())
            place = data.View(places[0].shape(), place)
            found.append(Signal.like(getattr(self, f"{name}_low"), name=f"{name}_{number}{part}"))
            part_memory(
                m,
                f"{name}_{number}{part}",
                found[-1],
                depth=row_buffers(self._config) * words,
                write_enable=place.valid
                if enables is None
                else place.valid.replicate(len(enables)) & enables,
                write_address=Cat(place.word_block[: len(asked) - parts_log2], self.write.buffer),
                write_data=given.word_select(crossed ^ number, width),
                read_enable=self.read_enable,
                read_address=Cat(asked, self.read.buffer),
            )
        is_crossed = Signal(name=f"{name}_is_crossed{part}")
        with m.If(self.read_enable):
            m.d.sync += is_crossed.eq(asked[parts_log2] ^ self.read.second)
        m.d.comb += [
            getattr(self, f"{name}_low{part}").eq(Mux(is_crossed, found[1], found[0])),
            getattr(self, f"{name}_high{part}").eq(Mux(is_crossed, found[0], found[1])),
        ]


def part_memory(
    m: Module,
    name: str,
    read_data: Signal,
    *,
    depth: int,
    write_enable: Value,
    write_address: Value,
    write_data: Value,
    read_enable: Value,
    read_address: Value,
) -> None:
    """Make a memory of `depth` words; the low bits of the address to read choose the part of a word.

    A `write_enable` of several bits has one for each of as many equal parts of the word.
    """
    parts = len(write_data) // len(read_data)
    memory = collision_free_memory(len(read_data), depth * parts, style="block")
    m.submodules[f"{name}_memory"] = memory
    granularity = None if len(write_enable) == 1 else len(write_data) // len(write_enable)
    # Ports whose addresses differ in constant low bits are one wide port to synthesis.
    for part in range(parts):
        write_port = memory.write_port(granularity=granularity)
        m.d.comb += [
            write_port.en.eq(write_enable),
            write_port.addr.eq(Cat(Const(part, (parts - 1).bit_length()), write_address)),
            write_port.data.eq(write_data.word_select(part, len(read_data))),
        ]
    read_port = memory.read_port()
    m.d.comb += [
        read_port.en.eq(read_enable),
        read_port.addr.eq(read_address),
        read_data.eq(read_port.data),
    ]
