"""The configuration of a dot-product unit."""

from dataclasses import dataclass
from typing import ClassVar, Final

from golden.tables.profiles import HOPPER, Profile
from hdl.config_checks import checked_integer, require_class, require_range

MULTIPLIERS: Final = 16
"""Multipliers of one dot-product unit."""

_SMALL = ("fp6", "fp4")
_MULTIPLICANDS = ("f16", "bf16", "tf32", "i8", "i4", "b1", "fp8", *_SMALL)

_FP8_CONSTANTS: Final = ((32, 13, 25), (32, 25, 25))
"""Products of fp8 in one block, their fraction bits, and the fraction bits of f16, of the datapath."""


@dataclass(frozen=True, kw_only=True)
class DotProductConfig:
    """The configuration of one dot-product unit.

    Parameters
    ----------
    formats : frozenset of str
        Multiplicand formats the unit computes: of ``f16``, ``bf16``, ``tf32``, ``i8``, ``i4``, ``b1``,
        ``fp8``, which is both e4m3 and e5m2, ``fp6``, which is both e3m2 and e2m3, and ``fp4``, which is
        e2m1. What is left out costs nothing.
    profile : Profile
        Constants of the floating-point arithmetic.
    block_scale : bool
        Whether products of fp8, fp6 and fp4 may have a scale of ue8m0 for A and one for B.
    depth : int
        Cycles from operands to result: 1 to 26. Fewer need fewer flip-flops and a slower clock.

    Raises
    ------
    ValueError
        For an empty set, an unknown format, a depth out of its range, or a profile that lacks one of the
        formats or has constants for which the datapath has no room. `volta` and `turing` have no tf32; only
        `hopper` and `blackwell` have fp8, only `blackwell` has fp6, fp4 and block scales, and these need fp8.
    TypeError
        For formats and a profile of other classes.
    """

    depths: ClassVar[range] = range(1, 27)
    """One cycle in the queue behind the arithmetic, and one for each of its 25 cuts that holds registers."""

    formats: frozenset[str] = frozenset({"f16"})
    profile: Profile = HOPPER
    block_scale: bool = False
    depth: int = depths[-1]

    def __post_init__(self) -> None:
        require_class("Profile", self.profile, Profile, "a Profile")
        require_class("Formats", self.formats, frozenset | set, "a set of texts")
        for name in self.formats:
            require_class("A format", name, str, "a text")
        object.__setattr__(self, "formats", frozenset(self.formats))
        unknown = sorted(set(self.formats) - set(_MULTIPLICANDS))
        if unknown:
            raise ValueError(f"Formats must be among {', '.join(_MULTIPLICANDS)}, not {', '.join(unknown)}")
        if not self.formats:
            raise ValueError("Formats must name at least one format, not none")
        object.__setattr__(self, "depth", checked_integer("Depth", self.depth))
        require_range("Depth", self.depth, self.depths[0], self.depths[-1])
        self._check_profile()

    def _check_profile(self) -> None:
        profile = self.profile
        require_range("Fraction bits", profile.fraction_bits, 23, 25)
        require_range("Products of f16 in one block", profile.half_block, 1, MULTIPLIERS)
        margin = profile.exponent_margin
        if self.formats & {"bf16", "tf32"} and margin is not None and not 0 <= margin <= 7:
            raise ValueError(
                f"bf16 and tf32 need a least Emax 0 to 7 below the least f32 exponent or none, not {margin}"
            )
        most = MULTIPLIERS // 2
        for block in (profile.tf32_block, profile.tf32_mma_block) if "tf32" in self.formats else ():
            if block is None:
                raise ValueError(f"tf32 needs a profile that has tf32 (ampere and newer), not {profile.name}")
            require_range("Products of tf32 in one block", block, 1, most)
        self._check_small()
        if "fp8" in self.formats:
            self._check_fp8()

    def _check_small(self) -> None:
        asked = [*sorted(self.small), *(["A block scale"] if self.block_scale else [])]
        for name in asked:
            if self.profile.narrow_block is None:
                raise ValueError(f"{name} needs a profile that has it (blackwell), not {self.profile.name}")
            if "fp8" not in self.formats:
                raise ValueError(f"{name} needs fp8, of which it has the datapath")

    def _check_fp8(self) -> None:
        profile = self.profile
        block = profile.narrow_block or profile.fp8_block
        if block is None:
            raise ValueError(
                "fp8 needs a profile whose fp8 arithmetic has been measured (hopper, blackwell), "
                f"not {profile.name}"
            )
        found = (block, self.fp8_fraction_bits, profile.fraction_bits)
        if found not in _FP8_CONSTANTS:
            allowed = " or ".join(map(str, _FP8_CONSTANTS))
            raise ValueError(
                "Products of fp8 in one block, their fraction bits and the fraction bits of f16 must be "
                f"{allowed}, not {found}"
            )

    @property
    def small(self) -> frozenset[str]:
        """Formats with containers of 8 bits that are not full."""
        return self.formats & frozenset(_SMALL)

    @property
    def multiplicands(self) -> frozenset[str]:
        """Formats between which operations choose; smaller elements are operations on fp8."""
        return self.formats - frozenset(_SMALL)

    @property
    def fp8_fraction_bits(self) -> int | None:
        """Fraction bits that sums of fp8, fp6 and fp4 keep."""
        profile = self.profile
        return profile.fraction_bits if profile.narrow_block else profile.fp8_fraction_bits

    @property
    def tf32_products(self) -> int:
        """Products of tf32 that a unit adds at once, in the longest block; 0 without tf32."""
        if "tf32" not in self.formats:
            return 0
        return max(self.profile.tf32_block or 0, self.profile.tf32_mma_block or 0)
