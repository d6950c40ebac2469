"""What passes from stage to stage of the dot-product unit: every field once, with its shape."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import Member, Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import FP8_EXPONENT_BITS, FP8_SIGNIFICAND_BITS, LANES, Widths
from hdl.dot_product.words import WORDS
from hdl.stream.pipeline import Stage


class Special(data.Struct):
    """What the special values among the terms make of the result."""

    nan: unsigned(1)
    positive: unsigned(1)
    negative: unsigned(1)
    """There is an infinity of that sign; with both the result is NaN."""


class Selects(data.Struct):
    """How a product is shifted right: what passes the first step, and whether the second one takes eight."""

    low: unsigned(1)
    middle: unsigned(1)
    high: unsigned(1)
    """Its bits below the upper product of fp8, up to the field of 4-bit pairs, and above, where they are."""
    sixteen: unsigned(1)
    four: unsigned(1)
    """Its bits, that far to the right; four for fp8."""
    eight: unsigned(1)


def fields(config: DotProductConfig) -> dict[str, Member]:
    """The fields that there are in a configuration, by name.

    Returns
    -------
    dict of str to Member
        Without what only formats have that are left out. The stages say what each one means.
    """
    widths = Widths(config)
    found = _always(widths)
    if widths.lanes:
        found |= _of_lanes(widths)
    if widths.multiplied_integer:
        words, odd = Out(64).array(WORDS), Out(64).array(WORDS // 2)
        found |= {"byte_a": odd, "byte_b": odd, "c_beyond": Out(1)}
        found |= dict.fromkeys(("low_a", "top_a", "low_b", "top_b"), words)
    if "b1" in config.formats:
        found["count"] = Out(8)
    if widths.right_bits:
        found["right"] = Out(widths.right_bits)
    if widths.fp8:
        found |= _of_fp8(widths)
    if widths.fp8 and widths.lanes:
        found |= {
            "c_or_fp8_exponent": Out(widths.maximum_bits),
            "quarter": Out(LANES),
            "foreign": Out(3).array(LANES),
            "fp8_shifted": Out(widths.fp8_lanes),
        }
        if not widths.fp8_is_short:
            found["twenty"] = Out(LANES)
    if config.block_scale:
        found |= {"scale_a": Out(8), "scale_b": Out(8), "scale": Out(signed(widths.maximum_bits))}
    return found


def _always(widths: Widths) -> dict[str, Member]:
    total = Out(signed(widths.total))
    return {
        **{"a": Out(256), "b": Out(256), "c": Out(32), "operation": Out(Operation), "special": Out(Special)},
        **{"c_sign": Out(1), "c_value": Out(32), "c_special": Out(Special), "c_distance": Out(6)},
        **dict.fromkeys(("c_exponent", "maximum"), Out(widths.maximum_bits)),
        **dict.fromkeys(("limit", "exponent"), Out(widths.exponent_bits)),
        **{"product": Out(signed(2 * widths.multiplier_bits)).array(LANES), "c_term": total, "sum": total},
        **{"negative": Out(1), "value": Out(widths.total - 1), "d": Out(32)},
    }


def _of_lanes(widths: Widths) -> dict[str, Member]:
    """Of the sixteen lanes of 16 bits."""
    exponent, words = Out(widths.exponent_bits), Out(64).array(WORDS)
    return {
        **dict.fromkeys(("significand_a", "significand_b", "nan", "infinite", "float_a", "float_b"), words),
        **{
            "product_exponent": exponent.array(LANES),
            "product_maximum": exponent.array(2),
            "sign": Out(LANES),
        },
        **{"product_special": Out(Special), "fine": Out(3).array(LANES), "coarse": Out(3).array(LANES)},
        **{"selects": Out(Selects).array(LANES), "carry": Out(LANES)},
        **{"term": Out(signed(widths.window + 1)).array(LANES)},
    }


def _of_fp8(widths: Widths) -> dict[str, Member]:
    """Of the products of fp8 with lanes of their own."""
    lanes = widths.fp8_lanes
    words = lanes * WORDS // LANES
    significands = Out(FP8_SIGNIFICAND_BITS).array(lanes)
    return {
        **dict.fromkeys(("fp8_significand_a", "fp8_significand_b", "fp8_a", "fp8_b"), significands),
        **{
            "fp8_exponent": Out(FP8_EXPONENT_BITS).array(lanes),
            "fp8_maximum": Out(widths.exponent_bits).array(2),
        },
        **dict.fromkeys(("fp8_zero", "fp8_infinite", "fp8_nan"), Out(64).array(words)),
        "fp8_special": Out(Special),
        **dict.fromkeys(("fp8_sign", "fp8_quarter", "fp8_near", "fp8_far", "fp8_carry"), Out(lanes)),
        **({} if widths.fp8_is_short else dict.fromkeys(("fp8_middle", "fp8_farthest"), Out(lanes))),
        **{"fp8_fine": Out(2).array(lanes), "fp8_term": Out(signed(widths.fp8_window + 1)).array(lanes)},
    }


class DotProductStage(Stage):
    """A stage of the dot-product unit, which names its `fields`; what the configuration lacks is left out.

    The stage that produces a field describes it; one that consumes it adds what it makes of it.

    Attributes
    ----------
    input_fields, output_fields : str
        Names, between spaces.
    config : DotProductConfig
    widths : Widths
    """

    input_fields: str
    output_fields: str

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.widths = Widths(config)
        found = fields(config)
        consumes, produces = (
            {name: found[name] for name in names.split() if name in found}
            for names in (self.input_fields, self.output_fields)
        )
        super().__init__(consumes, produces)
