"""Decode: raw operands to signs, exponents and significands, and the special values among them."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.interface import DotProductOperands
from hdl.dot_product.widths import LANES, WIDE, Widths
from hdl.pipeline import register

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
class _Operand:
    """One multiplicand in registers: a zero has neither flag, an infinity only `maximal`, a NaN both."""

    significand: Value
    exponent: Value
    sign: Value
    maximal: Value
    something: Value


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
    significand_a, significand_b : Out(16 x 11)
        Fixed point with 10 fraction bits.
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
                "significand_a": Out(11).array(LANES),
                "significand_b": Out(11).array(LANES),
                "exponent": Out(self.widths.exponent_bits).array(LANES),
                "sign": Out(1).array(LANES),
                "special": Out(Special),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        multiplicand = self.operands.operation.multiplicand
        tf32 = self.widths.chosen(multiplicand, frozenset({"tf32"}))
        self._wide = register(m, self.widths.chosen(multiplicand, WIDE), "wide")
        flags = [self._product(m, lane, tf32) for lane in range(LANES)]
        nan, infinite, sign = (Cat(*bits) for bits in zip(*flags, strict=True))
        m.d.sync += [
            self.special.nan.eq(nan.any()),
            self.special.positive.eq((infinite & ~sign).any()),
            self.special.negative.eq((infinite & sign).any()),
        ]
        return m

    def _raw(self, m: Module, vector: Value, lane: int, tf32: Value, name: str) -> tuple[Value, Value]:
        """The first register: a lane's 16 bits and a tf32's three lowest fraction bits, zero where unused."""
        profile = self.config.profile
        present = self.config.formats
        word = vector.word_select(lane, 16)
        has_tf32 = "tf32" in present and lane % 2 == 1 and lane < 2 * (profile.tf32_block or 0)
        if lane >= profile.half_block and not self.widths.integer and not has_tf32:
            return Const(0, 16), Const(0, 3)
        if "tf32" in present and not has_tf32:
            word = Mux(tf32, 0, word)
        if lane >= profile.half_block and has_tf32:
            word = Mux(tf32, word, 0)
        extension: Value = Const(0, 3)
        if has_tf32:
            extension = Mux(tf32, vector.word_select(lane - 1, 16)[13:], 0)
            extension = register(m, extension, f"{name}_extension")
        return register(m, word, f"{name}_raw"), extension

    def _operand(self, m: Module, vector: Value, lane: int, tf32: Value, name: str) -> _Operand:
        raw, extension = self._raw(m, vector, lane, tf32, name)
        wide = self._wide
        # The three bits below f16's exponent belong to the exponent of the wide formats.
        between = raw[7:10]
        hidden = raw[10:15].any() | (wide & between.any())
        fraction = raw[:7].any() | (~wide & between.any()) | extension.any()
        maximal = raw[10:15].all() & (~wide | between.all())
        significand = Mux(wide, Cat(extension, raw[:7]), raw[:10])
        exponent = Mux(wide, raw[7:15], Cat(raw[10:15], Const(0, 3)))
        if name.startswith("a"):
            exponent |= Mux(wide, 0, self.widths.half_offset)
        return _Operand(
            significand=register(m, Cat(significand, hidden), f"{name}_significand"),
            exponent=register(m, exponent | ~hidden, f"{name}_exponent"),
            sign=register(m, raw[15], f"{name}_sign"),
            maximal=register(m, maximal, f"{name}_maximal"),
            something=register(m, fraction | (hidden & ~maximal), f"{name}_something"),
        )

    def _product(self, m: Module, lane: int, tf32: Value) -> tuple[Value, Value, Value]:
        a = self._operand(m, self.operands.a, lane, tf32, f"a{lane}")
        b = self._operand(m, self.operands.b, lane, tf32, f"b{lane}")
        a_zero, b_zero = ~(a.maximal | a.something), ~(b.maximal | b.something)
        m.d.sync += [
            self.significand_a[lane].eq(a.significand),
            self.significand_b[lane].eq(b.significand),
            self.exponent[lane].eq(Mux(a_zero | b_zero, 0, a.exponent + b.exponent)),
            self.sign[lane].eq(a.sign ^ b.sign ^ self.c_sign),
        ]
        nan = (
            (a.maximal & a.something)
            | (b.maximal & b.something)
            | (a.maximal & b_zero)
            | (a_zero & b.maximal)
        )
        return (
            register(m, nan, f"nan{lane}"),
            register(m, (a.maximal | b.maximal) & ~nan, f"infinite{lane}"),
            register(m, a.sign ^ b.sign, f"product_sign{lane}"),
        )
