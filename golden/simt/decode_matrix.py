"""Matrix instructions of warps and of warpgroups: the operands are checked against the tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from golden.ptx.decoding import Context, Step
from golden.ptx.mnemonic import parse_instruction, parse_move
from golden.ptx.syntax import Immediate, Instruction, Operand, Register, Sink, Vector
from golden.simt.address_map import SHARED
from golden.simt.code import Widths, Writer
from golden.simt.decode_lines import decode_line
from golden.simt.warpgroups import WARPGROUP, WarpgroupMultiply
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import Space, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import (
    MOVES,
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    MoveInstruction,
    StoreInstruction,
)
from golden.tables.scales import BYTE_IDS, THREAD_IDS

_ALIGNED: Final = (6, 3)
"""The PTX ISA version from which the instructions of warps need ``.aligned``."""

_A_REGISTERS: Final = 4
"""Of a multiply of a warpgroup."""

_Access = LoadInstruction | StoreInstruction | MoveInstruction


def _decode(context: Context, statement: Instruction, index: int) -> Step:
    """An instruction of a warp."""
    parsed: MmaInstruction | _Access
    if context.version >= _ALIGNED and "aligned" not in statement.opcode:
        raise context.unsupported(statement, "it lacks .aligned, which PTX ISA 6.3 made a part of it")
    try:
        if statement.opcode[0] in MOVES:
            parsed = parse_move(statement.opcode)
        else:
            parsed = parse_instruction(statement.name, ptx_version=context.version)
    except IllegalInstruction as error:
        raise context.error(statement, str(error)) from error
    if isinstance(parsed, MmaInstruction):
        return _multiply(context, statement, index, parsed)
    if isinstance(parsed, MoveInstruction) and parsed.mnemonic == "movmatrix":
        return _transpose(context, statement, index, parsed)
    return _access(context, statement, index, parsed)


def _multiply(context: Context, statement: Instruction, index: int, parsed: MmaInstruction) -> Step:
    sparse, scaled = 2 * parsed.is_sparse, 4 * bool(parsed.scales)
    what = "the fragments d, a, b and c"
    what += ", metadata and a selector" if sparse else ""
    what += ", scale and selectors of a, scale and selectors of b" if scaled else ""
    operands = context.operands(statement, 4 + sparse + scaled, what=what)
    pairs = zip(parsed.types, operands, strict=False)
    target, *sources = [_fragment(context, parsed, use, operand) for use, operand in pairs]
    metadata = _metadata(context, parsed, operands[4 : 4 + sparse])
    extra = [*metadata, *_scales(context, parsed, operands[4 + sparse :])]

    def write_code(writer: Writer) -> None:
        values = [_tuple(writer, source) for source in sources]
        values += [str(index), *(_value(writer, *item) for item in extra)]
        call = f"B.multiply({writer.bind(parsed)}, {writer.threads}, {', '.join(values)})"
        writer.results(f"{call}[0]" if len(target) == 1 else call, target)

    read = [operand for widths in (extra, *sources) for operand, _ in widths]
    written = [operand for operand, _ in target]
    return context.step(statement, index, read, written, write_code, select=False, whole=LANES, matrix=parsed)


def _transpose(context: Context, statement: Instruction, index: int, parsed: MoveInstruction) -> Step:
    """``movmatrix``."""
    to, source = context.operands(statement, 2, what="two registers")
    (target,), (register,) = _fragment(context, parsed, "d", to), _fragment(context, parsed, "a", source)

    def write_code(writer: Writer) -> None:
        arguments = f"{writer.bind(parsed)}, {writer.threads}, {_tuple(writer, [register])}, {index}"
        writer.results(f"B.transpose_matrix({arguments})[0]", [target])

    return context.step(statement, index, register[:1], target[:1], write_code, select=False, whole=LANES)


def _access(context: Context, statement: Instruction, index: int, parsed: _Access) -> Step:
    """A load or store of a fragment or of matrices."""
    use: Use
    is_move = isinstance(parsed, MoveInstruction)
    if isinstance(parsed, MoveInstruction):
        use = "d" if parsed.mnemonic == "ldmatrix" else "a"
        loads, most = use == "d", 2
        what = "its matrices and an address" if loads else "an address and its matrices"
    else:
        use, loads, most = parsed.use, isinstance(parsed, LoadInstruction), 3
        what = f"{'a fragment, an address' if loads else 'an address, a fragment'} and optionally a stride"
    operands = context.operands(statement, 2, most, what=what)
    vector, place = operands[:2] if loads else operands[1::-1]
    address = context.require_address(place)
    is_shared = (parsed.space, context.space_of(address)) == ("generic", "shared")
    space: Space = "shared" if is_shared else parsed.space
    context.require_space(address, space)
    registers = _fragment(context, parsed, use, vector)
    stride = operands[2] if len(operands) == 3 else None
    if stride is not None:
        context.require_source(stride, 32)
        if isinstance(stride, Immediate) and not 0 <= stride.value < 1 << 32:
            raise context.error(stride, f"the stride {stride.value} is not in 0 to {2**32 - 1}")
    matrix: _Access = replace(parsed, space="generic" if is_move else space)

    def write_code(writer: Writer) -> None:
        access = writer.access(context, address, SHARED if space == "shared" else 0)
        step = "None" if stride is None else writer.array(stride, 32)
        head = f"{writer.bind(matrix)}, {access}, {step}"
        if loads:
            writer.results(f"B.load_matrix({head}){'[0]' * (len(registers) == 1)}", registers)
        else:
            writer.line(f"B.store_matrix({head}, {_tuple(writer, registers)})")

    elements = [operand for operand, _ in registers]
    read = [address, *([] if stride is None else [stride]), *([] if loads else elements)]
    kind: dict[str, Any] = {"select": False, "whole": LANES, "pure": loads, "loads": loads}
    kind["matrix"] = None if is_move else matrix
    return context.step(statement, index, read, elements if loads else (), write_code, **kind)


def _tuple(writer: Writer, registers: Widths) -> str:
    """The registers of a fragment."""
    return f"({', '.join(_value(writer, *item) for item in registers)},)"


def _value(writer: Writer, item: Operand, bits: int) -> str:
    """An operand; of a constant the assembler takes the low bits, even of a double."""
    return writer.uniform(item.value, bits) if isinstance(item, Immediate) else writer.array(item, bits)


def _metadata(context: Context, parsed: MmaInstruction, operands: Sequence[Operand]) -> Widths:
    """The metadata register of a sparse multiply and its selector; nothing for another one."""
    if not parsed.is_sparse:
        return []
    register, selector = operands
    if not isinstance(register, Register):
        raise context.error(register, "expected a register for the metadata")
    context.require_source(register, 32, "b32")
    allowed = parsed.sparsity.selectors
    if not isinstance(selector, Immediate) or selector.value not in allowed:
        message = f"expected a selector from {allowed[0]} to {allowed[-1]} for {parsed}"
        raise context.error(selector, message)
    return [(register, 32), (selector, 32)]


def _scales(context: Context, parsed: MmaInstruction, operands: Sequence[Operand]) -> Widths:
    """Of A and B the register of scales and both selectors; nothing without block scales."""
    found: list[tuple[Operand, int]] = []
    for use, register, selectors in zip("ab", operands[::2], operands[1::2], strict=False):
        context.require_source(register, 32)
        if not isinstance(selectors, Vector) or len(selectors.elements) != 2:
            message = f"expected {{byte-id, thread-id}} of scale {use}: two constants or 16-bit registers"
            raise context.error(selectors, message)
        found.append((register, 32))
        kinds = ("byte-id", BYTE_IDS[parsed.scale_vec]), ("thread-id", THREAD_IDS[use])
        for selector, (name, allowed) in zip(selectors.elements, kinds, strict=True):
            context.require_source(selector, 16)
            if isinstance(selector, Immediate) and selector.value not in allowed:
                choices = ", ".join(map(str, allowed))
                message = f"{name} {selector.value} of scale {use}; allowed: {choices} for {parsed}"
                raise context.error(selector, message)
            found.append((selector, 16))
    return found


def _fragment(context: Context, parsed: MmaInstruction | _Access, use: Use, operand: Operand) -> Widths:
    """The elements of a vector, or a single one without braces, with their bits.

    They are registers, constants among those that a multiply reads, and `Sink` among those written.
    """
    is_multiply = isinstance(parsed, MmaInstruction)
    if isinstance(parsed, MoveInstruction):
        name, bits, count = f"the matrices of {parsed}", 32, parsed.count
    else:
        type_ = parsed.types[use] if isinstance(parsed, MmaInstruction) else parsed.type
        layout = parsed.fragments[use] if isinstance(parsed, MmaInstruction) else parsed.fragment
        name, bits = f"fragment {use} of .{type_} in .{parsed.shape}", max(32, FORMATS[type_].bits)
        count = layout.registers * 32 // bits
        if not isinstance(operand, Vector) and count != 1:
            raise context.error(operand, f"{name} must be a vector of registers in braces")
    if isinstance(parsed, LoadInstruction) or (use == "d" and not isinstance(parsed, StoreInstruction)):
        others: tuple[type[Operand], ...] = (Sink,)
    else:
        others = (Immediate,) if is_multiply else ()
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    for element in elements:
        if isinstance(element, others):
            continue
        if not isinstance(element, Register):
            raise context.error(element, f"expected a register for {name}")
        if element.type.bits != bits:
            message = f"expected a {bits}-bit register for {name}, but {element.name} is {element.type}"
            raise context.error(element, message)
    if len(elements) != count:
        plural = "" if count == 1 else "s"
        message = f"expected {count} register{plural} for {name}, not {len(elements)}"
        raise context.error(operand, message)
    for element in elements:
        if isinstance(element, Immediate):
            _require_literal(context, element, name, type_, bits)
    return [(element, bits) for element in elements]


def _require_literal(context: Context, literal: Immediate, name: str, type_: str, bits: int) -> None:
    """Refuse a constant that is no element of a fragment."""
    context.require_source(literal, bits, "integer" if literal.kind == "integer" else f"f{bits}")
    is_float = isinstance(FORMATS[type_], FloatFormat)
    same = (literal.kind == "integer") != is_float or FORMATS[type_].bits != bits
    if literal.value and not same:
        kind = "floats" if is_float else "integers"
        raise context.error(literal, f"{name} consists of {kind}, unlike this constant")


def _decode_wgmma(context: Context, instruction: Instruction, index: int) -> Step:
    if "mma_async" not in instruction.opcode:
        return decode_line(context, instruction, index)
    try:
        parsed = parse_instruction(instruction.name)
    except IllegalInstruction as error:
        raise context.error(instruction, str(error)) from error
    assert isinstance(parsed, MmaInstruction)
    in_registers = len(instruction.operands) > 1 and isinstance(instruction.operands[1], Vector)
    is_float = isinstance(FORMATS[parsed.a_type], FloatFormat)
    flags = 2 * is_float + (2 - in_registers) * (is_float and FORMATS[parsed.a_type].bits == 16)
    sparse = 2 * parsed.is_sparse
    d, a, b, *others = context.operands(instruction, 4 + sparse + flags)
    metadata = _metadata(context, parsed, others[:sparse])
    scale, *signs = others[sparse:]
    targets = _registers(context, parsed, "d", d, parsed.shape.n * FORMATS[parsed.d_type].bits // 64)
    left: Widths = [(a, 64)]
    if in_registers:
        left = _registers(context, parsed, "a", a, _A_REGISTERS)
    else:
        context.require_source(a, 64)
    context.require_source(b, 64)
    context.require_source(scale, 1, "pred")
    negated, order = (
        [context.require_constant(item, f"the {what} of {use}", allowed) for use, item in _named(items)]
        for what, items, allowed in (("sign", signs[:2], range(-1, 2, 2)), ("order", signs[2:], range(2)))
    )
    form = WarpgroupMultiply(
        instruction=parsed,
        index=index,
        negated=(-1 in negated[:1], -1 in negated[1:]),
        transposed=(not in_registers and 1 in order[:1], 1 in order[-1:]),
        targets=context.registers(item for item, _ in targets),
        sources=context.registers(item for item, _ in left) if in_registers else (),
        metadata=context.registers(item for item, _ in metadata),
    )

    def write_code(writer: Writer) -> None:
        values, words = (
            ", ".join(writer.array(*item) for item in registers) for registers in (targets, left)
        )
        arguments = f"({words},), {writer.array(b, 64)}, ({values},), {writer.array(scale, 1)}"
        arguments += "".join(f", {writer.array(*item)}" for item in metadata)
        call = f"B.multiply_warpgroups({writer.bind(form)}, {writer.threads}, {arguments})"
        writer.results(call, targets)

    written = [item for item, _ in targets]
    read = [*written, *(item for item, _ in left), b, scale, *(item for item, _ in metadata)]
    return context.step(
        instruction, index, read, written, write_code, select=False, whole=WARPGROUP, matrix=parsed
    )


def _named(operands: Sequence[Operand]) -> list[tuple[str, Operand]]:
    """Operands that are of A and of B; one alone is of B."""
    return list(zip("AB"[2 - len(operands) :], operands, strict=True))


def _registers(context: Context, parsed: MmaInstruction, use: Use, operand: Operand, count: int) -> Widths:
    """The registers of A or D of a warpgroup."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    name = f"{use} of .{parsed.types[use]} in .{parsed.shape}"
    if len(elements) != count:
        raise context.error(operand, f"expected {count} registers for {name}, not {len(elements)}")
    for element in elements:
        if not isinstance(element, Register):
            raise context.error(element, f"expected a register for {name}")
        context.require_destination(element, 32, parsed.types[use] if parsed.types[use] == "f32" else "b32")
    return [(element, 32) for element in elements]


DECODERS: Final = {**dict.fromkeys(("wmma", "mma", *MOVES), _decode), "wgmma": _decode_wgmma}
