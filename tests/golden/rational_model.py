"""A second opinion: the arithmetic once more, written from the specification's text, one result at a time.

Every number is a rational ``numerator * 2**exponent`` of unbounded Python integers. Nothing of the
golden model is used here, not even its tables.
"""

from typing import NamedTuple

NAN, INFINITE, FINITE = "nan", "infinite", "finite"


class Layout(NamedTuple):
    """Sign bit, exponent bits, fraction bits, ignored bits."""

    exponent: int
    fraction: int
    ignored: int = 0

    @property
    def emin(self):
        return 2 - 2 ** (self.exponent - 1)

    @property
    def infinity(self):
        return (2**self.exponent - 1) << self.fraction

    @property
    def sign(self):
        return 1 << (self.exponent + self.fraction)

    @property
    def canonical_nan(self):
        return self.sign - 1


LAYOUTS = {
    "f16": Layout(5, 10),
    "bf16": Layout(8, 7),
    "tf32": Layout(8, 10, 13),
    "f32": Layout(8, 23),
    "f64": Layout(11, 52),
}


class Number(NamedTuple):
    """``(-1)**sign * significand * 2**(exponent - fraction)``, or an infinity, or a NaN."""

    kind: str
    sign: int
    exponent: int
    significand: int


def take_apart(bits, layout):
    bits >>= layout.ignored
    sign = bits // layout.sign
    field = bits // 2**layout.fraction % 2**layout.exponent
    fraction = bits % 2**layout.fraction
    if field == 2**layout.exponent - 1:
        return Number(NAN if fraction else INFINITE, sign, 0, 0)
    if field == 0:
        return Number(FINITE, sign, layout.emin, fraction)
    return Number(FINITE, sign, layout.emin + field - 1, fraction + 2**layout.fraction)


def put_together(sign, numerator, exponent, layout, mode, always_infinity=False):
    """Round ``numerator * 2**exponent`` to a bit pattern."""
    if numerator == 0:
        return sign * layout.sign
    magnitude = exponent + numerator.bit_length() - 1
    place = max(magnitude, layout.emin) - layout.fraction
    if place <= exponent:
        quotient = numerator * 2 ** (exponent - place)
    else:
        step = 2 ** (place - exponent)
        quotient, rest = divmod(numerator, step)
        if mode == "rn":
            quotient += 2 * rest > step or (2 * rest == step and quotient % 2)
        elif mode == "rm":
            quotient += bool(rest) and sign == 1
        elif mode == "rp":
            quotient += bool(rest) and sign == 0
    if quotient == 2 ** (layout.fraction + 1):
        quotient, place = quotient // 2, place + 1
    if place + layout.fraction > -layout.emin + 1:
        finite = (mode, sign) in {("rz", 0), ("rz", 1), ("rm", 0), ("rp", 1)} and not always_infinity
        return sign * layout.sign + layout.infinity - finite
    if quotient < 2**layout.fraction:
        return sign * layout.sign + quotient
    field = place + layout.fraction - layout.emin + 1
    return sign * layout.sign + field * 2**layout.fraction + quotient - 2**layout.fraction


def fused_dot_product_add(a, b, c, *, inputs, accumulator, kept, least, result):
    """Steps 1 to 7 of the specification; `a`, `b` are lists of `Number`, `c` is one."""
    terms = []
    infinities = set()
    for x, y in zip(a, b, strict=True):
        sign = x.sign ^ y.sign
        if NAN in (x.kind, y.kind):
            return result.canonical_nan
        if INFINITE in (x.kind, y.kind):
            other = y if x.kind == INFINITE else x
            if other.kind == FINITE and other.significand == 0:
                return result.canonical_nan
            infinities.add(sign)
        elif x.significand and y.significand:
            terms.append((sign, x.exponent + y.exponent, x.significand * y.significand, 2 * inputs.fraction))
    if c.kind == NAN:
        return result.canonical_nan
    if c.kind == INFINITE:
        infinities.add(c.sign)
    elif c.significand:
        terms.append((c.sign, c.exponent, c.significand, accumulator.fraction))
    if len(infinities) == 2:
        return result.canonical_nan
    if infinities:
        return infinities.pop() * result.sign + result.infinity
    if not terms:
        return 0
    emax = max(exponent for _, exponent, _, _ in terms)
    if least is not None:
        emax = max(emax, least)
    total = 0
    for sign, exponent, significand, places in terms:
        shift = exponent - places - (emax - kept)
        magnitude = significand << shift if shift >= 0 else significand >> -shift
        total += -magnitude if sign else magnitude
    mode = "rn" if result.fraction == 10 else "rz"
    bits = put_together(int(total < 0), abs(total), emax - kept, result, mode, always_infinity=True)
    return 0 if bits == result.sign else bits


def narrow(bits):
    """f32 to f16, to nearest even."""
    number = take_apart(bits, LAYOUTS["f32"])
    f16 = LAYOUTS["f16"]
    if number.kind == NAN:
        return f16.canonical_nan
    if number.kind == INFINITE:
        return number.sign * f16.sign + f16.infinity
    return put_together(number.sign, number.significand, number.exponent - 23, f16, "rn")


def widen(bits):
    """f16 to f32, exactly."""
    number = take_apart(bits, LAYOUTS["f16"])
    f32 = LAYOUTS["f32"]
    if number.kind == NAN:
        return f32.canonical_nan
    if number.kind == INFINITE:
        return number.sign * f32.sign + f32.infinity
    return put_together(number.sign, number.significand, number.exponent - 10, f32, "rz")


class Generation(NamedTuple):
    """A row of the specification's table of profiles."""

    kept: int
    half_block: int
    tf32_block: int | None
    least_f32: int | None
    least_f16: int


GENERATIONS = {
    "volta": Generation(23, 4, None, None, -19),
    "turing": Generation(24, 8, None, -132, -20),
    "ampere": Generation(24, 8, 4, -132, -20),
    "ada": Generation(24, 8, 4, -132, -20),
    "hopper": Generation(25, 16, 4, -133, -21),
    "blackwell": Generation(25, 16, 4, -133, -21),
}


def float_element(a, b, c, types, generation):
    """One element of D: `a`, `b` lists of `Number`, `c` bits, types (multiplicand, D, C)."""
    multiplicand, d_type, c_type = types
    result_type = "f16" if (d_type, c_type) == ("f16", "f16") else "f32"
    if result_type != c_type:
        c = widen(c)
    result = LAYOUTS[result_type]
    block = generation.tf32_block if multiplicand == "tf32" else generation.half_block
    for start in range(0, len(a), block):
        c = fused_dot_product_add(
            a[start : start + block],
            b[start : start + block],
            take_apart(c, result),
            inputs=LAYOUTS[multiplicand],
            accumulator=result,
            kept=generation.kept,
            least=generation.least_f16 if result_type == "f16" else generation.least_f32,
            result=result,
        )
    return narrow(c) if (d_type, c_type) == ("f16", "f32") else c


def quiet(bits):
    return bits | 1 << 51


def fused_multiply_add(a, b, c, mode):
    """IEEE 754's on f64 bit patterns, with the chip's choice of NaN."""
    layout = LAYOUTS["f64"]
    x, y, z = (take_apart(bits, layout) for bits in (a, b, c))
    for number, bits in ((y, b), (z, c), (x, a)):
        if number.kind == NAN:
            return quiet(bits)
    sign = x.sign ^ y.sign
    if INFINITE in (x.kind, y.kind):
        finite = [number for number in (x, y) if number.kind == FINITE]
        if any(number.significand == 0 for number in finite) or (z.kind == INFINITE and z.sign != sign):
            return 0xFFF8000000000000
        return sign * layout.sign + layout.infinity
    if z.kind == INFINITE:
        return c
    product, product_exponent = x.significand * y.significand, x.exponent + y.exponent - 104
    addend, addend_exponent = z.significand, z.exponent - 52
    unit = min(product_exponent, addend_exponent)
    product <<= product_exponent - unit
    addend <<= addend_exponent - unit
    total = (-product if sign else product) + (-addend if z.sign else addend)
    if total == 0:
        negative = sign if sign == z.sign else mode == "rm"
        return negative * layout.sign
    return put_together(int(total < 0), abs(total), unit, layout, mode)


def f64_element(a, b, c, mode):
    for x, y in zip(a, b, strict=True):
        c = fused_multiply_add(x, y, c, mode)
    return c


def integer_element(a, b, c, saturate):
    total = c + sum(x * y for x, y in zip(a, b, strict=True))
    if saturate:
        return min(max(total, -(2**31)), 2**31 - 1)
    return (total + 2**31) % 2**32 - 2**31


def bit_element(a, b, c, operation):
    total = c + sum((x != y) if operation == "xor" else (x and y) for x, y in zip(a, b, strict=True))
    return (total + 2**31) % 2**32 - 2**31
