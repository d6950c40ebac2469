"""Whole matrix multiplies: what `wmma.mma` and `mma` give for any batch of tiles."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import are_values, as_values, checked_operands, dtype_of
from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.tiles import (
    exact_tiles,
    float_tiles,
    fp8_tiles,
    in_chunks,
    multiply_add_tiles,
    quad_pair_tiles,
)
from golden.fragments import collect, distribute
from golden.resolve import resolve_instruction, resolve_profile
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import USES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import ExactProfile, Profile


def mma(
    instruction: str | MmaInstruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    *,
    profile: str | Profile | ExactProfile = "hopper",
    threads: int | None = None,
) -> NDArray[Any]:
    """D = A B + C as the instruction computes it, to the bit.

    Parameters
    ----------
    instruction : str or MmaInstruction
        PTX text without operands, such as ``"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"``, or
        the parsed object. The layouts say how operands lie in memory and do not matter here.
    a : array_like, shape (..., m, k)
    b : array_like, shape (..., k, n)
    c : array_like, shape (..., m, n)
        The leading axes are the same in all three. Floating point comes as values in the dtype of its format
        (float16, float32, float64; ml_dtypes' bfloat16, float8_e4m3fn, float8_e5m2; tf32: float32) or as
        raw bit patterns in the unsigned integer of its width (tf32: uint32); s32 as int32; smaller integers
        and single bits as values in any integer dtype. Objects with ``__array__`` or ``__dlpack__`` are
        arrays too. Nothing is rounded on the way in.
    profile : str, Profile or ExactProfile
        Name in `golden.tables.profiles.PROFILES` or `EXACT_PROFILES`, or the object.
    threads : int or None
        Threads that share a large batch; None for what `golden.arithmetic.engine.THREADS_VARIABLE` says.

    Returns
    -------
    ndarray, shape (..., m, n)
        int32; of floating point values if a, b and c all came as values, and raw bit patterns otherwise.

    Raises
    ------
    InvalidArgument
        A `ValueError` that names the argument, what came and what is allowed.
    golden.tables.matrix_instructions.IllegalInstruction
        A `ValueError` for text that is no instruction.

    Notes
    -----
    Memory beyond arguments and result does not grow with the batch.
    """
    instruction = resolve_instruction(instruction)
    profile = resolve_profile(profile, instruction)
    shape = instruction.shape
    (a_tiles, b_tiles, c_tiles), leading = checked_operands(instruction, (a, b, c))
    values = are_values((a, b, c), (instruction.a_type, instruction.b_type, instruction.c_type))
    result = np.empty((len(a_tiles), shape.m, shape.n), dtype_of(FORMATS[instruction.d_type]))
    in_chunks(_arithmetic(instruction, profile), a_tiles, b_tiles, c_tiles, result, threads)
    result = result.reshape(*leading, shape.m, shape.n)
    return as_values(result, instruction.d_type) if values else result


def multiply_fragments(
    instruction: MmaInstruction, a: ArrayLike, b: ArrayLike, c: ArrayLike, profile: Profile | ExactProfile
) -> NDArray[np.uint32]:
    """The fragment of D, from the fragments of A, B and C: uint32 of shape (..., registers, 32 lanes)."""
    shape = instruction.shape
    operands = []
    for use, words in zip(USES[:3], (a, b, c), strict=True):
        matrix = collect(words, use, instruction.types[use], shape, instruction.layout(use))
        operands.append(matrix.reshape(*matrix.shape[:-2], instruction.family.tiles, *shape.extent(use)))
    result = mma(instruction, *operands, profile=profile)
    matrix = result.reshape(*result.shape[:-3], -1, shape.n)
    return distribute(matrix, "d", instruction.d_type, shape)


def _arithmetic(instruction: MmaInstruction, profile: Profile | ExactProfile) -> Callable[..., NDArray[Any]]:
    """D = A B + C of some tiles, by the arithmetic of the instruction's family."""
    a_format = FORMATS[instruction.a_type]
    if not isinstance(a_format, FloatFormat):
        return partial(integer_tiles, operation=instruction.operation, satfinite=instruction.saturate)
    rounding, satf = instruction.rounding or "rn", instruction.saturate
    formats = tuple(float_format(instruction.types[use]) for use in USES)
    if isinstance(profile, ExactProfile):
        return partial(exact_tiles, formats=formats, rounding=profile.rounding or rounding, satf=satf)
    if a_format.bits == 64:
        return partial(multiply_add_tiles, rounding=rounding)
    if instruction.family.tiles > 1 and not profile.quad_pairs:
        return partial(quad_pair_tiles, formats=formats)
    if instruction.family.converted_to is not None:
        return partial(fp8_tiles, formats=formats, profile=profile)
    return partial(float_tiles, formats=formats, profile=profile, mnemonic=instruction.mnemonic, satf=satf)
