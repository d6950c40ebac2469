"""``wgmma``: multiplies of a warpgroup, and the fences and groups that order them."""

from typing import Final

from golden.ptx.decoding import Context, Step
from golden.ptx.matrix import require_metadata
from golden.ptx.mnemonic import parse_instruction
from golden.ptx.syntax import Instruction, Operand, Register, Vector
from golden.simt.code import Writer
from golden.simt.decode_lines import Line, decode_line
from golden.simt.warpgroups import WARPGROUP, WarpgroupMultiply
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import IllegalInstruction, MmaInstruction

_LINES: Final = (
    Line("wgmma .fence .sync .aligned?"),
    Line("wgmma .commit_group .sync .aligned?", (), "commit_multiplies"),
    Line("wgmma .wait_group .sync .aligned?", (range(8),), "await_multiplies"),
)
_A_REGISTERS: Final = 4


def _decode(context: Context, instruction: Instruction, index: int) -> Step:
    if "mma_async" in instruction.opcode:
        return _multiply(context, instruction, index)
    return decode_line(_LINES, context, instruction, index)


def _multiply(context: Context, instruction: Instruction, index: int) -> Step:
    try:
        parsed = parse_instruction(instruction.name)
    except IllegalInstruction as error:
        raise context.error(instruction, str(error)) from error
    assert isinstance(parsed, MmaInstruction)
    a_registers = len(instruction.operands) > 1 and isinstance(instruction.operands[1], Vector)
    is_float = isinstance(FORMATS[parsed.a_type], FloatFormat)
    flags = 2 * is_float + (2 - a_registers) * (is_float and FORMATS[parsed.a_type].bits == 16)
    sparse = 2 * parsed.is_sparse
    d, a, b, *others = context.operands(instruction, 4 + sparse + flags)
    metadata = require_metadata(context, parsed, others[:sparse])
    scale, *signs = others[sparse:]
    targets = _registers(context, parsed, "d", d, parsed.shape.n * FORMATS[parsed.d_type].bits // 64)
    a_sources: tuple[Operand, ...] = (a,)
    if a_registers:
        a_sources = _registers(context, parsed, "a", a, _A_REGISTERS)
    else:
        context.require_source(a, 64)
    context.require_source(b, 64)
    context.require_source(scale, 1, "pred")
    negated = [
        context.require_constant(item, f"the sign of {use}", range(-1, 2, 2))
        for use, item in _named(signs[:2])
    ]
    order = [
        context.require_constant(item, f"the order of {use}", range(2)) for use, item in _named(signs[2:])
    ]
    form = WarpgroupMultiply(
        instruction=parsed,
        index=index,
        negated=(-1 in negated[:1], -1 in negated[1:]),
        transposed=(not a_registers and 1 in order[:1], 1 in order[-1:]),
        targets=context.registers(targets),
        sources=context.registers(a_sources) if a_registers else (),
        metadata=context.registers(item for item, _ in metadata),
    )

    def write_code(writer: Writer) -> None:
        values = ", ".join(writer.array(item, 32) for item in targets)
        words = ", ".join(writer.array(item, 32 if a_registers else 64) for item in a_sources)
        arguments = f"({words},), {writer.array(b, 64)}, ({values},), {writer.array(scale, 1)}"
        arguments += "".join(f", {writer.array(item, bits)}" for item, bits in metadata)
        call = f"B.multiply_warpgroups({writer.bind(form)}, {writer.threads}, {arguments})"
        writer.results(call, [(item, 32) for item in targets])

    sources = (*targets, *a_sources, b, scale, *(item for item, _ in metadata))
    return context.step(
        instruction, index, sources, targets, write_code, select=False, whole=WARPGROUP, matrix=parsed
    )


def _named(operands: list[Operand]) -> list[tuple[str, Operand]]:
    """Operands that are of A and of B; one alone is of B."""
    return list(zip("AB"[2 - len(operands) :], operands, strict=True))


def _registers(
    context: Context, parsed: MmaInstruction, use: Use, operand: Operand, count: int
) -> tuple[Operand, ...]:
    """The registers of A or D."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    name = f"{use} of .{parsed.types[use]} in .{parsed.shape}"
    if len(elements) != count:
        raise context.error(operand, f"expected {count} registers for {name}, not {len(elements)}")
    for element in elements:
        if not isinstance(element, Register):
            raise context.error(element, f"expected a register for {name}")
        context.require_destination(element, 32, parsed.types[use] if parsed.types[use] == "f32" else "b32")
    return elements


DECODERS: Final = {"wgmma": _decode}
