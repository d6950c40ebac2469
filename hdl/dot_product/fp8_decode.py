"""Decode fp8: bytes to signs, exponents and significands."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.maximum_exponent import FP8_EXPONENT_BITS
from hdl.dot_product.operands import Operation
from hdl.dot_product.special import Special
from hdl.dot_product.widths import LANES, Widths
from hdl.dot_product.words import PLACE, WORDS, common, every_place, flags, place, spread, up
from hdl.stream.pipeline import Stage, register

__all__ = ["FP8_SIGNIFICAND_BITS", "Fp8Decode"]

FP8_SIGNIFICAND_BITS = 4
"""Of e4m3; those of e5m2 have three and a zero below them."""


@dataclass(frozen=True)
class _Operands:
    """Words of four multiplicands; a zero has neither flag, an infinity only `maximal`, a NaN both."""

    significand: Value
    exponent: Value
    sign: Value
    maximal: Value
    something: Value

    @property
    def zero(self) -> Value:
        """Flags."""
        return flags(~(self.maximal | self.something))


class Fp8Decode(Stage):
    """Take e4m3 and e5m2 apart (Open Compute Project, "8-bit floating point specification", 2023).

    Lane k takes the elements 2 k. Where only fp8 is computed, lane 16 + k takes the elements 2 k + 1; beside
    other formats, `Decode` does.

    Both kinds come to e5m2's scale: e4m3's exponents are raised by the difference of the biases, 8. That sets
    bit 3 to the inverse of the highest bit, so it needs no adder, and makes the exponent of a subnormal 9.
    Zero products get the exponent 0 and so have no say in the maximum.

    Latency 2 cycles, one operation per cycle. Expected critical path: hidden bit and class of an operand,
    three look-up tables behind the port.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.a, input.b : 256
    input.operation : Operation
    output.fp8_significand_a, output.fp8_significand_b : `Widths.fp8_lanes` x 4
        Fixed point with 3 fraction bits.
    output.fp8_exponent : `Widths.fp8_lanes` x 6
        Of the products, biased by 30.
    output.fp8_sign : `Widths.fp8_lanes`
        Of the products.
    output.fp8_special : Special
        What infinities and NaN among these products make; none in other formats.
    """

    latency = 2

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        lanes = self.widths.fp8_lanes
        significands = Out(FP8_SIGNIFICAND_BITS).array(lanes)
        super().__init__(
            {"a": Out(256), "b": Out(256), "operation": Out(Operation)},
            {
                "fp8_significand_a": significands,
                "fp8_significand_b": significands,
                "fp8_exponent": Out(FP8_EXPONENT_BITS).array(lanes),
                "fp8_sign": Out(lanes),
                "fp8_special": Out(Special),
            },
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        given, output = self.input, self.output
        operation = given.operation
        fp8 = register(m, self.widths.chosen(operation.multiplicand, frozenset({"fp8"})), "fp8")
        signs, nans, positives, negatives = [], [], [], []
        for index in range(self.widths.fp8_lanes * WORDS // LANES):
            shift = PLACE // 2 * (index // WORDS)
            a, b = (
                self._operands(
                    m,
                    common(m, (word.word_select(index % WORDS, 64) >> shift) & every_place(0xFF)),
                    is_e5m2,
                    f"{name}{index}",
                )
                for word, is_e5m2, name in (
                    (given.a, operation.a_e5m2, "a"),
                    (given.b, operation.b_e5m2, "b"),
                )
            )
            self._lanes(m, index, a, b, fp8)
            sign = common(m, a.sign ^ b.sign)
            nan = (
                (a.maximal & a.something)
                | (b.maximal & b.something)
                | (a.maximal & b.zero)
                | (a.zero & b.maximal)
            )
            infinite = common(m, a.maximal | b.maximal)
            signs.append(Cat(register(m, sign, f"product_sign{index}")[::PLACE]))
            nans.append(nan)
            positives.append(infinite & ~sign)
            negatives.append(infinite & sign)
        m.d.comb += output.fp8_sign.eq(Cat(*signs))
        # Where a product is NaN, it does not matter whether it also counts as an infinity.
        special = output.fp8_special
        for target, words in (
            (special.nan, nans),
            (special.positive, positives),
            (special.negative, negatives),
        ):
            m.d.sync += target.eq(fp8 & Cat(*(word[::PLACE] for word in words)).any())
        return m

    def _operands(self, m: Module, raw: Value, is_e5m2: Value, name: str) -> _Operands:
        e5m2, e4m3 = spread(is_e5m2), spread(~is_e5m2)
        hidden = common(m, flags(raw >> 6 | raw >> 5 | raw >> 4 | raw >> 3 | (raw >> 2 & e5m2)))
        low = flags(raw >> 1 & raw)
        exponent = (
            raw >> 2 & spread(is_e5m2, 0x1F)
            | raw >> 3 & spread(~is_e5m2, 0x07)
            | raw >> 2 & every_place(0x10)
            | ~raw >> 3 & spread(~is_e5m2, 0x08)
            | flags(~hidden)
        )
        significand = up(raw, 1) & spread(is_e5m2, 6) | raw & spread(~is_e5m2, 7) | up(hidden, 3)
        maximal = common(m, flags(raw >> 6 & raw >> 5 & raw >> 4 & raw >> 3 & raw >> 2 & (e5m2 | low)))
        fraction = raw | raw >> 1 | (raw >> 2 & e4m3)
        return _Operands(
            significand=register(m, significand, f"{name}_significand"),
            exponent=register(m, exponent, f"{name}_exponent"),
            sign=register(m, flags(raw >> 7), f"{name}_sign"),
            maximal=register(m, maximal, f"{name}_maximal"),
            something=register(m, flags(fraction) | (hidden & ~maximal), f"{name}_something"),
        )

    def _lanes(self, m: Module, index: int, a: _Operands, b: _Operands, fp8: Value) -> None:
        output = self.output
        some = common(m, spread(fp8, 1) & ~(a.zero | b.zero))
        late_a = register(m, a.significand, f"a{index}_late")
        late_b = register(m, b.significand, f"b{index}_late")
        for number in range(4):
            lane = 4 * index + number
            biased = place(a.exponent, number, 0, 5) + place(b.exponent, number, 0, 5)
            exponent = register(m, Mux(place(some, number, 0, 1), biased, 0), f"exponent{lane}")
            m.d.comb += [
                output.fp8_exponent[lane].eq(exponent),
                output.fp8_significand_a[lane].eq(place(late_a, number, 0, FP8_SIGNIFICAND_BITS)),
                output.fp8_significand_b[lane].eq(place(late_b, number, 0, FP8_SIGNIFICAND_BITS)),
            ]
