"""An explanation of one result from operands as text, with the exact result beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from golden.approximation.instructions import FORMS
from golden.approximation.steps import ApproximateStep, Approximation
from golden.arguments import dtype_of
from golden.explanation.explain import explain
from golden.explanation.record import Step
from golden.resolve import resolve_instruction
from golden.tables.formats import float_format
from openwmma.element_values import parse_elements, parse_integers, parse_scalar
from openwmma.explanation_facts import Facts, compared
from openwmma.usage_error import UsageError


@dataclass(frozen=True, kw_only=True)
class ExplainedResult:
    """What `openwmma.explanation_text.explanation_text` shows."""

    title: str
    notes: tuple[str, ...]
    """What was done to the operands."""
    steps: tuple[Step | ApproximateStep, ...]
    comparison: Facts
    """The result beside the exact one."""
    result: int
    """Bit pattern of floating point, value of integers."""


def explain_text(
    instruction: str, a: str, b: str | None, c: str | None, profile: str, **extra: str | None
) -> ExplainedResult:
    """Explain one result of a multiply or of an approximate instruction.

    The operands of an approximate one are `a` and, of a division, `b`. Of a multiply, a row of A, a column of
    B and an element of C are as `openwmma.element_values` reads them; c is 0 unless given. `extra` are
    `metadata` of a sparse row, nibbles of four binary digits, and `scale_a` and `scale_b`, bytes. UsageError
    for operands that cannot be read, or too many or too few of them; errors of `golden.explain` for the
    instruction or the profile.
    """
    if instruction in FORMS:
        return _approximate(instruction, a, b, c, profile)
    parsed = resolve_instruction(instruction)
    if b is None:
        raise UsageError(f"--b: expected a column of B, as {instruction} multiplies")
    given: dict[str, Any] = {
        name: parse_integers(f"--{name.replace('_', '-')}", text, binary=name == "metadata")
        for name, text in extra.items()
        if text is not None
    }
    a_row, a_notes = parse_elements("--a", a, parsed.a_type, parsed.stored.k)
    b_column, b_notes = parse_elements("--b", b, parsed.b_type, parsed.shape.k)
    addend, c_notes = parse_scalar("--c", c or "0", parsed.c_type)
    found = explain(parsed, a_row, b_column, addend, profile=profile, **given)
    exact = explain(parsed, a_row, b_column, addend, profile="exact", **given)
    return ExplainedResult(
        title=f"{parsed}, profile {found.profile}",
        notes=(*a_notes, *b_notes, *c_notes, *found.notes),
        steps=found.steps,
        comparison=compared(parsed, found, exact),
        result=found.result,
    )


def _approximate(instruction: str, a: str, b: str | None, c: str | None, profile: str) -> ExplainedResult:
    form = FORMS[instruction]
    if profile != "hopper":
        raise UsageError(f"--profile {profile}: expected hopper, the only generation known for {instruction}")
    wanted = 2 if form.function == "div" else 1
    given = [text for text in (a, b, c) if text is not None]
    if len(given) != wanted or c is not None:
        options = " and ".join(("--a", "--b")[:wanted])
        raise UsageError(f"{instruction}: expected {options}, not {len(given)} operands")
    operands, notes = _operands(given, form.element)
    found = explain(instruction, *operands)
    assert isinstance(found, Approximation)
    return ExplainedResult(
        title=found.instruction,
        notes=(*notes, *found.notes),
        steps=found.steps,
        comparison=_beside_correct(found, float_format(form.element).bits // 4),
        result=found.result,
    )


def _operands(given: Sequence[str], type: str) -> tuple[list[Any], list[str]]:
    """Bit patterns as `golden.approximate` takes them, in the unsigned integer of their width."""
    raw = dtype_of(float_format(type)).type
    parsed = [parse_scalar(option, text, type) for option, text in zip(("--a", "--b"), given, strict=False)]
    return [raw(bits) for bits, _ in parsed], [note for _, notes in parsed for note in notes]


def _beside_correct(found: Approximation, digits: int) -> Facts:
    """The result and the correctly rounded one."""
    facts = [("result", f"0x{found.result:0{digits}x} = {found.value!r}")]
    if found.correct is not None:
        facts.append(("correctly rounded", f"0x{found.correct:0{digits}x}"))
        facts.append(("difference", f"{found.difference} units in the last place"))
    return tuple(facts)
