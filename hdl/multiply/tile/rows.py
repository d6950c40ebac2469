"""The row memories: operands of two tiles in the order in which the dot-product units want them."""

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.multiply.tile.chains import has_chains, has_conversion
from hdl.multiply.tile.tile_steps import BLOCKS, Steps, fields
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import LANE_BITS, word_bits

__all__ = ["RowMemories", "row_read_layout", "row_widths", "row_write_layout"]

_BUFFERS = 2
_K_HALVES = 2


def row_write_layout(config: CoreConfig) -> data.StructLayout:
    """Where a word from the register file goes.

    Members
    -------
    x, y : unsigned(1)
        There is a word of X, of Y.
    word_block : unsigned
        Its number within a register, and above it the block of rows.
    second : unsigned(1)
        It is of the second half of k.
    c : unsigned(2)
        There is a word of C, of pair 0 and of pair 1: an f16 accumulator holds both.
    c_word_block : unsigned
        Its number within a register, and above it the block of results.
    buffer : unsigned(1)
        Of both words.
    """
    steps = Steps(config)
    bits = steps.word_number_bits + 2
    return fields(x=1, y=1, word_block=bits, second=1, c=2, c_word_block=bits, buffer=1)


def row_widths(config: CoreConfig) -> dict[str, int]:
    """Bits of what is read, by the name of the memory."""
    steps = Steps(config)
    width = word_bits(config)
    of_x, of_c = width >> steps.x_part_bits, width >> steps.c_part_bits
    return {"x_low": of_x, "x_high": of_x, "y_low": width, "y_high": width, "c_0": of_c, "c_1": of_c}


def row_read_layout(config: CoreConfig) -> data.StructLayout:
    """What a step needs.

    Members
    -------
    buffer : unsigned(1)
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
        buffer=1,
        second=1,
        x=steps.x_part_bits + word,
        y=word - 1,
        c=steps.c_part_bits + word,
        step=steps.bits,
    )


class RowMemories(wiring.Component):
    """Six memories that are written a register word at a time.

    So a word is written as it comes, and one read gives all that a step needs: of X and Y the low and the
    high half of the rows, of C the elements of a pair of register words.

    The rows of Y in a step are just those of a word; those of X are one of equal parts of theirs, and so are
    the elements of C once lanes are put in the order of the steps. Only that part is read: block RAM whose
    ports differ in width chooses it, so nothing has to behind the memory, and few wires lead away from it. No
    row memory needs banks that are addressed apart. The low half of a row has a place for each of its two
    register words: for a chain each word is the low half in its turn, and no multiplexer is needed.

    A seventh memory carries the results of all but the last dot product of chains, if the configuration has
    any. An eighth one keeps the elements of C that are added after the last one, if there are multiplies of
    fp8 that becomes f16.

    Latency: read data in the cycle after `read_enable`, and until the next one. Each of the two buffers is
    written by one stage while the other one reads the other buffer, or elements of C that came before;
    nothing here keeps them apart.
    Critical path expected: a memory's read, at the start of a path that ends in the issue stage.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(row_write_layout(config))
    write_data : In(word_bits(config))
        Of X or Y.
    write_c_data : In(word_bits(config))
    read_enable : In(1)
    read : In(row_read_layout(config))
    x_low, x_high : Out(128 * rows of X in a step)
    y_low, y_high : Out(word_bits(config))
        Rows of X and Y, the lowest quad in the low 128 bits.
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
        width = word_bits(config)
        carried = LANE_BITS * config.dot_product_units
        members = {name: Out(bits) for name, bits in row_widths(config).items()}
        super().__init__(
            {
                "write": In(row_write_layout(config)),
                "write_data": In(width),
                "write_c_data": In(width),
                "read_enable": In(1),
                "read": In(row_read_layout(config)),
                **members,
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
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        steps = Steps(self._config)
        write, read = self.write, self.read
        for name, parts_log2, count in (("x", steps.x_part_bits, BLOCKS), ("y", 0, BLOCKS // 2)):
            asked = getattr(read, name)
            word_block = write.word_block[: len(asked) - parts_log2]
            enable = getattr(write, name)
            fragment_words = steps.words_per_register * count
            self._memory(
                m,
                f"{name}_low",
                depth=_BUFFERS * _K_HALVES * fragment_words,
                write_enable=enable,
                write_address=Cat(word_block, write.second, write.buffer),
                write_data=self.write_data,
                read_address=Cat(asked, read.second, read.buffer),
            )
            self._memory(
                m,
                f"{name}_high",
                depth=_BUFFERS * fragment_words,
                write_enable=enable & write.second,
                write_address=Cat(word_block, write.buffer),
                write_data=self.write_data,
                read_address=Cat(asked, read.buffer),
            )
        lanes = [lane for part in range(1 << steps.c_part_bits) for lane in steps.c_lanes(part)]
        elements = Cat(self.write_c_data.word_select(lane, LANE_BITS) for lane in lanes)
        for pair in range(2):
            self._memory(
                m,
                f"c_{pair}",
                depth=_BUFFERS * BLOCKS * steps.words_per_register,
                write_enable=write.c[pair],
                write_address=Cat(write.c_word_block, write.buffer),
                write_data=elements,
                read_address=Cat(read.c, read.buffer),
            )
        if has_chains(self._config):
            m.submodules.carry_memory = memory = collision_free_memory(len(self.carry), 1 << steps.bits)
            write_port, read_port = memory.write_port(), memory.read_port()
            m.d.comb += [
                write_port.en.eq(self.carry_enable),
                write_port.addr.eq(self.carry_step),
                write_port.data.eq(self.carry_data),
                read_port.en.eq(self.read_enable),
                read_port.addr.eq(read.step),
                self.carry.eq(read_port.data),
            ]
        if has_conversion(self._config):
            m.submodules.addend_memory = memory = collision_free_memory(len(self.addend), 1 << steps.bits)
            write_port, read_port = memory.write_port(), memory.read_port()
            m.d.comb += [
                write_port.en.eq(self.addend_enable),
                write_port.addr.eq(self.addend_step),
                write_port.data.eq(self.addend_data),
                read_port.en.eq(1),
                read_port.addr.eq(self.addend_read_step),
                self.addend.eq(read_port.data),
            ]
        return m

    def _memory(
        self,
        m: Module,
        name: str,
        *,
        depth: int,
        write_enable: Value,
        write_address: Value,
        write_data: Value,
        read_address: Value,
    ) -> None:
        """Make a memory of `depth` words; the low bits of the address to read choose the part of a word."""
        read_data = getattr(self, name)
        parts = len(write_data) // len(read_data)
        memory = collision_free_memory(len(read_data), depth * parts, in_blocks=True)
        m.submodules[f"{name}_memory"] = memory
        # Ports whose addresses differ in constant low bits are one wide port to synthesis.
        for part in range(parts):
            write_port = memory.write_port()
            m.d.comb += [
                write_port.en.eq(write_enable),
                write_port.addr.eq(Cat(Const(part, (parts - 1).bit_length()), write_address)),
                write_port.data.eq(write_data.word_select(part, len(read_data))),
            ]
        read_port = memory.read_port()
        m.d.comb += [
            read_port.en.eq(self.read_enable),
            read_port.addr.eq(read_address),
            read_data.eq(read_port.data),
        ]
