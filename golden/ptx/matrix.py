"""The matrix statements of a module: instruction and operands, checked against the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from golden.ptx.decoding import Context
from golden.ptx.mnemonic import parse_instruction, parse_move
from golden.ptx.syntax import Address, Immediate, Instruction, Operand, Register, Sink, Symbol, Vector
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import Space, Use
from golden.tables.matrix_instructions import (
    MOVES,
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    MoveInstruction,
    StoreInstruction,
)
from golden.tables.matrix_instructions import Instruction as MatrixInstruction
from golden.tables.scales import BYTE_IDS, THREAD_IDS

MNEMONICS: Final = ("wmma", "mma", *MOVES)
"""First words of the opcodes that are matrix statements."""

_ALIGNED: Final = (6, 3)
"""The PTX ISA version from which matrix statements need ``.aligned``."""

_Parsed = MatrixInstruction | MoveInstruction


@dataclass(frozen=True, kw_only=True)
class MatrixStatement:
    """One statement of wmma or mma, or one that moves matrices."""

    statement: Instruction
    instruction: _Parsed
    """Where the address is a variable in ``.shared``, it accesses shared memory, written or not."""
    fragments: Mapping[Use, tuple[Operand, ...]]
    """The registers of each operand in order, with constants among those read and `Sink` among those written;
    a loaded fragment stands under the use it is loaded for. A move of matrices writes d and reads a."""
    destination: Use | None
    """Which of them is written; the others are read."""
    address: Address | None = None
    """Of a load or store."""
    stride: Operand | None = None
    """Of a load or store, where it is given."""
    extra: tuple[tuple[Operand, int], ...] = ()
    """What follows the fragments of a multiply, each with its bits: metadata and selector, and of both block
    scales the register, the number of a byte and the number of a thread."""

    def bits(self, use: Use) -> int:
        """The width of the registers of a fragment."""
        instruction = self.instruction
        if isinstance(instruction, MoveInstruction):
            return 32
        if isinstance(instruction, MmaInstruction):
            return _register_bits(instruction.types[use])
        return _register_bits(instruction.type)


def decode_matrix_statement(context: Context, statement: Instruction) -> MatrixStatement:
    """Check a statement whose opcode is one of `MNEMONICS`."""
    instruction: _Parsed
    if context.version >= _ALIGNED and "aligned" not in statement.opcode:
        raise context.unsupported(statement, "it lacks .aligned, which PTX ISA 6.3 made a part of it")
    try:
        if statement.opcode[0] in MOVES:
            instruction = parse_move(statement.opcode)
        else:
            instruction = parse_instruction(statement.name, ptx_version=context.version)
    except IllegalInstruction as error:
        raise context.error(statement, str(error)) from error
    made = partial(MatrixStatement, statement=statement)
    taken = partial(_fragment, context)
    if isinstance(instruction, MmaInstruction):
        sparse, scaled = 2 * instruction.is_sparse, 4 * bool(instruction.scales)
        what = "the fragments d, a, b and c"
        what += ", metadata and a selector" if sparse else ""
        what += ", scale and selectors of a, scale and selectors of b" if scaled else ""
        operands = context.operands(statement, 4 + sparse + scaled, what=what)
        pairs = zip(instruction.types, operands, strict=False)
        fragments = {use: taken(instruction, use, operand) for use, operand in pairs}
        extra = require_metadata(context, instruction, operands[4 : 4 + sparse])
        extra += _scales(context, instruction, operands[4 + sparse :])
        return made(instruction=instruction, fragments=fragments, destination="d", extra=extra)
    use: Use
    if isinstance(instruction, MoveInstruction):
        if instruction.mnemonic == "movmatrix":
            target, source = context.operands(statement, 2, what="two registers")
            moved: dict[Use, tuple[Operand, ...]] = {
                "d": taken(instruction, "d", target),
                "a": taken(instruction, "a", source),
            }
            return made(instruction=instruction, fragments=moved, destination="d")
        loads = instruction.mnemonic == "ldmatrix"
        what, most = "its matrices and an address" if loads else "an address and its matrices", 2
        use = "d" if loads else "a"
    else:
        loads = isinstance(instruction, LoadInstruction)
        what, most = "a fragment, an address" if loads else "an address, a fragment", 3
        what += " and optionally a stride"
        use = instruction.use
    operands = context.operands(statement, 2, most, what=what)
    vector, place = operands[:2] if loads else operands[1::-1]
    address = context.require_address(place)
    instruction = replace(instruction, space=_accessed(context, address, instruction.space))
    registers = taken(instruction, use, vector)
    stride = operands[2] if len(operands) == 3 else None
    if stride is not None:
        context.require_source(stride, 32)
        if isinstance(stride, Immediate) and not 0 <= stride.value < 1 << 32:
            raise context.error(stride, f"the stride {stride.value} is not in 0 to {2**32 - 1}")
    return made(
        instruction=instruction,
        fragments={use: registers},
        destination=use if loads else None,
        address=address,
        stride=stride,
    )


def require_metadata(
    context: Context, instruction: MmaInstruction, operands: Sequence[Operand]
) -> tuple[tuple[Operand, int], ...]:
    """The metadata register of a sparse multiply and its selector; nothing for another one."""
    if not instruction.is_sparse:
        return ()
    register, selector = operands
    if not isinstance(register, Register):
        raise context.error(register, "expected a register for the metadata")
    context.require_source(register, 32, "b32")
    allowed = instruction.sparsity.selectors
    if not isinstance(selector, Immediate) or selector.value not in allowed:
        message = f"expected a selector from {allowed[0]} to {allowed[-1]} for {instruction}"
        raise context.error(selector, message)
    return (register, 32), (selector, 32)


def _scales(
    context: Context, instruction: MmaInstruction, operands: Sequence[Operand]
) -> tuple[tuple[Operand, int], ...]:
    """Of A and B the register of scales and both selectors; nothing without block scales."""
    found: list[tuple[Operand, int]] = []
    for use, register, selectors in zip("ab", operands[::2], operands[1::2], strict=False):
        context.require_source(register, 32)
        if not isinstance(selectors, Vector) or len(selectors.elements) != 2:
            message = f"expected {{byte-id, thread-id}} of scale {use}: two constants or 16-bit registers"
            raise context.error(selectors, message)
        found.append((register, 32))
        kinds = ("byte-id", BYTE_IDS[instruction.scale_vec]), ("thread-id", THREAD_IDS[use])
        for selector, (name, allowed) in zip(selectors.elements, kinds, strict=True):
            context.require_source(selector, 16)
            if isinstance(selector, Immediate) and selector.value not in allowed:
                choices = ", ".join(map(str, allowed))
                message = f"{name} {selector.value} of scale {use}; allowed: {choices} for {instruction}"
                raise context.error(selector, message)
            found.append((selector, 16))
    return tuple(found)


def _accessed(context: Context, address: Address, space: Space) -> Space:
    """The state space of an access: of the variable it names, if it names one and no space."""
    named = context.space_of(address)
    if named == "shared" and space == "generic":
        return "shared"
    if named in (None, space) or (named in ("global", "const") and space == "generic"):
        return space
    assert isinstance(address.base, Symbol)
    named = "param" if named == "entry" else named
    what = "generic addresses" if space == "generic" else f".{space}"
    message = f"{address.base.name} is in .{named}, but the instruction accesses {what}"
    raise context.error(address.base, message)


def _register_bits(type_: str) -> int:
    return max(32, FORMATS[type_].bits)


def _fragment(context: Context, instruction: _Parsed, use: Use, operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector, or a single one without braces: registers, constants or `Sink`."""
    if isinstance(instruction, MoveInstruction):
        name, bits, count = f"the matrices of {instruction}", 32, instruction.count
    else:
        type_ = instruction.types[use] if isinstance(instruction, MmaInstruction) else instruction.type
        name = f"fragment {use} of .{type_} in .{instruction.shape}"
        bits = _register_bits(type_)
        layout = (
            instruction.fragments[use] if isinstance(instruction, MmaInstruction) else instruction.fragment
        )
        count = layout.registers * 32 // bits
        if not isinstance(operand, Vector) and count != 1:
            raise context.error(operand, f"{name} must be a vector of registers in braces")
    others: tuple[type[Operand], ...] = ()
    if isinstance(instruction, LoadInstruction) or (
        use == "d" and not isinstance(instruction, StoreInstruction)
    ):
        others = (Sink,)
    elif isinstance(instruction, MmaInstruction):
        others = (Immediate,)
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
    return elements


def _require_literal(context: Context, literal: Immediate, name: str, type_: str, bits: int) -> None:
    """Refuse a constant that is no element of a fragment."""
    context.require_source(literal, bits, "integer" if literal.kind == "integer" else f"f{bits}")
    is_float = isinstance(FORMATS[type_], FloatFormat)
    same = (literal.kind == "integer") != is_float or FORMATS[type_].bits != bits
    if literal.value and not same:
        kind = "floats" if is_float else "integers"
        raise context.error(literal, f"{name} consists of {kind}, unlike this constant")
