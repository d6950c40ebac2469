"""Code of the matrix instructions: wmma, mma.sync, ldmatrix, stmatrix, movmatrix."""

from typing import Final

from golden.ptx.decoding import Context, Step
from golden.ptx.matrix import MNEMONICS, MatrixStatement, decode_matrix_statement
from golden.ptx.syntax import Immediate, Instruction
from golden.simt.address_map import SHARED
from golden.simt.code import Writer
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.matrix_moves import MoveInstruction


def _matrix(context: Context, instruction: Instruction, index: int) -> Step:
    found = decode_matrix_statement(context, instruction)
    to = found.destination
    targets = found.fragments[to] if to is not None else ()
    sources = [item for use, items in found.fragments.items() if use != to for item in items]
    loads = found.address is not None and to is not None

    def emit(writer: Writer) -> None:
        call = _call(context, writer, found, index)
        bits = 0 if to is None else found.bits(to)
        writer.results(f"{call}[0]" if len(targets) == 1 else call, [(target, bits) for target in targets])

    places = tuple(operand for operand in (found.address, found.stride) if operand is not None)
    matrix = None if isinstance(found.instruction, MoveInstruction) else found.instruction
    kind = {"select": False, "pure": loads, "loads": loads, "mask": "all", "matrix": matrix}
    return context.step(instruction, index, (*places, *sources), targets, emit, **kind)


def _call(context: Context, writer: Writer, found: MatrixStatement, index: int) -> str:
    """The call of the block that executes a statement."""
    parsed, threads = found.instruction, writer.threads
    if isinstance(parsed, MmaInstruction):
        values = ", ".join(_tuple(writer, found, use) for use in ("a", "b", "c"))
        return f"B.multiply({writer.bind(parsed)}, {threads}, {values}, {index})"
    if found.address is None:
        return f"B.transpose_matrix({threads}, {_tuple(writer, found, 'a')})"
    access = writer.access(context, found.address, SHARED if parsed.space == "shared" else 0)
    if isinstance(parsed, MoveInstruction):
        what, head = "matrices", f"{access}, {parsed.count}, {parsed.transposed}"
    else:
        step = "None" if found.stride is None else writer.array(found.stride, 32)
        what, head = "fragment", f"{writer.bind(parsed)}, {access}, {step}"
    if found.destination is not None:
        return f"B.load_{what}({head})"
    (use,) = found.fragments
    return f"B.store_{what}({head}, {_tuple(writer, found, use)})"


def _tuple(writer: Writer, found: MatrixStatement, use: Use) -> str:
    """The registers of a fragment; of a constant in it the assembler takes the low bits, even of a double."""
    bits = found.bits(use)
    values = [
        writer.uniform(item.value, bits) if isinstance(item, Immediate) else writer.array(item, bits)
        for item in found.fragments[use]
    ]
    return f"({', '.join(values)},)"


DECODERS: Final = dict.fromkeys(MNEMONICS, _matrix)
"""By first word of the opcode."""
