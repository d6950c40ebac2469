"""Alignment of the groups and of C to the largest exponent."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.adders import differences
from hdl.dot_product.maximum_exponent import exceeds, largest_of_three
from hdl.omma.fields import GroupSumStage
from hdl.omma.widths import ADDEND, DISTANCE, EXPONENT, FINE, GROUPS, SIGNIFICAND, TERM, WINDOW
from hdl.stream.pipeline import Cut

_FINE_BITS = (FINE - 1).bit_length()


class Maximum(GroupSumStage):
    """Emax, and how far each group and C lie below it.

    C's exponent is never less than the least Emax, so Emax is not either.

    Expected critical path: one 9-bit comparison and the choice of three.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.maximum : 9
    output.distance : 5 x 6
        Of the groups, and last of C. All ones for 63 and more.
    """

    delays = (3.0, 3.8, 3.6)
    input_fields = "exponent c_exponent"
    output_fields = "maximum distance"

    def _logic(self, m: Module, first: Cut, second: Cut, third: Cut) -> None:
        groups, c = list(self.input.exponent), self.input.c_exponent
        half = GROUPS // 2
        pairs = [
            first(Mux(exceeds(x, y), x, y), f"larger_{index}")
            for index, (x, y) in enumerate(zip(groups[:half], groups[half:], strict=True))
        ]
        late = [first(value, f"exponent_{index}") for index, value in enumerate((*groups, c))]
        maximum = second(largest_of_three(late[-1], *pairs)(), "maximum")
        late = [second(value, f"late_exponent_{index}") for index, value in enumerate(late)]
        m.d.comb += self.output.maximum.eq(third(maximum, "late_maximum"))
        for index, distance in enumerate(differences(m, maximum, late)):
            near = distance[:DISTANCE] | distance[DISTANCE:EXPONENT].any().replicate(DISTANCE)
            m.d.comb += self.output.distance[index].eq(third(near, f"distance_{index}"))


class Multiply(GroupSumStage):
    """Multiply each group's sum by its significands, and shift it by the lowest bits of its distance.

    The significands are shifted, by 7 less these bits, so the multiplier does it.

    Expected critical path: the multiplier, from register to register.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.scaled_sum : 4 x 26
        At a distance of a multiple of eight, 128 times the product.
    """

    delays = (2.8, 6.0)
    input_fields = "group_sum significand distance"
    output_fields = "scaled_sum"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        given = self.input
        for group in range(GROUPS):
            shift = ~given.distance[group][:_FINE_BITS]
            factor = first((given.significand[group] << shift)[: 8 + FINE - 1], f"factor_{group}")
            other = first(given.group_sum[group], f"group_sum_{group}")
            product = second((factor * other)[: TERM + FINE - 1], f"product_{group}")
            m.d.comb += self.output.scaled_sum[group].eq(product)


class Align(GroupSumStage):
    """Shift each group right by a multiple of eight, and apply its sign relative to C's.

    What lies below ``2**(Emax - 35)`` is cut off the magnitude, so towards zero. A negative term leaves as
    its one's complement.

    Expected critical path: the choice of four and the sign, three levels of look-up tables.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.term : 4 x signed(47)
        In units of ``2**(Emax - 35)``.
    output.carry : 4
        One is to be added for each set bit.
    """

    delays = (3.6,)
    input_fields = "scaled_sum distance group_negative c_negative"
    output_fields = "term carry"

    def _logic(self, m: Module, cut: Cut) -> None:
        given = self.input
        signs = given.group_negative ^ given.c_negative.replicate(GROUPS)
        m.d.comb += self.output.carry.eq(cut(signs, "carry"))
        for group, product in enumerate(given.scaled_sum):
            whole = Cat(Const(0, WINDOW - len(product)), product)
            coarse = given.distance[group][_FINE_BITS:]
            magnitude: Value = Const(0, WINDOW)
            for step in range(-(-WINDOW // FINE)):
                magnitude = magnitude | (whole[FINE * step :] & (coarse == step).replicate(WINDOW))
            term = Cat(magnitude, Const(0, 1)) ^ signs[group].replicate(WINDOW + 1)
            m.d.comb += self.output.term[group].eq(cut(term.as_signed(), f"term_{group}"))


class AlignAddend(GroupSumStage):
    """Shift C right by its distance.

    Expected critical path: three levels of multiplexers.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.addend : 36
        The magnitude, in units of ``2**(Emax - 35)``.
    """

    delays = (3.4, 3.4)
    input_fields = "c_significand distance"
    output_fields = "addend"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        distance = self.input.distance[GROUPS]
        value: Value = Cat(Const(0, ADDEND - SIGNIFICAND), self.input.c_significand)
        for bit in reversed(range(_FINE_BITS, DISTANCE)):
            value = Mux(distance[bit], value[1 << bit :], value)
        value, fine = first(value, "coarse"), first(distance[:_FINE_BITS], "fine")
        for bit in reversed(range(_FINE_BITS)):
            value = Mux(fine[bit], value[1 << bit :], value)
        m.d.comb += self.output.addend.eq(second(value, "addend"))
