"""Block scales in the registers of a warp."""

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import checked_array, given_array
from golden.host_arrays import little_endian
from golden.invalid_argument import InvalidArgument
from golden.resolve import resolve_instruction
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.scales import BYTE_IDS, THREAD_IDS, scale_lane

_BYTE: Final = 8

ScaleUse = Literal["a", "b"]


def pack_scales(
    instruction: str | MmaInstruction, use: ScaleUse, scales: ArrayLike, byte_id: int = 0, thread_id: int = 0
) -> NDArray[np.uint32]:
    """The register of the scales of A or B, shape (..., 32); bytes that nobody reads are zero.

    Parameters
    ----------
    instruction : str or MmaInstruction
        A multiply with block scales.
    use : {"a", "b"}
    scales : array_like
        As for `golden.mma`: shape (..., m, scales) of A, (..., scales, n) of B.
    byte_id, thread_id : int
        The selectors.

    Raises
    ------
    InvalidArgument
    """
    parsed, extent = _scaled(instruction, use)
    checked = checked_array(f"scale_{use}", scales, parsed.scale_type, extent)
    lanes, shifts = _places(parsed, use, np.array(byte_id), np.array(thread_id))
    lines = (checked if use == "a" else checked.swapaxes(-1, -2)).astype(np.uint32)
    words = np.zeros((*checked.shape[:-2], LANES), np.uint32)
    words[..., lanes] = np.bitwise_or.reduce(lines << shifts, axis=-1)
    return words


def unpack_scales(
    instruction: str | MmaInstruction,
    use: ScaleUse,
    registers: ArrayLike,
    byte_id: ArrayLike = 0,
    thread_id: ArrayLike = 0,
) -> NDArray[np.uint8]:
    """The scales that an instruction reads from a register, of shape (..., 32): as for `pack_scales`.

    The selectors may be arrays with the leading axes of the registers.
    """
    parsed, _ = _scaled(instruction, use)
    words = little_endian(given_array("registers", registers, "an array of uint32"))
    if words.dtype != np.uint32 or words.shape[-1:] != (LANES,):
        raise InvalidArgument(
            "registers", f"{words.dtype} of shape {words.shape}", "uint32 of shape (..., 32)"
        )
    lanes, shifts = _places(parsed, use, np.asarray(byte_id), np.asarray(thread_id))
    read = np.take_along_axis(words, np.broadcast_to(lanes, (*words.shape[:-1], lanes.shape[-1])), axis=-1)
    found = (read[..., None] >> shifts).astype(np.uint8)
    return found if use == "a" else found.swapaxes(-1, -2)


def uses_of_scales(instruction: MmaInstruction) -> tuple[ScaleUse, ...]:
    """The operands that have block scales: both or none."""
    return ("a", "b") if instruction.scales else ()


def _scaled(instruction: str | MmaInstruction, use: ScaleUse) -> tuple[MmaInstruction, tuple[int, int]]:
    """The instruction, and the shape of the scales of an operand."""
    parsed = resolve_instruction(instruction)
    if not parsed.scales:
        raise InvalidArgument("instruction", str(parsed), "a multiply with block scales (.block_scale)")
    if use not in ("a", "b"):
        raise InvalidArgument("use", repr(use), "a, b")
    return parsed, parsed.scale_extent(use)


def _places(
    instruction: MmaInstruction, use: ScaleUse, byte_id: NDArray[Any], thread_id: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The lanes of each row or column, and the shifts of the scales in each."""
    chosen = (
        ("byte_id", byte_id, BYTE_IDS[instruction.scale_vec]),
        ("thread_id", thread_id, THREAD_IDS[use]),
    )
    for name, given, allowed in chosen:
        wrong = given[~np.isin(given, allowed)]
        if wrong.size:
            choices = f"{', '.join(map(str, allowed))} for {use} with .scale_vec::{instruction.scale_vec}"
            raise InvalidArgument(name, str(wrong.flat[0]), choices)
    lines = instruction.shape.m if use == "a" else instruction.shape.n
    first = np.array([scale_lane(use, line, 0) for line in range(lines)])
    step = scale_lane(use, 0, 1)
    lanes = first + step * thread_id.astype(np.int64)[..., None]
    bytes_ = byte_id.astype(np.uint32)[..., None, None] + np.arange(instruction.scales, dtype=np.uint32)
    return lanes, (bytes_ * np.uint32(_BYTE)).astype(np.uint32)
