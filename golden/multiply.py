"""Whole matrix multiplies: what `wmma.mma` and `mma` give for any batch of tiles."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import are_values, as_values, checked_array, checked_operands, dtype_of
from golden.arithmetic.fp4_tiles import fp4_tiles
from golden.arithmetic.integer_tiles import integer_tiles
from golden.arithmetic.sparse_tiles import expanded_tiles, gathered_tiles
from golden.arithmetic.tiles import (
    exact_tiles,
    float_tiles,
    fp8_tiles,
    in_chunks,
    multiply_add_tiles,
    quad_pair_tiles,
)
from golden.fragments import collect, distribute
from golden.invalid_argument import InvalidArgument
from golden.resolve import resolve_instruction, resolve_profile
from golden.sparsity import checked_metadata, stored_places
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import FP4_KINDS, USES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import ExactProfile, Profile


def mma(
    instruction: str | MmaInstruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    *,
    metadata: ArrayLike | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    profile: str | Profile | ExactProfile = "hopper",
    threads: int | None = None,
) -> NDArray[Any]:
    """D = A B + C as the instruction computes it, to the bit.

    Parameters
    ----------
    instruction : str or MmaInstruction
        PTX text without operands, such as ``"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"``, or
        the parsed object. The layouts, which say how operands lie in memory, have no effect here.
    a : array_like, shape (..., m, k)
        Of a sparse multiply the elements that are stored, shape (..., m, k / 2); see `golden.sparsity`.
    b : array_like, shape (..., k, n)
    c : array_like, shape (..., m, n)
        The leading axes are the same in all three. Floating point comes as values in the dtype of its format
        (float16, float32, float64; ml_dtypes' bfloat16, float8_e4m3fn, float8_e5m2; tf32: float32) or as
        raw bit patterns in the unsigned integer of its width (tf32: uint32); s32 as int32; smaller integers
        and single bits as values in any integer dtype. Objects with ``__array__`` or ``__dlpack__`` are
        arrays too. Nothing is rounded on the way in.
    metadata : array_like of uint8, shape (..., m, groups), or None
        Of a sparse multiply, and of no other: a nibble for each group, as `golden.tables.sparsity` says.
    scale_a, scale_b : array_like, shapes (..., m, scales) and (..., scales, n), or None
        Of a multiply with block scales, and of no other: values (ml_dtypes' float8_e8m0fnu; of ue4m3
        float8_e4m3fn) or uint8. Each is for an equal part of k.
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
    operands, leading = checked_operands(instruction, (a, b, c), isinstance(profile, ExactProfile))
    given = {"metadata": metadata, "scale_a": scale_a, "scale_b": scale_b}
    side = checked_side_operands(instruction, given, leading)
    if instruction.is_sparse:
        operands.append(stored_places(instruction.sparsity, side.pop("metadata")))
    operands += side.values()
    values = are_values((a, b, c), (instruction.a_type, instruction.b_type, instruction.c_type))
    result = np.empty((len(operands[0]), shape.m, shape.n), dtype_of(FORMATS[instruction.d_type]))
    in_chunks(_arithmetic(instruction, profile), operands, result, threads)
    result = result.reshape(*leading, shape.m, shape.n)
    return as_values(result, instruction.d_type) if values else result


def multiply_fragments(
    instruction: MmaInstruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    profile: Profile | ExactProfile,
    extra: Mapping[str, NDArray[np.uint8]] = MappingProxyType({}),
) -> NDArray[np.uint32]:
    """The fragment of D, from the fragments of A, B and C: uint32 of shape (..., registers, 32 lanes).

    `extra` are metadata and scales by the names that they have in `mma`.
    """
    operands = []
    for use, words in zip(USES[:3], (a, b, c), strict=True):
        layout = instruction.layout(use)
        matrix = collect(words, use, instruction.types[use], instruction.shape, layout, instruction.is_sparse)
        extent = instruction.family.tiles, *instruction.extent(use)
        operands.append(matrix.reshape(*matrix.shape[:-2], *extent))
    others: dict[str, Any] = {name: array[..., None, :, :] for name, array in extra.items()}
    result = mma(instruction, *operands, **others, profile=profile)
    matrix = result.reshape(*result.shape[:-3], -1, instruction.shape.n)
    return distribute(matrix, "d", instruction.d_type, instruction.shape, sparse=instruction.is_sparse)


def checked_side_operands(
    instruction: MmaInstruction, given: Mapping[str, ArrayLike | None], leading: tuple[int, ...]
) -> dict[str, NDArray[np.uint8]]:
    """Metadata and block scales as bytes, tile by tile, by the names of the registers that have them.

    InvalidArgument for one that lacks or is too much, for another shape, and for an undefined nibble.
    """
    found = {}
    for name, value in given.items():
        is_metadata = name == "metadata"
        if name not in instruction.side_registers:
            if value is not None:
                why = ", which is not sparse" if is_metadata else ""
                raise InvalidArgument(name, "an array", f"None for {instruction}{why}")
            continue
        groups = instruction.sparsity.groups if is_metadata else 0
        use = USES[name == "scale_b"]
        extent = (instruction.shape.m, groups) if is_metadata else instruction.scale_extent(use)
        if value is None:
            what = "uint8" if is_metadata else "an array"
            raise InvalidArgument(
                name, "None", f"{what} of shape (..., {extent[0]}, {extent[1]}) for {instruction}"
            )
        if is_metadata:
            checked = checked_metadata(instruction.sparsity, value, extent)
        else:
            checked = checked_array(name, value, instruction.scale_type, extent)
        if checked.shape[:-2] != leading:
            raise InvalidArgument(name, f"leading axes {checked.shape[:-2]}", f"{leading}, as a has")
        found[name] = checked.reshape(-1, *extent)
    return found


def _arithmetic(instruction: MmaInstruction, profile: Profile | ExactProfile) -> Callable[..., NDArray[Any]]:
    """D = A B + C of some tiles, by the arithmetic of the instruction's family."""
    work = _dense_arithmetic(instruction, profile)
    if not instruction.is_sparse:
        return work
    if work.func is float_tiles:  # which takes the places itself
        return lambda a, b, c, places, *scales, out: work(a, b, c, *scales, places=places, out=out)
    return partial(gathered_tiles if work.func is exact_tiles else expanded_tiles, work=work)


def _dense_arithmetic(instruction: MmaInstruction, profile: Profile | ExactProfile) -> partial[NDArray[Any]]:
    a_format = FORMATS[instruction.a_type]
    if not isinstance(a_format, FloatFormat):
        return partial(integer_tiles, operation=instruction.operation, satfinite=instruction.saturate)
    rounding, satf = instruction.rounding or "rn", instruction.saturate
    formats = tuple(float_format(instruction.types[use]) for use in USES)
    if isinstance(profile, ExactProfile):
        options: dict[str, Any] = {
            "rounding": profile.rounding or rounding,
            "scale_type": instruction.scale_type,
        }
        return partial(exact_tiles, formats=formats, satf=satf, **options)
    if instruction.kind in FP4_KINDS:
        group = (profile.fp4_group or 0) * (2 if instruction.is_sparse else 1)
        return partial(fp4_tiles, scale_type=instruction.scale_type, group=group)
    if a_format.bits == 64:
        return partial(multiply_add_tiles, rounding=rounding)
    if instruction.family.tiles > 1 and not profile.quad_pairs:
        return partial(quad_pair_tiles, formats=formats)
    if instruction.family.converted_to is not None and profile.narrow_block is None:
        return partial(fp8_tiles, formats=formats, profile=profile)
    return partial(float_tiles, formats=formats, profile=profile, mnemonic=instruction.mnemonic, satf=satf)
