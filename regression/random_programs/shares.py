"""Draws shares of `wgmma`: any types, descriptors, orders and signs."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Final

from numpy.random import Generator

from golden.matrix_descriptors import CHUNK, SPANS, MatrixDescriptor
from golden.tables.commands import Wgmma
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import WGMMA_FAMILIES
from golden.tables.matrix_instructions import MmaInstruction, multiplies_of
from golden.warpgroup_share import A_REGISTERS, accumulator_registers
from hdl.config import WARPS_OF_A_GROUP, CoreConfig

SHARED_WINDOW: Final = 4 * 4096
"""Bytes of on-chip memory that programs read and write, from its first on."""

_MOST_QUIET: Final = 8 * 4096


def quiet_bytes(config: CoreConfig) -> range:
    """Bytes of on-chip memory that no command writes, so that all warps may read them at any time.

    There are none without `wgmma`, whose operands they are.
    """
    size = min(config.shared_bytes - SHARED_WINDOW, _MOST_QUIET) if config.wgmma else 0
    return range(SHARED_WINDOW, SHARED_WINDOW + max(size, 0))


def share_name(instruction: MmaInstruction) -> str:
    """The types of a share and its modifiers, without its columns."""
    ending = ".satfinite" if instruction.saturate else ""
    return f"{instruction.d_type}.{instruction.a_type}.{instruction.b_type}{ending}"


@cache
def share_forms(config: CoreConfig) -> tuple[tuple[MmaInstruction, ...], ...]:
    """Of each `share_name` the instructions whose D fits into the registers, by their columns."""
    if not config.wgmma:
        return ()
    legal = [
        item
        for family in WGMMA_FAMILIES
        if family.formats <= config.formats
        for item in multiplies_of(family)
        if accumulator_registers(Wgmma(item, 0, 0, 0)) <= config.registers - A_REGISTERS
    ]
    ordered = sorted(legal, key=lambda item: (share_name(item), item.shape.n))
    return tuple(tuple(items) for _, items in groupby(ordered, share_name))


def orders_of(instruction: MmaInstruction) -> tuple[bool, ...]:
    """Whether m or n may be contiguous in place of k: of 16-bit types alone."""
    element = FORMATS[instruction.a_type]
    return (False, True) if isinstance(element, FloatFormat) and element.bits == 16 else (False,)


def common_shares(
    random: Generator, config: CoreConfig, forms: tuple[MmaInstruction, ...]
) -> Iterator[Wgmma]:
    """A share of each of some warps of a group, whose operands in memory are mostly the same.

    They lie in the `quiet_bytes`; of warp 0 alone anywhere, for it waits for its own stores.
    """
    quiet = quiet_bytes(config)
    group = WARPS_OF_A_GROUP * int(random.integers(config.warps // WARPS_OF_A_GROUP))
    count = int(random.choice([1, 2, 3, 4, 4, 4]))
    warps = (group + random.permutation(WARPS_OF_A_GROUP)[:count]).tolist() if quiet else [0]
    region = range(quiet.stop) if warps == [0] else quiet
    share = draw_share(random, forms, region)
    for warp in warps:
        if random.random() < 0.1:
            share = draw_share(random, forms, region)
        yield place_share(random, config, share, warp)


def draw_share(random: Generator, forms: tuple[MmaInstruction, ...], region: range) -> Wgmma:
    """A share of warp 0 of one of some forms, few columns mostly, with operands in a region of the memory."""
    instruction = forms[int(len(forms) * random.random() ** 4)]
    orders, is_float = orders_of(instruction), isinstance(FORMATS[instruction.a_type], FloatFormat)
    in_registers = random.random() < 0.25
    transposed = tuple(bool(random.choice(orders)) for _ in "ab")
    transposed = (transposed[0] and not in_registers, transposed[1])
    a, b = (
        draw_descriptor(random, rows, order, region)
        for rows, order in zip((instruction.shape.m, instruction.shape.n), transposed, strict=True)
    )
    return Wgmma(
        instruction,
        0,
        0 if in_registers else a,
        b,
        a_in_registers=in_registers,
        negated=(is_float and random.random() < 0.3, is_float and random.random() < 0.3),
        transposed=transposed,
        scale_d=random.random() < 0.7,
    )


def place_share(random: Generator, config: CoreConfig, share: Wgmma, warp: int) -> Wgmma:
    """The share of a warp, in any registers of it; D and an A in registers do not overlap."""
    sizes = [accumulator_registers(share), A_REGISTERS if share.a_in_registers else 0]
    free = config.registers - sum(sizes)
    first = int(random.integers(free + 1))
    if not share.a_in_registers:
        return replace(share, warp=warp, d=first)
    d_first = int(random.integers(2))
    second = first + sizes[1 - d_first] + int(random.integers(free - first + 1))
    d, a = (first, second) if d_first else (second, first)
    return replace(share, warp=warp, d=d, a=a)


def draw_descriptor(random: Generator, rows: int, transposed: bool, region: range) -> int:
    """The bits of a descriptor with any swizzle and offsets; the region is of whole blocks of 128 bytes."""
    swizzle = int(random.integers(len(SPANS)))
    base = int(random.integers(8)) * int(random.integers(2))
    most = len(region) // CHUNK // (rows // 8 + 1)
    leading, stride = (int(random.integers(most + 1)) for _ in range(2))
    bits = leading << 16 | stride << 32 | base << 49 | swizzle << 62
    room = len(region) - MatrixDescriptor.from_bits(bits).reach(rows, transposed)
    if room < 0:
        bits = base << 49 | swizzle << 62
        room = len(region) - MatrixDescriptor.from_bits(bits).reach(rows, transposed)
    return bits | (region.start + int(random.integers(room // CHUNK + 1)) * CHUNK) // CHUNK
