"""Instructions that the lanes of a warp execute together: exchanges of values, matrix instructions."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from golden.ptx.blocks import collective_details
from golden.ptx.decoding import Context, Step
from golden.ptx.matrix import MNEMONICS, MatrixStatement, decode_matrix_statement
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Immediate, Instruction, Operand, Pair, Sink
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.address_map import SHARED
from golden.simt.code import Writer, call_step
from golden.simt.warp_operations import REDUCTIONS, elect, match, reduce, shuffle, vote
from golden.tables.instruction_set import Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction, MoveInstruction

_EXCHANGES: Final[Mapping[str, tuple[partial[Any], tuple[int, ...], tuple[int, ...]]]] = {
    **{
        f"shfl .sync .{mode} .b32": (partial(shuffle, mode), (32, 32, 32), (32, 1))
        for mode in ("up", "down", "bfly", "idx")
    },
    **{f"vote .sync .{mode} .pred": (partial(vote, mode), (1,), (1,)) for mode in ("all", "any", "uni")},
    "vote .sync .ballot .b32": (partial(vote, "ballot"), (1,), (32,)),
    **{
        f"match .{mode} .sync .b{bits}": (partial(match, mode), (bits,), (32, 1))
        for mode in ("any", "all")
        for bits in (32, 64)
    },
    **{
        f"redux .sync .{name} .{type_}": (partial(reduce, name, type_), (32,), (32,))
        for name, type_ in REDUCTIONS
    },
    "elect .sync": (partial(elect), (), (32, 1)),
}
"""What the lanes of a mask compute together, with the bits of its sources and of its results."""

_SYNCHRONOUS: Final = (6, 4)
"""The PTX ISA version from which exchanges need ``.sync``."""


def _exchange(context: Context, instruction: Instruction, index: int) -> Step:
    """An exchange between the lanes of a mask; without ``.sync``, between the lanes that are at hand."""
    word, *words = instruction.opcode
    named = {syntax: form for syntax, form in _EXCHANGES.items() if syntax.split()[0] == word}
    is_old = word in ("shfl", "vote") and "sync" not in words
    if is_old and context.version >= _SYNCHRONOUS:
        message = f"it lacks .sync, without which it ended with PTX ISA {'.'.join(map(str, _SYNCHRONOUS))}"
        raise context.unsupported(instruction, message)
    given = [*words, "sync"] if is_old else words
    fitting = [form for syntax, form in named.items() if chosen_qualifiers(syntax, given) is not None]
    if not fitting:
        raise context.unsupported(instruction, f"there are: {', '.join(named)}")
    compute, bits, results = fitting[0]
    target, *operands = context.operands(instruction, 1 + len(bits) + (not is_old))
    if word == "elect" and not isinstance(target, Pair):
        raise context.unsupported(instruction)
    if word == "match" and "any" in words and isinstance(target, Pair):
        raise context.error(target, "match.any has no predicate as a destination")
    targets: list[tuple[Operand, int]] = [(target, results[0])]
    if len(results) > 1:
        pair = (target.first, target.second) if isinstance(target, Pair) else (target, Sink(target.location))
        targets = list(zip(pair, results, strict=True))
    sources = list(zip(operands, bits, strict=False))
    if is_old:
        places = ", ".join("{}" for _ in bits)
        call = f"{compute.func.__name__}({compute.args[0]!r}, {{threads}}, every_lane, {places})"
        call += "[0]" * (len(results) == 1)
        return call_step(context, instruction, index, call, sources, targets, type_="b32")
    kind = next((part for part in words if part in TYPES), "integer")
    kinds = "integer" if word == "match" else kind, kind
    details = collective_details(context, operands[-1], sources, targets, compute, kinds)
    reads, writes = [operands[-1], *operands[:-1]], [operand for operand, _ in targets]
    return context.step(instruction, index, reads, writes, _no_code, collective=details)


def _no_code(writer: Writer) -> None:
    """The block ends with the collective, which the running block executes."""


def _active_mask(context: Context, instruction: Instruction, index: int) -> Step:
    (target,) = context.operands(instruction, 1)
    if instruction.opcode[1:] != ("b32",):
        raise context.unsupported(instruction)
    return call_step(context, instruction, index, "active_mask({threads})", [], [(target, 32)], type_="b32")


def _matrix(context: Context, instruction: Instruction, index: int) -> Step:
    found = decode_matrix_statement(context, instruction)
    to = found.destination
    targets = found.fragments[to] if to is not None else ()
    sources = [item for use, items in found.fragments.items() if use != to for item in items]
    loads = found.address is not None and to is not None

    def write_code(writer: Writer) -> None:
        call = _call(context, writer, found, index)
        bits = 0 if to is None else found.bits(to)
        writer.results(f"{call}[0]" if len(targets) == 1 else call, [(target, bits) for target in targets])

    others = (found.address, found.stride, *(operand for operand, _ in found.extra))
    places = tuple(operand for operand in others if operand is not None)
    matrix = None if isinstance(found.instruction, MoveInstruction) else found.instruction
    kind = {"select": False, "pure": loads, "loads": loads, "whole": LANES, "matrix": matrix}
    return context.step(instruction, index, (*places, *sources), targets, write_code, **kind)


def _call(context: Context, writer: Writer, found: MatrixStatement, index: int) -> str:
    """The call of the block that executes a statement."""
    parsed, threads = found.instruction, writer.threads
    if isinstance(parsed, MmaInstruction):
        values = ", ".join(_tuple(writer, found, use) for use in ("a", "b", "c"))
        extra = "".join(f", {_value(writer, *operand)}" for operand in found.extra)
        return f"B.multiply({writer.bind(parsed)}, {threads}, {values}, {index}{extra})"
    if found.address is None:
        return f"B.transpose_matrix({threads}, {_tuple(writer, found, 'a')}, {index})"
    access = writer.access(context, found.address, SHARED if parsed.space == "shared" else 0)
    if isinstance(parsed, MoveInstruction):
        load, store = "B.load_matrices", "B.store_matrices"
        head = f"{access}, {parsed.count}, {parsed.transposed}"
    else:
        load, store = "B.load_fragment", "B.store_fragment"
        step = "None" if found.stride is None else writer.array(found.stride, 32)
        head = f"{writer.bind(parsed)}, {access}, {step}"
    if found.destination is not None:
        return f"{load}({head})"
    (use,) = found.fragments
    return f"{store}({head}, {_tuple(writer, found, use)})"


def _tuple(writer: Writer, found: MatrixStatement, use: Use) -> str:
    """The registers of a fragment; of a constant in it the assembler takes the low bits, even of a double."""
    bits = found.bits(use)
    return f"({', '.join(_value(writer, item, bits) for item in found.fragments[use])},)"


def _value(writer: Writer, item: Operand, bits: int) -> str:
    return writer.uniform(item.value, bits) if isinstance(item, Immediate) else writer.array(item, bits)


DECODERS: Final = {
    **dict.fromkeys(("shfl", "vote", "match", "redux", "elect"), _exchange),
    "activemask": _active_mask,
    **dict.fromkeys(MNEMONICS, _matrix),
}
