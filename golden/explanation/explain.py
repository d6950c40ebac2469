"""One result, step by step."""

from collections.abc import Sequence
from typing import Any, overload

from golden.approximation.instructions import FORMS as FORMS_OF_APPROXIMATION
from golden.approximation.steps import Approximation
from golden.arithmetic import fp4
from golden.arithmetic.integer import OPERATIONS, combine, finish_integer
from golden.arithmetic.number import Number, decoded
from golden.arithmetic.round_pack import ROUNDINGS, saturate_to_finite
from golden.arithmetic.rules import fp8_halves, fused_format, fused_rules
from golden.explanation.operands import (
    Array,
    Elements,
    Scales,
    checked_elements,
    checked_places,
    checked_scales,
)
from golden.explanation.record import (
    BitStep,
    Explanation,
    FusedSum,
    IntegerSum,
    Saturation,
    Step,
)
from golden.explanation.steps import Rules, convert, fused_sum
from golden.invalid_argument import InvalidArgument
from golden.resolve import resolve_instruction, resolve_profile
from golden.tables.formats import FORMATS, FloatFormat, float_format
from golden.tables.instruction_set import FP4_KINDS
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import ExactProfile, Profile

F16, F32 = float_format("f16"), float_format("f32")


@overload
def explain(instruction: str, x: float | Array, divisor: float | Array | None = None, /) -> Approximation: ...


@overload
def explain(
    instruction: str | MmaInstruction,
    a_row: Elements,
    b_column: Elements,
    c: float | Array,
    *,
    metadata: Sequence[int] | Array | None = None,
    scale_a: Sequence[int] | Array | None = None,
    scale_b: Sequence[int] | Array | None = None,
    profile: str | Profile | ExactProfile = "hopper",
) -> Explanation: ...


def explain(
    instruction: str | MmaInstruction,
    a_row: Elements | float,
    b_column: Elements | float | None = None,
    c: float | Array | None = None,
    *,
    metadata: Sequence[int] | Array | None = None,
    scale_a: Sequence[int] | Array | None = None,
    scale_b: Sequence[int] | Array | None = None,
    profile: str | Profile | ExactProfile = "hopper",
) -> Explanation | Approximation:
    """Every step from one row of A, one column of B and one element of C to the element of D.

    ``explain("ex2.approx.ftz.f32", x)`` does the same for the approximate instructions; see
    `golden.approximation.explain.explain_approximation`.

    Parameters
    ----------
    instruction : str or MmaInstruction
        As for `golden.mma`.
    a_row, b_column : list, tuple or array, shape (k,)
        Of floating-point formats, integers are raw bit patterns, as for `golden.mma`, and floating-point
        numbers are values, which are rounded to nearest even; one operand does not mix them. Beyond the
        format's range a value becomes an infinity; NaN becomes the canonical NaN, and stays the same NaN in
        f64. Of integer formats, integers are values; floating-point numbers are refused. A truth value is
        accepted as a single bit only.
    c : number or array, shape ()
        Likewise.
    metadata : list, tuple or array of int, shape (groups,), or None
        Of a sparse multiply the nibbles of the row, whose `a_row` has the elements that are stored.
    scale_a, scale_b : list, tuple or array of int, shape (scales,), or None
        Of a multiply with block scales their bytes.
    profile : str, Profile or ExactProfile

    Returns
    -------
    golden.explanation.record.Explanation
        Its `result` is what `golden.mma` returns for the same bits. Its `notes` name each value that was
        rounded.

    Raises
    ------
    InvalidArgument
        For another shape, a type that is no number, or an integer out of the format's range.
    golden.tables.matrix_instructions.IllegalInstruction

    Notes
    -----
    All arithmetic is in Python integers; numpy need not be there.
    """
    if isinstance(instruction, str) and instruction in FORMS_OF_APPROXIMATION:
        from golden.approximation.explain import explain_approximation  # noqa: PLC0415  needs numpy; multiplies do not

        operands: list[Any] = [x for x in (a_row, b_column, c) if x is not None]
        return explain_approximation(instruction, *operands)
    if b_column is None or c is None:
        missing = [name for name, operand in (("b_column", b_column), ("c", c)) if operand is None]
        given = f"{str(instruction)!r} without {' and '.join(missing)}"
        raise InvalidArgument("instruction", given, ", ".join(FORMS_OF_APPROXIMATION))
    instruction = resolve_instruction(instruction)
    profile = resolve_profile(profile, instruction)
    a, a_notes = checked_elements("a_row", a_row, instruction.a_type, instruction.stored.k)
    b, b_notes = checked_elements("b_column", b_column, instruction.b_type, instruction.shape.k)
    (addend,), c_notes = checked_elements("c", c, instruction.c_type, None)
    places = checked_places(instruction, metadata)
    scales = checked_scales(instruction, scale_a, scale_b)
    b = [b[k] for k in places]
    steps: tuple[Step, ...]
    if not isinstance(FORMATS[instruction.a_type], FloatFormat):
        steps = (_integers(instruction, a, b, addend),)
    elif instruction.kind in FP4_KINDS and isinstance(profile, Profile):
        steps = (_groups(profile, factors_of(instruction, a, b, places, scales), addend),)
    elif (
        instruction.family.converted_to is not None
        and isinstance(profile, Profile)
        and profile.narrow_block is None
    ):
        steps = tuple(_fp8(instruction, profile, a, b, addend))
        a_notes = [*a_notes, "the elements of a_row and b_column became f16, which holds all values of fp8"]
    elif instruction.family.tiles > 1 and isinstance(profile, Profile) and not profile.quad_pairs:
        steps = tuple(_quad_pair(instruction, a, b, addend))
    else:
        factors = factors_of(instruction, a, b, places, scales)
        steps = tuple(_floats(instruction, profile, factors, addend))
    return Explanation(
        instruction=str(instruction),
        profile=profile.name,
        steps=steps,
        result=steps[-1].result,
        notes=(*a_notes, *b_notes, *c_notes),
    )


def _integers(instruction: MmaInstruction, a: list[int], b: list[int], c: int) -> IntegerSum | BitStep:
    operation = instruction.operation
    place = OPERATIONS.index(operation or "mul")
    combined = tuple(combine(x, y, place) for x, y in zip(a, b, strict=True))
    exact = c + sum(combined)
    result = finish_integer(exact, instruction.saturate)
    operands: dict[str, Any] = {"a": tuple(a), "b": tuple(b), "c": c}
    if operation is not None:
        return BitStep(**operands, operation=operation, combined=combined, count=sum(combined), result=result)
    return IntegerSum(
        **operands, products=combined, exact=exact, saturate=instruction.saturate, result=result
    )


def _rules(instruction: MmaInstruction, profile: Profile | ExactProfile) -> Rules:
    """How the instruction's sums are formed under the profile."""
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    named = profile.rounding if isinstance(profile, ExactProfile) else None
    rounding = ROUNDINGS.index(named or instruction.rounding or "rn")
    if isinstance(profile, ExactProfile):
        return Rules(format=d_format, block=instruction.shape.k, rounding=rounding)
    if d_format.bits == 64:
        return Rules(format=d_format, rounding=rounding, propagate_nan=True)
    multiplicands = float_format(instruction.a_type), float_format(instruction.b_type)
    if instruction.family.converted_to is not None and profile.narrow_block is None:
        multiplicands = F16, F16
    fused = fused_format(c_format, d_format)
    rules, block = fused_rules(*multiplicands, fused, profile, instruction.mnemonic)
    return Rules(
        format=fused,
        block=block,
        rounding=rules.rounding,
        fraction_bits=rules.fraction_bits,
        least_exponent=profile.least_exponent(fused),
        discarded_bits=rules.discarded_bits,
    )


def factors_of(
    instruction: MmaInstruction, a: list[int], b: list[int], places: Sequence[int], scales: Scales
) -> list[tuple[Number, ...]]:
    """The factors of each product, its block scales among them."""
    a_format, b_format = float_format(instruction.a_type), float_format(instruction.b_type)
    part = len(a) // max(1, len(scales))
    return [
        (decoded(f"a[{i}]", x, a_format), decoded(f"b[{k}]", y, b_format), *(scales and scales[i // part]))
        for i, (x, y, k) in enumerate(zip(a, b, places, strict=True))
    ]


def _groups(profile: Profile, factors: list[tuple[Number, ...]], c: int) -> FusedSum:
    """`golden.arithmetic.fp4`: a term for each group, whose exponent comes from its scales alone."""
    size = profile.fp4_group or len(factors)
    terms = []
    for start in range(0, len(factors), size):
        group = factors[start : start + size]
        total, takes_part = 0, False
        for x, y, *_ in group:
            product = x.significand * y.significand << (x.exponent + y.exponent)
            total += -product if x.negative != y.negative else product
            takes_part |= product != 0
        number = Number(
            name=f"sum[{start}..{start + size - 1}]",
            format="",
            bits=0,
            kind="normal" if takes_part else "zero",
            negative=total < 0,
            exponent=0,
            significand=abs(total),
            fraction_bits=2,
        )
        terms.append((number, *group[0][2:]))
    rules = Rules(
        format=F32,
        rounding=ROUNDINGS.index("rz"),
        fraction_bits=fp4.KEPT_BITS,
        least_exponent=fp4.LEAST_EXPONENT,
    )
    return fused_sum(terms, decoded("c", c, F32), rules)


def _fp8(instruction: MmaInstruction, profile: Profile, a: list[int], b: list[int], c: int) -> list[Step]:
    """`mma.sync` of fp8: two sums on f16, over two halves of k, and one addition of c."""
    d_format = float_format(instruction.d_type)
    rules = _rules(instruction, profile)
    factors = [
        tuple(
            decoded(f"{name}[{k}]", convert(decoded(name, bits, float_format(type)), F16).result, F16)
            for name, bits, type in (("a", x, instruction.a_type), ("b", y, instruction.b_type))
        )
        for k, (x, y) in enumerate(zip(a, b, strict=True))
    ]
    steps: list[Step] = []
    total = 0
    for name, half in zip(("zero", "sum"), fp8_halves(len(factors)), strict=True):
        here = [factors[k] for k in half]
        steps.append(fused_sum(here, decoded(name, total, d_format), rules))
        total = steps[-1].result
    addend = decoded("c", c, d_format)
    steps.append(fused_sum([(decoded("sum", total, d_format),)], addend, Rules(format=d_format)))
    return steps


def _quad_pair(instruction: MmaInstruction, a: list[int], b: list[int], c: int) -> list[Step]:
    """`mma.m8n8k4` of f16 in f32: see `golden.arithmetic.tiles.quad_pair_tiles`."""
    c_format, d_format, rules = (
        float_format(instruction.c_type),
        float_format(instruction.d_type),
        Rules(format=F32),
    )
    steps: list[Step] = []
    sums = []
    if c_format != F32:
        steps.append(convert(decoded("c", c, c_format), F32))
        c = steps[-1].result
    chains = [range(4)] if d_format == F32 else [range(2), range(2, 4)]
    for chain in chains:
        total = 0 if d_format == F32 else F32.sign_mask
        for k in chain:
            factors = decoded(f"a[{k}]", a[k], F16), decoded(f"b[{k}]", b[k], F16)
            steps.append(fused_sum([factors], decoded("sum", total, F32), rules))
            total = steps[-1].result
        sums.append(total)
    for total in sums:
        steps.append(fused_sum([(decoded("sum", total, F32),)], decoded("c", c, F32), rules))
        c = steps[-1].result
    return steps if d_format == F32 else [*steps, convert(decoded("result", c, F32), d_format)]


def _floats(
    instruction: MmaInstruction,
    profile: Profile | ExactProfile,
    factors: list[tuple[Number, ...]],
    c: int,
) -> list[Step]:
    c_format, d_format = float_format(instruction.c_type), float_format(instruction.d_type)
    rules = _rules(instruction, profile)
    steps: list[Step] = []
    if c_format != rules.format and rules.fraction_bits is not None:
        steps.append(convert(decoded("c", c, c_format), rules.format))
        c, c_format = steps[-1].result, rules.format
    for start in range(0, len(factors), rules.block):
        steps.append(fused_sum(factors[start : start + rules.block], decoded("c", c, c_format), rules))
        c, c_format = steps[-1].result, rules.format
    if d_format != rules.format:
        steps.append(convert(decoded("result", c, c_format), d_format))
    if instruction.saturate:
        before = steps[-1].result
        steps.append(Saturation(before=before, result=saturate_to_finite(before, d_format)))
    return steps
