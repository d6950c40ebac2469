"""Numerics profiles: the constants in which tensor-core generations differ, as data."""

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import ROUNDINGS, Family, Mnemonic


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Constants of the fused dot-product-add (FDPA) of one generation."""

    name: str
    """Generation, in lower case."""
    fraction_bits: int
    """Alignment keeps multiples of ``2**(Emax - fraction_bits)``."""
    half_block: int
    """Products of f16 or bf16 in one FDPA."""
    tf32_block: int | None
    """Products of tf32 in one FDPA of ``wmma``: 4 on every generation that has tf32, whose wmma is made of k4
    instructions; None where the generation has no tf32."""
    tf32_mma_block: int | None
    """Likewise, at most, in one FDPA of ``mma`` and ``wgmma``."""
    exponent_margin: int | None
    """Emax is at least ``minimum_exponent(result) - exponent_margin``; None means no limit for an f32 result
    (an f16 result then uses `half_exponent_margin`)."""
    half_exponent_margin: int
    """The margin below the minimum exponent of an f16 result."""
    quad_pairs: bool = False
    """Whether ``mma.m8n8k4`` of f16 is an FDPA; later generations have scalar instructions in its place."""
    fp8_block: int | None = None
    fp8_fraction_bits: int | None = None
    """Products of e4m3 and e5m2 in one FDPA of ``wgmma``, and the fraction bits that its alignment and an f32
    result keep; None where no measurement is known."""
    narrow_block: int | None = None
    """Products of 8, 6 and 4 bits in one FDPA of ``mma``, block scales or not, with `fraction_bits`; None for
    generations without, whose ``mma`` of fp8 goes through f16."""
    fp4_group: int | None = None
    """Products of e2m1 in one exact sum of ``.kind::mxf4`` and ``.kind::mxf4nvf4``."""

    def block(self, multiplicand: FloatFormat, mnemonic: Mnemonic = "wmma") -> int | None:
        """Products of `multiplicand` in one FDPA of the instruction; None where the generation has none."""
        if multiplicand.bits <= 8:
            return self.narrow_block or self.fp8_block
        if multiplicand.bits == 16:
            return self.half_block
        return self.tf32_block if mnemonic == "wmma" else self.tf32_mma_block

    def executes(self, family: Family) -> bool:
        """Whether the arithmetic of a family is known; only generations with `fp8_block` have wgmma."""
        if family.is_warpgroup and self.fp8_block is None:
            return False
        multiplicand = FORMATS[family.multiplicands[0]]
        if not isinstance(multiplicand, FloatFormat) or multiplicand.bits == 64:
            return True
        if multiplicand.bits <= 8 and not family.is_warpgroup and family.converted_to is None:
            return self.narrow_block is not None
        return self.block(multiplicand, family.mnemonic) is not None

    def least_exponent(self, result: FloatFormat) -> int | None:
        """The least Emax of an FDPA with this result; None where there is no limit."""
        margin = self.half_exponent_margin if result.bits == 16 else self.exponent_margin
        return None if margin is None else result.minimum_exponent - margin


@dataclass(frozen=True, kw_only=True)
class ExactProfile:
    """No hardware: every element is the exact sum of all its products and c, rounded once."""

    name: str
    """Key in `EXACT_PROFILES`."""
    rounding: str | None
    """``"rn"``, ``"rz"``, ``"rm"`` or ``"rp"``; None for the instruction's, which is ``"rn"`` where it names
    none."""


HOPPER: Final = Profile(
    name="hopper",
    fraction_bits=25,
    half_block=16,
    tf32_block=4,
    tf32_mma_block=8,
    exponent_margin=7,
    half_exponent_margin=7,
    fp8_block=32,
    fp8_fraction_bits=13,
)
"""Measured on an NVIDIA H200; the default."""

_AMPERE: Final = Profile(
    name="ampere",
    fraction_bits=24,
    half_block=8,
    tf32_block=4,
    tf32_mma_block=4,
    exponent_margin=6,
    half_exponent_margin=6,
)

PROFILES: Final = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            HOPPER,
            replace(
                HOPPER,
                name="blackwell",
                fp8_block=None,
                fp8_fraction_bits=None,
                narrow_block=32,
                fp4_group=16,
            ),
            replace(_AMPERE, name="ada"),
            _AMPERE,
            replace(_AMPERE, name="turing", tf32_block=None, tf32_mma_block=None, quad_pairs=True),
            Profile(
                name="volta",
                fraction_bits=23,
                half_block=4,
                tf32_block=None,
                tf32_mma_block=None,
                exponent_margin=None,
                half_exponent_margin=5,
                quad_pairs=True,
            ),
        )
    }
)
"""Every profile by name; all but hopper are as published by others, not measured here.

The position is the code that a core shows to its host: append new profiles at the end."""

EXACT_PROFILES: Final = MappingProxyType(
    {
        "exact": ExactProfile(name="exact", rounding=None),
        **{f"exact.{mode}": ExactProfile(name=f"exact.{mode}", rounding=mode) for mode in ROUNDINGS},
    }
)
"""Exact sums by name: what a teacher compares the hardware's arithmetic with."""
