"""The predefined registers of PTX, and their values for a launch of one warp."""

from types import MappingProxyType
from typing import Final

__all__ = ["UNIFORM", "VARYING", "is_special"]

UNIFORM: Final = MappingProxyType(
    {
        **dict.fromkeys(("%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"), 0),
        **dict.fromkeys(("%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z"), 1),
        "%ntid.x": 32,
        "%warpid": 0,
    }
)
"""Values that are the same in all lanes, where one warp is the whole grid."""

VARYING: Final = frozenset(
    {"%tid.x", "%laneid", *(f"%lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt"))}
)
"""Registers that differ from lane to lane."""

_OTHERS: Final = frozenset(
    {"%nwarpid", "%nsmid", "%smid", "%gridid", "%clock", "%clock_hi", "%clock64", "%globaltimer"}
    | {"%dynamic_smem_size", "%total_smem_size", "%globaltimer_lo", "%globaltimer_hi"}
)


def is_special(name: str) -> bool:
    """Whether `name` is predefined; where a program declares the same name, its own declaration counts."""
    return name in UNIFORM or name in VARYING or name in _OTHERS
