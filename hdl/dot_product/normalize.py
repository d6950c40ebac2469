"""Normalize: the leading one of the sum to the front, and its exponent."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.adders import incremented
from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import INTEGER, WIDE
from hdl.stream.pipeline import Cut, behind

_STEPS = ((16,), (8,), (4,), (2, 1))
"""The steps of the shift before each cut."""


class Limit(DotProductStage):
    """How far the sum may be shifted left: the biased f32 exponent of its highest magnitude bit, less one.

    Expected critical path: a 9-bit addition.
    Testbench: cocotb_tests/dot_product/test_normalize.py.

    Members
    -------
    output.limit : 9
        A negative limit counts as 0, as does the limit of integers.
    input.scale : signed
        What Emax lacks. Only with block scales.
    output.right : `Widths.right_bits`
        How far the sum's highest bit lies below the smallest normal f32's, 31 for 31 and more: the limit is
        negative by so much. Only with such limits.
    """

    delays = (2.6, 2.4)
    input_fields = "operation maximum scale"
    output_fields = "limit right"

    def _logic(self, m: Module, first: Cut, second: Cut) -> None:
        widths = self.widths
        multiplicand = self.input.operation.multiplicand
        wide = widths.chosen(multiplicand, WIDE)
        offset = Mux(wide, widths.limit_offset(narrow=False), widths.limit_offset(narrow=True))
        maximum: Value = self.input.maximum
        if self.config.block_scale:
            # As products of bf16, those with scales may lie anywhere.
            maximum = maximum + self.input.scale
            wide |= widths.chosen(multiplicand, frozenset({"fp8"}))
        limit = first((maximum + offset)[: widths.exponent_bits], "sum")
        without = first(widths.chosen(multiplicand, INTEGER), "integer")
        if widths.right_bits:
            negative = first(wide, "wide") & self._is_negative(limit)
            right = self._right(limit) & negative.replicate(widths.right_bits)
            m.d.comb += self.output.right.eq(second(right, "right"))
            without |= negative
        m.d.comb += self.output.limit.eq(second(Mux(without, 0, limit), "limit"))

    def _is_negative(self, limit: Value) -> Value:
        """Whether a limit modulo 2**9 is negative; the greatest is 510 above the least, so all differ."""
        most = self.widths.most_right
        return limit.all() if most == 1 else limit >= (1 << len(limit)) - most

    def _right(self, limit: Value) -> Value:
        bits = self.widths.right_bits
        distance = (-limit)[: self.widths.most_right.bit_length()]
        return distance[:bits] | distance[bits:].any().replicate(bits)


class Normalize(DotProductStage):
    """Shift the sum left until its leading bit is one, or until its exponent is the subnormals'.

    A negative sum stays a one's complement: its magnitude less one, with ones shifted in. What is missing is
    then one in the last place behind all of them, which `Round` adds; an adder less on the way. A magnitude
    that is a power of two comes as ones with the exponent below, of which the missing one makes the power.

    The limit is spent bit by bit together with the shift: a step of 16, say, is allowed if the limit has
    its bit 16 or is known to be larger than all that can still follow; not taking an allowed step makes it
    so.

    Expected critical path: the test of 16 bits for zero and the choice that it makes in 32.

    Members
    -------
    input.operation : Operation
        The sum of integers passes as it is, two's complement.
    output.negative : 1
    output.value : total - 1
        Of a negative sum of floating-point terms, one less than the magnitude, in units of an infinitely far
        last place.
    output.exponent : 9
        Biased as in f32, of `value`; 0 for subnormals and zero.
    """

    delays = (4.4, 3.6, 3.1, 3.8)
    input_fields = "operation sum limit"
    output_fields = "negative value exponent"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        bits = self.widths.total - 1
        total, limit = self.input.sum, self.input.limit
        integer = self.widths.chosen(self.input.operation.multiplicand, INTEGER)
        negative = behind(cuts, total[-1], "negative")
        fill = total[-1] & ~integer

        value: Value = total[:bits]
        ample: Value = limit[5:].any()
        steps: Value = limit[:5]
        next_exponent: Value = limit + 1
        moved: list[Value] = []
        empty = _all_equal(value[-_STEPS[0][0] :], fill)
        for number, (cut, shifts) in enumerate(zip(cuts, _STEPS, strict=True)):
            unlimited = ample
            for shift in shifts:
                allowed = steps[-1]
                move = empty & (ample | allowed)
                # Whether the next step finds zeros is known for either case before this one is made.
                after, shifted = shift // 2, Cat(Const(0, shift), value[:-shift])
                if after:
                    empty = Mux(move, _all_equal(shifted[-after:], fill), _all_equal(value[-after:], fill))
                value = Mux(move, shifted, value)
                ample |= allowed & ~move
                steps = steps[:-1]
                moved.append(move)
            if cut is not cuts[-1]:
                value = cut(value, f"value_{number}")
                empty = cut(empty, f"empty_{number}")
                ample = cut(ample, f"ample_{number}")
                steps = cut(steps, f"steps_{number}")
                moved = [cut(Cat(*moved), f"moved_{number}")]
                next_exponent = cut(next_exponent[: self.widths.exponent_bits], f"exponent_{number}")
                fill = cut(fill, f"fill_{number}")
        # Zeros shifted in become ones together with all other bits of a one's complement.
        value ^= fill.replicate(bits)
        # The most significant step was made first.
        count = Cat(*reversed(Cat(*moved)))
        below: Value = Const(0, self.widths.exponent_bits)
        top: Value = value[-1]
        if bits > sum(map(sum, _STEPS)):
            # A sum of -1 is nothing but ones that were shifted in, and lacks one: the exponent is 32 less.
            lacks_one = fill & unlimited
            below = Mux(lacks_one, Cat(next_exponent[:5], ~incremented(~next_exponent[5:])), 0)
            top |= lacks_one
        exponent = Mux(value[-1], next_exponent - count, below)[: self.widths.exponent_bits]
        m.d.comb += [
            self.output.negative.eq(negative),
            self.output.value.eq(cuts[-1](Cat(value[:-1], top), "value")),
            self.output.exponent.eq(cuts[-1](exponent, "exponent")),
        ]


def _all_equal(bits: Value, bit: Value) -> Value:
    return ~(bits ^ bit.replicate(len(bits))).any()
