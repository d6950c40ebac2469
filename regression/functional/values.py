"""Coverpoints of operands and results: the classes of their values, and what makes them infinite or NaN."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.decode import INFINITE, NAN
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import CORE_FAMILIES, Use
from golden.tables.matrix_instructions import MmaInstruction
from regression.functional.decoded import decode
from regression.functional.model import Seen, count_codes, coverpoint
from regression.functional.sums import is_fused
from regression.random_programs.choices import all_types, multiplies_of

_SIGNED = ("zero", "subnormal", "least normal", "normal", "largest", "infinity")
_FLOAT_CLASSES: Final = (
    *(sign + name for name in _SIGNED for sign in "+-"),
    "quiet NaN",
    "signalling NaN",
    "infinity with ignored bits",
)
_INTEGER_CLASSES: Final = ("zero", "least", "greatest", "negative", "positive")
CLASSES: Final = (*_FLOAT_CLASSES, *_INTEGER_CLASSES)


def value_codes(bits: NDArray[Any], type: str) -> NDArray[Any]:
    """The classes of all elements of a matrix, as places in `CLASSES`."""
    format = FORMATS[type]
    if not isinstance(format, FloatFormat):
        first = len(_FLOAT_CLASSES)
        ordered = [bits == 0, bits == format.minimum, bits == format.maximum, bits < 0]
        return np.select(ordered, [first, first + 1, first + 2, first + 3], first + 4)
    number = decode(bits, format)
    significand, hidden = number.significand.astype(np.int64), 1 << format.fraction_bits
    magnitude = bits & bits.dtype.type(format.sign_mask - 1)
    # tf32 has bits that say nothing: two patterns that differ there are the same number.
    magnitude = magnitude >> bits.dtype.type(format.ignored_bits)
    ignored = bits & bits.dtype.type((1 << format.ignored_bits) - 1)
    conditions = {
        "quiet NaN": (number.kind == NAN) & (significand >= hidden >> 1),
        "signalling NaN": number.kind == NAN,
        "infinity with ignored bits": (number.kind == INFINITE) & (ignored != 0),
        "infinity": number.kind == INFINITE,
        "largest": magnitude == format.largest_finite >> format.ignored_bits,
        "zero": significand == 0,
        "subnormal": significand < hidden,
        "least normal": magnitude == hidden,
        "normal": significand >= hidden,
    }
    codes = [
        CLASSES.index(name) if name in _FLOAT_CLASSES else CLASSES.index(f"+{name}") + number.negative
        for name in conditions
    ]
    return np.select(list(conditions.values()), codes)


def datapath(instruction: MmaInstruction) -> str:
    """What decides how a result is formed: the types, and what is done with it in the end."""
    types = all_types(instruction)
    ending = instruction.operation or instruction.rounding or ("saturated" if instruction.saturate else "")
    return f"{types} {ending}".strip()


_DATAPATHS: Final = {datapath(instruction): instruction for instruction in multiplies_of()}


def _not_of_type(type: str, name: str) -> str | None:
    format = FORMATS[type]
    if isinstance(format, FloatFormat):
        if name in _INTEGER_CLASSES:
            return "a class of integers"
        if name == "infinity with ignored bits" and not format.ignored_bits:
            return "all bits count"
        if not format.has_infinity and ("infinity" in name or name == "signalling NaN"):
            return "it has no infinity, and one NaN of either sign"
        return None
    if name in _FLOAT_CLASSES:
        return "a class of floating point"
    if format.minimum == 0 and name in ("negative", "least"):
        return "the least is zero, and nothing is less"
    if format.bits == 1 and name == "positive":
        return "one is the greatest"
    return None


def _no_operand(use: str, type: str, name: str) -> str | None:
    held = (family.accumulators if use == "c" else family.multiplicands for family in CORE_FAMILIES)
    if not any(type in types for types in held):
        return f"no operand {use} has this type"
    return _not_of_type(type, name)


def _no_result(path: str, name: str) -> str | None:
    instruction = _DATAPATHS[path]
    reason = _not_of_type(instruction.d_type, name)
    if reason is not None or name in _INTEGER_CLASSES:
        return reason
    if name == "signalling NaN":
        return "a NaN that comes out is quiet"
    if instruction.saturate and ("infinity" in name or "NaN" in name):
        return "satf leaves neither infinity nor NaN"
    if instruction.a_type == "f64":
        return None
    if name == "-zero" and (instruction.c_type, instruction.d_type) != ("f32", "f16"):
        return "every zero of a fused dot-product-add is +0"
    if (instruction.a_type, instruction.c_type, instruction.d_type) == ("f16", "f16", "f32"):
        if "subnormal" in name or "least normal" in name:
            return "f16 and products of f16 are multiples of 2**-48"
        if "largest" in name and not instruction.saturate:
            return "f16 and sixteen products of f16 are less than 2**37"
    return None


_CAUSES: Final = (
    "NaN multiplicand",
    "NaN addend",
    "infinity times zero",
    "infinite products of both signs",
    "infinite product and addend of other sign",
    "infinite product",
    "infinite addend",
)
"""The first one that an element has counts."""


def _name(instruction: MmaInstruction) -> str:
    return f"{instruction.mnemonic} {all_types(instruction)}"


_MULTIPLIES: Final = {_name(item): item for item in multiplies_of() if is_fused(item)}


def _impossible(name: str, cause: str) -> str | None:
    types = _MULTIPLIES[name].a_type, _MULTIPLIES[name].b_type
    of_multiplicands = cause.startswith(("infinity", "infinite product"))
    if of_multiplicands and not any(float_format(type).has_infinity for type in types):
        return "e4m3 has no infinity"
    return None


POINTS: Final = (
    coverpoint(
        "operand value",
        "Every class of value in every operand of every type.",
        {"operand": ("a", "b", "c"), "type": tuple(FORMATS), "class": CLASSES},
        _no_operand,
    ),
    coverpoint(
        "result value",
        "Every class of result that a combination of types and modifiers can give.",
        {"types": tuple(_DATAPATHS), "class": CLASSES},
        _no_result,
    ),
    coverpoint(
        "special value",
        "What makes an element infinite or NaN, sums beyond the largest number aside.",
        {"multiply": tuple(_MULTIPLIES), "cause": _CAUSES},
        _impossible,
    ),
)


def sample_values(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note the values of a multiply: `matrices` by ``a``, ``b``, ``c`` and ``d``."""
    for use, type in instruction.types.items():
        point = ("result value", datapath(instruction)) if use == "d" else ("operand value", use, type)
        count_codes(seen, point[0], value_codes(matrices[use], type), *point[1:], CLASSES)


def sample_specials(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note why elements are not finite, of a multiply for which `is_fused`."""
    a, b, c = (decode(matrices[use], float_format(instruction.types[use])) for use in ("a", "b", "c"))
    with np.errstate(invalid="ignore"):
        products = a.float64()[:, :, None] * b.float64()[None]
    a_nan, b_nan, c_nan = (number.kind == NAN for number in (a, b, c))
    nan = np.any(a_nan, axis=1, keepdims=True) | np.any(b_nan, axis=0, keepdims=True)
    up, down = (products == np.inf).any(axis=1), (products == -np.inf).any(axis=1)
    infinite = c.kind == INFINITE
    against = np.where(c.negative, up, down) & infinite
    conditions = [nan, c_nan, np.isnan(products).any(axis=1), up & down, against, up | down, infinite]
    codes = np.select(conditions, list(range(len(_CAUSES))), len(_CAUSES))
    count_codes(seen, "special value", codes, _name(instruction), _CAUSES)
