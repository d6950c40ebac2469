"""The predefined registers of a whole grid."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["SPECIAL", "Geometry", "SpecialRegisterSpec"]

WARP: Final = 32


@dataclass(frozen=True)
class Geometry:
    """Where a block stands in its grid; each triple is x, y, z."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    index: tuple[int, int, int]
    dynamic_shared: int
    total_shared: int


class Clock(Protocol):
    """Something that counts up."""

    def ticks(self) -> int:
        """The count, in instructions of the block."""


@dataclass(frozen=True)
class SpecialRegisterSpec:
    """A predefined register.

    Parameters
    ----------
    bits : int
    value : callable
        From the geometry of a block, the numbers of threads, and a clock to the values of those threads.
    varies : bool
        Whether the value may change while a block runs.
    """

    bits: int
    value: Callable[[Geometry, NDArray[np.int64], Clock], Any]
    varies: bool = False


def _coordinate(axis: int) -> Callable[[Geometry, NDArray[np.int64], Clock], Any]:
    def value(geometry: Geometry, threads: NDArray[np.int64], clock: Clock) -> Any:
        x, y, _ = geometry.block
        return (threads % x, threads // x % y, threads // (x * y))[axis]

    return value


def _lanes(compare: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> SpecialRegisterSpec:
    return SpecialRegisterSpec(32, lambda geometry, threads, clock: compare(threads % WARP))


def _uniform(bits: int, of: Callable[[Geometry], int]) -> SpecialRegisterSpec:
    return SpecialRegisterSpec(bits, lambda geometry, threads, clock: of(geometry))


_FULL: Final = (1 << 32) - 1

_TABLE: dict[str, SpecialRegisterSpec] = {
    "%laneid": SpecialRegisterSpec(32, lambda geometry, threads, clock: threads % WARP),
    "%warpid": SpecialRegisterSpec(32, lambda geometry, threads, clock: threads // WARP),
    "%nwarpid": _uniform(32, lambda geometry: 64),
    "%smid": _uniform(32, lambda geometry: 0),
    "%nsmid": _uniform(32, lambda geometry: 1),
    "%gridid": _uniform(64, lambda geometry: 1),
    "%lanemask_eq": _lanes(lambda lane: np.int64(1) << lane),
    "%lanemask_lt": _lanes(lambda lane: (np.int64(1) << lane) - 1),
    "%lanemask_le": _lanes(lambda lane: (np.int64(2) << lane) - 1),
    "%lanemask_gt": _lanes(lambda lane: _FULL ^ ((np.int64(2) << lane) - 1)),
    "%lanemask_ge": _lanes(lambda lane: _FULL ^ ((np.int64(1) << lane) - 1)),
    "%clock": SpecialRegisterSpec(32, lambda geometry, threads, clock: clock.ticks(), varies=True),
    "%clock_hi": SpecialRegisterSpec(32, lambda geometry, threads, clock: clock.ticks() >> 32, varies=True),
    "%clock64": SpecialRegisterSpec(64, lambda geometry, threads, clock: clock.ticks(), varies=True),
    "%globaltimer": SpecialRegisterSpec(64, lambda geometry, threads, clock: clock.ticks(), varies=True),
    "%globaltimer_lo": SpecialRegisterSpec(32, lambda geometry, threads, clock: clock.ticks(), varies=True),
    "%globaltimer_hi": SpecialRegisterSpec(
        32, lambda geometry, threads, clock: clock.ticks() >> 32, varies=True
    ),
    "%dynamic_smem_size": _uniform(32, lambda geometry: geometry.dynamic_shared),
    "%total_smem_size": _uniform(32, lambda geometry: geometry.total_shared),
    "%aggr_smem_size": _uniform(32, lambda geometry: geometry.total_shared),
    "%is_explicit_cluster": _uniform(1, lambda geometry: 0),
    "%cluster_ctarank": _uniform(32, lambda geometry: 0),
    "%cluster_nctarank": _uniform(32, lambda geometry: 1),
}
for _axis, _letter in enumerate("xyz"):
    _TABLE[f"%tid.{_letter}"] = SpecialRegisterSpec(32, _coordinate(_axis))
    _TABLE[f"%ntid.{_letter}"] = _uniform(32, lambda geometry, axis=_axis: geometry.block[axis])  # type: ignore[misc]
    _TABLE[f"%ctaid.{_letter}"] = _uniform(32, lambda geometry, axis=_axis: geometry.index[axis])  # type: ignore[misc]
    _TABLE[f"%nctaid.{_letter}"] = _uniform(32, lambda geometry, axis=_axis: geometry.grid[axis])  # type: ignore[misc]
    _TABLE[f"%clusterid.{_letter}"] = _TABLE[f"%ctaid.{_letter}"]
    _TABLE[f"%nclusterid.{_letter}"] = _TABLE[f"%nctaid.{_letter}"]
    _TABLE[f"%cluster_ctaid.{_letter}"] = _uniform(32, lambda geometry: 0)
    _TABLE[f"%cluster_nctaid.{_letter}"] = _uniform(32, lambda geometry: 1)

SPECIAL: Final = MappingProxyType(_TABLE)
"""Every register of `golden.ptx.special_registers.SPECIAL_REGISTERS` by name."""
