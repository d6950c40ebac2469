"""Programs that failed, as files: PTX to run and read, and everything else that brings the failure back."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np

from golden.ptx.mnemonic import parse_instruction
from golden.tables.commands import Command
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from regression.random_programs.program import Program
from regression.random_programs.text import ptx_text
from sim.simulation import BusTiming

_KINDS: Mapping[str, type[Command]] = {kind.__name__: kind for kind in get_args(Command)}


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
        "commands": [_described(command) for command in program.commands],
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
        commands=tuple(_command(item) for item in description["commands"]),
    )


def _described(command: Command) -> dict[str, Any]:
    fields = {name: getattr(command, name) for name in command.__dataclass_fields__}
    if "instruction" in fields:
        fields["instruction"] = str(fields["instruction"])
    return {"kind": type(command).__name__, **fields}


def _command(description: Mapping[str, Any]) -> Command:
    fields = dict(description)
    kind = _KINDS[fields.pop("kind")]
    if "instruction" in fields:
        instruction = parse_instruction(fields["instruction"], warp_tile=True)
        assert isinstance(instruction, LoadInstruction | StoreInstruction | MmaInstruction)
        fields["instruction"] = instruction
    return kind(**fields)
