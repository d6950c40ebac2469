"""Half a word of A times half a word of B."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from boards.serial_core.serial_config import SerialConfig
from hdl.dot_product.operands import Multiplicand

__all__ = ["HALF_BITS", "SUM_BITS", "HalfDotProduct"]

HALF_BITS = 16
"""Bits of half a register word."""

SUM_BITS = 18
"""Bits of a signed sum: of two products of 8 bits, it is at most 2 * 255 * 255 < 2**17 and at least
2 * -128 * 255."""

_BYTE = 8
_NIBBLE = 4


class HalfDotProduct(wiring.Component):
    """The sum of two products of 8 bits, four of 4 bits, or 16 of single bits.

    Two multipliers serve both widths, of 9 bits each so that they take signed and unsigned elements. The
    further two are for 4 bits alone.

    Throughput: one sum per cycle. Latency: 1 cycle. Two MAC16 of an iCE40 and about 400 look-up tables;
    expected critical path: a multiplier and two additions.

    Parameters
    ----------
    config : SerialConfig
        Formats that it leaves out cost nothing.

    Members
    -------
    a, b : In(16)
    multiplicand : In(Multiplicand)
    a_signed, b_signed, bitwise_and : In(1)
        As in `hdl.dot_product.operands.Operation`.
    sum : Out(signed(18))
    """

    def __init__(self, config: SerialConfig) -> None:
        self._formats = config.formats
        super().__init__(
            {
                "a": In(HALF_BITS),
                "b": In(HALF_BITS),
                "multiplicand": In(Multiplicand),
                "a_signed": In(1),
                "b_signed": In(1),
                "bitwise_and": In(1),
                "sum": Out(signed(SUM_BITS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        is_nibbles = self.multiplicand == Multiplicand.I4
        products = []
        for place in range(HALF_BITS // _BYTE):
            factors = []
            for name, half, is_signed in (("a", self.a, self.a_signed), ("b", self.b, self.b_signed)):
                factor = Signal(signed(_BYTE + 1), name=f"{name}_{place}")
                m.d.comb += factor.eq(_element(half, place, _BYTE, is_signed))
                with m.If(is_nibbles):
                    m.d.comb += factor.eq(_element(half, place, _NIBBLE, is_signed))
                factors.append(factor)
            products.append(factors[0] * factors[1])
        total = Signal(signed(SUM_BITS))
        m.d.comb += total.eq(products[0] + products[1])
        with m.Switch(self.multiplicand):
            if "i4" in self._formats:
                with m.Case(Multiplicand.I4):
                    more = [
                        _element(self.a, place, _NIBBLE, self.a_signed)
                        * _element(self.b, place, _NIBBLE, self.b_signed)
                        for place in range(len(products), HALF_BITS // _NIBBLE)
                    ]
                    m.d.sync += self.sum.eq(total + (more[0] + more[1]))
            if "b1" in self._formats:
                with m.Case(Multiplicand.B1):
                    both = Mux(self.bitwise_and, self.a & self.b, self.a ^ self.b)
                    m.d.sync += self.sum.eq(_count(list(both)))
            with m.Default():
                m.d.sync += self.sum.eq(total)
        return m


def _element(half: Value, place: int, bits: int, is_signed: Value) -> Value:
    """An element, with one bit more that takes its sign."""
    element = half.word_select(place, bits)
    return Cat(element, element[-1] & is_signed).as_signed()


def _count(bits: list[Value]) -> Value:
    """The number of ones, added up pair by pair."""
    while len(bits) > 1:
        bits = [one + other for one, other in zip(bits[::2], bits[1::2], strict=True)]
    return bits[0]
