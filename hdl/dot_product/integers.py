"""Integers: bytes to the factors of the multipliers."""

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Value

from hdl.dot_product.words import common, every_place, flags, spread, up
from hdl.stream.pipeline import Cut

# An 8-bit integer is one factor, sign-extended. Two 4-bit products share a multiplier:  (a0 + a1 * 2**12) *
# (b1 + b0 * 2**12) = a0 * b1  +  (a0 * b0 + a1 * b1) * 2**12  +  a1 * b0 * 2**24  with a0, b0 the low
# nibbles. The middle field is the dot product of the two pairs, -240 to 450, and bits 12 to 23 of the
# product hold it, less one if the low field is negative, which bit 11 tells (`Align` passes it on as a
# carry). A negative low nibble borrows from the high one: that is the decrement in `_pair`.


@dataclass(frozen=True)
class Factor:
    """What bytes contribute to factors of 18 bits, for four lanes.

    Parameters
    ----------
    low : Value
        A word, with bits 0 to 15.
    top : Value
        Flags: bits 16 and 17, which are equal.
    """

    low: Value
    top: Value


@dataclass(frozen=True)
class IntegerMode:
    """Which integers an operation is on; single bits, all of them the same in every lane.

    Parameters
    ----------
    i8, i4 : Value
        Either, or neither.
    a_signed, b_signed : Value
    """

    i8: Value
    i4: Value
    a_signed: Value
    b_signed: Value

    def behind(self, cut: Cut) -> "IntegerMode":
        """The same behind a cut."""
        return IntegerMode(
            cut(self.i8, "i8"),
            cut(self.i4, "i4"),
            cut(self.a_signed, "a_signed"),
            cut(self.b_signed, "b_signed"),
        )


def integer_factors(
    m: Module, cut: Cut, a: Value, b: Value, mode: IntegerMode, late: IntegerMode, name: str
) -> tuple[Factor, Factor]:
    """Make the factors of four lanes, behind a cut.

    Parameters
    ----------
    m : Module
    cut : Cut
    a, b : Value
        Words; the low byte of each place counts.
    mode : IntegerMode
        Before the cut, as the bytes.
    late : IntegerMode
        Behind it.
    name : str
        Of the word.

    Returns
    -------
    tuple of Factor
        Of a and of b; zero unless the operation is on integers of more than one bit.
    """
    a, b = common(m, a & every_place(0xFF)), common(m, b & every_place(0xFF))
    # Registers that are zero in the other format cost nothing (synchronous reset) and save a choice later.
    a_byte = cut(Mux(mode.i8 | mode.i4, a, 0), f"{name}_a_byte")
    a_high = cut(Mux(mode.i4, (a >> 4) & every_place(0xF), 0), f"{name}_a_high")
    b_byte = cut(Mux(mode.i8, b, 0), f"{name}_b_byte")
    b_nibbles = cut(Mux(mode.i4, b, 0), f"{name}_b_nibbles")
    b_low, b_high = common(m, b_nibbles & every_place(0xF)), (b_nibbles >> 4) & every_place(0xF)

    a_sign = common(m, spread(late.a_signed, 1) & Mux(late.i4, a_byte >> 3, a_byte >> 7))
    b_sign = common(m, spread(late.b_signed, 1) & ((b_byte | b_nibbles) >> 7))
    a_signs = _four(m, a_sign)
    b_signs = _four(m, b_sign & spread(late.i4))
    a_pair, a_top = _pair(m, a_high, a_sign, late.a_signed)
    b_pair, b_top = _pair(m, b_low, b_sign, late.b_signed)
    a_low = (
        a_byte & every_place(0xF)
        | Mux(late.i4, up(a_signs, 4), a_byte & every_place(0xF0))
        | up(a_signs, 8)
        | up(a_pair, 12)
    )
    b_low = b_high | up(b_byte | b_signs | up(b_signs, 4), 4) | up(b_pair, 12)
    return Factor(common(m, a_low), common(m, a_top)), Factor(common(m, b_low), common(m, b_top))


def _four(m: Module, word: Value) -> Value:
    """Every flag in the four lowest bits of its place."""
    two = common(m, word | up(word, 1))
    return common(m, two | up(two, 2))


def _pair(m: Module, high: Value, sign: Value, signed: Value) -> tuple[Value, Value]:
    """Return the top six bits of a factor, `high` less the borrow of a negative low field or just the sign.

    The highest two are equal and returned as flags. Look-up tables are smaller here than the carry chain of
    a subtraction.
    """
    borrow = passed = sign
    for _ in range(3):
        passed = common(m, up(passed & ~high, 1))
        borrow = borrow | passed
    top = spread(signed, 1) & (high >> 3) | flags((passed & ~high) >> 3)
    return high ^ borrow, top
