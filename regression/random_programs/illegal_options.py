"""Sparse and scaled multiplies and shares of `wgmma` that must not be executed: each breaks one rule."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.matrix_descriptors import CHUNK, SPANS, MatrixDescriptor
from golden.tables.commands import Command, Mma, Wgmma
from golden.tables.faults import Cause
from golden.tables.instruction_set import SCALES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from golden.tables.sparsity import NIBBLES, Sparsity
from golden.warpgroup_share import A_REGISTERS, accumulator_registers
from hdl.config import CoreConfig
from regression.random_programs.choices import multiplies_of
from regression.random_programs.operands import draw_operands, metadata_words
from regression.random_programs.shares import orders_of, share_forms

_ORDERS: Final = ("k contiguous", "m or n contiguous")
_SWIZZLES: Final = ("no swizzle", *(f"swizzle of {span} bytes" for span in SPANS[1:]))
_SELECTOR: Final = "selector beyond the last"
_OF_BYTES: Final = "elements that are not of 16 bits with m or n contiguous"
_REGISTERS_IN_COLUMNS: Final = "A in registers with m contiguous"
_SIGN: Final = "signs of integers inverted"
_OVERLAP: Final = "A in registers that D overlaps"
_TF32_NIBBLES: Final = Sparsity(32, 8).nibbles
_SELECTORS: Final = 4
"""Values of the field of a selector."""

OPTION_KINDS: Final = ("sparse", "wgmma", "scaled")
"""Of commands that few cores have."""

_Item = TypeVar("_Item")


def option_ways() -> Iterator[tuple[Cause, str, str]]:
    """Each cause, with ``sparse`` or ``wgmma``, and the way in which such a command comes to it."""
    yield Cause.ILLEGAL_INSTRUCTION, "sparse", _SELECTOR
    for nibble in range(16):
        for types, defined in (("", NIBBLES), (" of tf32", _TF32_NIBBLES)):
            if nibble not in defined:
                yield Cause.UNDEFINED_METADATA, "sparse", f"nibble {nibble:04b}{types}"
    for use in ("metadata", *"dabc"):
        yield Cause.REGISTER_RANGE, "sparse", f"fragment {use} past the last register"
    for way in (_OF_BYTES, _REGISTERS_IN_COLUMNS, _SIGN, _OVERLAP):
        yield Cause.ILLEGAL_INSTRUCTION, "wgmma", way
    for use in "da":
        yield Cause.REGISTER_RANGE, "wgmma", f"fragment {use} past the last register"
    for operand, swizzle, order in product("AB", _SWIZZLES, _ORDERS):
        yield Cause.ADDRESS_RANGE, "wgmma", f"{operand} beyond the memory, {swizzle}, {order}"


def scale_ways(config: CoreConfig) -> Iterator[tuple[Cause, str, str]]:
    """Likewise of multiplies with block scales, those that a core has."""
    for vec in dict.fromkeys(item.scale_vec for item in _scaled_forms(config)):
        for use, name in product("ab", ("byte", "thread")):
            if len(_allowed(f"{name}_{use}", vec)) < _SELECTORS:
                yield Cause.ILLEGAL_INSTRUCTION, "scaled", f"{name}_{use} that {vec} lacks"
    for name in SCALES if config.dot_product.block_scale or config.mxf4 else ():
        yield Cause.REGISTER_RANGE, "scaled", f"fragment {name} past the last register"


def _allowed(selector: str, vec: str) -> tuple[int, ...]:
    name, _, use = selector.partition("_")
    return BYTE_IDS[vec] if name == "byte" else THREAD_IDS[use]


def legal_option(random: Generator, config: CoreConfig, kind: str) -> Command | None:
    """A sparse or scaled multiply, or a share with A in registers, of the first registers; None without."""
    if kind == "sparse":
        forms = _sparse_forms(config)
        return Mma(_one_of(random, forms), d=0, a=8, b=16, c=24, metadata=28) if forms else None
    if kind == "scaled":
        forms = _scaled_forms(config)
        return Mma(_one_of(random, forms), d=0, a=8, b=16, c=24, scale_a=28, scale_b=29) if forms else None
    shares = share_forms(config)
    return Wgmma(_one_of(random, shares)[0], 0, 8, 0, a_in_registers=True) if shares else None


def broken_option(
    random: Generator, config: CoreConfig, kind: str, way: str
) -> tuple[Command | None, NDArray[np.uint32] | None]:
    """A command broken in a way that is not of registers, and its metadata; None where the core has none."""
    legal = legal_option(random, config, kind)
    if kind == "scaled":
        selector, *_, vec, _ = way.split()
        instruction = _one_of(random, [item for item in _scaled_forms(config) if item.scale_vec == vec])
        lacking = [each for each in range(_SELECTORS) if each not in _allowed(selector, vec)]
        changed: dict[str, Any] = {selector: _one_of(random, lacking)}
        return Mma(instruction, d=0, a=8, b=16, c=24, scale_a=28, scale_b=29, **changed), None
    if isinstance(legal, Mma):
        return _broken_sparse(random, config, legal, way)
    return _broken_share(random, config, legal, way) if isinstance(legal, Wgmma) else None, None


def _one_of(random: Generator, items: Sequence[_Item]) -> _Item:
    return items[int(random.integers(len(items)))]


def _sparse_forms(config: CoreConfig) -> tuple[MmaInstruction, ...]:
    return tuple(item for item in multiplies_of(config) if item.is_sparse)


def _scaled_forms(config: CoreConfig) -> tuple[MmaInstruction, ...]:
    return tuple(item for item in multiplies_of(config) if item.scales and not item.is_sparse)


def _broken_sparse(
    random: Generator, config: CoreConfig, legal: Mma, way: str
) -> tuple[Mma | None, NDArray[np.uint32] | None]:
    if way == _SELECTOR:
        forms = tuple(item for item in _sparse_forms(config) if len(item.sparsity.selectors) < 4)
        instruction = _one_of(random, forms)
        selector = int(random.integers(len(instruction.sparsity.selectors), 4))
        return replace(legal, instruction=instruction, selector=selector), None
    forms = tuple(
        item for item in _sparse_forms(config) if (item.a_type == "tf32") == way.endswith(" of tf32")
    )
    if not forms:
        return None, None
    instruction = _one_of(random, forms)
    sparsity = instruction.sparsity
    selector = int(random.choice(sparsity.selectors))
    kind = "uniform" if instruction.c_type == "s32" else "uniform bits"
    metadata = draw_operands(random, instruction, kind)[3]
    words = metadata_words(random, instruction, metadata, selector)
    lane, nibble, *_ = _one_of(random, tuple(sparsity.positions(selector)))
    cleared = words[lane] & ~np.uint32(15 << 4 * nibble)
    words[lane] = cleared | np.uint32(int(way.split()[1], 2) << 4 * nibble)
    return replace(legal, instruction=instruction, selector=selector), words


def _broken_share(random: Generator, config: CoreConfig, legal: Wgmma, way: str) -> Wgmma:
    forms = [each[0] for each in share_forms(config)]
    of_16_bits = [item for item in forms if len(orders_of(item)) == 2]
    others = [item for item in forms if item not in of_16_bits]
    both = _one_of(random, ((False, True), (True, False), (True, True)))
    if way == _OF_BYTES:
        place, in_registers = (0, False) if both[0] else (legal.a, True)
        broken = replace(legal, instruction=_one_of(random, others), transposed=both)
        return replace(broken, a=place, a_in_registers=in_registers)
    if way == _REGISTERS_IN_COLUMNS:
        return replace(legal, instruction=_one_of(random, of_16_bits), transposed=(True, both[0]))
    if way == _SIGN:
        integers = [item for item in others if item.c_type == "s32"]
        return replace(legal, instruction=_one_of(random, integers), negated=both)
    if way == _OVERLAP:
        instruction = _one_of(random, forms)
        count = accumulator_registers(replace(legal, instruction=instruction))
        place = 8 + int(random.integers(1 - A_REGISTERS, count))
        return replace(legal, instruction=instruction, d=8, a=place)
    transposed = way.endswith(_ORDERS[1])
    instruction = _one_of(random, of_16_bits if transposed else forms)
    rows = instruction.shape.m if way[0] == "A" else instruction.shape.n
    swizzle = next(code for code, name in enumerate(_SWIZZLES) if name in way)
    leading, stride = (int(random.integers(16)) for _ in range(2))
    bits = leading << 16 | stride << 32 | int(random.integers(8)) << 49 | swizzle << 62
    reach = MatrixDescriptor.from_bits(bits).reach(rows, transposed)
    bits |= (config.shared_bytes - reach) // CHUNK + 1 + int(random.integers(2)) * int(random.integers(64))
    if way[0] == "A":
        return replace(
            legal, instruction=instruction, a=bits, a_in_registers=False, transposed=(transposed, False)
        )
    return replace(legal, instruction=instruction, b=bits, transposed=(False, transposed))
