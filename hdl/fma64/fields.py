"""What passes from stage to stage of the f64 unit: every field once, with its shape."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from amaranth.hdl import signed
from amaranth.lib.wiring import Member, Out

from hdl.fma64.widths import (
    DISTANCE_BITS,
    EXPONENT_BITS,
    PRODUCT,
    SHIFT_BITS,
    SIGNIFICAND,
    WINDOW,
    WINDOW_EXPONENT_BITS,
)
from hdl.stream.pipeline import Stage

_NAMES: Final = (
    (64, "a b c d"),
    (2, "rounding"),
    (SIGNIFICAND, "factor_a factor_b addend significand"),
    (EXPONENT_BITS, "addend_exponent"),
    (signed(DISTANCE_BITS), "product_exponent distance"),
    (WINDOW_EXPONENT_BITS, "exponent biased"),
    (SHIFT_BITS, "shift"),
    (PRODUCT, "product"),
    (WINDOW, "placed term sum"),
    (1, "no_product product_sign subtract special product_leads carry low lost negative inexact"),
    (1, "guard rest cancelled"),
)

FIELDS: Final[Mapping[str, Member]] = MappingProxyType(
    {name: Out(shape) for shape, names in _NAMES for name in names.split()}
)
"""The fields by name; the stages say what each one means."""


class Fma64Stage(Stage):
    """A stage of the f64 unit, which names its `FIELDS`; the stage that produces a field describes it.

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
