"""Limits that keep small inputs from taking hours or all of memory, each with a one-sentence error."""

from typing import Final

CALL_DEPTH: Final = 128
"""Calls within calls: every body is copied to where it is called."""

KERNEL_INSTRUCTIONS: Final = 100_000
"""Instructions of a kernel with the copies of all functions that it calls."""

SCOPE_DEPTH: Final = 256
"""Braces within braces of a body: a name is looked up in one pair after the other."""

VARIABLE_BYTES: Final = 1 << 32
"""Bytes of all variables of a module in global and constant memory, and of any one variable."""

PARAMETER_BYTES: Final = 32764
"""Bytes of the parameters of a kernel, as on a chip."""

LOCAL_BYTES: Final = 1 << 19
"""Bytes of local memory of a thread, with the parameters of calls, as on a chip."""

WAITING_BYTES: Final = 1 << 31
"""Bytes of the blocks that have started and wait for others; more blocks start when one of them has ended."""

WARP_INSTRUCTIONS: Final = 10**9
"""Warp instructions of a launch that names no other limit."""

STEPS: Final = 5 * 10**6
"""Basic blocks that a launch executes, each in all warps at it; more where the limit of warp instructions is
more than `WARP_INSTRUCTIONS`, in the same proportion."""

# Memory of arrays: checked before anything is allocated.

DEVICE_BYTES: Final = 1 << 31
"""Most bytes of all buffers of a device memory together, and of the memory of a program of one warp."""

ARRAY_BYTES: Final = 1 << 30
"""Most bytes of an array that is read from a file, and of all arrays of a launch file together."""

MOST_JOBS: Final = 256
"""Most processes that run the blocks of one grid."""

JSON_BYTES: Final = 1 << 26
"""Most bytes of a JSON file."""
