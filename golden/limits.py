"""Sizes beyond which an input is refused or shortened; `docs/reference/limits.md` lists them.

Each keeps a small input from taking much memory or time. Those of the language and of the hardware name
their source.
"""

from typing import Final

NAME_CHARACTERS: Final = 120
"""Of a C++ name in a message; a longer one is shortened."""

WORD_CHARACTERS: Final = 256
"""Of a word in a message: a mangled name, a number or a path; a longer one is shortened."""

LINE_CHARACTERS: Final = 512
"""Of a line of source text in a message; a longer one is shortened."""

MESSAGE_CHARACTERS: Final = 4096
"""Of a whole message; a longer one is shortened."""

MANGLED_CHARACTERS: Final = 2048
"""Of a mangled name that is shown as C++ writes it; a longer one is shown as it is."""

DEMANGLED_CHARACTERS: Final = 1 << 17
"""Of a C++ name with all its substitutions written out; a mangled name beyond it is shown as it is."""

NUMBER_CHARACTERS: Final = 1200
"""Of a number in PTX."""

VARIABLE_BYTES: Final = 1 << 32
"""Of a variable in ``.global``, and of one in ``.shared`` before the machine is known."""

CONSTANT_BYTES: Final = 64 << 10
"""Of a variable in ``.const`` (PTX ISA, constant state space)."""

SHARED_BYTES: Final = 227 << 10
"""Of the shared memory of a block, static and dynamic (compute capability 9.0)."""

LOCAL_BYTES: Final = 512 << 10
"""Of the local memory of a thread, with the parameters of calls (CUDA, compute capability 9.0)."""

PARAMETER_BYTES: Final = 32764
"""Of the parameters of a kernel together, and of one parameter of a function (PTX ISA 8.1)."""

ALIGNMENT_BYTES: Final = 1 << 16
"""Of ``.align``."""

INITIALISER_DIMENSIONS: Final = 16
"""Braces around a value of an initialiser."""

REGISTERS: Final = 1 << 20
"""Registers that one declaration such as ``%r<8>`` makes."""

GRID: Final = (2**31 - 1, 65535, 65535)
"""Blocks of a grid along x, y and z (CUDA, compute capability 9.0)."""

BLOCK: Final = (1024, 1024, 64)
"""Threads of a block along x, y and z (CUDA, compute capability 9.0)."""

THREADS: Final = 1024
"""Threads of a block (CUDA, compute capability 9.0)."""
