"""What an assembler makes of single instructions before it joins any, where results differ."""

from golden.ptx.contraction.division import INFINITY, ONE, constant_reciprocal, constant_scale
from golden.ptx.contraction.edits import Edits
from golden.ptx.contraction.flow import Flow
from golden.ptx.contraction.forms import WIDTHS, division, form, immediate, straightens
from golden.ptx.syntax import Instruction, Operand, Register

_MAGNITUDE = 0x7FFFFFFF
_COPIED = frozenset({"f32", "f64", "f16"})


def may_simplify(instruction: Instruction) -> bool:
    """Whether an instruction is of a kind that is looked at."""
    return instruction.opcode == ("cvt", "f32", "f32") or division(instruction) is not None or any(
        form(instruction, name) for name in ("mul", "min", "max")
    )  # fmt: skip


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
    if bits & _MAGNITUDE > INFINITY:  # a NaN, which the unit makes one
        return True
    if kind == "rcp":
        result = constant_reciprocal(bits, ONE, flush=flush)
        edits.replace(place, "mov.f32", immediate(result, "f32", divisor))
        return True
    scale = constant_scale(bits, kind, flush=flush)
    reciprocal = constant_reciprocal(bits, ONE if scale is None else scale, flush=True)
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
    move = f"mov.b{WIDTHS[found.type]}"
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
                edits.replace(place, f"min{suffix}", raised, immediate(ONE, "f32", value))
                return


def _bounds(flow: Flow, place: int, name: str) -> list[tuple[Operand, bool]]:
    """Each source of ``min`` or ``max``, and whether the other one is 1 or 0."""
    first, second = flow.statements[place].instruction.operands[1:]
    found = []
    for value, other in ((first, second), (second, first)):
        bits = flow.constant(place, other, "f32")
        found.append((value, bits == ONE if name == "min" else bits in (0, 1 << 31)))
    return found
