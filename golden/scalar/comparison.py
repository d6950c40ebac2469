"""Comparison and selection: setp, set, selp, slct, testp."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from golden.scalar.floats import FLOATS, flushed
from golden.scalar.form import Array, Evaluate, Form, by_halves, dtype, elements, raw_dtype, typed, width
from golden.scalar.logic import BOOLEAN

_EQUALITY = ".eq|.ne"
_ORDER = f"{_EQUALITY}|.lt|.le|.gt|.ge"
_FLOAT = f"{_ORDER}|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan"
_COMBINE = ".and|.or|.xor?"
_BITS = ".b16|.b32|.b64"
_SIGNED = ".s16|.s32|.s64"
_UNSIGNED = ".u16|.u32|.u64"

_COMPARISONS: Final[Mapping[str, Evaluate]] = {
    **{"eq": np.equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal},
}

INTEGER_COMPARISONS: Final[Mapping[str, Evaluate]] = {
    **_COMPARISONS,
    "ne": np.not_equal,
    **{"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal},
}
"""Comparisons of integers and bits."""

_FLOAT_COMPARISONS: Final[Mapping[str, Evaluate]] = {
    **_COMPARISONS,
    "ne": lambda x, y: (x < y) | (x > y),
    "equ": lambda x, y: ~((x < y) | (x > y)),
    "neu": np.not_equal,
    "ltu": lambda x, y: ~(x >= y),
    "leu": lambda x, y: ~(x > y),
    "gtu": lambda x, y: ~(x <= y),
    "geu": lambda x, y: ~(x < y),
    "num": lambda x, y: (x == x) & (y == y),  # noqa: PLR0124
    "nan": lambda x, y: (x != x) | (y != y),  # noqa: PLR0124
}
"""Comparisons of floats: false for a NaN without the suffix ``u``, true with it."""


def _comparison(name: str, type_: str, flush: bool) -> Evaluate:
    if type_ not in FLOATS:
        number, compare = dtype(type_), INTEGER_COMPARISONS[name]
        return compare if number.kind == "u" else lambda a, b: compare(a.view(number), b.view(number))
    element, compare_floats = FLOATS[type_], _FLOAT_COMPARISONS[name]

    def evaluate(a: Array, b: Array) -> Any:
        if flush:
            a, b = flushed(a, element), flushed(b, element)
        return compare_floats(element.comparable(a), element.comparable(b))

    return evaluate


def _operands(type_: str, combine: str) -> tuple[int, ...]:
    """Widths of what is compared, and of the predicate that the result is combined with."""
    return (width(type_), width(type_), *((1,) if combine else ()))


def _set_predicate(pair: bool, name: str, combine: str, *qualifiers: str) -> Any:
    """``setp``: the predicate; with `pair` its counterpart ``q`` too, from the negated comparison.

    Of packed halves, the predicates of the lower one and of the upper one.
    """
    type_ = qualifiers[-1]
    compare = _comparison(name, type_.removesuffix("x2"), "ftz" in qualifiers)

    def evaluate(a: Array, b: Array, *p: Array) -> Any:
        holds = compare(a, b)
        first = BOOLEAN[combine](holds, *p)
        return (first, BOOLEAN[combine](~holds, *p)) if pair else first

    def of_halves(*operands: Array) -> tuple[Array, ...]:
        a, b, *p = (elements(operand, 16) for operand in operands)
        both = BOOLEAN[combine](compare(a, b), *p)
        return both[..., 0], both[..., 1]

    packs = type_.endswith("x2")
    return (1, 1) if pair else (1,), _operands(type_, combine), of_halves if packs else evaluate


def _set(name: str, combine: str, *qualifiers: str) -> Any:
    """``set``: 1.0 in a float, all ones in an integer, or 0; of packed halves, such a half for each."""
    *_, target, type_ = qualifiers
    compare = _comparison(name, type_.removesuffix("x2"), "ftz" in qualifiers)
    packs = type_.endswith("x2")
    part = target if not packs else "u16" if target in ("u32", "s32") else target.removesuffix("x2")
    raw = raw_dtype(part).type
    true = raw(FLOATS[part].one if part in FLOATS else (1 << width(part)) - 1)

    def evaluate(a: Array, b: Array, *p: Array) -> Array:
        return np.where(BOOLEAN[combine](compare(a, b), *p), true, raw(0))

    return (width(target),), _operands(type_, combine), by_halves(evaluate) if packs else evaluate


def _select_by_sign(flush: str, _type: str, sign: str, a: Array, b: Array, c: Array) -> Array:
    """``slct``: the first operand where the third is not negative, else the second.

    Of floats, -0 is not negative, and a NaN selects the second operand.
    """
    if sign == "s32":
        return np.where(c.view(np.int32) >= 0, a, b)
    element = FLOATS[sign]
    return np.where(element.comparable(flushed(c, element) if flush else c) >= 0, a, b)


def _test(property_: str, type_: str, a: Array) -> Array:
    """``testp``: a zero counts as normal."""
    element = FLOATS[type_]
    magnitude, infinity = a & element.magnitude, element.infinity
    subnormal = (magnitude != 0) & (magnitude < element.least_normal)
    answers: dict[str, Evaluate] = {
        "finite": lambda: magnitude < infinity,
        "infinite": lambda: magnitude == infinity,
        "number": lambda: magnitude <= infinity,
        "notanumber": lambda: magnitude > infinity,
        "normal": lambda: (magnitude < infinity) & ~subnormal,
        "subnormal": lambda: subnormal,
    }
    return answers[property_]()


_ANY = f"{_BITS}|{_UNSIGNED}|{_SIGNED}|.f32|.f64"
_SETS = ".u32|.s32|.f32"
_HALF_SETS = ".u16|.s16|.u32|.s32"

FORMS: Final = (
    *(
        Form(f"setp {rest}", partial(_set_predicate, pair), pair=pair)
        for pair in (False, True)
        for rest in (
            f"{_EQUALITY} {_COMBINE} {_BITS}",
            f"{_ORDER} {_COMBINE} {_SIGNED}",
            f"{_ORDER}|.lo|.ls|.hi|.hs {_COMBINE} {_UNSIGNED}",
            f"{_FLOAT} {_COMBINE} .ftz? .f32",
            f"{_FLOAT} {_COMBINE} .f64",
        )
    ),
    Form(f"setp {_FLOAT} {_COMBINE} .ftz? .f16", partial(_set_predicate, False)),
    Form(f"setp {_FLOAT} {_COMBINE} .bf16", partial(_set_predicate, False)),
    Form(f"setp {_FLOAT} {_COMBINE} .ftz? .f16x2", partial(_set_predicate, True), pair=True),
    Form(f"setp {_FLOAT} {_COMBINE} .bf16x2", partial(_set_predicate, True), pair=True),
    Form(f"set {_EQUALITY} {_COMBINE} {_SETS}|.f16|.bf16 {_BITS}", _set),
    Form(f"set {_ORDER} {_COMBINE} {_SETS}|.f16|.bf16 {_SIGNED}", _set),
    Form(f"set {_ORDER}|.lo|.ls|.hi|.hs {_COMBINE} {_SETS}|.f16|.bf16 {_UNSIGNED}", _set),
    Form(f"set {_FLOAT} {_COMBINE} .ftz? {_SETS}|.f16 .f32", _set),
    Form(f"set {_FLOAT} {_COMBINE} .bf16 .f32", _set),
    Form(f"set {_FLOAT} {_COMBINE} {_SETS}|.f16|.bf16 .f64", _set),
    Form(f"set {_FLOAT} {_COMBINE} .ftz? {_HALF_SETS}|.f16 .f16", _set),
    Form(f"set {_FLOAT} {_COMBINE} .bf16 .f16", _set),
    Form(f"set {_FLOAT} {_COMBINE} {_HALF_SETS}|.bf16 .bf16", _set),
    Form(f"set {_FLOAT} {_COMBINE} .ftz? .f16x2|.u32|.s32 .f16x2", _set),
    Form(f"set {_FLOAT} {_COMBINE} .bf16x2|.u32|.s32 .bf16x2", _set),
    Form(f"selp {_ANY}", typed("type", "type type 1", lambda _, a, b, p: np.where(p, a, b))),
    Form(f"slct {_ANY} .s32", typed("target", "target target 32", partial(_select_by_sign, ""))),
    Form(f"slct .ftz? {_ANY} .f32", typed("target", "target target 32", _select_by_sign)),
    Form(
        "testp .finite|.infinite|.number|.notanumber|.normal|.subnormal .f32|.f64", typed("1", "type", _test)
    ),
)
