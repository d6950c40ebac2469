"""The predefined registers of PTX, for threads that are integers or arrays of integers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from golden.tables.layouts import LANES


@dataclass(frozen=True)
class Geometry:
    """Where a block stands in its grid; each triple is x, y, z."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    index: tuple[int, int, int]
    dynamic_shared: int
    total_shared: int


def coordinates(number: Any, extents: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    """The index along x, y and z of a thread in its block, or of a block in its grid, by its number."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


@dataclass(frozen=True)
class SpecialRegisterSpec:
    """A predefined register."""

    bits: int
    value: Callable[[Geometry, Any, Any], Any]
    """From the geometry of a block, the number of a thread (or an array of them), and a clock to the value in
    that thread. The method `ticks` of a clock counts the instructions of the block."""
    varies: bool = False
    """Whether the value may change while a block runs."""


def _coordinate(axis: int) -> SpecialRegisterSpec:
    return SpecialRegisterSpec(32, lambda geometry, thread, clock: coordinates(thread, geometry.block)[axis])


def _of_lane(compute: Callable[[Any], Any]) -> SpecialRegisterSpec:
    return SpecialRegisterSpec(32, lambda geometry, thread, clock: compute(thread % LANES))


def _uniform(bits: int, of: Callable[[Geometry], int]) -> SpecialRegisterSpec:
    return SpecialRegisterSpec(bits, lambda geometry, thread, clock: of(geometry))


def _timed(bits: int, shift: int = 0) -> SpecialRegisterSpec:
    return SpecialRegisterSpec(bits, lambda geometry, thread, clock: clock.ticks() >> shift, varies=True)


_FULL: Final = (1 << LANES) - 1

SPECIAL: Final[dict[str, SpecialRegisterSpec]] = {
    "%laneid": _of_lane(lambda lane: lane),
    "%warpid": SpecialRegisterSpec(32, lambda geometry, thread, clock: thread // LANES),
    "%nwarpid": _uniform(32, lambda geometry: 64),
    "%smid": _uniform(32, lambda geometry: 0),
    "%nsmid": _uniform(32, lambda geometry: 1),
    "%gridid": _uniform(64, lambda geometry: 1),
    "%lanemask_eq": _of_lane(lambda lane: 1 << lane),
    "%lanemask_lt": _of_lane(lambda lane: (1 << lane) - 1),
    "%lanemask_le": _of_lane(lambda lane: (2 << lane) - 1),
    "%lanemask_gt": _of_lane(lambda lane: _FULL ^ ((2 << lane) - 1)),
    "%lanemask_ge": _of_lane(lambda lane: _FULL ^ ((1 << lane) - 1)),
    "%clock": _timed(32),
    "%clock_hi": _timed(32, 32),
    "%clock64": _timed(64),
    "%globaltimer": _timed(64),
    "%globaltimer_lo": _timed(32),
    "%globaltimer_hi": _timed(32, 32),
    "%dynamic_smem_size": _uniform(32, lambda geometry: geometry.dynamic_shared),
    "%total_smem_size": _uniform(32, lambda geometry: geometry.total_shared),
    "%aggr_smem_size": _uniform(32, lambda geometry: geometry.total_shared),
    "%is_explicit_cluster": _uniform(1, lambda geometry: 0),
    "%cluster_ctarank": _uniform(32, lambda geometry: 0),
    "%cluster_nctarank": _uniform(32, lambda geometry: 1),
}
"""By name; where a program declares the same name, its own declaration counts."""
for _axis, _letter in enumerate("xyz"):
    SPECIAL[f"%tid.{_letter}"] = _coordinate(_axis)
    SPECIAL[f"%ntid.{_letter}"] = _uniform(32, lambda geometry, axis=_axis: geometry.block[axis])  # type: ignore[misc]
    SPECIAL[f"%ctaid.{_letter}"] = _uniform(32, lambda geometry, axis=_axis: geometry.index[axis])  # type: ignore[misc]
    SPECIAL[f"%nctaid.{_letter}"] = _uniform(32, lambda geometry, axis=_axis: geometry.grid[axis])  # type: ignore[misc]
    SPECIAL[f"%clusterid.{_letter}"] = SPECIAL[f"%ctaid.{_letter}"]
    SPECIAL[f"%nclusterid.{_letter}"] = SPECIAL[f"%nctaid.{_letter}"]
    SPECIAL[f"%cluster_ctaid.{_letter}"] = _uniform(32, lambda geometry: 0)
    SPECIAL[f"%cluster_nctaid.{_letter}"] = _uniform(32, lambda geometry: 1)
