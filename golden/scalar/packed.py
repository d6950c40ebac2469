"""Operations whose operands and result have one type, which may be of packed halves: two in a register."""

from typing import Any

import numpy as np

from golden.scalar.form import Array, Evaluate, width

__all__ = ["of_one_type"]


def _by_halves(evaluate: Evaluate) -> Evaluate:
    """A function of 32-bit operands that applies one of 16-bit operands to the halves."""

    def both(*operands: Array) -> Array:
        halves = (np.ascontiguousarray(operand)[..., None].view(np.uint16) for operand in operands)
        result: Array = np.ascontiguousarray(evaluate(*halves)).view(np.uint32)[..., 0]
        return result

    return both


def of_one_type(evaluate: Evaluate, sources: int, type_: str) -> Any:
    """What `golden.scalar.form.Form.build` returns; of packed halves, `evaluate` works on the elements."""
    bits = width(type_)
    return (bits,), (bits,) * sources, _by_halves(evaluate) if type_.endswith("x2") else evaluate
