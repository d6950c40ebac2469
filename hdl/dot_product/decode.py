"""Decode: raw operands to signs, exponents and significands, and the special values among them."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import DotProductOperands
from hdl.dot_product.widths import LANES, WIDE, Widths
from hdl.dot_product.words import PLACE, WORDS, common, flags, place, spread, up
from hdl.stream.pipeline import register

__all__ = ["Decode", "Special"]


class Special(data.Struct):
    """What the special values among the terms make of the result.

    Members
    -------
    nan : unsigned(1)
    positive, negative : unsigned(1)
        There is an infinity of that sign; with both the result is NaN.
    """

    nan: unsigned(1)
    positive: unsigned(1)
    negative: unsigned(1)


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


class Decode(wiring.Component):
    """Take the multiplicands apart.

    Lane k holds element k of f16 and bf16. A tf32 element takes two lanes: its upper half is a bf16 in the
    odd one, which decodes it, and three more fraction bits lie in the even one; all other lanes count as
    zero. For integers, lanes 0 to 7 pass their low byte through in the low bits of the significand.

    Zero products get the travelling exponent 0 and so have no say in the maximum.

    Latency 3 cycles (special values 4), one operation per cycle. Expected critical path: hidden bit and
    class of an operand, three look-up tables.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    operands : In(DotProductOperands)
    c_sign : In(1)
        Of C, two cycles after its operands.
    significand_a, significand_b : Out(4 x 64)
        Words of four lanes; 11 bits, fixed point with 10 fraction bits.
    exponent : Out(16 x 9)
        Of the products, with the offset of `Widths`.
    sign : Out(16)
        Whether a product's sign differs from C's, so that C is always added.
    special : Out(Special)
        Of the products, one cycle later than the rest.
    """

    latency = 3

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.widths = Widths(config)
        super().__init__(
            {
                "operands": In(DotProductOperands),
                "c_sign": In(1),
                "significand_a": Out(64).array(WORDS),
                "significand_b": Out(64).array(WORDS),
                "exponent": Out(self.widths.exponent_bits).array(LANES),
                "sign": Out(LANES),
                "special": Out(Special),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        multiplicand = self.operands.operation.multiplicand
        tf32 = self.widths.chosen(multiplicand, frozenset({"tf32"}))
        wide = register(m, self.widths.chosen(multiplicand, WIDE), "wide")
        nan, infinite, sign = [], [], []
        for index in range(WORDS):
            a = self._operands(m, self.operands.a.word_select(index, 64), index, tf32, wide, "a")
            b = self._operands(m, self.operands.b.word_select(index, 64), index, tf32, wide, "b")
            m.d.comb += [
                self.significand_a[index].eq(register(m, a.significand, f"significand_a{index}")),
                self.significand_b[index].eq(register(m, b.significand, f"significand_b{index}")),
            ]
            self._exponents(m, index, a, b)
            word_nan = (
                (a.maximal & a.something)
                | (b.maximal & b.something)
                | (a.maximal & b.zero)
                | (a.zero & b.maximal)
            )
            word_nan = common(m, word_nan)
            nan.append(register(m, word_nan, f"nan{index}"))
            infinite.append(register(m, (a.maximal | b.maximal) & ~word_nan, f"infinite{index}"))
            sign.append(register(m, a.sign ^ b.sign, f"product_sign{index}"))
        # Lane k's sign is bit 16 * k of all words' bits.
        signs = Cat(Cat(*sign)[::PLACE])
        m.d.comb += self.sign.eq(signs ^ register(m, self.c_sign, "c_sign_out").replicate(LANES))
        m.d.sync += [
            self.special.nan.eq(_any(nan)),
            self.special.positive.eq(_any([x & ~y for x, y in zip(infinite, sign, strict=True)])),
            self.special.negative.eq(_any([x & y for x, y in zip(infinite, sign, strict=True)])),
        ]
        return m

    def _raw(self, m: Module, word: Value, index: int, tf32: Value, name: str) -> tuple[Value, Value]:
        """The first register: 16 bits a lane and a tf32's three lowest fraction bits, zero where unused."""
        profile = self.config.profile
        lanes = range(4 * index, 4 * index + 4)
        ordinary = Cat(
            Const(-1 if lane < profile.half_block or self.widths.integer else 0, PLACE) for lane in lanes
        )
        if "tf32" not in self.config.formats:
            return register(m, word & ordinary, f"{name}_raw"), Const(0, 64)
        decodes_tf32 = [lane % 2 == 1 and lane < 2 * self.config.tf32_products for lane in lanes]
        kept = Cat(Const(-1 if decodes else 0, PLACE) for decodes in decodes_tf32)
        raw = register(m, Mux(tf32, word & kept, word & ordinary), f"{name}_raw")
        if not any(decodes_tf32):
            return raw, Const(0, 64)
        # The three highest bits of the even lane below.
        lowest = Cat(Const(7 if decodes else 0, PLACE) for decodes in decodes_tf32)
        return raw, register(m, Mux(tf32, up(word, 3) & lowest, 0), f"{name}_extension")

    def _operands(
        self, m: Module, vector: Value, index: int, tf32: Value, wide: Value, side: str
    ) -> _Operands:
        name = f"{side}{index}"
        raw, extension = self._raw(m, vector, index, tf32, name)
        is_wide, is_narrow = spread(wide), spread(~wide)
        # The three bits below f16's exponent belong to the exponent of the wide formats.
        high, between = raw >> 10, raw >> 7
        any_between = common(m, flags(between | between >> 1 | between >> 2))
        all_between = between & between >> 1 & between >> 2
        hidden = flags(high | high >> 1 | high >> 2 | high >> 3 | high >> 4) | (is_wide & any_between)
        hidden = common(m, hidden)
        pairs = common(m, raw | raw >> 1)
        fraction = pairs | pairs >> 2 | pairs >> 4 | raw >> 6
        fraction |= extension | extension >> 1 | extension >> 2
        fraction = flags(fraction) | (is_narrow & any_between)
        maximal = flags(high & high >> 1 & high >> 2 & high >> 3 & high >> 4 & (is_narrow | all_between))
        significand = spread(wide, 0x3F8) & up(raw, 3) | extension | spread(~wide, 0x3FF) & raw
        exponent = spread(wide, 0xFF) & between | spread(~wide, 0x1F) & high
        if side == "a":
            exponent |= spread(~wide, self.widths.half_offset)
        maximal = common(m, maximal)
        return _Operands(
            significand=register(m, significand | up(hidden, 10), f"{name}_significand"),
            exponent=register(m, exponent | flags(~hidden), f"{name}_exponent"),
            sign=register(m, flags(raw >> 15), f"{name}_sign"),
            maximal=register(m, maximal, f"{name}_maximal"),
            something=register(m, fraction | (hidden & ~maximal), f"{name}_something"),
        )

    def _exponents(self, m: Module, index: int, a: _Operands, b: _Operands) -> None:
        zero = common(m, a.zero | b.zero)
        for lane in range(4 * index, 4 * index + 4):
            total = place(a.exponent, lane, 0, 8) + place(b.exponent, lane, 0, 8)
            exponent = register(m, Mux(place(zero, lane, 0, 1), 0, total), f"exponent{lane}")
            m.d.comb += self.exponent[lane].eq(exponent)


def _any(words: list[Value]) -> Value:
    """Whether any bit of any word is set."""
    combined = words[0]
    for word in words[1:]:
        combined = combined | word
    return combined.any()
