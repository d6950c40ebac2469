"""The steps of `golden.explain` as JSON: bits as strings of 0 and 1, values as decimal text."""

from typing import Any

from golden.arithmetic.number import Number
from golden.explanation.record import (
    Conversion,
    FusedSum,
    IntegerSum,
    Rounding,
    Saturation,
    Step,
    Term,
)
from golden.tables.formats import SCALE_FORMATS, FloatFormat, float_format
from openwmma.explanation_facts import bits_text, hexadecimal, number_text, term_label, value_text


def json_of_step(step: Step) -> dict[str, Any]:
    """One step; ``kind`` tells which.

    Parameters
    ----------
    step : golden.explanation.record.Step

    Returns
    -------
    dict
        JavaScript's numbers hold no 106-bit significands: every number with many bits is a string.
    """
    if isinstance(step, FusedSum):
        return _sum(step)
    if isinstance(step, Conversion):
        return {
            "kind": "conversion",
            "source": _number(step.source),
            "rounding": _rounding(step.rounding),
            "result": _bits(step.result, float_format(step.result_format)),
        }
    if isinstance(step, Saturation):
        return {"kind": "saturation", "before": f"{step.before:#x}", "result": f"{step.result:#x}"}
    if isinstance(step, IntegerSum):
        return vars(step) | {"kind": "integers", "exact": str(step.exact)}
    bits = {"a": step.a, "b": step.b, "combined": step.combined}
    return vars(step) | {"kind": "bits", **{name: "".join(map(str, each)) for name, each in bits.items()}}


def _sum(step: FusedSum) -> dict[str, Any]:
    return {
        "kind": "sum",
        "terms": [_term(term) for term in step.terms],
        "largest": step.largest_exponent,
        "least": step.least_exponent,
        "unit": step.unit_exponent,
        "total": {
            "negative": step.total < 0,
            "bits": _binary(abs(step.total)),
            "lowest": step.unit_exponent,
            "value": value_text(abs(step.total), step.unit_exponent, negative=step.total < 0),
            "units": str(step.total),
        },
        "special": step.special,
        "rounding": _rounding(step.rounding),
        "result": _bits(step.result, float_format(step.result_format)),
    }


def _term(term: Term) -> dict[str, Any]:
    lowest = term.exponent - term.fraction_bits
    length = term.significand.bit_length()
    cut = min(term.cut_bits, length)
    return {
        "label": term_label(term),
        "kind": term.kind,
        "negative": term.negative,
        "exponent": term.exponent,
        "bits": _binary(term.significand) if term.kind == "finite" else "",
        "lowest": lowest,
        "cut": cut,
        "value": value_text(term.significand, lowest, negative=term.negative),
        "lost": value_text(term.lost, lowest) if term.lost else "",
        "factors": [_number(number) for number in term.factors],
    }


def _number(number: Number) -> dict[str, Any]:
    format = SCALE_FORMATS.get(number.format) or (float_format(number.format) if number.format else None)
    return {
        "name": number.name,
        "format": number.format,
        "kind": number.kind,
        "bits": hexadecimal(number.bits, format) if format else "",
        "value": number_text(number),
        "exponent": number.exponent,
    }


def _rounding(rounding: Rounding | None) -> dict[str, Any] | None:
    if rounding is None:
        return None
    dropped_bits = max(rounding.dropped_bits, 0)
    return {
        "mode": rounding.mode,
        "negative": rounding.negative,
        "leading": rounding.leading_exponent,
        "lastPlace": rounding.last_place,
        "kept": _binary(rounding.kept),
        "rounded": _binary(rounding.kept + rounding.up),
        "dropped": f"{rounding.dropped:0{dropped_bits}b}" if dropped_bits else "",
        "up": rounding.up,
        "subnormal": rounding.subnormal,
        "overflow": rounding.overflow,
    }


def _bits(bits: int, format: FloatFormat) -> dict[str, str]:
    """A bit pattern, its value, and its three fields."""
    stored = f"{bits:0{format.bits}b}"
    exponent_end = 1 + format.exponent_bits
    return {
        "format": format.name,
        "bits": hexadecimal(bits, format),
        "value": bits_text(bits, format),
        "sign": stored[0],
        "exponent": stored[1:exponent_end],
        "fraction": stored[exponent_end : exponent_end + format.fraction_bits],
    }


def _binary(magnitude: int) -> str:
    return f"{magnitude:b}" if magnitude else ""
