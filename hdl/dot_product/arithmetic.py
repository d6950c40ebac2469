"""The arithmetic pipeline of the dot-product unit, without flow control."""

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.align import Align
from hdl.dot_product.decode import Decode
from hdl.dot_product.decode_c import DecodeC
from hdl.dot_product.maximum_exponent import MaximumExponent
from hdl.dot_product.multiply import Multiply
from hdl.dot_product.normalize import Normalize
from hdl.dot_product.operands import DotProductOperands
from hdl.dot_product.popcount import Popcount
from hdl.dot_product.reduce import Reduce
from hdl.dot_product.round import Round
from hdl.dot_product.widths import FLOATING, INTEGER, LANES, WIDE, Widths
from hdl.dot_product.words import WORDS, every_place
from hdl.stream.pipeline import delay, register

__all__ = ["Arithmetic"]


class Arithmetic(wiring.Component):
    """All stages of the dot product, one after the other.

    Latency `latency` cycles; one operation per cycle.

    Parameters
    ----------
    config : DotProductConfig

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(DotProductOperands)
    d : Out(32)
    """

    # When each stage's inputs are there, in cycles after the operands.
    _at_distance = Decode.latency + MaximumExponent.latency
    _at_multiply = _at_distance - 1
    _at_product = _at_multiply + Multiply.latency
    _at_align = _at_product - 1
    _at_reduce = _at_align + Align.latency
    _at_normalize = _at_reduce + Reduce.latency
    _at_round = _at_normalize + Normalize.latency
    latency = _at_round + Round.latency

    def __init__(self, config: DotProductConfig) -> None:
        self.config = config
        self.widths = Widths(config)
        super().__init__({"operands": In(DotProductOperands), "d": Out(32)})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        widths = self.widths
        m.submodules.decode = decode = Decode(self.config)
        m.submodules.decode_c = decode_c = DecodeC(self.config)
        m.submodules.maximum_exponent = maximum = MaximumExponent(self.config)
        m.submodules.multiply = multiply = Multiply(self.config)
        m.submodules.align = align = Align(self.config)
        m.submodules.reduce = reduce = Reduce(self.config)
        m.submodules.normalize = normalize = Normalize(self.config)
        m.submodules.round = round_ = Round(self.config)

        operations = [self.operands.operation]
        for cycle in range(self._at_round):
            operations.append(register(m, operations[-1], f"operation_{cycle + 1}"))

        m.d.comb += [
            decode.operands.eq(self.operands),
            decode_c.operands.eq(self.operands),
            decode.c_sign.eq(decode_c.sign),
            maximum.c_exponent.eq(decode_c.exponent),
        ]

        m.d.comb += multiply.operation.eq(operations[self._at_multiply])
        wait = self._at_align - self._at_distance
        for index in range(WORDS):
            for source, port, name in (
                (decode.significand_a, multiply.significand_a, "significand_a"),
                (decode.significand_b, multiply.significand_b, "significand_b"),
            ):
                waiting = delay(m, source[index], self._at_multiply - decode.latency, f"{name}{index}")
                m.d.comb += port[index].eq(waiting)
        eighths = Cat(distance[3:] for distance in maximum.distance)
        eighths = Value.cast(delay(m, eighths, wait, "eighths"))
        for lane in range(LANES):
            m.d.comb += [
                maximum.exponent[lane].eq(decode.exponent[lane]),
                multiply.distance[lane].eq(maximum.distance[lane][:3]),
                align.distance[lane].eq(eighths.word_select(lane, 3)),
                align.product[lane].eq(multiply.product[lane]),
                reduce.term[lane].eq(align.term[lane]),
            ]
        signs = delay(m, decode.sign, self._at_align - decode.latency, "signs")
        m.d.comb += [align.sign.eq(signs), reduce.carry.eq(align.carry)]
        if self.config.formats & {"i8", "i4"}:
            # Bytes 1, 3, ... 15.
            for port, vector, name in (
                (multiply.byte_a, self.operands.a, "byte_a"),
                (multiply.byte_b, self.operands.b, "byte_b"),
            ):
                for index in range(WORDS // 2):
                    odd = (vector.word_select(index, 64) >> 8) & every_place(0xFF)
                    m.d.comb += port[index].eq(delay(m, odd, self._at_multiply, f"{name}{index}"))

        m.d.comb += [
            align.operation.eq(operations[self._at_align]),
            align.c_distance.eq(delay(m, maximum.c_distance, wait, "c_distance")),
            align.c_value.eq(delay(m, decode_c.value, self._at_align - decode_c.latency, "c_value")),
        ]
        if self.config.formats & {"i8", "i4"}:
            m.d.comb += align.c_beyond.eq(delay(m, self.operands.c_beyond, self._at_align, "c_beyond"))
        if "b1" in self.config.formats:
            m.submodules.popcount = popcount = Popcount()
            early = operations[1]
            m.d.comb += [
                popcount.a.eq(register(m, self.operands.a[:128], "bits_a")),
                popcount.b.eq(register(m, self.operands.b[:128], "bits_b")),
                popcount.bitwise_and.eq(early.bitwise_and),
                popcount.enable.eq(widths.chosen(early.multiplicand, frozenset({"b1"}))),
                align.count.eq(delay(m, popcount.count, self._at_product - 1 - popcount.latency, "count")),
            ]

        wide = widths.chosen(operations[self._at_distance].multiplicand, WIDE)
        offset = Mux(wide, widths.limit_offset(narrow=False), widths.limit_offset(narrow=True))
        limit = register(m, (maximum.maximum + offset)[: widths.exponent_bits], "limit")
        limit = delay(m, limit, self._at_normalize - self._at_distance - 1, "limit")
        m.d.comb += [
            reduce.c_term.eq(align.c_term),
            normalize.sum.eq(reduce.sum),
            normalize.integer.eq(widths.chosen(operations[self._at_normalize].multiplicand, INTEGER)),
        ]
        if widths.may_halve:
            halve = widths.chosen(operations[self._at_normalize].multiplicand, WIDE) & limit.all()
            m.d.comb += [
                normalize.limit.eq(Mux(halve, 0, limit)),
                round_.halve.eq(delay(m, halve, normalize.latency, "halve")),
            ]
        else:
            m.d.comb += normalize.limit.eq(limit)

        special = decode.special.as_value() | decode_c.special.as_value()
        floating = widths.chosen(operations[decode_c.latency].multiplicand, FLOATING)
        special = register(m, Mux(floating, special, 0), "special")
        m.d.comb += [
            round_.operation.eq(operations[self._at_round]),
            round_.c_sign.eq(delay(m, decode_c.sign, self._at_round - 2, "c_sign")),
            round_.negative.eq(normalize.negative),
            round_.value.eq(normalize.value),
            round_.exponent.eq(normalize.exponent),
            round_.special.eq(delay(m, special, self._at_round - decode_c.latency - 1, "special")),
            self.d.eq(round_.d),
        ]
        return m
