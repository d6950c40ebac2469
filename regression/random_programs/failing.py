"""Programs that fail: made shorter and plainer by delta debugging, and saved with what repeats the fault."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from golden.programs.values import command_data, command_of
from golden.tables.commands import Command, Load, Mma, Store
from regression.random_programs.program import Program
from sim.simulation import BusTiming

_Item = TypeVar("_Item")


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
    """Write ``program.json``, ``memory.npy`` and ``quiet.npy`` into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "memory.npy", program.memory)
    np.save(folder / "quiet.npy", program.quiet)
    description = {
        "preset": program.preset,
        "seed": program.seed,
        "timing": asdict(program.timing),
        "failure": failure,
        "commands": [command_data(command) for command in program.commands],
    }
    (folder / "program.json").write_text(json.dumps(description, indent=1) + "\n")


def load_program(folder: Path) -> Program:
    """Read what `save_program` wrote; FileNotFoundError for a folder without it."""
    description = json.loads((folder / "program.json").read_text())
    seed, number = description["seed"]
    return Program(
        preset=description["preset"],
        seed=(seed, number),
        timing=BusTiming(**description["timing"]),
        memory=np.load(folder / "memory.npy", allow_pickle=False),
        quiet=np.load(folder / "quiet.npy", allow_pickle=False),
        commands=tuple(command_of(item) for item in description["commands"]),
    )
