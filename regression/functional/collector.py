"""From a program that ran to the bins it has seen: its commands, executed once more on the golden machine."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect
from golden.tables.commands import LoadMatrix, Mma, StoreMatrix
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from regression.functional import (
    alignment,
    environment,
    fp8_alignment,
    fp8_rounding,
    fp8_specials,
    hazards,
    instructions,
    rounding,
    values,
)
from regression.functional.fp8_sums import fp8_sums, is_fp8, pair_of
from regression.functional.model import Coverpoint, Seen
from regression.random_programs.program import Program
from regression.random_programs.rows import row_addresses
from regression.random_programs.running import Core
from sim.rtl_machine import RtlMachine

__all__ = ["MODEL", "observe", "observe_hazards", "sample_fp8"]

MODEL: tuple[Coverpoint, ...] = (
    *instructions.POINTS,
    *values.POINTS,
    *alignment.POINTS,
    *rounding.POINTS,
    *fp8_alignment.POINTS,
    *fp8_rounding.POINTS,
    *fp8_specials.POINTS,
    *hazards.POINTS,
    *environment.POINTS,
)
"""Every coverpoint."""


def observe(program: Program, core: Core) -> Seen:
    """What a program has shown that went well on a core.

    Parameters
    ----------
    program : Program
    core : Core
        After the program.
    """
    seen: Seen = Counter()
    machine = program.golden()
    rows: dict[int, list[int]] = {}
    for index, command in enumerate(program.commands):
        instructions.sample_command(seen, command)
        before = machine.read_registers() if isinstance(command, Mma) else None
        if isinstance(command, LoadMatrix | StoreMatrix):
            rows[index] = row_addresses(command, machine.read_registers(), program.config.shared_base)
            instructions.sample_rows(seen, command, rows[index])
        machine.execute(command)
        if before is not None and isinstance(command, Mma):
            _sample_multiply(seen, command, before, machine.read_registers())
    hazards.sample_hazards(seen, program.commands, rows)
    if isinstance(core, RtlMachine):
        environment.sample_waits(seen, core.simulation.waits)
    return +seen


def observe_hazards(program: Program) -> Seen:
    """The hazards of a program alone, which take less time than everything."""
    seen: Seen = Counter()
    machine = program.golden()
    rows: dict[int, list[int]] = {}
    for index, command in enumerate(program.commands):
        if isinstance(command, LoadMatrix | StoreMatrix):
            rows[index] = row_addresses(command, machine.read_registers(), program.config.shared_base)
        machine.execute(command)
    hazards.sample_hazards(seen, program.commands, rows)
    return seen


def _sample_multiply(seen: Seen, command: Mma, before: NDArray[np.uint32], after: NDArray[np.uint32]) -> None:
    instruction = command.instruction
    types, layouts = instruction.types, instruction.fragments
    places: dict[Use, int] = {"a": command.a, "b": command.b, "c": command.c, "d": command.d}
    matrices = {}
    for use, first in places.items():
        registers = after if use == "d" else before
        words = registers[first : first + layouts[use].registers]
        matrices[use] = collect(words, use, types[use], instruction.shape)
    values.sample_values(seen, instruction, matrices)
    if is_fp8(instruction):
        sample_fp8(seen, instruction, matrices)
        return
    rounding.sample_rounding(seen, instruction, matrices)
    if instruction.c_type != "s32":
        alignment.sample_alignment(seen, instruction, matrices)


def sample_fp8(seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]]) -> None:
    """Note the sums of a multiply of fp8, and the addition of C in `mma`."""
    pair, result = pair_of(instruction), instruction.d_type
    sums, total = fp8_sums(instruction, matrices)
    for item in sums:
        fp8_alignment.sample_fp8_alignment(seen, pair, result, item)
        fp8_rounding.sample_fp8_rounding(seen, pair, result, item)
    fp8_specials.sample_fp8_specials(seen, instruction, matrices)
    if len(sums) > 1:
        fp8_alignment.sample_fp8_addition(seen, result, matrices["c"], total)
        fp8_rounding.sample_fp8_addition(seen, pair, result, matrices["c"], total)
