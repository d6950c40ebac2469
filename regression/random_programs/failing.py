"""Programs that fail: made shorter and plainer by delta debugging, and saved.

As files they are PTX to run and read, and everything else that brings the failure back.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

from golden.ptx.allocation import RAW_REGISTERS
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
)
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from regression.random_programs.choices import operands_of
from regression.random_programs.program import Program
from sim.simulation import BusTiming

_Item = TypeVar("_Item")
_KINDS: Mapping[str, type[Command]] = {kind.__name__: kind for kind in get_args(Command)}


def minimise(items: Sequence[_Item], fails: Callable[[tuple[_Item, ...]], bool]) -> tuple[_Item, ...]:
    """The minimising delta debugging of Zeller and Hildebrandt, on complements.

    Of what is left of the items, for which `fails` is true, none can be left out alone.
    """
    kept = tuple(items)
    chunk = max(1, len(kept) // 2)
    while True:
        start, count = 0, len(kept)
        while start < len(kept):
            rest = kept[:start] + kept[start + chunk :]
            if fails(rest):
                kept = rest
            else:
                start += chunk
        if len(kept) == count:
            if chunk == 1:
                return kept
            chunk //= 2


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Shrink a program that fails: first its commands, then their operands, timing and memory.

    What is left fails too, and no command of it can be left out alone.
    """

    def still(commands: tuple[Command, ...]) -> bool:
        return fails(replace(program, commands=commands))

    program = replace(program, commands=minimise(program.commands, still))
    plain = replace(program, timing=BusTiming(latency=20, stall=0, seed=1))
    if fails(plain):
        program = plain
    for index in range(len(program.commands)):
        for candidate in _simpler(program.commands[index]):
            commands = (*program.commands[:index], candidate, *program.commands[index + 1 :])
            if fails(replace(program, commands=commands)):
                program = replace(program, commands=commands)
    program = replace(program, commands=minimise(program.commands, still))
    return _cleared(program, fails)


def _simpler(command: Command) -> Iterator[Command]:
    """Commands of the same effect but for one operand, the plainest first."""
    yield from _plainer(command, stride=None, value=0, count=1, transposed=False)
    if isinstance(command, Load | Store | Mma):
        plain = {"space": "global"} if getattr(command.instruction, "space", "") == "generic" else {}
        for instruction in _plainer(command.instruction, saturate=False, rounding=None, **plain):
            yield replace(command, instruction=instruction)


def _plainer(item: Any, **plain: Any) -> Iterator[Any]:
    """The item with one of its fields plain that is not."""
    for name, value in plain.items():
        if getattr(item, name, value) not in (value, 0):
            yield replace(item, **{name: value})


def _cleared(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Replace memory by zeros, in pieces of 64 bytes, as far as the program still fails."""
    pieces = program.memory.reshape(-1, 64)

    def with_pieces(kept: Sequence[int]) -> Program:
        memory = np.zeros_like(pieces)
        memory[list(kept)] = pieces[list(kept)]
        return replace(program, memory=memory.reshape(-1))

    used = np.flatnonzero(pieces.any(axis=1)).tolist()
    return with_pieces(minimise(used, lambda kept: fails(with_pieces(kept))))


def save_program(folder: Path, program: Program, failure: str) -> None:
    """Write ``program.ptx``, ``memory.npy`` and ``program.json`` into a folder, which is made.

    The failure becomes the first comment of the PTX.
    """
    folder.mkdir(parents=True, exist_ok=True)
    seed, number = program.seed
    remarks = "\n".join(
        (
            failure,
            f"Program {number} of seed {seed} on preset {program.preset}. With the timing it failed under:",
            f"  python -m regression.random_programs {folder}",
            "Command by command, with the usual timing:",
            f"  openwmma run {folder / 'program.ptx'} --arg memory={folder / 'memory.npy'} "
            f"--preset {program.preset} --on lockstep",
        )
    )
    (folder / "program.ptx").write_text(ptx_text(program, remarks))
    np.save(folder / "memory.npy", program.memory)
    description = {
        "preset": program.preset,
        "seed": program.seed,
        "timing": asdict(program.timing),
        "failure": failure,
        "commands": [{"kind": type(command).__name__, **vars(command)} for command in program.commands],
    }
    text = json.dumps(description, indent=1, default=str)  # of an instruction, its text
    (folder / "program.json").write_text(text + "\n")


def load_program(folder: Path) -> Program:
    """Read what `save_program` wrote; FileNotFoundError for a folder without it."""
    description = json.loads((folder / "program.json").read_text())
    seed, number = description["seed"]
    return Program(
        preset=description["preset"],
        seed=(seed, number),
        timing=BusTiming(**description["timing"]),
        memory=np.load(folder / "memory.npy", allow_pickle=False),
        commands=tuple(_command(item) for item in description["commands"]),
    )


def _command(description: Mapping[str, Any]) -> Command:
    fields = dict(description)
    kind = _KINDS[fields.pop("kind")]
    if "instruction" in fields:
        instruction = parse_instruction(fields["instruction"], warp_tile=True)
        assert isinstance(instruction, LoadInstruction | StoreInstruction | MmaInstruction)
        fields["instruction"] = instruction
    return kind(**fields)


def ptx_text(program: Program, remarks: str = "") -> str:
    """Write a program as a PTX module; the lines of `remarks` become comments at the top.

    The one parameter of the kernel is the array that becomes global memory. Every command becomes what gives
    it back: a matrix statement, or a ``mov`` for each register of a fill or move. A fill or move of no
    registers has no statement.
    """
    comments = "".join(f"// {line}\n" for line in remarks.splitlines())
    body = "".join(f"    {line};\n" for command in program.commands for line in _statements(command))
    return (
        f"{comments}.version 8.0\n.target sm_90\n.address_size 64\n\n"
        ".visible .entry program(.param .u64 memory)\n"
        f'.pragma "{RAW_REGISTERS}";\n'
        f"{{\n    .reg .b32 %r<{program.config.registers}>;\n\n{body}    ret;\n}}\n"
    )


def _statements(command: Command) -> Iterator[str]:
    lists = {
        name: "{" + ", ".join(f"%r{getattr(command, name) + index}" for index in range(count)) + "}"
        for name, (count, _) in operands_of(command).items()
    }
    match command:
        case Load(instruction, _, address, stride) | Store(instruction, _, address, stride):
            operands = [lists["register"], f"[{address:#x}]"]
            if isinstance(command, Store):
                operands.reverse()
            if stride is not None:
                operands.append(str(stride))
            yield f"{instruction} {', '.join(operands)}"
        case Mma(instruction):
            yield f"{instruction} {', '.join(lists.values())}"
        case LoadMatrix(_, addresses):
            yield f"{command.instruction} {lists['register']}, [%r{addresses}]"
        case StoreMatrix(_, addresses):
            yield f"{command.instruction} [%r{addresses}], {lists['register']}"
        case MoveMatrix(destination, source):
            yield f"{command.instruction} %r{destination}, %r{source}"
        case Fill(register, count, value):
            for index in range(register, register + count):
                yield f"mov.b32 %r{index}, {value:#010x}"
        case Move(destination, source, count):
            for offset in range(count):
                yield f"mov.b32 %r{destination + offset}, %r{source + offset}"
