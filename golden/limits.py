"""How much of a resource one input may take; each limit stands here alone."""

from typing import Final

# Memory of arrays: checked before anything is allocated.

DEVICE_BYTES: Final = 1 << 31
"""Most bytes of all buffers of a device memory together, and of the memory of a program of one warp."""

ARRAY_BYTES: Final = 1 << 30
"""Most bytes of an array that is read from a file, and of all arrays of a launch file together."""

MOST_JOBS: Final = 256
"""Most processes that run the blocks of one grid."""

JSON_BYTES: Final = 1 << 26
"""Most bytes of a JSON file."""
