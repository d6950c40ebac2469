"""The predefined registers of PTX, and their values for a launch of one warp."""

from types import MappingProxyType
from typing import Final

from golden.tables.layouts import LANES

__all__ = ["SPECIAL_REGISTERS", "UNIFORM", "VARYING"]

UNIFORM: Final = MappingProxyType(
    {
        **dict.fromkeys(("%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"), 0),
        **dict.fromkeys(("%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z"), 1),
        "%ntid.x": 32,
        "%warpid": 0,
    }
)
"""Values that are the same in all lanes, where one warp is the whole grid."""

_MASK: Final = (1 << LANES) - 1

VARYING: Final = MappingProxyType(
    {
        **dict.fromkeys(("%tid.x", "%laneid"), tuple(range(LANES))),
        "%lanemask_eq": tuple(1 << lane for lane in range(LANES)),
        "%lanemask_le": tuple((2 << lane) - 1 for lane in range(LANES)),
        "%lanemask_lt": tuple((1 << lane) - 1 for lane in range(LANES)),
        "%lanemask_ge": tuple(_MASK & -1 << lane for lane in range(LANES)),
        "%lanemask_gt": tuple(_MASK & -2 << lane for lane in range(LANES)),
    }
)
"""Values of the registers that differ from lane to lane, lane 0 first."""

SPECIAL_REGISTERS: Final = frozenset(
    {*UNIFORM, *VARYING}
    | {"%nwarpid", "%nsmid", "%smid", "%gridid", "%clock", "%clock_hi", "%clock64"}
    | {"%globaltimer", "%globaltimer_lo", "%globaltimer_hi"}
    | {"%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size"}
    | {"%is_explicit_cluster", "%cluster_ctarank", "%cluster_nctarank"}
    | {
        f"%{name}.{axis}"
        for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
        for axis in "xyz"
    }
)
"""The names of all; where a program declares the same name, its own declaration counts."""
