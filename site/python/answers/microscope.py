"""One dot product for the page `microscope`: question and answer as JSON, computed by `golden.explain`.

It runs in the browser, where only Python's own library is there: neither this module nor what it imports may
need another package (`tests/site/test_site_answers.py` checks that).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from answers.explanation_json import json_of_step
from golden.explanation.explain import explain
from golden.explanation.record import BitStep, Explanation, FusedSum, IntegerSum
from golden.invalid_argument import InvalidArgument
from golden.ptx.source import PtxError
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import SCALES
from golden.tables.matrix_instructions import IllegalInstruction, MmaInstruction
from golden.tables.profiles import EXACT_PROFILES, PROFILES
from openwmma.element_values import parse_elements, parse_integers, parse_scalar
from openwmma.explanation_facts import bits_text, hexadecimal, ordinal, value_text
from openwmma.usage_error import UsageError

BAD_INPUT = (UsageError, InvalidArgument, IllegalInstruction, PtxError)
"""What input that is not allowed raises."""

Explained = Callable[[str], Explanation]
"""`golden.explain` of the operands that were read, under a profile."""


def answer_text(question: str) -> str:
    """`answer`, with question and answer as JSON text."""
    return json.dumps(answer(json.loads(question)))


def answer(question: Mapping[str, str]) -> dict[str, Any]:
    """Explain one dot product, and give its result under every other profile.

    Parameters
    ----------
    question : mapping
        ``instruction`` (PTX without operands), ``profile``, and ``a``, ``b``, ``c`` as
        `openwmma.element_values` reads them; of a multiply with block scales also ``scale_a`` and
        ``scale_b``, bytes.

    Returns
    -------
    dict
        ``errors``, a list of ``field`` and ``message``. Where it is empty also ``title``, ``profile``,
        ``notes``, ``steps`` (see `answers.explanation_json`), ``result``,
        ``exactSum`` (a value before any rounding; empty where a term is not finite), and ``comparison``, one
        entry for each profile. Rows and columns that are too short end in zeros, scales in ones.
    """
    try:
        instruction = resolve_instruction(question["instruction"])
    except BAD_INPUT as error:
        return {"errors": [{"field": "instruction", "message": str(error)}]}
    (a, b, c), notes, errors = read_operands(instruction, question)
    scales, scale_errors = _read_scales(instruction, question)
    if errors or scale_errors:
        return {"errors": [*errors, *scale_errors]}

    def explained(profile: str) -> Explanation:
        return explain(instruction, a, b, c, profile=profile, **scales)

    try:
        found = explained(question["profile"])
    except BAD_INPUT as error:
        argument = getattr(error, "argument", "")
        return {"errors": [{"field": argument if argument in scales else "profile", "message": str(error)}]}
    return {
        "errors": [],
        "title": str(instruction),
        "profile": found.profile,
        "notes": [*notes, *found.notes],
        "steps": [json_of_step(step) for step in found.steps],
        "result": _result(found, instruction),
        "exactSum": _exact_sum(explained),
        "comparison": _comparison(instruction, explained),
    }


def read_operands(
    instruction: MmaInstruction, question: Mapping[str, str]
) -> tuple[tuple[Any, Any, Any], list[str], list[dict[str, str]]]:
    """Read the operands of a question.

    Returns
    -------
    operands : tuple
        a, b and c for `golden.explain`.
    notes : list of str
        What was done to them.
    errors : list of dict
        ``field`` and ``message`` of each that is wrong.
    """
    found: dict[str, Any] = {"a": [], "b": [], "c": 0}
    notes: list[str] = []
    errors: list[dict[str, str]] = []
    k = instruction.shape.k
    for field, type in (("a", instruction.a_type), ("b", instruction.b_type), ("c", instruction.c_type)):
        text = question[field].strip() or "0"
        try:
            if field == "c":
                found[field], new = parse_scalar(field, text, type)
            else:
                zeros = ",0" * (k - 1 - text.count(","))
                found[field], new = parse_elements(field, text + zeros, type, k)
            notes += new
        except UsageError as error:
            errors.append({"field": field, "message": str(error)})
    return (found["a"], found["b"], found["c"]), notes, errors


def _read_scales(
    instruction: MmaInstruction, question: Mapping[str, str]
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The bytes of both block scales, and what is wrong with them."""
    one = 0x38 if instruction.scale_type == "ue4m3" else 0x7F
    found: dict[str, Any] = {}
    errors: list[dict[str, str]] = []
    for name in SCALES if instruction.scales else ():
        text = question.get(name, "").strip()
        try:
            given = parse_integers(name, text) if text else []
            found[name] = given + [one] * (instruction.scales - len(given))
        except UsageError as error:
            errors.append({"field": name, "message": str(error)})
    return found, errors


def _result(found: Explanation, instruction: MmaInstruction) -> dict[str, Any]:
    """The result as bits and as a value."""
    format = FORMATS[instruction.d_type]
    if not isinstance(format, FloatFormat):
        bits = f"0x{found.result % (1 << format.bits):0{format.bits // 4}x}"
        return {"format": format.name, "bits": bits, "value": str(found.result)}
    return {
        "format": format.name,
        "bits": hexadecimal(found.result, format),
        "value": bits_text(found.result, format),
    }


def _exact_sum(explained: Explained) -> str:
    """The value of the sum of all products and c."""
    step = explained("exact").steps[0]
    if isinstance(step, FusedSum):
        value = value_text(abs(step.total), step.unit_exponent, negative=step.total < 0)
        return "" if step.special else value
    assert isinstance(step, IntegerSum | BitStep)
    return str(step.exact if isinstance(step, IntegerSum) else step.c + step.count)


def _comparison(instruction: MmaInstruction, explained: Explained) -> list[dict[str, Any]]:
    """The result of every profile; of integers the hardware's and the exact sum."""
    format = FORMATS[instruction.d_type]
    if not isinstance(format, FloatFormat):
        return _beside_exact(explained("hopper"), instruction, explained)
    exact_result = explained("exact").result
    reference = ordinal(exact_result, format)
    rows: list[dict[str, Any]] = []
    implied = f"exact.{instruction.rounding or 'rn'}"
    for name in (*PROFILES, *(name for name in EXACT_PROFILES if name != implied)):
        try:
            found = explained(name)
        except InvalidArgument as error:
            rows.append({"profile": name, "absent": f"not known: {error.given}"})
            continue
        here = ordinal(found.result, format)
        difference = None if here is None or reference is None else here - reference
        row = {"profile": name, **_result(found, instruction), "difference": difference}
        rows.append({**row, "equal": found.result == exact_result})
    return rows


def _beside_exact(
    found: Explanation, instruction: MmaInstruction, explained: Explained
) -> list[dict[str, Any]]:
    """An integer result, which all generations share, and the sum without wrapping or saturation."""
    exact = int(_exact_sum(explained))
    here = {"profile": "every generation", **_result(found, instruction), "difference": found.result - exact}
    whole = {
        "profile": "exact",
        "format": instruction.d_type,
        "bits": "",
        "value": str(exact),
        "difference": 0,
    }
    return [{**here, "equal": found.result == exact}, {**whole, "equal": True}]
