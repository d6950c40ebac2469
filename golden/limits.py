"""Sizes beyond which an input is refused or shortened; `docs/reference/limits.md` lists them.

Each keeps a small input from taking much memory or time. Limits of the language and of the hardware name
their source.
"""

from typing import Final

NAME_CHARACTERS: Final = 120
"""Characters of a C++ name in a message; a longer one is shortened."""

WORD_CHARACTERS: Final = 256
"""Characters of a word in a message: a mangled name, a number or a path; a longer one is shortened."""

LINE_CHARACTERS: Final = 512
"""Characters of a line of source text in a message; a longer one is shortened."""

MESSAGE_CHARACTERS: Final = 4096
"""Characters of a whole message; a longer one is shortened."""

MANGLED_CHARACTERS: Final = 2048
"""Characters of a mangled name that is shown as C++ writes it; a longer one is shown as it is."""

DEMANGLED_CHARACTERS: Final = 1 << 17
"""Characters of a C++ name with its substitutions written out; a mangled name beyond it is shown as it is."""

NUMBER_CHARACTERS: Final = 1200
"""Characters of a number in PTX."""

CALL_DEPTH: Final = 128
"""Calls within calls of functions whose bodies are copied to where they are called."""

NESTED_CALLS: Final = 1024
"""Calls within calls of a thread, of functions that call themselves or are called through a register."""

STACK_BYTES: Final = 64 << 10
"""Bytes of the stack of a thread: the variables of such functions, and ``alloca``."""

KERNEL_INSTRUCTIONS: Final = 100_000
"""Instructions of a kernel with the copies of all functions that it calls."""

SCOPE_DEPTH: Final = 256
"""Braces within braces of a body: a name is looked up in one pair after the other."""

EXPRESSION_DEPTH: Final = 64
"""Operators and parentheses within each other in a constant expression."""

ARRAY_DIMENSIONS: Final = 16
"""Dimensions of a variable."""

REGISTERS: Final = 1 << 20
"""Registers that one declaration such as ``%r<8>`` makes."""

VARIABLE_BYTES: Final = 1 << 32
"""Bytes of all variables of a module in ``.global`` and ``.const``, and of any one variable in ``.global`` or
``.shared``."""

CONSTANT_BYTES: Final = 64 << 10
"""Bytes of a variable in ``.const`` (PTX ISA, constant state space)."""

SHARED_BYTES: Final = 227 << 10
"""Bytes of the shared memory of a block, static and dynamic (compute capability 9.0)."""

LOCAL_BYTES: Final = 512 << 10
"""Bytes of the local memory of a thread, with the parameters of calls (CUDA, compute capability 9.0)."""

PARAMETER_BYTES: Final = 32764
"""Bytes of the parameters of a kernel together, and of one parameter of a function (PTX ISA 8.1)."""

TEXT_BYTES: Final = 1 << 16
"""Bytes of what ``printf`` prints in a thread, and of each text that it gets."""

ALIGNMENT_BYTES: Final = 1 << 16
"""Bytes of ``.align``."""

GRID: Final = (2**31 - 1, 65535, 65535)
"""Blocks of a grid along x, y and z (CUDA, compute capability 9.0)."""

BLOCK: Final = (1024, 1024, 64)
"""Threads of a block along x, y and z (CUDA, compute capability 9.0)."""

CLUSTER: Final = 8
"""Blocks of a cluster of a kernel without `.maxclusterrank` (CUDA, the portable size)."""

MAX_CLUSTER: Final = 16
"""Blocks of a cluster (CUDA, compute capability 9.0)."""

THREADS: Final = 1024
"""Threads of a block (CUDA, compute capability 9.0)."""

WAITING_BYTES: Final = 1 << 31
"""Bytes of the blocks that have started and wait for others; more blocks start when one of them has ended."""

WARP_INSTRUCTIONS: Final = 10**9
"""Warp instructions of a launch that names no other limit."""

STEPS: Final = 5 * 10**6
"""Basic blocks that a launch executes, each in all warps at it; more where the limit of warp instructions is
more than `WARP_INSTRUCTIONS`, in the same proportion."""

MAX_JOBS: Final = 256
"""Processes that run the blocks of one grid."""

DEVICE_BYTES: Final = 1 << 31
"""Bytes of all buffers of a device memory together."""

ARRAY_BYTES: Final = 1 << 30
"""Bytes of an array that is read from a file, and of all arrays of a launch file together."""

JSON_BYTES: Final = 1 << 26
"""Bytes of a JSON file."""
