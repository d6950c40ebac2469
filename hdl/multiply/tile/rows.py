"""The row memories: operands of two tiles in the order in which the dot-product units want them."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.collision_free_memory import collision_free_memory
from hdl.config import CoreConfig
from hdl.multiply.tile.geometry import BLOCKS, Steps, fields
from hdl.registers.ports import LANE_BITS, word_bits

__all__ = ["RowMemories", "has_chains", "row_read_layout", "row_write_layout"]

_BUFFERS = 2
_K_HALVES = 2
_TF32_K = 8
_TF32_PER_WORD = 4


def has_chains(config: CoreConfig) -> bool:
    """Whether a row of tf32 is two dot products, one for each of its register words."""
    profile = config.dot_product.profile
    return "tf32" in config.dot_product.formats and (profile.tf32_block or _TF32_K) <= _TF32_PER_WORD


def row_write_layout(config: CoreConfig) -> data.StructLayout:
    """Where a word from the register file goes.

    Members
    -------
    x, y : unsigned(1)
        It is of X, of Y.
    c : unsigned(2)
        It is of C, of pair 0 and of pair 1: an f16 accumulator holds both.
    buffer : unsigned(1)
    group_block : unsigned
        Group, and above it the block: of rows for X and Y, of results for C.
    second : unsigned(1)
        Of X and Y: the second half of k.
    """
    steps = Steps(config)
    return fields(x=1, y=1, c=2, buffer=1, group_block=steps.group_bits + 2, second=1)


def row_read_layout(config: CoreConfig) -> data.StructLayout:
    """What a step needs.

    Members
    -------
    buffer : unsigned(1)
    second : unsigned(1)
        The low half of a row is its second word.
    x, y, c : unsigned
        Group and block as in `row_write_layout`; y has one bit of the block.
    step : unsigned
        For what is carried from one dot product of a chain to the next.
    """
    steps = Steps(config)
    place = steps.group_bits + 2
    return fields(buffer=1, second=1, x=place, y=place - 1, c=place, step=steps.bits)


class RowMemories(wiring.Component):
    """Six memories a register word wide.

    So a word is written as it comes, and one read gives all that a step needs: of X and Y the low and the
    high half of the rows of a word, of C the words of a pair.

    The rows of Y in a step are just those of a word, and those of X a part of them, chosen behind the memory;
    so no row memory needs banks that are addressed apart. The low half of a row has a place for each of
    its two register words: for a chain each word is the low half in its turn, and no multiplexer is needed.

    A seventh memory carries the results of the first dot products of chains, if the configuration has any.

    Latency: read data in the cycle after `read_enable`, and until the next one. Each of the two buffers is
    written by one stage while the other one reads the other buffer; nothing here keeps them apart.
    Critical path expected: a memory's read, at the start of a path that ends in the issue stage.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(row_write_layout(config))
    write_data : In(word_bits(config))
    read_enable : In(1)
    read : In(row_read_layout(config))
    x_low, x_high, y_low, y_high : Out(word_bits(config))
        Rows of X and Y, the lowest quad in the low 128 bits.
    c_0, c_1 : Out(word_bits(config))
        Words of C of both pairs, or twice the word that holds both.
    carry_enable : In(1)
    carry_step : In(bits of a step)
    carry_data : In(32 * units)
    carry : Out(32 * units)
        What was written for the step; zero if the configuration has no chains.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        width = word_bits(config)
        carried = LANE_BITS * config.dot_product_units
        members = {name: Out(width) for name in ("x_low", "x_high", "y_low", "y_high", "c_0", "c_1")}
        super().__init__(
            {
                "write": In(row_write_layout(config)),
                "write_data": In(width),
                "read_enable": In(1),
                "read": In(row_read_layout(config)),
                **members,
                "carry_enable": In(1),
                "carry_step": In(Steps(config).bits),
                "carry_data": In(carried),
                "carry": Out(carried),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        steps = Steps(self._config)
        write, read = self.write, self.read
        blocks = {"x": BLOCKS, "y": BLOCKS // 2}
        for name, count in blocks.items():
            group_block = write.group_block[: len(getattr(read, name))]
            enable = getattr(write, name)
            fragment_words = steps.groups * count
            self._memory(
                m,
                f"{name}_low",
                depth=_BUFFERS * _K_HALVES * fragment_words,
                write_enable=enable,
                write_address=Cat(group_block, write.second, write.buffer),
                read_address=Cat(getattr(read, name), read.second, read.buffer),
            )
            self._memory(
                m,
                f"{name}_high",
                depth=_BUFFERS * fragment_words,
                write_enable=enable & write.second,
                write_address=Cat(group_block, write.buffer),
                read_address=Cat(getattr(read, name), read.buffer),
            )
        for pair in range(2):
            self._memory(
                m,
                f"c_{pair}",
                depth=_BUFFERS * BLOCKS * steps.groups,
                write_enable=write.c[pair],
                write_address=Cat(write.group_block, write.buffer),
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
        return m

    def _memory(
        self,
        m: Module,
        name: str,
        *,
        depth: int,
        write_enable: Value,
        write_address: Value,
        read_address: Value,
    ) -> None:
        memory = collision_free_memory(len(self.write_data), depth, in_blocks=True)
        m.submodules[f"{name}_memory"] = memory
        write_port, read_port = memory.write_port(), memory.read_port()
        m.d.comb += [
            write_port.en.eq(write_enable),
            write_port.addr.eq(write_address),
            write_port.data.eq(self.write_data),
            read_port.en.eq(self.read_enable),
            read_port.addr.eq(read_address),
            getattr(self, name).eq(read_port.data),
        ]
