"""The steps of one result in words: a title and facts for each, and values as text."""

import math
from collections.abc import Sequence
from fractions import Fraction

from golden.approximation.steps import ApproximateStep
from golden.arithmetic.number import Number, decoded
from golden.explanation.record import (
    BitStep,
    Conversion,
    Explanation,
    FusedSum,
    IntegerSum,
    Rounding,
    Saturation,
    Step,
    Term,
)
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.matrix_instructions import MmaInstruction

Facts = tuple[tuple[str, str], ...]
"""Names and texts."""


def described(step: Step | ApproximateStep) -> tuple[str, Facts]:
    """What a step does, and its facts."""
    if isinstance(step, FusedSum):
        return "products and c on one ruler of binary places", _sum_facts(step)
    if isinstance(step, Conversion):
        format = float_format(step.result_format)
        facts = (("operand", _number_fact(step.source)), *_rounding_facts(step.rounding))
        title = f"{step.source.name} from {step.source.format} to {format.name}"
        return title, (*facts, _result(step.result, format))
    if isinstance(step, Saturation):
        rule = ("rule", "infinity to the largest finite number, NaN to 0")
        return "saturation", (rule, ("result", f"{step.before:#x} to {step.result:#x}"))
    if isinstance(step, IntegerSum):
        return "integer products and c", _integer_facts(step)
    if isinstance(step, BitStep):
        return "single bits and c", _bit_facts(step)
    lines = str(step).splitlines()
    return step.__class__.__name__.lower(), tuple((line[:10].strip(), line[10:].strip()) for line in lines)


def compared(instruction: MmaInstruction, explanation: Explanation, exact: Explanation) -> Facts:
    """The result, the exact sum rounded once, and how far apart they are.

    The explanations are of the same operands, under a generation's profile and under an exact one.
    """
    format = FORMATS[instruction.d_type]
    if not isinstance(format, FloatFormat):
        step = explanation.steps[-1]
        total = step.exact if isinstance(step, IntegerSum) else explanation.result
        return (("result", f"{explanation.result}"), ("exact", f"{total}"))
    rows = [
        (each.profile, f"{hexadecimal(each.result, format)} = {bits_text(each.result, format)}")
        for each in (explanation, exact)
    ]
    ours, theirs = (ordinal(each.result, format) for each in (explanation, exact))
    if ours is not None and theirs is not None:
        rows.append(("difference", f"{ours - theirs} units in the last place of {format.name}"))
    return tuple(rows)


def value_text(magnitude: int, exponent: int, *, negative: bool = False) -> str:
    """The value ``magnitude * 2**exponent`` as a decimal number where f64 holds it."""
    sign = "-" if negative else ""
    if not magnitude:
        return f"{sign}0"
    try:
        value = math.ldexp(magnitude, exponent)
    except OverflowError:
        value = 0.0
    if Fraction(value) != Fraction(magnitude) * Fraction(2) ** exponent:
        return f"{sign}{magnitude:#x} * 2^{exponent}"
    return f"{sign}{repr(value).removesuffix('.0')}"


def term_label(term: Term) -> str:
    """The names of the factors."""
    return " * ".join(number.name for number in term.factors)


def _sum_facts(step: FusedSum) -> Facts:
    unit = f"2^{step.unit_exponent}"
    zeros = [term_label(term) for term in step.terms if term.kind == "zero"]
    facts = [("zero", _listed(zeros))] if zeros else []
    for term in step.terms:
        if term.kind in ("infinity", "nan"):
            factors = " * ".join(number_text(number) for number in term.factors)
            facts.append((term_label(term), f"{factors} is {'NaN' if term.kind == 'nan' else 'infinite'}"))
    if step.largest_exponent is None:
        facts.append(("unit", f"{unit}: no bit is cut"))
    else:
        limit = "" if step.least_exponent is None else f", at least {step.least_exponent}"
        facts.append(("Emax", f"{step.largest_exponent}, the largest exponent of a term{limit}"))
        facts.append(("unit", f"{unit}: lower bits of each term are cut"))
    if step.special is None:
        facts.append(("sum", f"{step.total} * {unit}"))
    else:
        facts.append(("sum", f"{step.special}: a term is not finite"))
    return (*facts, *_rounding_facts(step.rounding), _result(step.result, float_format(step.result_format)))


def _rounding_facts(rounding: Rounding | None) -> Facts:
    if rounding is None:
        return ()
    if rounding.leading_exponent is None:
        return (("normalisation", "none: the sum is zero"),)
    reach = ", which is subnormal" if rounding.subnormal else ""
    normalisation = f"leading one at 2^{rounding.leading_exponent}{reach}; last place 2^{rounding.last_place}"
    if rounding.dropped_bits <= 0:
        how = "exact: no bit is below the last place"
    else:
        dropped = f"{rounding.dropped:0{rounding.dropped_bits}b}"
        bits = "bit" if rounding.dropped_bits == 1 else "bits"
        how = f"{rounding.dropped_bits} {bits} below the last place, {dropped}: "
        how += "one is added in the last place" if rounding.up else "dropped"
    overflow = "; beyond the largest finite number" if rounding.overflow else ""
    return (("normalisation", normalisation), (f"rounding {rounding.mode}", how + overflow))


def _integer_facts(step: IntegerSum) -> Facts:
    facts = [
        (f"a[{k}] * b[{k}]", f"{a} * {b} = {product}")
        for k, (a, b, product) in enumerate(zip(step.a, step.b, step.products, strict=True))
        if product
    ]
    zeros = [f"a[{k}] * b[{k}]" for k, product in enumerate(step.products) if not product]
    facts += [("zero", _listed(zeros))] if zeros else []
    rule = "clamped to s32" if step.saturate else "wrapped modulo 2^32"
    return (*facts, ("c", f"{step.c}"), ("exact sum", f"{step.exact}"), ("result", f"{step.result}, {rule}"))


def _bit_facts(step: BitStep) -> Facts:
    names = (("a", step.a), ("b", step.b), (f"a {step.operation} b", step.combined))
    return (
        *((name, "".join(map(str, bits))) for name, bits in names),
        ("ones", f"{step.count}"),
        ("c", f"{step.c}"),
        ("result", f"{step.result}, wrapped modulo 2^32"),
    )


def _listed(names: Sequence[str]) -> str:
    """All names, or the first, the last and how many they are."""
    return ", ".join(names) if len(names) < 4 else f"{names[0]}, ..., {names[-1]} ({len(names)} terms)"


def _number_fact(number: Number) -> str:
    format = float_format(number.format)
    return f"{number.format} {hexadecimal(number.bits, format)} = {number_text(number)}"


def number_text(number: Number) -> str:
    """The value of a decoded number."""
    sign = "-" if number.negative else ""
    if number.kind in ("nan", "infinity"):
        return "nan" if number.kind == "nan" else f"{sign}inf"
    exponent = number.exponent - number.fraction_bits
    return value_text(number.significand, exponent, negative=number.negative)


def bits_text(bits: int, format: FloatFormat) -> str:
    """The value of a bit pattern."""
    return number_text(decoded("", bits, format))


def hexadecimal(bits: int, format: FloatFormat) -> str:
    """A bit pattern with all its digits."""
    return f"0x{bits:0{format.bits // 4}x}"


def _result(bits: int, format: FloatFormat) -> tuple[str, str]:
    return "result", f"{format.name} {hexadecimal(bits, format)} = {bits_text(bits, format)}"


def ordinal(bits: int, format: FloatFormat) -> int | None:
    """Numbers of the format are counted from zero; None for infinities and NaN."""
    magnitude = bits & format.sign_mask - 1
    if decoded("", bits, format).kind in ("nan", "infinity"):
        return None
    return (-magnitude if bits & format.sign_mask else magnitude) >> format.ignored_bits
