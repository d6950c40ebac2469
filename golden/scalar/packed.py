"""Packed halves: two 16-bit elements in one 32-bit register."""

import numpy as np

from golden.scalar.form import Array, Evaluate

__all__ = ["by_halves"]


def by_halves(evaluate: Evaluate) -> Evaluate:
    """A function of 32-bit operands that applies one of 16-bit operands to the halves."""

    def both(*operands: Array) -> Array:
        halves = (np.ascontiguousarray(operand)[..., None].view(np.uint16) for operand in operands)
        result: Array = np.ascontiguousarray(evaluate(*halves)).view(np.uint32)[..., 0]
        return result

    return both
