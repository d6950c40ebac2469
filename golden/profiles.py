"""Numerics profiles: the constants in which tensor-core generations differ, as data."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["HOPPER", "PROFILES", "Profile"]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Constants of the fused dot-product-add (FDPA) of one generation.

    Parameters
    ----------
    name : str
        Generation, in lower case.
    fraction_bits : int
        Alignment keeps multiples of ``2**(Emax - fraction_bits)``.
    half_block : int
        Products of f16 or bf16 in one FDPA.
    tf32_block : int or None
        Products of tf32 in one FDPA of ``wmma``; None where the generation has no tf32.
    exponent_margin : int or None
        Emax is at least ``minimum_exponent(result) - exponent_margin``; None means no limit
        for an f32 result (an f16 result then uses `half_exponent_margin`).
    half_exponent_margin : int
        The margin below the minimum exponent of an f16 result.
    """

    name: str
    fraction_bits: int
    half_block: int
    tf32_block: int | None
    exponent_margin: int | None
    half_exponent_margin: int


HOPPER: Final = Profile(
    name="hopper",
    fraction_bits=25,
    half_block=16,
    tf32_block=4,
    exponent_margin=7,
    half_exponent_margin=7,
)
"""Measured on an NVIDIA H200; the default."""

PROFILES: Final = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            HOPPER,
            Profile(
                name="blackwell",
                fraction_bits=25,
                half_block=16,
                tf32_block=8,
                exponent_margin=7,
                half_exponent_margin=7,
            ),
            Profile(
                name="ada",
                fraction_bits=24,
                half_block=8,
                tf32_block=4,
                exponent_margin=6,
                half_exponent_margin=6,
            ),
            Profile(
                name="ampere",
                fraction_bits=24,
                half_block=8,
                tf32_block=4,
                exponent_margin=6,
                half_exponent_margin=6,
            ),
            Profile(
                name="turing",
                fraction_bits=24,
                half_block=8,
                tf32_block=None,
                exponent_margin=6,
                half_exponent_margin=6,
            ),
            Profile(
                name="volta",
                fraction_bits=23,
                half_block=4,
                tf32_block=None,
                exponent_margin=None,
                half_exponent_margin=5,
            ),
        )
    }
)
"""Every profile by name; all but hopper are as published by others, not measured here."""
