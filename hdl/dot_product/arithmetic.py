"""The arithmetic pipeline of the dot-product unit, without flow control."""

from collections.abc import Callable

from amaranth.lib import data
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.align import Align, AlignSelects
from hdl.dot_product.decode import Decode
from hdl.dot_product.decode_c import DecodeC
from hdl.dot_product.distance import Distance
from hdl.dot_product.factors import Factors
from hdl.dot_product.fp8_align import Fp8Align
from hdl.dot_product.fp8_decode import Fp8Decode
from hdl.dot_product.fp8_distance import Fp8Distance
from hdl.dot_product.maximum_exponent import Fp8Maximum, Fp8OrC, MaximumExponent, ProductMaximum
from hdl.dot_product.multiply import Multiply
from hdl.dot_product.normalize import Limit, Normalize
from hdl.dot_product.operands import operand_layout
from hdl.dot_product.popcount import Popcount
from hdl.dot_product.reduce import Reduce
from hdl.dot_product.round import Round
from hdl.dot_product.special import Fp8Special, ProductSpecial, SpecialValues
from hdl.dot_product.widths import Widths
from hdl.stream.pipeline import Pipeline, Stage


class Arithmetic(Pipeline):
    """All stages of the dot product, one after the other.

    The sum of products aligned to the largest exponent, truncated and added exactly, is described by M. Fasi
    et al., "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7 (2021) e330; the constants
    are the profile's (`golden.tables.profiles`).

    One operation per cycle; latency `DotProductConfig.depth`, less the cycle of the queue behind it.

    Testbench: cocotb_tests/dot_product/test_unit.py, through `DotProductUnit`.

    Members
    -------
    input.a, input.b, input.c, input.operation, input.c_beyond, ...
        As in `hdl.dot_product.operands.operand_layout`.
    output.d : 32
    """

    def __init__(self, config: DotProductConfig) -> None:
        super().__init__(
            {name: Out(field.shape) for name, field in data.Layout.cast(operand_layout(config))},
            {"d": Out(32)},
            _stages(config),
            registers=config.depth - 1,
        )


def _stages(config: DotProductConfig) -> list[Stage | tuple[Stage, ...]]:
    lanes, fp8 = Widths(config).lanes, Widths(config).fp8

    def when(there: bool, *kinds: Callable[[DotProductConfig], Stage]) -> tuple[Stage, ...]:
        return tuple(kind(config) for kind in kinds) if there else ()

    single_bits = when("b1" in config.formats, Popcount)
    return [
        (*when(lanes, Decode), DecodeC(config), *single_bits, *when(fp8, Fp8Decode)),
        *when(lanes, ProductSpecial),
        *when(fp8, Fp8Special),
        SpecialValues(config),
        *when(fp8, Fp8Maximum),
        *when(fp8 and lanes, Fp8OrC),
        *when(lanes, ProductMaximum),
        MaximumExponent(config),
        (Distance(config), Limit(config), *when(lanes, Factors), *when(fp8, Fp8Distance)),
        (Multiply(config), *when(lanes, AlignSelects)),
        (Align(config), *when(fp8, Fp8Align)),
        Reduce(config),
        Normalize(config),
        Round(config),
    ]
