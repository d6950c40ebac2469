"""Where the state spaces lie in the generic address space."""

from types import MappingProxyType
from typing import Final

SHARED: Final = 0x0001_0000_0000
FUNCTIONS: Final = 0x0004_0000_0000
"""Addresses of functions: nothing can be loaded there, and calls through them are refused."""

GLOBAL: Final = 0x0010_0000_0000
"""Everything from here on is global memory; constants lie there too."""

LOCAL_PARAMETERS: Final = 1 << 20
"""Where a thread's local memory begins in parameter space: the parameters of calls are in it."""

WINDOW_BYTES: Final = 0x0001_0000_0000
"""Bytes of each of the other windows."""

WINDOWS: Final = MappingProxyType(
    {"shared": SHARED, "local": 0x0002_0000_0000, "param": 0x0003_0000_0000, "global": 0, "const": 0}
)
"""What is added to an address within a state space to make it generic."""
