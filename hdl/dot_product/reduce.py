"""Reduce: the exact sum of all terms."""

from amaranth.hdl import Cat, Module, Value

from hdl.dot_product.adders import signed_sums
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import LANES
from hdl.stream.pipeline import Cut, behind


class Reduce(DotProductStage):
    """Add the sixteen terms and C in a binary tree of carry-propagate adders, a cut behind each level.

    On a carry-chain FPGA an adder bit takes one look-up table and removes one term, a carry-save bit takes
    two to do the same. A negative term arrives as its one's complement; sixteen adders have sixteen carry
    inputs, one for each product's missing one.

    fp8 lanes add one tree of sixteen terms beside the terms' tree, or two trees where only fp8 is computed.
    The sums of two trees and C meet in front of the last level: a row of full adders makes two numbers of the
    three. The lowest bit of the second is free, so both trees have sixteen carry inputs.

    Widths: each level adds one bit to the terms' ``window + 1``; `Widths.total` tells why the last needs no
    more.

    Expected critical path: a carry chain of `total` bits.

    Members
    -------
    input.carry : 16
        One is added for each set bit. Where only fp8 is computed, there are neither terms nor carries.
    input.fp8_term : `Widths.fp8_lanes` x signed(16), input.fp8_carry : `Widths.fp8_lanes`
        Likewise, in units of 2**(Emax - 13).
    output.sum : signed(total)
    """

    delays = (4.5, 2.4, 2.4, 3.4, 2.6)
    input_fields = "term carry fp8_term fp8_carry c_term"
    output_fields = "sum"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        given, widths = self.input, self.widths
        *levels, before, last = cuts
        sums = []
        if widths.lanes:
            sums.append(_tree(m, levels, list(given.term), given.carry, "sum"))
        for first in range(0, widths.fp8_lanes, LANES):
            terms, carries = given.fp8_term[first : first + LANES], given.fp8_carry[first : first + LANES]
            sums.append(_tree(m, levels, list(terms), carries, f"fp8_{first}_sum"))
        c_term = behind(levels, given.c_term, "c_term")
        total, carry = sums[0]
        if widths.fp8:
            total, c_term = _two_of_three(total, *sums[1], c_term, widths.fp8_padding)
        total, c_term, carry = before(total, "total"), before(c_term, "c_term_4"), before(carry, "carry")
        # One adder with a carry input.
        m.d.comb += self.output.sum.eq(last((total + c_term + carry)[: widths.total].as_signed(), "sum"))


def _tree(m: Module, cuts: list[Cut], level: list[Value], carries: Value, name: str) -> tuple[Value, Value]:
    """The sum of sixteen terms and fifteen carries, and the last carry; a cut between levels of adders."""
    for depth in range(len(cuts) + 1):
        half = len(level) // 2
        level = signed_sums(m, level[:half], level[half:], list(carries)[:half])
        carries = carries[half:]
        if depth < len(cuts):
            level = [cuts[depth](value, f"{name}_{depth + 1}_{index}") for index, value in enumerate(level)]
            carries = cuts[depth](carries, f"{name}_carries_{depth + 1}")
    return level[0], carries[0]


def _two_of_three(x: Value, y: Value, carry: Value, z: Value, first: int) -> tuple[Value, Value]:
    """Two numbers whose sum is ``x + ((y + carry) << first) + z``, modulo 2**(bits of z)."""
    bits = len(z)
    x_high, z_high = _extended(x, bits)[first:], z[first:]
    y_high = _extended(y, bits - first)
    majority = x_high & y_high | x_high & z_high | y_high & z_high
    return (
        Cat(x[:first], x_high ^ y_high ^ z_high).as_signed(),
        Cat(z[:first], carry, majority[:-1]).as_signed(),
    )


def _extended(value: Value, bits: int) -> Value:
    """A signed number in so many bits."""
    return Cat(value, value[-1].replicate(max(bits - len(value), 0)))[:bits]
