"""Where the state spaces lie in the generic address space."""

from types import MappingProxyType
from typing import Any, Final

SHARED: Final = 0x0001_0000_0000
FUNCTIONS: Final = 0x0004_0000_0000
"""Addresses of functions: nothing can be loaded there, and calls through them are refused."""

GLOBAL: Final = 0x0010_0000_0000
"""Everything from here on is global memory; constants lie there too."""

LOCAL_PARAMETERS: Final = 1 << 20
"""Where a thread's local memory begins in parameter space: the parameters of calls are in it."""

RANK_BITS: Final = 24
"""Where the rank of a block in its cluster stands, plus 1, in a shared address; 0 is the own block."""

OFFSET_MASK: Final = (1 << RANK_BITS) - 1
"""The bits of an address of shared memory that say where in a block's it lies."""

WINDOW_BYTES: Final = 0x0001_0000_0000
"""Bytes of each of the other windows."""

WINDOWS: Final = MappingProxyType(
    {"shared": SHARED, "local": 0x0002_0000_0000, "param": 0x0003_0000_0000, "global": 0, "const": 0}
)
"""What is added to an address within a state space to make it generic."""


def in_block(rank: Any, addresses: Any) -> Any:
    """Addresses of shared memory as ones of the block of a rank; the rank None leaves them as they are."""
    return addresses if rank is None else addresses & OFFSET_MASK | rank + 1 << RANK_BITS
