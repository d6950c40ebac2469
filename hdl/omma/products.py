"""The exact sum of each group of products."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.adders import signed_sums
from hdl.omma.fields import GroupSumStage
from hdl.omma.widths import GROUP, PASS_GROUPS, PASS_PRODUCTS, PRODUCT
from hdl.stream.pipeline import Cut, register

_ELEMENT = 4


class Products(GroupSumStage):
    """Multiply the elements of one pass.

    Twice an element is ``s << x``, with s of two bits and x from 0 to 2. So a product is the one of two
    two-bit numbers, four functions of four bits, shifted left by up to 4. A negative one leaves as its one's
    complement, and its sign is what it lacks.

    Expected critical path: the shift and the sign, two levels of look-up tables.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    input.second : 1
        The elements belong to the upper groups.
    output.product : 32 x signed(9)
        In quarters, ``~magnitude`` if negative.
    output.some : 2
        Of each group of the pass, whether a product is not zero.
    """

    delays = (3.0, 3.2)
    input_fields = "a b second"
    output_fields = "product some"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        given = self.input
        bits = _ELEMENT * PASS_PRODUCTS
        a, b = (Mux(given.second, value[bits:], value[:bits]) for value in (given.a, given.b))
        nonzero = []
        for k in range(PASS_PRODUCTS):
            x, y = (value.word_select(k, _ELEMENT) for value in (a, b))
            base, odd, two, four = _product(x, y)
            base, negative = first(base, f"base_{k}"), first(x[-1] ^ y[-1], f"negative_{k}")
            odd, two, four = first(odd, f"odd_{k}"), first(two, f"two_{k}"), first(four, f"four_{k}")
            nonzero.append(base.any())
            shifted = Mux(odd, Cat(Const(0, 1), base), Cat(base, Const(0, 1)))
            low = ~two & ~four
            wide = [Cat(Const(0, by), shifted, Const(0, 4 - by))[: PRODUCT - 1] for by in (0, 2, 4)]
            magnitude: Value = Const(0, PRODUCT - 1)
            for chosen, value in zip((low, two, four), wide, strict=True):
                magnitude = magnitude | (value & chosen.replicate(PRODUCT - 1))
            product = Cat(magnitude, Const(0, 1)) ^ negative.replicate(PRODUCT)
            m.d.comb += self.output.product[k].eq(second(product.as_signed(), f"product_{k}"))
        some = [Cat(nonzero[group * GROUP :][:GROUP]).any() for group in range(PASS_GROUPS)]
        m.d.comb += self.output.some.eq(second(Cat(some), "some"))


def _product(x: Value, y: Value) -> tuple[Value, Value, Value, Value]:
    """A product without its sign: four bits, and whether to shift them left by 1 and by 2 or 4."""
    (low_x, high_x), (low_y, high_y) = ((value[0], value[1:3].any()) for value in (x, y))
    inner, outer = (high_x & low_y, low_x & high_y), (low_x & low_y, high_x & high_y)
    carry = inner[0] & inner[1]
    base = Cat(outer[0], inner[0] ^ inner[1], outer[1] ^ carry, outer[1] & carry)
    ones = [value[1:3] == 2 for value in (x, y)]
    twos = [value[1:3] == 3 for value in (x, y)]
    four = twos[0] & twos[1]
    return base, ones[0] ^ ones[1], ~four & (twos[0] | twos[1] | (ones[0] & ones[1])), four


class GroupSums(GroupSumStage):
    """Add the products of each group in a binary tree, and take the sum apart in sign and magnitude.

    Of sixteen negative products each lacks one; fifteen adders and the last negation have sixteen carry
    inputs. Nothing is lost: each level is a bit longer than the one before.

    Expected critical path: the negation, a carry chain of 12 bits behind an XOR.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.group_sum : 4 x 12
        Magnitudes in quarters; the pass before comes first.
    output.group_negative : 4
        A sum of zero may have either sign.
    """

    delays = (2.9, 2.4, 2.4, 2.6, 2.9)
    input_fields = "product"
    output_fields = "group_sum group_negative"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        magnitudes, signs = [], []
        *levels, last = cuts
        for group in range(PASS_GROUPS):
            level: list[Value] = list(self.input.product[group * GROUP :][:GROUP])
            carries = Cat(product[-1] for product in level)
            for depth, cut in enumerate(levels, 1):
                half = len(level) // 2
                added = signed_sums(m, level[:half], level[half:], list(carries)[:half])
                level = [cut(value, f"sum_{group}_{depth}_{place}") for place, value in enumerate(added)]
                carries = cut(carries[half:], f"carries_{group}_{depth}")
            total, carry = level[0], carries[0]
            negative = total[-1]
            magnitude = (total[:-1] ^ negative.replicate(len(total) - 1)) + (carry ^ negative)
            magnitudes.append(last(magnitude[: len(total) - 1], f"magnitude_{group}"))
            signs.append(last(negative, f"negative_{group}"))
        for group, (magnitude, sign) in enumerate(zip(both(m, magnitudes), both(m, signs), strict=True)):
            m.d.comb += [
                self.output.group_sum[group].eq(magnitude),
                self.output.group_negative[group].eq(sign),
            ]


def both(m: Module, values: list[Value]) -> list[Value]:
    """The values of the groups of the pass before, from a register, and of the groups of this pass."""
    return [*(register(m, value, f"before_{group}") for group, value in enumerate(values)), *values]
