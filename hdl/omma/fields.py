"""What passes from stage to stage of the unit for sums of groups: every field once, with its shape."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from amaranth.hdl import signed
from amaranth.lib.wiring import Member, Out

from hdl.omma.widths import (
    ADDEND,
    DISTANCE,
    EXPONENT,
    FINE,
    GROUP,
    GROUPS,
    PASS_GROUPS,
    PASS_PRODUCTS,
    PRODUCT,
    SCALE,
    SIGNIFICAND,
    SUM,
    TERM,
    TOP,
    TOTAL,
    WINDOW,
)
from hdl.stream.pipeline import Stage

_PLAIN: Final = (
    (4 * GROUPS * GROUP, "a b"),
    (32, "c d"),
    (SCALE * GROUPS, "scale_a scale_b"),
    (1, "ue4m3 second scale_nan c_nan c_infinite c_negative negative"),
    (PASS_GROUPS, "some nonzero_scales"),
    (SIGNIFICAND, "c_significand"),
    (EXPONENT, "c_exponent maximum"),
    (GROUPS, "group_negative carry"),
    (ADDEND, "addend"),
    (signed(TOTAL + 1), "sum"),
    (TOP, "magnitude"),
    (SIGNIFICAND, "leading"),
    (EXPONENT, "biased"),
)
_ARRAYS: Final = (
    (signed(PRODUCT), PASS_PRODUCTS, "product"),
    (EXPONENT, PASS_GROUPS, "scale_exponent"),
    (SUM, GROUPS, "group_sum"),
    (SCALE, GROUPS, "significand"),
    (EXPONENT, GROUPS, "exponent"),
    (DISTANCE, GROUPS + 1, "distance"),
    (TERM + FINE - 1, GROUPS, "scaled_sum"),
    (signed(WINDOW + 1), GROUPS, "term"),
)

FIELDS: Final[Mapping[str, Member]] = MappingProxyType(
    {name: Out(shape) for shape, names in _PLAIN for name in names.split()}
    | {name: Out(shape).array(count) for shape, count, names in _ARRAYS for name in names.split()}
)
"""The fields by name; the stages say what each one means."""


class GroupSumStage(Stage):
    """A stage of the unit, which names its `FIELDS`; the stage that produces a field describes it.

    Attributes
    ----------
    input_fields, output_fields : str
        Names, between spaces.
    """

    input_fields: str
    output_fields: str

    def __init__(self) -> None:
        consumes, produces = (
            {name: FIELDS[name] for name in names.split()}
            for names in (self.input_fields, self.output_fields)
        )
        super().__init__(consumes, produces)
