"""What a trace says of a command: a title, and all that is known of it."""

from typing import Any, Final

from golden.programs.values import describe_command
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
from hdl.control.scoreboard import Unit
from sim.trace.lifetimes import Lifetime
from sim.trace.trace_events import Slice

UNIT_NAMES: Final = {
    Unit.LOAD: "load engine",
    Unit.STORE: "store engine",
    Unit.TILE: "tile multiplier",
    Unit.F64: "f64 multiplier",
    Unit.MOVE: "register mover",
    Unit.WGMMA: "warpgroup multiplier",
}
"""What the process of each unit is called."""


def short_name(command: Command) -> str:
    """A command in a few words, for a slice."""
    match command:
        case Load(instruction):
            return f"load {instruction.use} {instruction.type}"
        case Store(instruction):
            return f"store d {instruction.type}"
        case Mma(instruction) | Wgmma(instruction):
            name = "mma" if isinstance(command, Mma) else "wgmma"
            return f"{name} {instruction.shape} {instruction.d_type} {instruction.a_type}"
        case Fill():
            return "fill"
        case Move():
            return "move"
        case LoadMatrix():
            return f"ldmatrix x{command.count}"
        case StoreMatrix():
            return f"stmatrix x{command.count}"
        case MoveMatrix():
            return "movmatrix"


def command_title(command: Lifetime) -> str:
    """Number and short name of a command."""
    if command.logged is not None:
        return f"#{command.number} {short_name(command.logged.command)}"
    unit = "command" if command.unit is None else UNIT_NAMES[command.unit]
    return f"#{command.number} {unit}"


def command_facts(command: Lifetime) -> dict[str, Any]:
    """Instruction, place in the program, operands, and cycles; None for what is not known."""
    place = None if command.logged is None else command.logged.place
    return {
        "command": command.number,
        "instruction": None if command.logged is None else describe_command(command.logged.command),
        "PTX": None if place is None else str(place),
        "source": getattr(place, "origin", None) or None,
        "reads": ", ".join(map(str, command.reads)) or None,
        "writes": None if command.write is None else str(command.write),
        "bytes": None if command.span is None else f"{command.span[0]:#x} to {command.span[1]:#x}",
        "queued at": command.queued,
        "taken at": command.accepted,
        "started at": command.started,
        "registers read at": command.fetched,
        "done at": command.done,
    }


def command_slice(command: Lifetime, first: int, last: int) -> Slice:
    """A slice of a command in cycles `first` to `last`."""
    return Slice(name=command_title(command), first=first, last=last, args=command_facts(command))
