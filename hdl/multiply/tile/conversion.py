"""fp8 becomes f16: half of a row of multiplicands of `mma`."""

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.tables.formats import float_format
from hdl.registers.register_ports import QUAD_BITS

__all__ = ["RowConversion"]

_ROW_BITS: Final = 2 * QUAD_BITS
_E4M3: Final = float_format("e4m3")
_F16: Final = float_format("f16")

_PERIOD: Final = 4
"""Of every so many k, the first half belongs to the first dot product, the others to the second."""


class RowConversion(wiring.Component):
    """Makes 16 f16 of 16 of a row's 32 bytes; each f16 has the value of its byte exactly.

    An e5m2 is the high byte of its f16. The exponent of an e4m3 is 8 less; its seven subnormal numbers are
    normal in f16. A NaN becomes some NaN: the dot product returns the canonical one for all of them.

    Combinational. Expected depth: four look-up tables, the last of them the choice of the type.

    Members
    -------
    row : In(256)
        k ascending from the low bits on.
    upper : In(1)
        Convert the k with ``k % 4 >= 2``; otherwise the others.
    is_e5m2 : In(1)
        Otherwise e4m3.
    converted : Out(256)
        k ascending from the low bits on.

    Testbench
    ---------
    cocotb_tests/multiply/test_row_conversion.py.
    """

    row: In(_ROW_BITS)
    upper: In(1)
    is_e5m2: In(1)
    converted: Out(_ROW_BITS)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        half = _PERIOD // 2
        numbers = []
        for first in range(0, _ROW_BITS // 8, _PERIOD):
            for k in range(first, first + half):
                byte = Mux(self.upper, self.row.word_select(k + half, 8), self.row.word_select(k, 8))
                numbers.append(Mux(self.is_e5m2, Cat(Const(0, 8), byte), _f16_of_e4m3(byte)))
        m.d.comb += self.converted.eq(Cat(*numbers))
        return m


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
