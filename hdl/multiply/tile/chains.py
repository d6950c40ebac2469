"""Chains: results that a unit makes in several dot products, each with the one before for its C."""

from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import FP4_KINDS
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import Profile
from hdl.config import CoreConfig
from hdl.registers.register_ports import QUAD_BITS

SIXTEEN_BITS = frozenset({"f16", "bf16"})
"""Multiplicand formats of so many bits."""

_CONVERTED_PASSES = 2
"""Of fp8 that becomes f16: half of every four k each."""


def passes(instruction: MmaInstruction, profile: Profile) -> int:
    """Dot products that make a result of an instruction, one after the other: 1, 2 or 4.

    Raises
    ------
    ValueError
        If a block of the profile is no whole register word or two, nor half of one, or has no room for half
        of k where fp8 becomes f16.
    """
    if instruction.family.converted_to is not None and profile.narrow_block is None:
        block = profile.block(float_format(instruction.family.converted_to), instruction.mnemonic)
        if not block or block * _CONVERTED_PASSES < instruction.shape.k:
            raise ValueError(f"Products of {instruction} in one block must be half of its k, not {block}")
        return _CONVERTED_PASSES
    if instruction.kind in FP4_KINDS:
        return 1
    depth, multiplicand = instruction.stored.k, FORMATS[instruction.a_type]
    products: int | None = QUAD_BITS // multiplicand.bits
    if isinstance(multiplicand, FloatFormat):
        products = profile.block(multiplicand, instruction.mnemonic)
    count = max(1, depth // products) if products else 0
    if count not in (1, 2, 4):
        raise ValueError(
            f"Products of {instruction} in one block must leave 1, 2 or 4 blocks, not {products}"
        )
    return count


def most_passes(config: CoreConfig, formats: frozenset[str] = frozenset(FORMATS) - {"f64"}) -> int:
    """The most dot products that make one result, of the multiplies with multiplicands of these formats."""
    profile = config.dot_product.profile
    instructions = [item for item in config.multiplies() if item.a_type in formats]
    return max((passes(item, profile) for item in instructions), default=1)


def has_chains(config: CoreConfig) -> bool:
    """Whether any result takes more than one dot product."""
    return most_passes(config) > 1


def has_conversion(config: CoreConfig) -> bool:
    """Whether there are multiplies whose fp8 multiplicands become f16."""
    narrow = config.dot_product.profile.narrow_block is not None
    return not narrow and any(family.converted_to is not None for family in config.families)


def has_integer_chains(config: CoreConfig) -> bool:
    """Whether any result of integers that may be clamped does."""
    return most_passes(config, frozenset({"s8", "u8", "s4", "u4"})) > 1


def has_half_chains(config: CoreConfig) -> bool:
    """Whether any result of 16-bit elements does."""
    return most_passes(config, SIXTEEN_BITS) > 1


def splits_words(config: CoreConfig) -> bool:
    """Whether a block of 16-bit elements is half a quad's register, as on volta."""
    return most_passes(config, SIXTEEN_BITS) == 4
