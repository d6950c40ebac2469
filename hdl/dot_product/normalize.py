"""Normalize: sign, magnitude and exponent of the sum."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.fields import DotProductStage
from hdl.dot_product.widths import INTEGER, WIDE
from hdl.stream.pipeline import Cut, behind

__all__ = ["Normalize"]

_STEPS = ((16,), (8,), (4,), (2, 1))
"""The steps of the shift before each cut from the second on."""


class Normalize(DotProductStage):
    """Shift the magnitude of the sum left until it is normal, or until its exponent is the subnormals'.

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
    output.exponent : 9
        Biased as in f32; 0 for subnormals and zero.
    output.right : `Widths.right_bits`
        How far the highest bit of `value` lies below the smallest normal f32's, 31 for 31 and more: the
        limit is negative, by so much, and counts as 0 here. Only with such limits.
    """

    delays = (3.4, 3.9, 3.6, 3.1, 3.8)
    input_fields = "operation sum limit"
    output_fields = "negative value exponent right"

    def _logic(self, m: Module, *cuts: Cut) -> None:
        bits = self.widths.total - 1
        first, *others = cuts
        total, multiplicand = self.input.sum, self.input.operation.multiplicand
        integer = self.widths.chosen(multiplicand, INTEGER)
        limit = self.input.limit
        if self.widths.right_bits:
            negative_limit = self.widths.chosen(multiplicand, WIDE) & self._is_negative(limit)
            right = self._right(limit) & negative_limit.replicate(self.widths.right_bits)
            m.d.comb += self.output.right.eq(behind(cuts, right, "right"))
            limit = Mux(negative_limit, 0, limit)
        invert = total[-1] & ~integer
        less_one = first((total - invert)[:bits], "less_one")
        invert = first(invert, "invert")
        negative = behind(cuts, total[-1], "negative")
        limit = first(Mux(integer, 0, limit), "limit_1")

        value: Value = less_one ^ invert.replicate(bits)
        ample: Value = limit[5:].any()
        steps: Value = limit[:5]
        next_exponent: Value = limit + 1
        moved: list[Value] = []
        empty: Value = ~value[-_STEPS[0][0] :].any()
        for number, (cut, shifts) in enumerate(zip(others, _STEPS, strict=True)):
            for shift in shifts:
                allowed = steps[-1]
                move = empty & (ample | allowed)
                # Whether the next step finds zeros is known for either case before this one is made.
                after = shift // 2
                empty = Mux(move, ~value[-shift - after : -shift].any(), ~value[-after:].any())
                value = Mux(move, Cat(Const(0, shift), value[:-shift]), value)
                ample |= allowed & ~move
                steps = steps[:-1]
                moved.append(move)
            if cut is not others[-1]:
                value = cut(value, f"value_{number}")
                empty = cut(empty, f"empty_{number}")
                ample = cut(ample, f"ample_{number}")
                steps = cut(steps, f"steps_{number}")
                moved = [cut(Cat(*moved), f"moved_{number}")]
                next_exponent = cut(next_exponent[: self.widths.exponent_bits], f"exponent_{number}")
        # The most significant step was made first.
        count = Cat(*reversed(Cat(*moved)))
        exponent = Mux(value[-1], next_exponent - count, 0)[: self.widths.exponent_bits]
        m.d.comb += [
            self.output.negative.eq(negative),
            self.output.value.eq(others[-1](value, "value")),
            self.output.exponent.eq(others[-1](exponent, "exponent")),
        ]

    def _is_negative(self, limit: Value) -> Value:
        """Whether a limit modulo 2**9 is negative; the greatest is 510 above the least, so all differ."""
        most = self.widths.most_right
        return limit.all() if most == 1 else limit >= (1 << len(limit)) - most

    def _right(self, limit: Value) -> Value:
        bits = self.widths.right_bits
        distance = (-limit)[: self.widths.most_right.bit_length()]
        return distance[:bits] | distance[bits:].any().replicate(bits)
