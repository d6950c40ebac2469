"""Normalize: sign, magnitude and exponent of the sum."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import DotProductConfig
from hdl.dot_product.widths import Widths
from hdl.stream.pipeline import delay, register

__all__ = ["Normalize"]

_CYCLES = ((16,), (8,), (4,), (2, 1))
"""The steps of the shift by the cycle they are made in."""


class Normalize(wiring.Component):
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
    sum : In(signed(total))
    integer : In(1)
        The sum passes as it is, two's complement.
    limit : In(9)
        The most the sum may be shifted: the biased f32 exponent that its highest magnitude bit would have,
        less one. (A limit of -1, which `Widths.may_halve` tells, counts as 0 here.)
    negative : Out(1)
    value : Out(total - 1)
    exponent : Out(9)
        Biased as in f32; 0 for subnormals and zero.
    """

    latency = 1 + len(_CYCLES)

    def __init__(self, config: DotProductConfig) -> None:
        self.widths = Widths(config)
        super().__init__(
            {
                "sum": In(signed(self.widths.total)),
                "integer": In(1),
                "limit": In(self.widths.exponent_bits),
                "negative": Out(1),
                "value": Out(self.widths.total - 1),
                "exponent": Out(self.widths.exponent_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        bits = self.widths.total - 1
        invert = self.sum[-1] & ~self.integer
        less_one = register(m, (self.sum - invert)[:bits], "less_one")
        invert = register(m, invert, "invert")
        negative = delay(m, self.sum[-1], self.latency - 1, "negative")
        limit = register(m, Mux(self.integer, 0, self.limit), "limit_1")

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
            self.negative.eq(negative),
            self.value.eq(value),
        ]
        # The most significant step was made first.
        count = Cat(*reversed(Cat(*moved)))
        m.d.sync += self.exponent.eq(Mux(value[-1], next_exponent - count, 0))
        return m
