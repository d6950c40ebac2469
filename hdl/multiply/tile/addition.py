"""The last step of `mma` on fp8: one IEEE 754 addition in f32 or f16."""

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from golden.tables.formats import FloatFormat, float_format
from hdl.component import Component
from hdl.shared_module import SharedModule
from hdl.stream.pipeline import delay, register, stage_signature

ADDITION_MODULE: Final = "openwmma_rounded_addition"
_PORTS: Final = ({"x": Out(32), "y": Out(32), "is_f16": Out(1)}, {"d": Out(32)})

_F32: Final = float_format("f32")
_F16: Final = float_format("f16")

_FRACTION: Final = _F32.fraction_bits
_UNUSED: Final = _F32.fraction_bits - _F16.fraction_bits
"""Low fraction bits that an f16 leaves empty."""

_SIGNIFICAND: Final = _F32.significand_bits
_SUM: Final = 1 + _SIGNIFICAND + 3
"""Bits of a sum: a carry, the significand, and guard, round and sticky bit."""

_SHIFT_BITS: Final = 5
"""Of a distance; with 32 or more, nothing is left of the smaller operand."""


class RoundedAddition(Component):
    """``d = x + y`` to nearest even, of two f32 or of two f16 in the low halves; a NaN is the canonical one.

    Both formats share a datapath of f32's width: an f16 keeps its own exponent, and its fraction lies at the
    top. The larger magnitude comes first, the smaller one is aligned to it with guard, round and sticky bit,
    and the sum is normalised, not beyond the least exponent: a marker bit at that place ends the count of
    leading zeros. This is the single-path adder of J.-M. Muller et al., Handbook of Floating-Point
    Arithmetic, 2nd edition, 2018, chapter 8.

    Three bits below the significand suffice: a difference that loses more than one leading bit is of
    operands at most one binade apart, and therefore exact.

    One addition for each dot-product unit and cycle is twice what is needed on average, as each of these
    results takes two dot products. They come in runs, though, of the last pass over a tile, and a slower
    adder would need a queue that is larger than itself.

    Throughput: an addition per cycle. Latency: 9 cycles. Expected critical path: the alignment, five levels
    of multiplexers and the sticky bit; the unit never stops, so no enable fans out.
    Testbench: cocotb_tests/multiply/test_rounded_addition.py.

    Members
    -------
    input.x, input.y : 32
    input.is_f16 : 1
        Both are f16; the high halves do not matter.
    output.d : 32
        An f16 lies in the low half; the high half is zero.
    """

    latency = 9

    def __init__(self) -> None:
        super().__init__(stage_signature(*_PORTS))

    @classmethod
    def shared(cls) -> SharedModule:
        """Make an instance of the module that all additions have in common."""
        return SharedModule(ADDITION_MODULE, stage_signature(*_PORTS), cls)

    def _logic(self, m: Module) -> None:
        # Cycle 1: sign and magnitude of both.
        is_f16 = [self.input.is_f16]
        for cycle in range(1, self.latency):
            is_f16.append(register(m, is_f16[-1], f"is_f16_{cycle}"))
        x_negative, x = _unpacked(m, "x", self.input.x, is_f16[0])
        y_negative, y = _unpacked(m, "y", self.input.y, is_f16[0])
        # Cycle 2: compare, and subtract the exponents either way; a subnormal number has 1.
        swap = register(m, x < y, "swap")
        x_exponent, y_exponent = _exponent(x), _exponent(y)
        x_above = register(m, (x_exponent - y_exponent)[: _F32.exponent_bits], "x_above")
        y_above = register(m, (y_exponent - x_exponent)[: _F32.exponent_bits], "y_above")
        x, y = register(m, x, "x_2"), register(m, y, "y_2")
        x_negative = register(m, x_negative, "x_negative_2")
        y_negative = register(m, y_negative, "y_negative_2")
        # Cycle 3: order, and recognise infinities and NaN.
        larger, smaller = Mux(swap, y, x), Mux(swap, x, y)
        distance = Mux(swap, y_above, x_above)
        subtract = x_negative ^ y_negative
        top = Mux(is_f16[2], _infinity(_F16), _infinity(_F32))
        larger_is_infinite, smaller_is_infinite = larger == top, smaller == top
        is_nan = register(m, (larger > top) | (larger_is_infinite & smaller_is_infinite & subtract), "nan_3")
        is_infinite = register(m, larger_is_infinite, "infinite_3")
        negative = register(m, Mux(swap, y_negative, x_negative), "negative_3")
        exponent = register(m, _exponent(larger), "exponent_3")
        larger = register(m, _significand(larger), "larger_3")
        smaller = register(m, _significand(smaller), "smaller_3")
        shift = register(m, distance[:_SHIFT_BITS], "shift_3")
        is_far = register(m, distance[_SHIFT_BITS:].any(), "far_3")
        subtract = register(m, subtract, "subtract_3")
        # Cycle 4: align.
        aligned = register(m, _aligned(smaller, shift, is_far), "aligned_4")
        larger = register(m, larger, "larger_4")
        subtract = register(m, subtract, "subtract_4")
        exponent = register(m, exponent, "exponent_4")
        # Cycle 5: add or subtract; the marker of the least exponent.
        low = len(aligned) - _SIGNIFICAND
        term = Cat(aligned, 0) ^ subtract.replicate(_SUM)
        total = register(m, (Cat(Const(0, low), larger, 0) + term + subtract)[:_SUM], "sum_5")
        marker = register(m, _marker(exponent), "marker_5")
        subtract = register(m, subtract, "subtract_5")
        exponent = register(m, exponent, "exponent_5")
        # Cycle 6: count.
        zeros = register(m, _leading_zeros(total | marker), "zeros_6")
        cancelled = register(m, subtract & ~total.any(), "cancelled_6")
        total = register(m, total, "sum_6")
        exponent = register(m, exponent, "exponent_6")
        # Cycle 7: normalise. The highest bit of a sum has an exponent one above the larger operand's.
        for bit in reversed(range(len(zeros))):
            total = Mux(zeros[bit], Cat(Const(0, 1 << bit), total)[:_SUM], total)
        biased = register(m, (exponent + 1 - zeros)[: _F32.exponent_bits], "biased_7")
        total = register(m, total, "sum_7")
        # Cycle 8: whether to round up. A significand without its leading one has the exponent zero.
        significand = total[-_SIGNIFICAND:]
        below_f16 = total[: _SUM - _F16.significand_bits]
        below_f32 = total[: _SUM - _SIGNIFICAND]
        increments = [
            below[-1] & (below[:-1].any() | last)
            for below, last in ((below_f32, significand[0]), (below_f16, significand[_UNUSED]))
        ]
        too_large = significand[-1] & (biased == Mux(is_f16[7], _top_exponent(_F16), _top_exponent(_F32)))
        is_infinite = register(m, delay(m, is_infinite, 4, "is_infinite") | too_large, "infinite_8")
        fraction = register(m, significand[:_FRACTION], "fraction_8")
        biased = register(m, Mux(significand[-1], biased, 0), "biased_8")
        f32_up = register(m, increments[0] & ~is_f16[7], "f32_up_8")
        f16_up = register(m, increments[1] & is_f16[7], "f16_up_8")
        # Cycle 9: round and pack. A carry out of the fraction raises the exponent, as far as infinity.
        rounded = Cat(fraction, biased) + Cat(f32_up, Const(0, _UNUSED - 1), f16_up)
        is_nan = delay(m, is_nan, 5, "is_nan")
        negative = delay(m, negative, 5, "is_negative") & ~delay(m, cancelled, 2, "is_cancelled")
        narrow = Cat(rounded[_UNUSED : _UNUSED + _F16.bits - 1], negative)
        wide = Cat(rounded[: _F32.bits - 1], negative)
        results = []
        for format, plain in ((_F32, wide), (_F16, narrow)):
            infinity = Cat(Const(format.infinity, format.bits - 1), negative)
            nan = Const(format.canonical_nan, format.bits)
            results.append(Mux(is_nan, nan, Mux(is_infinite, infinity, plain)))
        m.d.comb += self.output.d.eq(register(m, Mux(is_f16[8], results[1], results[0]), "d_9"))


def _top_exponent(format: FloatFormat) -> int:
    """The exponent field of infinities and NaN."""
    return (1 << format.exponent_bits) - 1


def _infinity(format: FloatFormat) -> int:
    """The magnitude of infinity, as `_unpacked` gives it."""
    return _top_exponent(format) << _FRACTION


def _unpacked(m: Module, name: str, word: Value, is_f16: Value) -> tuple[Signal, Signal]:
    """Whether a number is negative, and its magnitude: exponent field above 23 fraction bits, registered."""
    narrow = Cat(Const(0, _UNUSED), word[: _F16.bits - 1])
    magnitude = Mux(is_f16, narrow, word[: _F32.bits - 1])
    negative = Mux(is_f16, word[_F16.bits - 1], word[_F32.bits - 1])
    return register(m, negative, f"{name}_negative_1"), register(m, magnitude, f"{name}_1")


def _exponent(magnitude: Value) -> Value:
    """The biased exponent; 1 for subnormal numbers."""
    field = magnitude[_FRACTION:]
    return Cat(field[0] | ~field.any(), field[1:])


def _significand(magnitude: Value) -> Value:
    return Cat(magnitude[:_FRACTION], magnitude[_FRACTION:].any())


def _aligned(significand: Value, shift: Value, is_far: Value) -> Value:
    """The significand with two more bits, shifted right, and below them the sticky bit.

    Zero where it is far: less than a quarter of a unit in the last place changes no sum to nearest.
    """
    value: Value = Cat(Const(0, 2), significand)
    lost: Value = Const(0, 1)
    for bit in reversed(range(len(shift))):
        step = 1 << bit
        lost = lost | (shift[bit] & value[:step].any())
        value = Mux(shift[bit], Cat(value, Const(0, step))[step:], value)
    return Mux(is_far, 0, Cat(lost, value))


def _marker(exponent: Value) -> Value:
    """A bit as far below the top of a sum as the exponent allows to shift.

    Exponents above `_SIGNIFICAND` have no bit: a difference loses at most that many leading bits.
    """
    places = range(_SIGNIFICAND, 0, -1)
    return Cat(Const(0, _SUM - 1 - _SIGNIFICAND), *(exponent == place for place in places))


def _leading_zeros(value: Value) -> Value:
    """Zeros above the highest one, as many as there are bits if there is none."""
    padded: Value = Cat(Const(-1, (1 << _SHIFT_BITS) - len(value)), value)
    bits: list[Value] = []
    for bit in reversed(range(_SHIFT_BITS)):
        half = 1 << bit
        none = ~padded[half:].any()
        bits.insert(0, none)
        padded = Mux(none, padded[:half], padded[half:])
    return Cat(*bits)
