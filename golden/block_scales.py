"""Block scales in the registers of a warp."""

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.arguments import checked_array, checked_registers, given_array
from golden.integers import checked_choice
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
    lanes, shifts = _places(parsed, use, byte_id, thread_id, ())
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
    words = checked_registers(registers, (LANES,))
    lanes, shifts = _places(parsed, use, byte_id, thread_id, words.shape[:-1])
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
    checked_choice("use", use, ("a", "b"))
    return parsed, parsed.scale_extent(use)


def _places(
    instruction: MmaInstruction,
    use: ScaleUse,
    byte_id: ArrayLike,
    thread_id: ArrayLike,
    leading: tuple[int, ...],
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The lanes of each row or column, and the shifts of the scales in each."""
    kind = f"{use} with .scale_vec::{instruction.scale_vec}"
    first_bytes = _selectors("byte_id", byte_id, BYTE_IDS[instruction.scale_vec], leading, kind)
    threads = _selectors("thread_id", thread_id, THREAD_IDS[use], leading, kind)
    lines = instruction.shape.m if use == "a" else instruction.shape.n
    first = np.array([scale_lane(use, line, 0) for line in range(lines)])
    step = scale_lane(use, 0, 1)
    lanes = first + step * threads.astype(np.int64)[..., None]
    bytes_ = first_bytes.astype(np.uint32)[..., None, None] + np.arange(instruction.scales, dtype=np.uint32)
    return lanes, (bytes_ * np.uint32(_BYTE)).astype(np.uint32)


def _selectors(
    name: str, given: ArrayLike, allowed: tuple[int, ...], leading: tuple[int, ...], kind: str
) -> NDArray[Any]:
    """A selector, or one for each of the leading axes of the registers."""
    array = given_array(name, given, "an integer")
    if array.dtype.kind not in "iu" or array.shape not in ((), leading):
        axes = f"an integer, or integers of shape {leading}" if leading else "an integer"
        raise InvalidArgument(name, f"{array.dtype} of shape {array.shape}", axes)
    wrong = array[~np.isin(array, allowed)]
    if wrong.size:
        raise InvalidArgument(name, str(wrong.flat[0]), f"{', '.join(map(str, allowed))} for {kind}")
    return array
