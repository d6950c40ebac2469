"""The sum of the terms, its magnitude, and the result's bits."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from golden.tables.formats import float_format
from hdl.omma.fields import GroupSumStage
from hdl.omma.widths import EXPONENT, LEAST_MAXIMUM, SIGNIFICAND, TOP, TOTAL
from hdl.stream.pipeline import Cut, behind

_F32 = float_format("f32")
_STEPS = ((32,), (16,), (8, 4), (2, 1))
"""The steps of the normalising shift before each cut."""


class Add(GroupSumStage):
    """Add the four terms and C, and take the magnitude.

    Three adders of two numbers each with a carry input, and a fourth one for C: four carry inputs, one for
    each term's missing one.

    Expected critical path: the negation, a carry chain of 48 bits behind an XOR.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.magnitude : 49
        In units of ``2**(Emax - 35)``. The highest bit is zero.
    output.negative : 1
        The sign of the sum. A sum of zero may have either.
    """

    delays = (3.2, 3.2, 3.3, 3.8)
    input_fields = "term carry addend c_negative"
    output_fields = "magnitude negative"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        given, carries = self.input, self.input.carry
        terms = given.term
        addend = behind(cuts[:2], given.addend, "addend")
        pairs = [cuts[0](terms[n] + terms[n + 1] + carries[n], f"pair_{n}") for n in (0, 2)]
        both = cuts[0](Cat(carries[1], carries[3]), "carries")
        groups = cuts[1]((pairs[0] + pairs[1] + both[0])[: TOTAL + 1].as_signed(), "groups")
        last = cuts[1](both[1], "last_carry")
        total = cuts[2]((groups + addend + last)[: TOTAL + 1], "total")
        below = total[-1]
        magnitude = ((total[:-1] ^ below.replicate(TOTAL)) + below)[:TOTAL]
        negative = below ^ behind(cuts[:3], given.c_negative, "c_negative")
        m.d.comb += [
            self.output.magnitude.eq(cuts[3](magnitude, "magnitude")),
            self.output.negative.eq(cuts[3](negative, "negative")),
        ]


class Normalize(GroupSumStage):
    """Shift the magnitude left until its leading bit is one, or until its exponent is the subnormals'.

    What the next steps cannot bring to the significand is cut off. The limit of the shift is spent bit by
    bit, as in `hdl.dot_product.normalize.Normalize`.

    Expected critical path: the test of 32 bits for zero and the choice that it makes in 49.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.

    Members
    -------
    output.leading : 24
    output.biased : 9
        0 for subnormals and zero; may be beyond 254.
    """

    delays = (4.6, 3.8, 4.2, 3.8)
    input_fields = "magnitude maximum"
    output_fields = "leading biased"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        value: Value = self.input.magnitude
        limit = (self.input.maximum - LEAST_MAXIMUM)[:EXPONENT]
        remaining = sum(map(sum, _STEPS))
        bits = remaining.bit_length()
        ample: Value = limit[bits:].any()
        steps: Value = limit[:bits]
        one_more = (limit + 1)[:EXPONENT]
        moved: list[Value] = []
        for number, (cut, shifts) in enumerate(zip(cuts, _STEPS, strict=True)):
            for shift in shifts:
                move = ~value[-shift:].any() & (ample | steps[-1])
                remaining -= shift
                length = min(SIGNIFICAND + remaining, len(value))
                shifted = Cat(Const(0, TOP), value[:-shift])
                value = Mux(move, shifted[-length:], value[-length:])
                ample = ample | (steps[-1] & ~move)
                steps = steps[:-1]
                moved.append(move)
            value, ample = cut(value, f"value_{number}"), cut(ample, f"ample_{number}")
            if len(steps):
                steps = cut(steps, f"steps_{number}")
            moved = [cut(Cat(moved), f"moved_{number}")]
            if cut is not cuts[-1]:
                one_more = cut(one_more, f"one_more_{number}")
            else:
                count = Cat(*reversed(moved[0]))
        one_more = cuts[-1](one_more, "one_more")
        biased = Mux(value[-1], (one_more - count)[:EXPONENT], 0)
        m.d.comb += [self.output.leading.eq(value), self.output.biased.eq(biased)]


class Pack(GroupSumStage):
    """The result's bits: truncated, with NaN and infinities; zero is positive.

    Expected critical path: the comparison of the exponent and the choice of the fraction.
    Testbench: cocotb_tests/omma/test_omma_unit.py, through `GroupSumUnit`.
    """

    delays = (4.2,)
    input_fields = "leading biased negative scale_nan c_nan c_infinite c_negative"
    output_fields = "d"

    def _logic(self, m: Module, cut: Cut) -> None:
        given = self.input
        fraction, biased = given.leading[:-1], given.biased
        top = (1 << _F32.exponent_bits) - 1
        overflow = biased >= top
        infinity, nan = Const(top << SIGNIFICAND - 1, _F32.bits - 1), Const(_F32.canonical_nan, _F32.bits)
        magnitude = Mux(overflow | given.c_infinite, infinity, Cat(fraction, biased[: _F32.exponent_bits]))
        sign = Mux(given.c_infinite, given.c_negative, given.negative & given.leading.any())
        number = Cat(magnitude, sign)
        m.d.comb += self.output.d.eq(cut(Mux(given.scale_nan | given.c_nan, nan, number), "d"))
