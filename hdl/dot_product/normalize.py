"""Normalize: sign, magnitude and exponent of the sum."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from amaranth.lib.wiring import Out

from hdl.config import DotProductConfig
from hdl.dot_product.operands import Operation
from hdl.dot_product.widths import INTEGER, WIDE, Widths
from hdl.stream.pipeline import Stage, delay, register

__all__ = ["Normalize"]

_CYCLES = ((16,), (8,), (4,), (2, 1))
"""The steps of the shift by the cycle they are made in."""


class Normalize(Stage):
    """Shift the magnitude of the sum left until it is normal, or until the exponent is that of subnormals.

    The limit is spent bit by bit together with the shift: a step of 16, say, is allowed if the limit has
    its bit 16 or is known to be larger than all that can still follow; not taking an allowed step makes it
    so.

    Latency 5 cycles, one operation per cycle. Expected critical path: the test of 16 bits for zero and the
    choice that it makes in 32.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    input.operation : Operation
        The sum of integers passes as it is, two's complement.
    input.sum : signed(total)
    input.limit : 9
        The most the sum may be shifted: the biased f32 exponent that its highest magnitude bit would have,
        less one.
    output.negative : 1
    output.value : total - 1
    output.exponent : 9
        Biased as in f32; 0 for subnormals and zero.
    output.right : `Widths.right_bits`
        How far the highest bit of `value` lies below that of the smallest normal f32, 31 for 31 and more: the
        limit is negative, by so much, and counts as 0 here. Only with such limits.
    """

    latency = 1 + len(_CYCLES)

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        super().__init__(
            {
                "operation": Out(Operation),
                "sum": Out(signed(self.widths.total)),
                "limit": Out(self.widths.exponent_bits),
            },
            {
                "negative": Out(1),
                "value": Out(self.widths.total - 1),
                "exponent": Out(self.widths.exponent_bits),
                **({"right": Out(self.widths.right_bits)} if self.widths.right_bits else {}),
            },
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        bits = self.widths.total - 1
        total, multiplicand = self.input.sum, self.input.operation.multiplicand
        integer = self.widths.chosen(multiplicand, INTEGER)
        limit = self.input.limit
        if self.widths.right_bits:
            negative_limit = self.widths.chosen(multiplicand, WIDE) & self._is_negative(limit)
            right = self._right(limit) & negative_limit.replicate(self.widths.right_bits)
            m.d.comb += self.output.right.eq(delay(m, right, self.latency, "right"))
            limit = Mux(negative_limit, 0, limit)
        invert = total[-1] & ~integer
        less_one = register(m, (total - invert)[:bits], "less_one")
        invert = register(m, invert, "invert")
        negative = delay(m, total[-1], self.latency - 1, "negative")
        limit = register(m, Mux(integer, 0, limit), "limit_1")

        value: Value = less_one ^ invert.replicate(bits)
        ample: Value = limit[5:].any()
        steps: Value = limit[:5]
        next_exponent: Value = limit + 1
        moved: list[Value] = []
        for cycle, shifts in enumerate(_CYCLES):
            for shift in shifts:
                allowed = steps[-1]
                move = ~value[-shift:].any() & (ample | allowed)
                value = Mux(move, Cat(Const(0, shift), value[:-shift]), value)
                ample |= allowed & ~move
                steps = steps[:-1]
                moved.append(move)
            if cycle < len(_CYCLES) - 1:
                value = register(m, value, f"value_{cycle}")
                ample = register(m, ample, f"ample_{cycle}")
                steps = register(m, steps, f"steps_{cycle}")
                moved = [register(m, Cat(*moved), f"moved_{cycle}")]
                next_exponent = register(m, next_exponent[: self.widths.exponent_bits], f"exponent_{cycle}")
        m.d.sync += [
            self.output.negative.eq(negative),
            self.output.value.eq(value),
        ]
        # The most significant step was made first.
        count = Cat(*reversed(Cat(*moved)))
        m.d.sync += self.output.exponent.eq(Mux(value[-1], next_exponent - count, 0))
        return m

    def _is_negative(self, limit: Value) -> Value:
        """Whether a limit modulo 2**9 is negative; the greatest is 510 above the least, so all differ."""
        most = self.widths.most_right
        return limit.all() if most == 1 else limit >= (1 << len(limit)) - most

    def _right(self, limit: Value) -> Value:
        bits = self.widths.right_bits
        distance = (-limit)[: self.widths.most_right.bit_length()]
        return distance[:bits] | distance[bits:].any().replicate(bits)
