"""From a program that ran to the bins it has seen: its commands, executed once more on the golden machine."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect
from golden.sparsity import unpack_metadata
from golden.tables.commands import LoadMatrix, Mma, StoreMatrix, Wgmma
from golden.tables.formats import FORMATS, float_format
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import MmaInstruction
from hdl.config import CoreConfig
from hdl.control.host import REGISTERS, SHARED_WINDOW, WINDOW
from regression.functional import (
    alignment,
    hazards,
    instructions,
    narrow_sums,
    options,
    rounding,
    shares,
    values,
)
from regression.functional.decoded import decode
from regression.functional.model import Coverpoint, Seen, bin_name, coverpoint
from regression.functional.sums import is_fused, sums_of
from regression.random_programs.choices import accesses_of
from regression.random_programs.illegal import WAYS
from regression.random_programs.program import Program
from regression.random_programs.running import Core
from sim.rtl_machine import RtlMachine
from sim.simulation import BusWaits

_WAITS: Final = {field.name: field.name.replace("_", " ") for field in fields(BusWaits)}
EARLY: Final = {"registers window": WINDOW, "shared window": SHARED_WINDOW, "mode": REGISTERS["MODE"]}
"""What the host must not touch while the core is at work, with an address of it."""

MODEL: tuple[Coverpoint, ...] = (
    *instructions.POINTS,
    *values.POINTS,
    *alignment.POINTS,
    *rounding.POINTS,
    *hazards.POINTS,
    coverpoint(
        "wait",
        "Who kept whom waiting: memory the core, on each channel; the core memory; the queue the host.",
        {"where": tuple(_WAITS.values())},
    ),
    coverpoint(
        "early host",
        "Accesses of the host while the core is at work, which are refused and change nothing.",
        {"access": ("read", "write"), "what": tuple(EARLY)},
        lambda access, what: (
            "the mode may be read at any time" if (access, what) == ("read", "mode") else None
        ),
    ),
    coverpoint(
        "fault",
        "Every cause of a fault by every way to it, with one command at work and with several.",
        {
            "way": [bin_name(cause.name.lower(), *rest) for cause, *rest in WAYS],
            "mode": ("serial", "overlapped"),
        },
    ),
)
"""Every coverpoint, of cores of all families with on-chip memory."""

_ON_CHIP: Final = ("shared", "generic to both", r"\w*matrix", "row hazard")
"""Words of bins that need on-chip memory."""


def model_of(config: CoreConfig) -> tuple[Coverpoint, ...]:
    """Every coverpoint of a core, without the bins that need a type or a memory that it lacks.

    A core with options has more. Faults are the same for all cores: they are searched on cores that have and
    on cores that lack something.
    """
    held = {type for family in config.families for type in (*family.multiplicands, *family.accumulators)}
    lost = {f"the core has no {type}": [type] for type in FORMATS if type not in held}
    fragments = map(instructions.access_name, accesses_of(config))
    lost["the core has no such access"] = list(instructions.ACCESSES.keys() - set(fragments))
    if not config.shared_bytes:
        lost["the core has no on-chip memory"] = [*_ON_CHIP]
    if config.dot_product.profile.fp8_block is None:
        lost["the profile has no wgmma"] = ["wgmma"]
        lost["its sums of fp8 are small sums"] = ["mma (?:first|second|addition)"]
    points = MODEL
    for reason, words in lost.items():
        pattern = re.compile(rf"\b({'|'.join(words)})\b" if words else "(?!)")
        points = tuple(item if item.name == "fault" else item.without(pattern, reason) for item in points)
    more = hazards.option_points(config), options.points_of(config), shares.points_of(config)
    return (*points, *chain(*more))


def observe(program: Program, core: Core) -> Seen:
    """What a program has shown that went well on a core; the core is in the state after it."""
    seen: Seen = Counter()
    machine = program.golden()
    rows: dict[int, list[int]] = {}
    for index, command in enumerate(program.commands):
        instructions.sample_command(seen, command)
        if isinstance(command, Wgmma):
            shares.sample_share(seen, command)
        before = machine.read_registers(warp=command.warp) if isinstance(command, Mma) else None
        if isinstance(command, LoadMatrix | StoreMatrix):
            base = program.config.shared_base if command.space == "shared" else 0
            addresses = machine.read_registers(command.addresses, 1)[0, : 8 * command.count]
            rows[index] = [base + address for address in addresses.tolist()]
            instructions.sample_rows(seen, command, rows[index])
        machine.execute(command)
        if before is not None and isinstance(command, Mma):
            after = machine.read_registers(warp=command.warp)
            _sample_multiply(seen, program.config, command, before, after)
    hazards.sample_hazards(seen, program.commands, rows)
    shares.sample_common(seen, program.commands)
    if isinstance(core, RtlMachine):
        seen.update({("wait", label): getattr(core.simulation.waits, name) for name, label in _WAITS.items()})
    return +seen


def _sample_multiply(
    seen: Seen, config: CoreConfig, command: Mma, before: NDArray[np.uint32], after: NDArray[np.uint32]
) -> None:
    instruction, is_sparse = command.instruction, command.instruction.is_sparse
    matrices, words = {}, {}
    for use, layout in instruction.fragments.items():
        registers, first = after if use == "d" else before, getattr(command, use)
        words[use] = registers[first : first + layout.registers]
        held = words[use], use, instruction.types[use], instruction.shape
        matrices[use] = collect(*held, sparse=is_sparse)
    scales = options.sample_scales(seen, command, before) if instruction.scales else {}
    metadata = None
    if is_sparse:
        metadata = unpack_metadata(instruction, before[command.metadata], command.selector)
        options.sample_sparse(seen, instruction, matrices, metadata, command.selector)
    is_small = options.is_small(instruction, config)
    if is_small:
        options.sample_small(seen, instruction, matrices, words)
        profile = config.dot_product.profile
        narrow_sums.sample_sums(seen, instruction, matrices, profile, scales, metadata)
    if not (instruction.kind or is_sparse):
        values.sample_values(seen, instruction, matrices)
        sample_arithmetic(seen, instruction, matrices, has_sums=not is_small)


def sample_arithmetic(
    seen: Seen, instruction: MmaInstruction, matrices: Mapping[Use, NDArray[Any]], *, has_sums: bool = True
) -> None:
    """Note the sums of a multiply, if the model has them, and what is done with them in the end."""
    if instruction.c_type == "s32":
        rounding.sample_integers(seen, instruction, matrices)
        return
    c = decode(matrices["c"], float_format(instruction.c_type))
    if not is_fused(instruction):
        rounding.sample_double(seen, instruction, matrices)
        first = (decode(part, c.format) for part in (matrices["a"][:, :1], matrices["b"][:1]))
        alignment.sample_gaps(seen, "f64", c, *first)
        return
    values.sample_specials(seen, instruction, matrices)
    if not has_sums:
        return
    sums = sums_of(instruction, matrices)
    for item in sums:
        alignment.sample_alignment(seen, item)
        rounding.sample_rounding(seen, item)
    addition, last = sums[-1].kind.addition, sums[-1].bits
    if addition:
        total = decode(last, c.format)
        alignment.sample_gaps(seen, addition, c, total)
        rounding.sample_addition(seen, addition, c, total)
    elif instruction.d_type != sums[-1].kind.result.name:
        rounding.sample_conversion(seen, last)
