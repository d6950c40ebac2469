"""Multiply: the exact product of two significands."""

from amaranth.hdl import Cat, Module

from hdl.fma64.fields import Fma64Stage
from hdl.fma64.widths import PRODUCT, SIGNIFICAND
from hdl.stream.pipeline import Cut, behind

LIMB = 18
"""Bits of one multiplier's operands."""


class Multiply(Fma64Stage):
    """Multiply in nine 18 x 18-bit multipliers, three limbs by three, and add what overlaps.

    The products of limbs i and j stand at bit 18 (i + j). Those with i = j do not overlap and make one
    number of 106 bits without an adder; a0 b1 with a1 b2, and a1 b0 with a2 b1, make two more of 71 bits.
    On a carry-chain FPGA an adder bit takes one look-up table and removes one bit, a carry-save bit takes
    two to do the same: so four carry-propagate adders, of 71, 36, 54 and 88 bits, the shortest chains in
    the order that keeps them short.

    Expected critical path: the chain of 88 bits, or a multiplier.

    Members
    -------
    output.product : 106
    """

    delays = (5.0, 4.5, 4.5, 5.5)
    input_fields = "factor_a factor_b"
    output_fields = "product"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut, last: Cut) -> None:
        a, b = (
            [factor[i : i + LIMB] for i in range(0, SIGNIFICAND, LIMB)]
            for factor in (self.input.factor_a, self.input.factor_b)
        )
        limb = {(i, j): first(a[i] * b[j], f"limb_{i}{j}") for i in range(len(a)) for j in range(len(b))}
        diagonal = behind((second, third), Cat(limb[0, 0], limb[1, 1], limb[2, 2]), "diagonal")
        # At bit 18, and at bit 36.
        beside = second(Cat(limb[0, 1], limb[1, 2]) + Cat(limb[1, 0], limb[2, 1]), "beside")
        corner = second(limb[0, 2] + limb[2, 0], "corner")
        upper = beside[LIMB:] + corner
        middle = third(Cat(beside[:LIMB], upper[: PRODUCT - 2 * LIMB]), "middle")
        high = diagonal[LIMB:] + middle
        m.d.comb += self.output.product.eq(last(Cat(diagonal[:LIMB], high[: PRODUCT - LIMB]), "product_4"))
