"""What an assembler makes of single instructions before it joins any, where results differ.

A division becomes several instructions; the last one is a multiplication. With constants ``k`` for the
operands' range, ``div a, b`` is ``(a * k) * rcp(b * k)`` and ``rcp b`` is ``k * rcp(b * k)``:
`golden.approximation.scaled` computes the same. The reciprocal of a constant divisor is rounded correctly;
the unit's is not used.
"""

from typing import Final

from golden.arithmetic.decode import layout
from golden.arithmetic.division import reciprocal
from golden.arithmetic.fma import multiply
from golden.arithmetic.round_pack import NEAREST
from golden.ptx.contraction.flow import Edits, Flow
from golden.ptx.contraction.forms import division, form, immediate, straightens
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Instruction, Operand, Register
from golden.tables.formats import float_format

_F32: Final = layout(float_format("f32"))
_LEAST_NORMAL: Final = 0x00800000
_INFINITY: Final = 0x7F800000
_SIGN: Final = 0x80000000
_ONE: Final = 0x3F800000
_SMALL: Final = ("lt", _LEAST_NORMAL, 0x4B800000)
_GREAT: Final = ("gt", 0x7E800000, 0x3E800000)
"""Comparison, bound and scale of the divisors that are scaled."""
_COPIED = frozenset({"f32", "f64", "f16"})


def may_simplify(instruction: Instruction) -> bool:
    """Whether an instruction is of a kind that is looked at."""
    is_copy = instruction.opcode == ("cvt", "f32", "f32")
    return is_copy or bool(division(instruction) or form(instruction, "mul", "min", "max"))


def simplify(flow: Flow) -> None:
    """Change what an assembler changes.

    - ``div.approx``, ``div.full`` and ``rcp.approx`` by a constant take its correctly rounded reciprocal.
    - ``mul x, 1``, ``max x, x``, ``min x, x`` and ``cvt.f32.f32`` without ``.ftz`` are copies: a NaN keeps
      its bits. ``mul x, -1`` is ``neg``.
    - ``rcp.approx.ftz`` of ``rcp.approx.ftz x`` is x.
    - ``min`` with 1 and ``max`` with 0 on f32, in either order, saturate: NaN gives +0. The flushing is that
      of the second one.
    """
    edits = Edits(flow, "%simple")
    for place in sorted(flow.live):
        instruction = flow.statements[place].instruction
        if may_simplify(instruction) and not _divide(flow, edits, place):
            _copy(flow, edits, place)
            _saturate(flow, edits, place)
    edits.apply()


def _divide(flow: Flow, edits: Edits, place: int) -> bool:
    divided = division(flow.statements[place].instruction)
    if divided is None:
        return False
    kind, flush = divided
    *numerator, divisor = flow.statements[place].instruction.operands[1:]
    bits = flow.constant(place, divisor, "f32")
    if bits is None:
        if divided == ("rcp", True):
            _undo_reciprocal(flow, edits, place)
        return True
    if bits & ~_SIGN > _INFINITY:  # a NaN, which the unit makes one
        return True
    if kind == "rcp":
        result = _constant_reciprocal(bits, _ONE, flush=flush)
        edits.replace(place, "mov.f32", immediate(result, "f32", divisor))
        return True
    scale = _constant_scale(bits, kind, flush=flush)
    reciprocal = _constant_reciprocal(bits, _ONE if scale is None else scale, flush=True)
    suffix = ".ftz.f32" if flush else ".f32"
    (value,) = numerator
    if scale is not None:
        value = edits.before(place, f"mul.rn{suffix}", value, immediate(scale, "f32", divisor))
    if straightens(reciprocal, "f32") == 1 and not flush:
        edits.replace(place, "mov.f32", value)
    else:
        edits.replace(place, f"mul{suffix}", value, immediate(reciprocal, "f32", divisor))
    return True


def _undo_reciprocal(flow: Flow, edits: Edits, place: int) -> None:
    inner = flow.origin(place, flow.statements[place].instruction.operands[1])
    if inner is None or division(flow.statements[inner].instruction) != ("rcp", True):
        return
    operand = flow.statements[inner].instruction.operands[1]
    if flow.constant(inner, operand, "f32") is None:
        edits.replace(place, "mov.f32", edits.kept(inner, operand, place))


def _copy(flow: Flow, edits: Edits, place: int) -> None:
    instruction = flow.statements[place].instruction
    if instruction.opcode == ("cvt", "f32", "f32"):
        edits.replace(place, "mov.f32", instruction.operands[1])
        return
    found = form(instruction, "mul", "min", "max")
    if found is None or found.flush or found.saturate or found.type not in _COPIED:
        return
    first, second = instruction.operands[1:]
    move = f"mov.b{TYPES[found.type].bits}"
    if found.name != "mul":
        alike = isinstance(first, Register) and isinstance(second, Register) and first.key == second.key
        if found.type == "f32" and alike:
            edits.replace(place, move, first)
        return
    for value, factor in ((first, second), (second, first)):
        sign = straightens(flow.constant(place, factor, found.type), found.type)
        if sign and isinstance(value, Register):
            edits.replace(place, move if sign > 0 else f"neg.{found.type}", value)
            return


def _saturate(flow: Flow, edits: Edits, place: int) -> None:
    outer = form(flow.statements[place].instruction, "min", "max")
    if outer is None or outer.type != "f32":
        return
    for operand, bound in _bounds(flow, place, outer.name):
        inner = flow.origin(place, operand) if bound else None
        name = "min" if outer.name == "max" else "max"
        if inner is None or form(flow.statements[inner].instruction, name) is None:
            continue
        for value, inner_bound in _bounds(flow, inner, name):
            if inner_bound and isinstance(value, Register):
                kept = edits.kept(inner, value, place)
                suffix = ".ftz.f32" if outer.flush else ".f32"
                raised = edits.before(place, f"max{suffix}", kept, immediate(0, "f32", value))
                edits.replace(place, f"min{suffix}", raised, immediate(_ONE, "f32", value))
                return


def _bounds(flow: Flow, place: int, name: str) -> list[tuple[Operand, bool]]:
    """Each source of ``min`` or ``max``, and whether the other one is 1 or 0."""
    first, second = flow.statements[place].instruction.operands[1:]
    bounds = (_ONE,) if name == "min" else (0, _SIGN)
    pairs = ((first, second), (second, first))
    return [(value, flow.constant(place, other, "f32") in bounds) for value, other in pairs]


def factors(
    edits: Edits, place: int, kind: str, operands: tuple[Operand, ...], *, flush: bool
) -> tuple[Operand, Operand]:
    """Compute the factors of the last multiplication of a division before it.

    `place` and `operands` are its statement and its sources, `kind` is ``"approx"``, ``"full"`` or ``"rcp"``.
    """
    divisor = operands[-1]
    scale: Operand | None = None
    if not flush or kind == "full":
        scale = immediate(_ONE, "f32", divisor)
        size = edits.before(place, "abs.f32", divisor)
        for test, bound, factor in _ranges(kind, flush=flush):
            inside = edits.before(place, f"setp.{test}.f32", size, immediate(bound, "f32", divisor))
            scale = edits.before(place, "selp.f32", immediate(factor, "f32", divisor), scale, inside)
    multiply = f"mul.rn{'.ftz' if flush else ''}.f32"
    if scale is not None:
        divisor = edits.before(place, multiply, divisor, scale)
    reciprocal = edits.before(place, "rcp.approx.ftz.f32", divisor)
    if kind == "rcp":
        assert scale is not None
        return scale, reciprocal
    numerator = operands[0]
    if scale is not None:
        numerator = edits.before(place, multiply, numerator, scale)
    return numerator, reciprocal


def _ranges(kind: str, *, flush: bool) -> tuple[tuple[str, int, int], ...]:
    return (*(() if flush else (_SMALL,)), *(() if kind == "approx" else (_GREAT,)))


def _constant_scale(divisor: int, kind: str, *, flush: bool) -> int | None:
    """The scale of both operands of a division by a constant, if there is one; both f32 bits."""
    size = divisor & ~_SIGN
    for test, bound, factor in _ranges(kind, flush=flush):
        if size < bound if test == "lt" else size > bound:
            return factor
    return None


def _constant_reciprocal(bits: int, scale: int, *, flush: bool) -> int:
    """The correctly rounded reciprocal of a scaled constant; all f32 bits."""
    return reciprocal(multiply(bits, scale, _F32, NEAREST), _F32, NEAREST, flush)
