"""One function per form, on bit patterns."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.approximation import f64, narrow, scaled, unit
from golden.approximation.instructions import FORMS, ApproximateInstruction
from golden.integers import quoted
from golden.invalid_argument import InvalidArgument

__all__ = ["Operation", "form", "operation"]

Operation = Callable[..., NDArray[Any]]
"""From one array of bit patterns per operand, all of the register's unsigned dtype, to one of results."""

_BLOCK = 1 << 15
"""Elements computed at once: their intermediate results stay in a second-level cache."""


def form(instruction: str) -> ApproximateInstruction:
    """The form of that text.

    Raises
    ------
    InvalidArgument
        For any other text; the message lists the forms.
    """
    found = FORMS.get(instruction) if isinstance(instruction, str) else None
    if found is None:
        raise InvalidArgument("instruction", quoted(instruction), ", ".join(FORMS))
    return found


def operation(instruction: str) -> Operation:
    """The function that computes a form on bit patterns.

    Parameters
    ----------
    instruction : str
        PTX text without operands: a key of `golden.approximation.instructions.FORMS`.

    Returns
    -------
    callable
        Takes one array per operand, of dtype uint16, uint32 or uint64 as the register is wide; the arrays of
        a division broadcast. Returns a new array. Neither dtype nor number of the operands is checked.

    Raises
    ------
    InvalidArgument
        There is no such form.
    """
    found = _OPERATIONS.get(instruction)
    return found if found is not None else _OPERATIONS[form(instruction).text]


def _blockwise(function: Operation) -> Operation:
    """`function` of one-dimensional arrays, for arrays of any shape and size."""

    def blockwise(*operands: NDArray[Any]) -> NDArray[Any]:
        arrays = np.broadcast_arrays(*operands) if len(operands) > 1 else operands
        flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
        result = np.empty_like(flat[0])
        for start in range(0, result.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = function(*(array[block] for array in flat))
        return result.reshape(arrays[0].shape)

    return blockwise


def _narrow(function: str, element: str) -> Operation:
    def of_register(x: NDArray[Any]) -> NDArray[Any]:
        halves = np.ascontiguousarray(x).view(np.uint16)
        return narrow.results(function, element).take(halves).view(x.dtype)

    return of_register


def _resolved(found: ApproximateInstruction) -> Operation:
    if found.element in {"f16", "bf16"}:
        return _blockwise(_narrow(found.function, found.element))
    if found.type == "f64":
        return _blockwise(getattr(f64, found.function))
    if found.function == "div":
        name = f"div_{'full' if found.full else 'approx'}{'_ftz' if found.flush else ''}"
        return _blockwise(getattr(scaled, name))
    # sin, cos and tanh have one f32 function each.
    source = unit if found.flush or not hasattr(scaled, found.function) else scaled
    return _blockwise(getattr(source, found.function))


_OPERATIONS: dict[str, Operation] = {text: _resolved(found) for text, found in FORMS.items()}
