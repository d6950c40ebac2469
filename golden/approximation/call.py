"""`golden.approximate`: an approximate instruction on arrays of values or of bit patterns."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.approximation.instructions import ApproximateInstruction
from golden.approximation.operations import form, operation
from golden.arguments import VALUES, given_array
from golden.host_arrays import little_endian
from golden.invalid_argument import InvalidArgument


def approximate(instruction: str, *operands: ArrayLike) -> NDArray[Any]:
    """An approximate PTX instruction, equal to an NVIDIA H200 in every bit.

    Parameters
    ----------
    instruction : str
        PTX text without operands, such as ``"ex2.approx.ftz.f32"``; the keys of
        `golden.approximation.instructions.FORMS`.
    *operands : array_like
        One, or two for a division, which broadcast. Values (float16, float32 or float64 arrays; bfloat16
        arrays of ml_dtypes) or bit patterns (uint16, uint32 or uint64, as wide as the register). Pairs
        (f16x2, bf16x2) are bit patterns in uint32, the first element in the low half, or arrays of values
        of shape (..., 2). A Python float or a sequence of them is rounded to the type.

    Returns
    -------
    ndarray
        Values for values, bit patterns for bit patterns. A NaN result has the bits 0x7fffffff, 0x7fff or
        0x7fffffff00000000.

    Raises
    ------
    InvalidArgument
        Unknown instruction, wrong number of operands, values mixed with bit patterns, or a dtype or shape
        that does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import golden
    >>> float(golden.approximate("lg2.approx.f32", np.float32(0.5)))
    -0.9999998807907104
    >>> golden.approximate("rcp.approx.f32", np.array([0x40400000], np.uint32))
    array([1051372202], dtype=uint32)
    """
    found = form(instruction)
    registers, values = checked_operands(found, operands)
    result = operation(found.text)(*registers)
    if values is None:
        return result
    elements = result.view(values)
    return elements if not found.packed else elements.reshape(*result.shape[:-1], 2)


def checked_operands(
    found: ApproximateInstruction, operands: tuple[ArrayLike, ...]
) -> tuple[list[NDArray[Any]], np.dtype[Any] | None]:
    """Bit patterns of the operands, and the dtype of the values if they came as values.

    A pair of values has a last axis of length 1 in its bit patterns, so that `result.view` restores it. What
    does not fit is an InvalidArgument.
    """
    if len(operands) != found.operands:
        raise InvalidArgument("operands", f"{len(operands)}", f"{found.operands} for {found.text}")
    names = ["x"] if found.operands == 1 else ["a", "b"]
    checked = [_register(name, operand, found) for name, operand in zip(names, operands, strict=True)]
    kinds = {values for _, values in checked}
    if len(kinds) > 1:
        raise InvalidArgument("b", "values with bit patterns", "both operands of one kind")
    registers = [bits for bits, _ in checked]
    try:
        np.broadcast_shapes(*(bits.shape for bits in registers))
    except ValueError:
        raise InvalidArgument(
            "b", f"shape {registers[1].shape}", f"one that broadcasts with {registers[0].shape}"
        ) from None
    return registers, kinds.pop()


def _register(
    name: str, operand: ArrayLike, found: ApproximateInstruction
) -> tuple[NDArray[Any], np.dtype[Any] | None]:
    values = VALUES[found.element]
    register = np.dtype(f"u{found.bits // 8}")
    array = little_endian(given_array(name, operand, f"an array of {values} or {register}"))
    if (
        array.dtype == np.float64
        and not isinstance(operand, np.ndarray | np.generic)
        and values != "bfloat16"
    ):
        with np.errstate(over="ignore"):
            array = array.astype(values)
    if array.dtype == register:
        return array, None
    if array.dtype.name != values:
        raise InvalidArgument(
            name, f"dtype {array.dtype}", f"{values} (values) or {register} (bit patterns) for {found.text}"
        )
    if found.packed and (array.ndim == 0 or array.shape[-1] != 2):
        raise InvalidArgument(name, f"shape {array.shape}", f"shape (..., 2), the pairs of {found.type}")
    shape = (*array.shape[:-1], 1) if found.packed else array.shape
    return np.ascontiguousarray(array).view(register).reshape(shape), array.dtype
