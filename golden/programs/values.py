"""Commands and elements as a reader wants to see them, and commands as plain data, for files of JSON."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from golden.arithmetic.number import float_value
from golden.ptx.mnemonic import parse_instruction
from golden.tables.commands import (
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
    Wgmma,
)
from golden.tables.formats import FORMATS, FloatFormat


def describe_command(command: Command) -> str:
    """A command with its operands, for a reader."""
    match command:
        case Load(instruction, register, address, stride) | Store(instruction, register, address, stride):
            end = "" if stride is None else f", stride {stride}"
            return f"{instruction} with register {register}, address {address:#x}{end}"
        case Mma(instruction, d, a, b, c, metadata, selector):
            more = f", metadata {metadata}, selector {selector}" if instruction.is_sparse else ""
            if instruction.scales:
                more += f", scale_a {command.scale_a} {{{command.byte_a}, {command.thread_a}}}"
                more += f", scale_b {command.scale_b} {{{command.byte_b}, {command.thread_b}}}"
            return f"{instruction} with registers d {d}, a {a}, b {b}, c {c}{more}"
        case Wgmma(instruction, d, a, b):
            first = f"a {a}" if command.a_in_registers else f"a at {a:#x}"
            return f"{instruction} with registers d {d}, {first}, b at {b:#x}"
        case Fill(register, count, value):
            return f"fill of {count} registers from {register} on with {value:#010x}"
        case Move(destination, source, count):
            return f"move of {count} registers from {source} on to {destination} on"
        case LoadMatrix(register, addresses) | StoreMatrix(register, addresses):
            return f"{command.instruction} with register {register}, addresses in register {addresses}"
        case MoveMatrix(destination, source):
            return f"{command.instruction} of register {source} to {destination}"


def describe(type: str, pattern: int) -> str:
    """A bit pattern in hexadecimal with the value it stands for, such as ``0x3c00 = 1.0``."""
    element = FORMATS[type]
    text = f"{pattern:#0{max(1, element.bits // 4) + 2}x}"
    if isinstance(element, FloatFormat):
        return f"{text} = {float_value(pattern, element)!r}"
    negative = element.signed and pattern >> (element.bits - 1)
    return f"{text} = {pattern - (negative << element.bits)}"


_KINDS: Final[Mapping[str, type[Command]]] = {kind.__name__: kind for kind in get_args(Command)}


def command_data(command: Command) -> dict[str, Any]:
    """The kind of a command and its fields; of an instruction, its text."""
    fields = dict(vars(command))
    if "instruction" in fields:
        fields["instruction"] = str(fields["instruction"])
    return {"kind": type(command).__name__, **fields}


def command_of(data: Mapping[str, Any]) -> Command:
    """The command of some `command_data`."""
    fields = dict(data)
    kind: Any = _KINDS[fields.pop("kind")]
    if "instruction" in fields:
        whole = kind is Wgmma
        fields["instruction"] = parse_instruction(fields["instruction"], warp_tile=not whole)
        fields |= {name: tuple(fields[name]) for name in ("negated", "transposed") if whole}
    command: Command = kind(**fields)
    return command
