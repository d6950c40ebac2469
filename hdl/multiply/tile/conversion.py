"""fp8 becomes f16: half of a row of multiplicands of `mma`."""

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import In, Out

from golden.tables.formats import float_format
from hdl.component import Component
from hdl.registers.register_ports import QUAD_BITS

_ROW_BITS: Final = 2 * QUAD_BITS
_E4M3: Final = float_format("e4m3")
_F16: Final = float_format("f16")

_PERIOD: Final = 4
"""Of every so many k, the first half belongs to the first dot product, the others to the second."""


def half_of_row(row: Value, converted: Value, upper: Value) -> Value:
    """Half of a row's bytes, each as the high byte of 16 bits, the low byte zero.

    One of two bytes is in its place already, and the sum of a dot product does not depend on the order of
    the products, so the other one goes where it takes least.

    Parameters
    ----------
    row : Value
        32 bytes, k ascending.
    converted : Value
        Otherwise the row is returned as it is.
    upper : Value
        Take the k with ``k % 4 >= 2``; otherwise the others.
    """
    places: list[Value] = []
    for first in range(0, _ROW_BITS // 8, _PERIOD):
        k0, k1, k2, k3 = (row.word_select(first + k, 8) for k in range(_PERIOD))
        low = (Mux(converted, 0, byte) for byte in (k0, k2))
        places += [next(low), Mux(converted & upper, k2, k1), next(low), Mux(converted & ~upper, k0, k3)]
    return Cat(*places)


class RowConversion(Component):
    """Makes f16 of the 16 numbers of `half_of_row`; each f16 has the value of its byte exactly.

    An e5m2 is the high byte of its f16. The exponent of an e4m3 is 8 less; its seven subnormal numbers are
    normal in f16. A NaN becomes some NaN: the dot product returns the canonical one for all of them.

    Combinational. Expected depth: three look-up tables.

    Testbench: cocotb_tests/multiply/test_row_conversion.py.

    Members
    -------
    row : In(256)
    is_e4m3 : In(1)
        Otherwise the row passes as it is.
    converted : Out(256)
    """

    row: In(_ROW_BITS)
    is_e4m3: In(1)
    converted: Out(_ROW_BITS)

    def _logic(self, m: Module) -> None:
        numbers = [self.row.word_select(number, 16) for number in range(_ROW_BITS // 16)]
        m.d.comb += self.converted.eq(
            Cat(Mux(self.is_e4m3, _f16_of_e4m3(number[8:]), number) for number in numbers)
        )


def _f16_of_e4m3(byte: Value) -> Value:
    fraction_bits = _E4M3.fraction_bits
    fraction, exponent, sign = byte[:fraction_bits], byte[fraction_bits:-1], byte[-1]
    is_subnormal = ~exponent.any()
    is_nan = byte[:-1].all()
    # Adding the difference of the biases, a power of two, to a normal exponent inverts a copy of its top bit.
    normal = Cat(fraction, exponent[:-1], ~exponent[-1], exponent[-1])
    # A subnormal number: its leading one becomes the hidden bit.
    least = _F16.bias - _E4M3.bias + 1 - fraction_bits
    subnormal: Value = Const(0, len(normal))
    for leading in range(fraction_bits):
        number = Cat(
            Const(0, fraction_bits - leading),
            fraction[:leading],
            Const(least + leading, _F16.exponent_bits),
        )
        subnormal = Mux(fraction[leading], number, subnormal)
    magnitude = Mux(is_subnormal, subnormal, normal) | Cat(
        Const(0, fraction_bits), is_nan.replicate(_F16.exponent_bits)
    )
    return Cat(Const(0, _F16.fraction_bits - fraction_bits), magnitude, sign)
