"""Values of scalar registers: one for the whole warp, or one for each lane."""

from collections.abc import Callable, Sequence
from typing import Any

from golden.tables.layouts import LANES

LaneValue = int | tuple[int, ...]
"""One number where all lanes have the same; else one for each lane."""


def by_lane(function: Callable[..., int], *operands: LaneValue) -> LaneValue:
    """Compute lane by lane; once where no operand differs between lanes."""
    if all(isinstance(operand, int) for operand in operands):
        return function(*operands)
    columns = (operand if isinstance(operand, tuple) else (operand,) * LANES for operand in operands)
    return _collapsed(tuple(map(function, *columns)))


def by_array(function: Callable[..., Any], widths: Sequence[int], *operands: LaneValue) -> list[LaneValue]:
    """The results of a function of arrays, such as `golden.scalar.Operation.evaluate`; loads numpy.

    `widths` are the bits of each operand; 1 for a predicate.
    """
    import numpy as np  # noqa: PLC0415  integers alone need none

    arrays = [
        np.array(operand if isinstance(operand, tuple) else (operand,), "?" if bits == 1 else f"u{bits // 8}")
        for bits, operand in zip(widths, operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        outcome = function(*arrays)
    results = outcome if isinstance(outcome, tuple) else (outcome,)
    return [_collapsed(tuple(map(int, np.broadcast_to(result, LANES).tolist()))) for result in results]


def _collapsed(values: tuple[int, ...]) -> LaneValue:
    return values[0] if values.count(values[0]) == LANES else values


def difference(values: tuple[int, ...]) -> str:
    """Two lanes that differ, for a message."""
    lane = next(lane for lane, value in enumerate(values) if value != values[0])
    return f"is {values[0]:#x} in lane 0 and {values[lane]:#x} in lane {lane}"
