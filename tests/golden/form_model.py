"""What every form of a scalar instruction gives, one result at a time, in fractions and unbounded integers.

`MODEL` has a function for each opcode, from the qualifiers and the operands to the result: an integer, a
tuple of them, or None where the model has no opinion (payloads of NaNs, infinite operands of arithmetic).
Nothing of the golden model is used here.
"""

import operator
from fractions import Fraction

from conversion_model import convert
from scalar_model import FINITE, LAYOUTS, NAN, arithmetic, kind, least, rounded
from video_model import VIDEO, packed_video, video, video_multiply_add, video_set, video_shift
from word_model import (
    COMPARISONS,
    FLOATS,
    WIDTHS,
    clamp,
    counted,
    extended,
    flushed,
    integer,
    limited,
    packed,
)


def of_integers(function, count=2):
    """An operation on integers of the type; packed ones by halves."""

    def evaluate(words, *operands):
        type_ = words.type
        if words.types[0].endswith("x2"):
            return packed(lambda *halves: function(words, *(integer(x, type_) for x in halves)), operands)
        return function(words, *(integer(x, type_) for x in operands[:count]), *operands[count:])

    return evaluate


def floating(function):
    """An operation on floats, packed ones by halves, with flushed operands."""

    def evaluate(words, *operands):
        layout = LAYOUTS[words.type]

        def one(*elements):
            if "ftz" in words:
                elements = [flushed(bits, layout) for bits in elements]
            return function(words, layout, *elements)

        return packed(one, operands) if words.types[0].endswith("x2") else one(*operands)

    return evaluate


def either(of_integer, of_float):
    return lambda words, *x: (of_float if words.type in FLOATS else of_integer)(words, *x)


# Arithmetic


def rounded_once(name):
    def evaluate(words, layout, *operands):
        bits = arithmetic(name, operands, words.type, words.mode, flush="ftz" in words)
        return limited(words, layout, bits)

    return floating(evaluate)


def saturated(words, number):
    return clamp(number, words.type) if "sat" in words else number


def product(words, a, b):
    bits = WIDTHS[words.type]
    return a * b >> bits if "hi" in words else a * b


def multiply_add(words, a, b, c):
    bits = WIDTHS[words.type] * (1 + ("wide" in words))
    return saturated(words, product(words, a, b) + integer(c, words.type, bits))


def multiply24(words, a, b, c=0):
    a, b = (integer(x, words.type, 24) for x in (a, b))
    return saturated(words, (a * b >> (16 if "hi" in words else 0)) + integer(c, words.type))


def divide(remainder):
    def evaluate(words, a, b):
        if not b:
            return -1
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return a - quotient * b if remainder else quotient

    return of_integers(evaluate)


def with_carry(function, carries_in):
    """A sum or difference of unsigned integers, with the flag that it leaves in ``.cc``."""

    def evaluate(words, *operands):
        size = 1 << WIDTHS[words.type]
        *sources, flag = operands if carries_in else (*operands, 0)
        total = function(words, *sources, flag)
        return (total % size, total >= size) if "cc" in words else total % size

    return evaluate


def product_and_carry(words, a, b, c, flag):
    exact = product(words, integer(a, words.type), integer(b, words.type))
    return exact % (1 << WIDTHS[words.type]) + c + flag


def complement_sum(words, a, b, flag):
    """What ptxas makes of a subtraction: `IADD3 R8, P0, R18, -R19`, then `IADD3.X` of a complement and P0."""
    return a + (1 << WIDTHS[words.type]) - 1 - b + flag


def carried(plain, chained, carries_in=False):
    """The plain operation, or with ``.cc`` or a flag the chained one."""
    flagged = with_carry(chained, carries_in)
    return lambda words, *x: (flagged if carries_in or "cc" in words else plain)(words, *x)


def extreme(choose):
    def of_float(words, layout, a, b):
        x, y = extended(a, layout), extended(b, layout)
        sign = (a ^ b) & layout.sign if "xorsign" in words else 0
        if "abs" in words:
            a, b = a & ~layout.sign, b & ~layout.sign
        if x is None or y is None:
            if "NaN" in words or x is y is None:
                return None if words.type == "f64" else layout.canonical_nan
            return (b if x is None else a) | sign
        return choose((a, b), key=lambda bits: (extended(bits, layout), not bits & layout.sign)) | sign

    def of_integer(words, a, b):
        return max(choose(a, b), 0) if "relu" in words else choose(a, b)

    return either(of_integers(of_integer), floating(of_float))


def changed_sign(function):
    def of_float(words, layout, a):
        if kind(a, layout) == NAN:
            return None if words.type == "f64" else layout.canonical_nan
        return function(a, layout.sign)

    return floating(of_float)


# Comparison and selection

COMBINE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor, "": lambda holds, _: holds}


def holds(words, type_, a, b):
    name = next(word for word in words if word.removesuffix("u") in COMPARISONS or word in ("num", "nan"))
    if type_ not in FLOATS:
        return COMPARISONS[name](integer(a, type_), integer(b, type_))
    layout = LAYOUTS[type_]
    x, y = (extended(flushed(z, layout) if "ftz" in words else z, layout) for z in (a, b))
    if name in ("num", "nan"):
        return (x is None or y is None) == (name == "nan")
    if x is None or y is None:
        return name.endswith("u") and name != "nu"
    return COMPARISONS[name.removesuffix("u")](x, y)


def results(words, a, b, p):
    """Whether the comparison of each element holds, combined with the predicate."""
    type_ = words.types[-1]
    combine = COMBINE[words.choice("and", "or", "xor")]
    part = type_.removesuffix("x2")
    shifts = (0, 16) if part != type_ else (0,)
    width = WIDTHS[part]
    found = [holds(words, part, a >> s & (1 << width) - 1, b >> s & (1 << width) - 1) for s in shifts]
    return [combine(bool(x), bool(p)) for x in found], [combine(not x, bool(p)) for x in found]


def set_predicate(words, a, b, p=False, *, pair):
    true, false = results(words, a, b, p)
    if len(true) == 2:
        return tuple(true)
    return (true[0], false[0]) if pair else true[0]


def set_number(words, a, b, p=False):
    true, _ = results(words, a, b, p)
    target = words.types[0].removesuffix("x2")
    width = WIDTHS[target] // (1 if "x2" in words.types[0] else len(true))
    one = rounded(Fraction(1), LAYOUTS[target], "rn") if target in FLOATS else (1 << width) - 1
    return sum(one << width * i for i, x in enumerate(true) if x)


def select_by_sign(words, a, b, c):
    type_ = words.types[1]
    if type_ == "s32":
        return a if integer(c, type_) >= 0 else b
    number = extended(flushed(c, LAYOUTS[type_]) if "ftz" in words else c, LAYOUTS[type_])
    return a if number is not None and number >= 0 else b


def test_property(words, a):
    layout = LAYOUTS[words.type]
    number = extended(a, layout)
    finite = kind(a, layout) == FINITE
    normal = finite and (not number or abs(number) >= least(layout))
    return {
        "finite": finite,
        "infinite": number is not None and not finite,
        "number": number is not None,
        "notanumber": number is None,
        "normal": normal,
        "subnormal": finite and not normal,
    }[words[0]]


# Bits


def shifted(right):
    def evaluate(words, a, b):
        b = min(b, WIDTHS[words.type])
        return integer(a, words.type) >> b if right else a << b

    return evaluate


def funnel(words, a, b, c):
    both = b << 32 | a
    return (both << counted(words, c)) >> 32 if "l" in words else both >> counted(words, c)


PERMUTED = {
    "f4e": [[i + j for i in range(4)] for j in range(4)],
    "b4e": [[(j - i) % 8 for i in range(4)] for j in range(4)],
    "rc8": [[j] * 4 for j in range(4)],
    "ecl": [[max(i, j) for i in range(4)] for j in range(4)],
    "ecr": [[min(i, j) for i in range(4)] for j in range(4)],
    "rc16": [[i % 2 + 2 * (j % 2) for i in range(4)] for j in range(4)],
}


def permute(words, a, b, c):
    mode = words.choice(*PERMUTED)
    digits = PERMUTED[mode][c % 4] if mode else [c >> 4 * i & 15 for i in range(4)]
    both = (b << 32 | a).to_bytes(8, "little")
    chosen = [both[digit & 7] if digit < 8 else 255 * (both[digit & 7] >> 7) for digit in digits]
    return int.from_bytes(chosen, "little")


def table_logic(words, a, b, c, table, p=None):
    bits = range(32)
    result = sum((table >> (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) & 1) << i for i in bits)
    return result if p is None else (result, COMBINE[words[0]](result != 0, bool(p)))


def find_leading(words, a):
    number, top = integer(a, words.type), WIDTHS[words.type] - 1
    position = (number if number >= 0 else ~number).bit_length() - 1
    return position if position < 0 or "shiftamt" not in words else top - position


def bit_field(words, a, position, length):
    width = WIDTHS[words.type]
    position, length = (x & (0xFF if width == 32 else 0xFFFFFFFF) for x in (position, length))
    number = integer(a, words.type)
    if not length:
        return 0
    sign = number >> min(position + length - 1, width - 1) & 1 if words.type[0] == "s" else 0
    top = min(position + length, width)
    field = a >> position & (1 << max(top - position, 0)) - 1 if position < width else 0
    return field - (sign << max(top - position, 0))


def insert(words, a, b, position, length):
    width = WIDTHS[words.type]
    position, length = (min(x & (0xFF if width == 32 else 0xFFFFFFFF), 64) for x in (position, length))
    mask = ((1 << length) - 1) << position
    return b & ~mask | a << position & mask


def find_nth(_, mask, base, offset):
    offset = integer(offset, "s32")
    if offset == -(1 << 31):
        return 0
    step = -1 if offset < 0 else 1
    for position in range(base, 32 if step > 0 else -1, step) if base < 32 else ():
        if offset == 0:
            return base if mask >> base & 1 else -1
        offset -= step * (mask >> position & 1)
        if not offset:
            return position
    return -1


def dot_product(words, a, b, c):
    wide, (a_type, b_type) = 16 if {"lo", "hi"} & set(words) else 8, words.types
    first = 2 if "hi" in words else 0
    for i in range(32 // wide):
        c += integer(a >> wide * i, a_type, wide) * integer(b >> 8 * (first + i), b_type, 8)
    return c


MODEL = {
    "add": either(
        carried(of_integers(lambda w, a, b: saturated(w, a + b)), lambda _, a, b, f: a + b + f),
        rounded_once("add"),
    ),
    "sub": either(
        carried(
            of_integers(lambda w, a, b: saturated(w, a - b)), lambda w, a, b, _: complement_sum(w, a, b, 1)
        ),
        rounded_once("sub"),
    ),
    "addc": carried(None, lambda _, a, b, f: a + b + f, True),
    "subc": carried(None, complement_sum, True),
    "mul": either(of_integers(product), rounded_once("mul")),
    "mad": either(carried(of_integers(multiply_add), product_and_carry), rounded_once("fma")),
    "madc": carried(None, product_and_carry, True),
    "fma": rounded_once("fma"),
    "rcp": rounded_once("rcp"),
    "sqrt": rounded_once("sqrt"),
    "mul24": multiply24,
    "mad24": multiply24,
    "div": either(divide(False), rounded_once("div")),
    "rem": divide(True),
    "sad": of_integers(lambda w, a, b, c: abs(a - b) + c),
    "min": extreme(min),
    "max": extreme(max),
    "abs": either(of_integers(lambda w, a: abs(a)), changed_sign(lambda a, sign: a & ~sign)),
    "neg": either(of_integers(lambda w, a: -a), changed_sign(lambda a, sign: a ^ sign)),
    "copysign": lambda w, a, b: a & LAYOUTS[w.type].sign | b & ~LAYOUTS[w.type].sign,
    "setp": set_predicate,
    "set": set_number,
    "selp": lambda w, a, b, p: a if p else b,
    "slct": select_by_sign,
    "testp": test_property,
    "mov": lambda w, a: a,
    "and": lambda w, a, b: a & b,
    "or": lambda w, a, b: a | b,
    "xor": lambda w, a, b: a ^ b,
    "not": lambda w, a: ~a,
    "cnot": lambda w, a: int(not a),
    "lop3": table_logic,
    "shl": shifted(False),
    "shr": shifted(True),
    "shf": funnel,
    "prmt": permute,
    "popc": lambda w, a: a.bit_count(),
    "clz": lambda w, a: WIDTHS[w.type] - a.bit_length(),
    "brev": lambda w, a: int(f"{a:0{WIDTHS[w.type]}b}"[::-1], 2),
    "bfind": find_leading,
    "bfe": bit_field,
    "bfi": insert,
    "bmsk": lambda w, a, b: (1 << counted(w, b)) - 1 << counted(w, a),
    "szext": lambda w, a, b: integer(a, w.type, counted(w, b)) if counted(w, b) else 0,
    "fns": find_nth,
    "dp4a": dot_product,
    "dp2a": dot_product,
    "cvt": convert,
    **{name: video(name) for name in VIDEO if name != "vavrg"},
    "vshl": video_shift(False),
    "vshr": video_shift(True),
    "vset": video_set,
    "vmad": video_multiply_add,
    **{
        f"{name}{count}": packed_video(lambda _, x, y, function=function: function(x, y), count)
        for name, function in VIDEO.items()
        for count in (2, 4)
    },
    **{
        f"vset{count}": packed_video(lambda w, x, y: int(COMPARISONS[w.choice(*COMPARISONS)](x, y)), count)
        for count in (2, 4)
    },
}
"""By opcode."""

APPROXIMATE = ("approx", "full")
"""Qualifiers of instructions that round no exact result: captured results hold them."""
