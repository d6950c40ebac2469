"""The predefined registers of PTX, for threads that are integers or arrays of integers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
    cluster: tuple[int, int, int] = (1, 1, 1)
    """Blocks of a cluster."""
    explicit: bool = False
    """Whether the kernel is compiled for clusters."""

    @property
    def cluster_rank(self) -> int:
        """The number of the block in its cluster."""
        (x, y, z), (width, height, _) = self.index_in_cluster, self.cluster
        return x + width * (y + height * z)

    @property
    def index_in_cluster(self) -> tuple[int, int, int]:
        """The index of the block in its cluster."""
        x, y, z = (place % extent for place, extent in zip(self.index, self.cluster, strict=True))
        return x, y, z


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
    that thread. The method `ticks` of a clock counts the instructions of the block; its `launch` has the
    workspace of the grid."""
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
    "%total_smem_size": _uniform(32, lambda geometry: geometry.total_shared + 127 & ~127),
    "%aggr_smem_size": _uniform(32, lambda geometry: geometry.total_shared + 1024),
    "%envreg1": SpecialRegisterSpec(32, lambda geometry, thread, clock: clock.launch.workspace.address >> 32),
    "%envreg2": SpecialRegisterSpec(
        32, lambda geometry, thread, clock: clock.launch.workspace.address & _FULL
    ),
    "%is_explicit_cluster": _uniform(1, lambda geometry: geometry.explicit),
    "%cluster_ctarank": _uniform(32, lambda geometry: geometry.cluster_rank),
    "%cluster_nctarank": _uniform(32, lambda geometry: math.prod(geometry.cluster)),
}
"""By name; where a program declares the same name, its own declaration counts."""

_OF_AXIS: Final[dict[str, Callable[..., int]]] = {
    "ntid": lambda geometry, axis: geometry.block[axis],
    "ctaid": lambda geometry, axis: geometry.index[axis],
    "nctaid": lambda geometry, axis: geometry.grid[axis],
    "clusterid": lambda geometry, axis: geometry.index[axis] // geometry.cluster[axis],
    "nclusterid": lambda geometry, axis: geometry.grid[axis] // geometry.cluster[axis],
    "cluster_ctaid": lambda geometry, axis: geometry.index_in_cluster[axis],
    "cluster_nctaid": lambda geometry, axis: geometry.cluster[axis],
}
for _axis, _letter in enumerate("xyz"):
    SPECIAL[f"%tid.{_letter}"] = _coordinate(_axis)
    for _name, _of in _OF_AXIS.items():
        SPECIAL[f"%{_name}.{_letter}"] = _uniform(32, partial(_of, axis=_axis))
