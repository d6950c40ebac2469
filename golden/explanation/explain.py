"""One result, step by step."""

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.approximation.explain import explain_approximation
from golden.approximation.instructions import FORMS as FORMS_OF_APPROXIMATION
from golden.approximation.steps import Approximation
from golden.arguments import InvalidArgument, checked_array, dtype_of
from golden.explanation.record import BitStep, Explanation, IntegerSum, Step
from golden.explanation.steps import Rules, convert, decoded, fused_sum, saturate
from golden.multiply import resolve_instruction, resolve_profile
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import MmaInstruction
from golden.tables.profiles import ExactProfile, Profile

__all__ = ["explain"]

F32 = float_format("f32")


@overload
def explain(instruction: str, x: ArrayLike, divisor: ArrayLike | None = None, /) -> Approximation: ...


@overload
def explain(
    instruction: str | MmaInstruction,
    a_row: ArrayLike,
    b_column: ArrayLike,
    c: ArrayLike,
    *,
    profile: str | Profile | ExactProfile = "hopper",
) -> Explanation: ...


def explain(
    instruction: str | MmaInstruction,
    a_row: ArrayLike,
    b_column: ArrayLike | None = None,
    c: ArrayLike | None = None,
    *,
    profile: str | Profile | ExactProfile = "hopper",
) -> Explanation | Approximation:
    """Every step from one row of A, one column of B and one element of C to the element of D.

    ``explain("ex2.approx.ftz.f32", x)`` does the same for the approximate instructions; see
    `golden.approximation.explain.explain_approximation`.

    Parameters
    ----------
    instruction : str or MmaInstruction
        As for `golden.mma`.
    a_row, b_column : array_like, shape (k,)
        As for `golden.mma`: raw bit patterns of floating point, values of integers.
    c : array_like, shape ()
        Likewise; a Python int will do.
    profile : str, Profile or ExactProfile

    Returns
    -------
    golden.explanation.record.Explanation
        Its `result` is what `golden.mma` returns.

    Raises
    ------
    InvalidArgument
    golden.tables.instruction_set.IllegalInstruction
    """
    if isinstance(instruction, str) and instruction in FORMS_OF_APPROXIMATION:
        return explain_approximation(instruction, *(x for x in (a_row, b_column, c) if x is not None))
    if b_column is None or c is None:
        raise InvalidArgument(
            "instruction",
            f"{str(instruction)!r} without b_column and c",
            ", ".join(FORMS_OF_APPROXIMATION),
        )
    instruction = resolve_instruction(instruction)
    profile = resolve_profile(profile, instruction)
    a = _checked("a_row", a_row, instruction.a_type, (instruction.shape.k,))
    b = _checked("b_column", b_column, instruction.b_type, (instruction.shape.k,))
    addend = int(_checked("c", c, instruction.c_type, ()))
    steps: tuple[Step, ...]
    if instruction.operation is not None:
        steps = (_bits(instruction.operation, a.tolist(), b.tolist(), addend),)
    elif not isinstance(FORMATS[instruction.a_type], FloatFormat):
        steps = (_integers(a.tolist(), b.tolist(), addend, instruction.saturate),)
    else:
        steps = tuple(_floats(instruction, profile, a, b, addend))
    return Explanation(
        instruction=str(instruction), profile=profile.name, steps=steps, result=steps[-1].result
    )


def _checked(argument: str, given: ArrayLike, type: str, extent: tuple[int, ...]) -> NDArray[Any]:
    if isinstance(given, int) and extent == ():
        dtype = dtype_of(FORMATS[type])
        limits = np.iinfo(dtype)
        if not limits.min <= given <= limits.max:
            raise InvalidArgument(argument, f"the value {given}", f"{dtype}")
        given = np.array(given, dtype)
    checked = checked_array(argument, given, type, extent)
    if checked.ndim != len(extent):
        raise InvalidArgument(argument, f"shape {checked.shape}", f"shape {extent}")
    return checked


def _wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _integers(a: list[int], b: list[int], c: int, saturate: bool) -> IntegerSum:
    products = tuple(x * y for x, y in zip(a, b, strict=True))
    exact = c + sum(products)
    result = max(-(1 << 31), min(exact, (1 << 31) - 1)) if saturate else _wrapped(exact)
    return IntegerSum(
        a=tuple(a), b=tuple(b), products=products, c=c, exact=exact, saturate=saturate, result=result
    )


def _bits(operation: str, a: list[int], b: list[int], c: int) -> BitStep:
    combined = tuple(x ^ y if operation == "xor" else x & y for x, y in zip(a, b, strict=True))
    count = sum(combined)
    return BitStep(
        a=tuple(a),
        b=tuple(b),
        operation=operation,
        combined=combined,
        count=count,
        c=c,
        result=_wrapped(c + count),
    )


def _rules(instruction: MmaInstruction, profile: Profile | ExactProfile) -> Rules:
    """How the instruction's sums are formed under the profile."""
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    rounding = instruction.rounding or "rn"
    if isinstance(profile, ExactProfile):
        return Rules(format=d_format, block=instruction.shape.k, rounding=profile.rounding or rounding)
    if d_format.bits == 64:
        return Rules(format=d_format, block=1, rounding=rounding, propagate_nan=True)
    fused = d_format if c_format == d_format else F32
    return Rules(
        format=fused,
        block=profile.block(float_format(instruction.a_type)) or instruction.shape.k,
        rounding="rz" if fused == F32 else "rn",
        overflow="infinity",
        fraction_bits=profile.fraction_bits,
        least_exponent=profile.least_exponent(fused),
    )


def _floats(
    instruction: MmaInstruction,
    profile: Profile | ExactProfile,
    a: NDArray[Any],
    b: NDArray[Any],
    c: int,
) -> list[Step]:
    multiplicand = float_format(instruction.a_type)
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    rules = _rules(instruction, profile)
    steps: list[Step] = []
    if c_format != rules.format and rules.fraction_bits is not None:
        steps.append(convert(decoded("c", c, c_format), rules.format))
        c, c_format = steps[-1].result, rules.format
    factors = [
        (decoded(f"a[{k}]", int(x), multiplicand), decoded(f"b[{k}]", int(y), multiplicand))
        for k, (x, y) in enumerate(zip(a, b, strict=True))
    ]
    for start in range(0, len(factors), rules.block):
        steps.append(fused_sum(factors[start : start + rules.block], decoded("c", c, c_format), rules))
        c, c_format = steps[-1].result, rules.format
    if d_format != rules.format:
        steps.append(convert(decoded("result", c, c_format), d_format))
    if instruction.saturate:
        steps.append(saturate(decoded("result", steps[-1].result, d_format), d_format))
    return steps
