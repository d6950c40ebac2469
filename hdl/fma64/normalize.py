"""Normalize: the sum's leading one comes to the top, unless the exponent ends first."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib.wiring import Out

from hdl.fma64.widths import SHIFT_BITS, SIGNIFICAND, WINDOW, WINDOW_EXPONENT_BITS
from hdl.stream.pipeline import Stage, delay, register

__all__ = ["Normalize"]

KEPT = SIGNIFICAND + 1
"""Bits that go on to the rounding: the significand and the guard bit."""

GROUP = 16
GROUPS = 7


class Normalize(Stage):
    """Shift the sum left by its leading zeros, but never so far that the exponent falls below 1.

    The shift is found in three digits, of 16, of 4 and of 1 places, each the lesser of the leading zeros
    and of what the exponent allows; as long as a digit was less than allowed, the following ones are free.
    Large shifts come first, so that the number becomes shorter with each: what can no longer reach the
    guard bit counts as inexactness only.

    `sum` stays as it is until the last step. A difference is inverted where it is negative, and filled up
    from below with ones, the continuation of the addend's complement. Bits given up are inexact if they
    differ from that continuation. The inversion takes the fourth input of the last multiplexer's look-up
    tables.

    Throughput: an operation per cycle. Latency: 10 cycles. Expected critical path: two multiplexers of a
    signal with a hundred loads.

    Members
    -------
    input.sum, input.negative, input.inexact
        From `Add`.
    input.subtract : 1
    input.exponent : 12
        Biased, of the top bit; never 0.
    output.significand : 53, output.guard : 1
        The leading bits of the magnitude. A positive difference lacks one unit infinitely far below.
    output.rest : 1
        Below the guard bit there is something other than zeros (in a difference: than the continuation).
    output.biased : 12
        The exponent of the significand's top bit, at least 1.
    output.cancelled : 1
        The difference is exactly zero.
    """

    latency = 10

    def __init__(self) -> None:
        super().__init__(
            {
                "sum": Out(WINDOW),
                "negative": Out(1),
                "inexact": Out(1),
                "subtract": Out(1),
                "exponent": Out(WINDOW_EXPONENT_BITS),
            },
            {
                "significand": Out(SIGNIFICAND),
                "guard": Out(1),
                "rest": Out(1),
                "biased": Out(WINDOW_EXPONENT_BITS),
                "cancelled": Out(1),
            },
        )

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        given, output = self.input, self.output
        negative, fill, exponent = [given.negative], [given.subtract], [given.exponent]
        for cycle in range(1, self.latency):
            negative.append(register(m, negative[-1], f"negative_{cycle}"))
            fill.append(register(m, fill[-1], f"fill_{cycle}"))
            exponent.append(register(m, exponent[-1], f"exponent_{cycle}"))
        limit = register(m, (given.exponent - 1)[:WINDOW_EXPONENT_BITS], "limit_1")
        free = register(m, limit[SHIFT_BITS:].any(), "free_2")
        limit = register(m, limit[:SHIFT_BITS], "limit_2")

        # Cycles 1 to 3: the digit of 16 places.
        value: Value = Cat(fill[0].replicate(GROUP * GROUPS - WINDOW), given.sum)
        zeros = register(m, _zero_groups(value, GROUP, negative[0]), "zero_groups_1")
        count = register(m, _leading(zeros), "count_2")
        digit, free = _digit(count, limit[4:], free)
        high = register(m, digit, "high_3")
        free = register(m, free, "free_3")
        limit = delay(m, limit[:4], 4, "limit_low")
        value = delay(m, value, 3, "value")
        # Cycles 4 and 5: its shift.
        rest = delay(m, given.inexact, 3, "inexact")
        value, rest = _shift(value, rest, (64, 32), high[1:], fill[3])
        value, rest = register(m, value, "value_4"), register(m, rest, "rest_4")
        value, rest = _shift(value, rest, (16,), register(m, high[0], "high_4"), fill[4])
        value, rest = register(m, value, "value_5"), register(m, rest, "rest_5")
        # Cycles 6 to 8: the digit of 4 places, and its shift.
        zeros = register(m, _zero_groups(value[-16:], 4, negative[5]), "zero_groups_6")
        value, rest = delay(m, value, 2, "value_5"), delay(m, rest, 2, "rest_5")
        digit, free = _digit(_leading(zeros[1:]), limit[2:], delay(m, free, 3, "free_3"))
        middle = register(m, digit, "middle_7")
        free = delay(m, free, 2, "free_6")
        value, rest = _shift(value, rest, (8, 4), middle, fill[7])
        value, rest = register(m, value, "value_8"), register(m, rest, "rest_8")
        # Cycles 9 and 10: the digit of 1 place, its shift, and the exponent.
        zeros = _zero_groups(value[-4:], 1, negative[8])
        digit, _ = _digit(_leading(zeros[1:]), delay(m, limit[:2], 2, "limit_6"), free)
        low = register(m, digit, "low_9")
        value, rest = register(m, value, "value_9"), register(m, rest, "rest_9")
        value, rest = _shift(value, rest, (2, 1), low, fill[9])
        shift = Cat(low, delay(m, middle, 2, "middle_7"), delay(m, high, 6, "high_3"))
        value = value ^ negative[9].replicate(KEPT)
        cancelled = (count == GROUPS) & fill[2] & ~delay(m, given.inexact, 2, "inexact_early")
        value = register(m, value, "value_10")
        m.d.comb += [
            output.significand.eq(value[1:]),
            output.guard.eq(value[0]),
            output.rest.eq(register(m, rest, "rest_10")),
            output.biased.eq(register(m, (exponent[9] - shift)[:WINDOW_EXPONENT_BITS], "biased_10")),
            output.cancelled.eq(delay(m, cancelled, 8, "cancelled")),
        ]
        return m


def _zero_groups(value: Value, size: int, negative: Value) -> Value:
    """For each group of `size` bits whether it is zero, or all ones of a negative number."""
    return Cat(
        ~(value[start : start + size] ^ negative.replicate(size)).any()
        for start in range(0, len(value), size)
    )


def _leading(flags: Value) -> Value:
    """How many flags are set from the top on."""
    count: Value = Const(len(flags))
    for position, flag in enumerate(flags):
        count = Mux(flag, count, len(flags) - 1 - position)
    return count


def _digit(count: Value, limit: Value, free: Value) -> tuple[Value, Value]:
    """The lesser of count and limit, and whether the digits below it are free of the limit."""
    return Mux(free | (count <= limit), count, limit), free | (count < limit)


def _shift(
    value: Value, rest: Value, steps: tuple[int, ...], moves: Value, fill: Value
) -> tuple[Value, Value]:
    """Shift left by the steps whose bit of `moves` is set, the first of them the highest.

    Of the result only those bits stay that can still reach the guard bit in the shifts after this one; what
    the others hold goes into `rest`.
    """
    for index, step in enumerate(steps):
        move = moves[len(steps) - 1 - index]
        excess = max(len(value) - KEPT - (step - 1), 0)
        always = max(excess - step, 0)
        if excess:
            rest = rest | (~move & _differs(value[always:excess], fill))
        if always:
            rest = rest | _differs(value[:always], fill)
        value = Mux(move, Cat(fill.replicate(step), value[:-step]), value)[excess:]
    return value, rest


def _differs(value: Value, fill: Value) -> Value:
    return (value ^ fill.replicate(len(value))).any()
