"""Values of scalar registers: one for the whole warp, or one for each lane."""

from collections.abc import Callable

from golden.tables.layouts import LANES

__all__ = ["LaneValue", "by_lane", "difference"]

LaneValue = int | tuple[int, ...]
"""One number where all lanes have the same; else one for each lane."""


def by_lane(function: Callable[..., int], *operands: LaneValue) -> LaneValue:
    """Compute lane by lane; once where no operand differs between lanes.

    Parameters
    ----------
    function : callable
        From a number of each operand to a number.
    *operands : int or tuple of int
    """
    if all(isinstance(operand, int) for operand in operands):
        return function(*operands)
    columns = (operand if isinstance(operand, tuple) else (operand,) * LANES for operand in operands)
    values = tuple(map(function, *columns))
    return values[0] if values.count(values[0]) == LANES else values


def difference(values: tuple[int, ...]) -> str:
    """Two lanes that differ, for a message."""
    lane = next(lane for lane, value in enumerate(values) if value != values[0])
    return f"is {values[0]:#x} in lane 0 and {values[lane]:#x} in lane {lane}"
