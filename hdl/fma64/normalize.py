"""Normalize: the sum's leading one comes to the top, unless the exponent ends first."""

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.fma64.fields import Fma64Stage
from hdl.fma64.widths import SHIFT_BITS, SIGNIFICAND, WINDOW, WINDOW_EXPONENT_BITS
from hdl.stream.pipeline import Cut, behind

KEPT = SIGNIFICAND + 1
"""Bits that go on to the rounding: the significand and the guard bit."""

GROUP = 16
GROUPS = 7


class Normalize(Fma64Stage):
    """Shift the sum left by its leading zeros, but never so far that the exponent falls below 1.

    The shift is found in three digits, of 16, of 4 and of 1 places, each the lesser of the leading zeros
    and of what the exponent allows; as long as a digit was less than allowed, the following ones are free.
    Large shifts come first, so that the number becomes shorter with each: what can no longer reach the
    guard bit counts as inexactness only.

    `sum` stays as it is until the last step. A difference is inverted where it is negative, and filled up
    from below with ones, the continuation of the addend's complement. Bits given up are inexact if they
    differ from that continuation. The inversion takes the fourth input of the last multiplexer's look-up
    tables.

    Expected critical path: two multiplexers of a signal with a hundred loads.

    Members
    -------
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

    delays = (3.0, 2.5, 2.5, 3.0, 2.5, 2.5, 2.5, 3.0, 2.5, 3.0)
    input_fields = "sum negative inexact subtract exponent"
    output_fields = "significand guard rest biased cancelled"

    def _logic(self, m: Module, *cut: Cut) -> None:
        given, output = self.input, self.output
        negative, fill, exponent = [given.negative], [given.subtract], [given.exponent]
        for number in range(9):
            negative.append(cut[number](negative[-1], f"negative_{number + 1}"))
            fill.append(cut[number](fill[-1], f"fill_{number + 1}"))
            exponent.append(cut[number](exponent[-1], f"exponent_{number + 1}"))
        limit = cut[0]((given.exponent - 1)[:WINDOW_EXPONENT_BITS], "limit_1")
        free = cut[1](limit[SHIFT_BITS:].any(), "free_2")
        limit = cut[1](limit[:SHIFT_BITS], "limit_2")

        # Before cuts 0 to 2: the digit of 16 places.
        value: Value = Cat(fill[0].replicate(GROUP * GROUPS - WINDOW), given.sum)
        zeros = cut[0](_zero_groups(value, GROUP, negative[0]), "zero_groups_1")
        count = cut[1](_leading(zeros), "count_2")
        digit, free = _digit(count, limit[4:], free)
        high = cut[2](digit, "high_3")
        free = cut[2](free, "free_3")
        limit = behind(cut[2:6], limit[:4], "limit_low")
        value = behind(cut[:3], value, "value")
        # Before cuts 3 and 4: its shift.
        rest = behind(cut[:3], given.inexact, "inexact")
        value, rest = _shift(value, rest, (64, 32), high[1:], fill[3])
        value, rest = cut[3](value, "value_4"), cut[3](rest, "rest_4")
        value, rest = _shift(value, rest, (16,), cut[3](high[0], "high_4"), fill[4])
        value, rest = cut[4](value, "value_5"), cut[4](rest, "rest_5")
        # Before cuts 5 to 7: the digit of 4 places, and its shift.
        zeros = cut[5](_zero_groups(value[-16:], 4, negative[5]), "zero_groups_6")
        value, rest = behind(cut[5:7], value, "value_5"), behind(cut[5:7], rest, "rest_5")
        digit, free = _digit(_leading(zeros[1:]), limit[2:], behind(cut[3:6], free, "free_3"))
        middle = cut[6](digit, "middle_7")
        free = behind(cut[6:8], free, "free_6")
        value, rest = _shift(value, rest, (8, 4), middle, fill[7])
        value, rest = cut[7](value, "value_8"), cut[7](rest, "rest_8")
        # Before cuts 8 and 9: the digit of 1 place, its shift, and the exponent.
        zeros = _zero_groups(value[-4:], 1, negative[8])
        digit, _ = _digit(_leading(zeros[1:]), behind(cut[6:8], limit[:2], "limit_6"), free)
        low = cut[8](digit, "low_9")
        value, rest = cut[8](value, "value_9"), cut[8](rest, "rest_9")
        value, rest = _shift(value, rest, (2, 1), low, fill[9])
        shift = Cat(low, behind(cut[7:9], middle, "middle_7"), behind(cut[3:9], high, "high_3"))
        value = value ^ negative[9].replicate(KEPT)
        cancelled = (count == GROUPS) & fill[2] & ~behind(cut[:2], given.inexact, "inexact_early")
        value = cut[9](value, "value_10")
        m.d.comb += [
            output.significand.eq(value[1:]),
            output.guard.eq(value[0]),
            output.rest.eq(cut[9](rest, "rest_10")),
            output.biased.eq(cut[9]((exponent[9] - shift)[:WINDOW_EXPONENT_BITS], "biased_10")),
            output.cancelled.eq(behind(cut[2:], cancelled, "cancelled")),
        ]


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
