"""Checks of a launch before it begins: grid, block and shared memory."""

import math
from collections.abc import Sequence

from golden.integers import checked_integer, integer_of, listed, shortened
from golden.limits import SHARED_BYTES, THREADS
from golden.simt.compiled import CompiledKernel
from golden.simt.errors import LaunchError

__all__ = ["Extent", "extent", "require_shared", "require_threads"]

Extent = int | Sequence[int]
"""Of a grid or a block, along x, y and z."""


def extent(what: str, given: Extent, most: tuple[int, int, int]) -> tuple[int, int, int]:
    """A grid or a block with its three extents; LaunchError for what is none."""
    values = listed(given)
    if values is None or not 1 <= len(values) <= 3 or None in map(integer_of, values):
        raise LaunchError(f"{what} takes one to three integers, not {shortened(given)}")
    x, y, z = (
        checked_integer(f"{what}.{axis}", value, 1, bound, refuse=LaunchError.refused)
        for axis, value, bound in zip("xyz", [*values, 1, 1], most, strict=False)
    )
    return x, y, z


def require_threads(kernel: CompiledKernel, block: tuple[int, int, int]) -> None:
    """Refuse a block that has too many threads, or not those that the kernel is compiled for."""
    threads = block[0] * block[1] * block[2]
    if threads > THREADS:
        raise LaunchError(f"a block has at most {THREADS} threads, not {threads}")
    most = kernel.directives.get(".maxntid")
    if most is not None and threads > math.prod(most):
        raise LaunchError(
            f"{kernel.readable} is compiled for at most {math.prod(most)} threads, not {threads}"
        )
    required = kernel.directives.get(".reqntid")
    if required is not None and tuple([*required, 1, 1][:3]) != block:
        raise LaunchError(f"{kernel.readable} is compiled for blocks of {required}, not {block}")


def require_shared(kernel: CompiledKernel, shared: int) -> None:
    """Refuse dynamic shared memory beyond what a block has."""
    base = kernel.shared_base
    if base + shared > SHARED_BYTES:
        raise LaunchError(
            f"{kernel.readable} needs {shortened(base + shared)} bytes of shared memory "
            f"({base} static, {shortened(shared)} dynamic), but a block has at most {SHARED_BYTES}"
        )
