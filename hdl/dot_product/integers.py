"""Integers: bytes to the factors of the multipliers."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Value

from hdl.dot_product.widths import Widths
from hdl.pipeline import register

__all__ = ["Factors", "IntegerMode", "integer_factors"]

# An 8-bit integer is one factor, sign-extended. Two 4-bit products share a multiplier:  (a0 + a1 * 2**12) *
# (b1 + b0 * 2**12) = a0 * b1  +  (a0 * b0 + a1 * b1) * 2**12  +  a1 * b0 * 2**24  with a0, b0 the low
# nibbles. The middle field is the dot product of the two pairs, -240 to 450, and bits 12 to 23 of the
# product hold it, less one if the low field is negative, which bit 11 tells (`Align` passes it on as a
# carry). A negative low nibble borrows from the high one: that is the decrement in `_pair`.


@dataclass(frozen=True)
class Factors:
    """What a byte of a and a byte of b contribute to the factors of one multiplier.

    Parameters
    ----------
    a, b : Value
        18 bits each; zero unless the operation is on integers of more than one bit.
    """

    a: Value
    b: Value


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

    def registered(self, m: Module) -> "IntegerMode":
        """The same, one cycle late."""
        return IntegerMode(
            register(m, self.i8, "i8"),
            register(m, self.i4, "i4"),
            register(m, self.a_signed, "a_signed"),
            register(m, self.b_signed, "b_signed"),
        )


def integer_factors(
    m: Module, widths: Widths, a: Value, b: Value, mode: IntegerMode, late: IntegerMode, name: str
) -> Factors:
    """Make the factors of one lane, in the cycle after the bytes.

    Parameters
    ----------
    m : Module
    widths : Widths
    a, b : Value
        Bytes.
    mode : IntegerMode
        In time with the bytes.
    late : IntegerMode
        One cycle later.
    name : str
        Of the lane.

    Returns
    -------
    Factors
    """
    if not widths.config.formats & {"i8", "i4"}:
        zero = Const(0, widths.multiplier_bits)
        return Factors(zero, zero)
    # Registers that are zero in the other format cost nothing (synchronous reset) and save a choice later.
    a_byte = register(m, Mux(mode.i8 | mode.i4, a, 0), f"{name}_a_byte")
    a_high = register(m, Mux(mode.i4, a[4:], 0), f"{name}_a_high")
    b_byte = register(m, Mux(mode.i8, b, 0), f"{name}_b_byte")
    b_nibbles = register(m, Mux(mode.i4, b, 0), f"{name}_b_nibbles")
    b_low, b_high = b_nibbles[:4], b_nibbles[4:]

    a_sign = late.a_signed & Mux(late.i4, a_byte[3], a_byte[7])
    b_sign = late.b_signed & (b_byte[7] | b_high[3])
    a_factor = Cat(
        a_byte[:4],
        Mux(late.i4, a_sign.replicate(4), a_byte[4:]),
        a_sign.replicate(4),
        _pair(a_high, a_sign, late.a_signed),
    )
    b_factor = Cat(
        b_high,
        (b_sign & late.i4).replicate(8) | b_byte,
        _pair(b_low, b_sign, late.b_signed),
    )
    return Factors(a_factor, b_factor)


def _pair(high: Value, sign: Value, signed: Value) -> Value:
    """Return the top six bits of a factor: `high` less the borrow of a negative low field, or just the sign.

    Look-up tables are smaller here than the carry chain of a subtraction.
    """
    borrow = Cat(sign, sign & ~high[0], sign & ~high[:2].any(), sign & ~high[:3].any())
    top = (signed & high[3]) | (borrow[3] & ~high[3])
    return Cat(high ^ borrow, top.replicate(2))
