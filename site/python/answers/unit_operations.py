"""From a dot product to the operations of the dot-product unit, with what golden expects of its signals.

It runs in the browser, as `answers.microscope` does. The signals are named in ``unit.json``, which
``site/rtl/describe.py`` writes; an expected signal is the list of its elements, as raw unsigned numbers.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from answers.microscope import BAD_INPUT, read_operands
from golden.explanation.explain import explain
from golden.explanation.record import BitStep, Conversion, Explanation, FusedSum, IntegerSum, Term
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, float_format
from golden.tables.matrix_instructions import MmaInstruction
from openwmma.usage_error import UsageError

Description = dict[str, Any]
Signals = dict[str, list[int]]

_MULTIPLICANDS = {"s8": "i8", "u8": "i8", "s4": "i4", "u4": "i4"}
_WIDE = ("bf16", "tf32")
_SIGNIFICAND_BITS = 10
"""Fraction bits of a decoded significand, whatever its format."""
_MAX_FINE = 7
"""A multiplier shifts left by this less the distance modulo 8."""


def answer_text(question: str) -> str:
    """`answer`, with question and answer as JSON text."""
    return json.dumps(answer(json.loads(question)))


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Make the operations of one dot product.

    Parameters
    ----------
    question : mapping
        ``instruction``, ``a``, ``b``, ``c`` as for `answers.microscope.answer`, and ``description``,
        the contents of ``unit.json``.

    Returns
    -------
    dict
        ``errors``, a list of ``field`` and ``message``. Where it is empty also ``title``, ``format`` of D,
        and ``operations`` as `unit_operations` returns them, but with the elements of signals as decimal
        text: they may have more bits than a number of JavaScript.
    """
    try:
        form = resolve_instruction(question["instruction"])
        operands, _, errors = read_operands(form, question)
        if errors:
            return {"errors": errors}
        operations = unit_operations(question["description"], question["instruction"], *operands)
    except BAD_INPUT as error:
        return {"errors": [{"field": "instruction", "message": str(error)}]}
    for operation in operations:
        expected = operation["expected"]
        operation["expected"] = {key: [str(value) for value in values] for key, values in expected.items()}
    return {"errors": [], "title": str(form), "format": form.d_type, "operations": operations}


def unit_operations(
    description: Description, instruction: str, a: Sequence[Any], b: Sequence[Any], c: Any
) -> list[dict[str, Any]]:
    """Split one result into the operations of the unit, each with the one before for its C.

    Parameters
    ----------
    description : dict
        ``unit.json``.
    instruction : str
        As for `golden.explain`, with the profile of the unit.
    a, b, c
        As for `golden.explain`.

    Returns
    -------
    list of dict
        ``words`` are the 32-bit words of the unit's operands; ``result`` is D; ``expected`` has elements of
        signals by ``stage.field``; ``special`` says whether an infinity or NaN decides the result.

    Raises
    ------
    UsageError
        For multiplicands that the unit does not have.
    golden.invalid_argument.InvalidArgument
    """
    form = resolve_instruction(instruction)
    name = _MULTIPLICANDS.get(form.a_type, form.a_type)
    if name not in description["formats"] or form.a_type.startswith("e"):
        known = ", ".join(description["formats"])
        raise UsageError(f"the unit of this page multiplies {known}, not {form.a_type}")
    explanation = explain(instruction, a, b, c, profile=description["profile"])
    step = explanation.steps[0]
    if isinstance(step, IntegerSum | BitStep):
        return _integers(description, form, name, step)
    return _floats(description, form, name, explanation)


def _floats(
    description: Description, form: MmaInstruction, name: str, explanation: Explanation
) -> list[dict[str, Any]]:
    steps = explanation.steps
    sums = [step for step in steps if isinstance(step, FusedSum)]
    first = steps[0]
    c = first.source.bits if isinstance(first, Conversion) else sums[0].terms[-1].factors[0].bits
    c_is_half = form.c_type == "f16"
    direct = c_is_half and form.d_type == "f16"
    operations = []
    for index, step in enumerate(sums):
        is_last = step is sums[-1]
        result = "f16" if direct else "f32"
        if is_last and form.d_type == "f16" and not direct:
            result = "f16_from_f32"
        d = explanation.result if is_last else step.result
        if index:
            c, c_is_half = sums[index - 1].result, direct
        products = step.terms[:-1]
        mode = {
            "multiplicand": description["multiplicands"][name],
            "result": description["results"][result],
            "c_is_f16": int(c_is_half),
            "saturate": int(form.saturate and is_last),
        }
        bits = FORMATS[form.a_type].bits
        fields = {
            "a": _packed([term.factors[0].bits for term in products], bits),
            "b": _packed([term.factors[1].bits for term in products], bits),
            "c": c,
            "operation": _word(description["operation"], mode),
        }
        expected = {} if step.special else _expected_floats(description, name, step)
        operations.append(_operation(description, fields, d, expected, special=step.special is not None))
    return operations


def _expected_floats(description: Description, name: str, step: FusedSum) -> Signals:
    """What the stages show of a sum without infinities and NaN."""
    *products, c = step.terms
    zero = description["exponent_zero"]["wide" if name in _WIDE else "narrow"]
    signals = {signal["stage"] + "." + signal["field"]: signal for signal in description["signals"]}
    lanes = signals["multiply.product"]["count"]
    by_lane: list[Term | None] = [None] * lanes
    for index, term in enumerate(products):
        by_lane[2 * index + 1 if name == "tf32" else index] = term
    exponents = [zero + term.exponent if term and term.kind == "finite" else 0 for term in by_lane]
    found: Signals = {
        "decode.significand_a": [_significand(term, 0) for term in by_lane],
        "decode.significand_b": [_significand(term, 1) for term in by_lane],
        "decode.product_exponent": exponents,
        "decode.sign": [_mask(term is not None and term.negative for term in by_lane)],
        "decode_c.c_sign": [int(c.negative)],
    }
    relative = [(term is not None and term.negative) ^ c.negative for term in by_lane]
    aligned = [term.aligned if term else 0 for term in by_lane]
    sign = -1 if c.negative else 1
    found |= {
        "align.term": [
            ~value if negative else value for value, negative in zip(aligned, relative, strict=True)
        ],
        "align.carry": [_mask(relative)],
        "align.c_term": [c.aligned],
        "reduce.sum": [sign * step.total],
        "normalize.negative": [int(sign * step.total < 0)],
    }
    if step.largest_exponent is not None and any(term.kind == "finite" for term in step.terms):
        maximum = step.largest_exponent + zero
        placement = (
            description["integer_bit"] + description["fraction_bits"] - 2 * _SIGNIFICAND_BITS - _MAX_FINE
        )
        found["maximum_exponent.maximum"] = [maximum]
        found["multiply.product"] = [
            _exact(term) << _MAX_FINE - (maximum - exponent) % 8 + placement if term else 0
            for term, exponent in zip(by_lane, exponents, strict=True)
        ]
    if step.rounding is not None and step.rounding.leading_exponent is not None:
        bits = signals["normalize.value"]["width"]
        least = 1 - float_format("f32").bias
        # A negative sum lacks one in a last place behind all others.
        value = (abs(step.total) << bits) - (sign * step.total < 0)
        beyond = value.bit_length() - bits
        leading = step.rounding.leading_exponent - (beyond < abs(step.total).bit_length())
        if leading >= least:
            found["normalize.exponent"] = [leading - least + 1]
            found["normalize.value"] = [value >> beyond]
    return {key: [value % (1 << signals[key]["width"]) for value in values] for key, values in found.items()}


def _exact(term: Term) -> int:
    """The product of two significands, each with the fraction bits of a decoded one."""
    return term.significand << 2 * _SIGNIFICAND_BITS - term.fraction_bits


def _significand(term: Term | None, side: int) -> int:
    if term is None:
        return 0
    number = term.factors[side]
    return number.significand << _SIGNIFICAND_BITS - number.fraction_bits


def _integers(
    description: Description, form: MmaInstruction, name: str, step: IntegerSum | BitStep
) -> list[dict[str, Any]]:
    bits = FORMATS[form.a_type].bits
    field_bits = description["operands"]["a"]["width"] // 2
    length = field_bits // bits
    width = next(s["width"] for s in description["signals"] if (s["stage"], s["field"]) == ("reduce", "sum"))
    products = step.combined if isinstance(step, BitStep) else step.products
    exact, operations = step.c, []
    for start in range(0, len(step.a), length):
        is_last = start + length >= len(step.a)
        c, here = exact, products[start : start + length]
        exact += sum(here)
        saturate = form.saturate and is_last
        mode = {
            "multiplicand": description["multiplicands"][name],
            "saturate": int(saturate),
            "a_signed": int(form.a_type.startswith("s")),
            "b_signed": int(form.b_type.startswith("s")),
            "bitwise_and": int(form.operation == "and"),
        }
        fields = {
            "a": _packed(step.a[start : start + length], bits),
            "b": _packed(step.b[start : start + length], bits),
            "c": c % (1 << 32),
            "c_beyond": int(not -(1 << 31) <= c < 1 << 31),
            "operation": _word(description["operation"], mode),
        }
        d = (step.result if is_last else exact) % (1 << 32)
        expected = {"reduce.sum": [exact % (1 << width)]}
        operations.append(_operation(description, fields, d, expected, special=False))
    return operations


def _operation(
    description: Description, fields: dict[str, int], d: int, expected: Signals, *, special: bool
) -> dict[str, Any]:
    payload = _word(description["operands"], fields)
    words = [payload >> 32 * index & 0xFFFF_FFFF for index in range(-(-description["operand_bits"] // 32))]
    return {
        "words": words,
        "c": fields["c"],
        "result": d,
        "special": special,
        "expected": {**expected, "round.d": [d]},
    }


def _word(fields: dict[str, dict[str, int]], values: dict[str, int]) -> int:
    return sum(value << fields[name]["offset"] for name, value in values.items())


def _packed(elements: Sequence[int], bits: int) -> int:
    return sum((element % (1 << bits)) << bits * index for index, element in enumerate(elements))


def _mask(flags: Any) -> int:
    return sum(int(flag) << index for index, flag in enumerate(flags))
