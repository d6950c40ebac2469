"""One function per form, on bit patterns."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.approximation import narrow, scaled, unit, upper_word, wave
from golden.approximation.instructions import FORMS, ApproximateInstruction
from golden.approximation.interpolator import table
from golden.arithmetic.arrays import elementwise, look_up
from golden.arithmetic.decode import layout
from golden.integers import quoted
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import float_format

Operation = Callable[..., NDArray[Any]]
"""From one array of bit patterns per operand, all of the register's unsigned dtype, to one of results."""

_TABLES = {"div": "rcp", "cos": "sin"}
"""Tables that have not the function's name."""


def form(instruction: str) -> ApproximateInstruction:
    """The form of that text; for any other an InvalidArgument whose message lists the forms."""
    found = FORMS.get(instruction) if isinstance(instruction, str) else None
    if found is None:
        raise InvalidArgument("instruction", quoted(instruction), ", ".join(FORMS))
    return found


def operation(instruction: str) -> Operation:
    """The function that computes a form, a key of `golden.approximation.instructions.FORMS`, on bit patterns.

    It takes one array per operand, of dtype uint16, uint32 or uint64 as the register is wide; the arrays of a
    division broadcast. It returns a new array. Neither dtype nor number of the operands is checked. For any
    other text, the InvalidArgument of `form`.
    """
    found = _OPERATIONS.get(instruction)
    return found if found is not None else _OPERATIONS[form(instruction).text]


def _narrow(found: ApproximateInstruction) -> Operation:
    def of_register(x: NDArray[Any]) -> NDArray[Any]:
        halves = np.ascontiguousarray(x).reshape(-1).view(np.uint16)
        results = look_up(narrow.results(found.function, found.element), halves)
        return results.view(x.dtype).reshape(x.shape)

    return of_register


def scalar(found: ApproximateInstruction) -> tuple[Callable[..., int], tuple[Any, ...]]:
    """The function of one element, on its operands and these constants."""
    function, scaling = found.function, not found.flush
    coefficients = table(_TABLES.get(found.function, found.function))
    f32 = layout(float_format("f32"))
    if found.element in {"f16", "bf16"}:
        return getattr(narrow, function), (f32, layout(float_format(found.element)), coefficients)
    if found.type == "f64":
        function, scaling = f"{function}_upper_word", False
    elif function == "div":
        function, scaling = f"div_{'full' if found.full else 'approx'}{'_ftz' if found.flush else ''}", True
    # sin, cos and tanh have one f32 function each.
    scaling = scaling and hasattr(scaled, function)
    modules = (scaled,) if scaling else (unit, wave, upper_word)
    element = next(getattr(module, function) for module in modules if hasattr(module, function))
    return element, (f32, coefficients) if scaling else (coefficients,)


def _wide(found: ApproximateInstruction) -> Operation:
    def of_registers(*operands: NDArray[Any]) -> NDArray[Any]:
        element, (*constants, coefficients) = scalar(found)
        dtype = operands[0].dtype
        return elementwise(element, operands, tuple(constants), dtype, arguments=(coefficients,))

    return of_registers


_OPERATIONS: dict[str, Operation] = {
    text: _narrow(found) if found.element in {"f16", "bf16"} else _wide(found)
    for text, found in FORMS.items()
}
