"""The arithmetic pipeline of the f64 fused multiply-add, without flow control."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.fma64.add import Add
from hdl.fma64.align import Align, Place
from hdl.fma64.decode import Decode
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Operands
from hdl.fma64.multiply import Multiply
from hdl.fma64.normalize import Normalize
from hdl.fma64.round import Round
from hdl.stream.pipeline import delay

__all__ = ["Arithmetic"]


class Arithmetic(wiring.Component):
    """All stages of the fused multiply-add, one after the other; the addend is aligned beside the product.

    Throughput: an operation per cycle. Latency: `latency` cycles, the input register included.

    Attributes
    ----------
    latency : int

    Members
    -------
    operands : In(FusedMultiplyAdd64Operands)
    d : Out(64)

    Testbench
    ---------
    cocotb_tests/fma64/test_fma64_unit.py, through `FusedMultiplyAdd64`.
    """

    latency = Decode.latency + Multiply.latency + Add.latency + Normalize.latency + Round.latency

    def __init__(self) -> None:
        super().__init__({"operands": In(FusedMultiplyAdd64Operands), "d": Out(64)})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        decode, multiply, place, align = Decode(), Multiply(), Place(), Align()
        add, normalize, round_ = Add(), Normalize(), Round()
        m.submodules.decode = decode
        m.submodules.multiply = multiply
        m.submodules.place = place
        m.submodules.align = align
        m.submodules.add = add
        m.submodules.normalize = normalize
        m.submodules.round = round_
        assert place.latency + align.latency == multiply.latency + add.latency - 1

        signs = [decode.signs]
        to_round = multiply.latency + add.latency + normalize.latency
        for cycle in range(to_round):
            signs.append(delay(m, signs[-1], 1, f"signs_{cycle}"))
        to_normalize = multiply.latency + add.latency
        m.d.comb += [
            decode.operands.eq(self.operands),
            multiply.a.eq(decode.factor_a),
            multiply.b.eq(decode.factor_b),
            place.distance.eq(decode.distance),
            place.product_exponent.eq(decode.product_exponent),
            place.no_product.eq(decode.no_product),
            place.addend_exponent.eq(decode.addend_exponent),
            align.addend.eq(delay(m, decode.addend, place.latency, "addend")),
            align.shift.eq(place.shift),
            align.subtract.eq(signs[place.latency].subtract),
            add.product.eq(multiply.product),
            add.product_leads.eq(
                delay(m, place.product_leads, multiply.latency - place.latency, "product_leads")
            ),
            add.subtract.eq(signs[multiply.latency].subtract),
            add.term.eq(align.term),
            add.lost.eq(align.lost),
            normalize.sum.eq(add.sum),
            normalize.negative.eq(add.negative),
            normalize.inexact.eq(add.inexact),
            normalize.subtract.eq(signs[to_normalize].subtract),
            normalize.exponent.eq(delay(m, place.exponent, to_normalize - place.latency, "window_exponent")),
            round_.significand.eq(normalize.significand),
            round_.guard.eq(normalize.guard),
            round_.rest.eq(normalize.rest),
            round_.biased.eq(normalize.biased),
            round_.negative_result.eq(normalize.negative_result),
            round_.cancelled.eq(normalize.cancelled),
            round_.signs.eq(signs[to_round]),
            self.d.eq(round_.d),
        ]
        return m
