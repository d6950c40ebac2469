"""Random results of one family of mma.sync on the simulated core, compared with the golden model."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import distribute
from golden.memory import Memory
from golden.multiply import mma
from golden.programs.buffers import BASE
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import CORE_FAMILIES
from golden.tables.matrix_instructions import MmaInstruction
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from regression.mma_sync.batch import Batch
from regression.random_programs.choices import multiplies_of
from regression.random_programs.operands import FLOAT_KINDS, INTEGER_KINDS, draw_operands
from sim.rtl_machine import RtlMachine

FAMILIES: Final = tuple(
    family.name for family in CORE_FAMILIES if family.mnemonic == "mma" and family.name.startswith("mma.")
)
"""Names of the families; m8n8k16 is one of integers."""

F64_CORE: Final = replace(
    PRESETS["standard"], dot_product=DotProductConfig(formats=frozenset({"f16"})), f64_units=4
)
"""Four f64 units, and little beside them: a quarter of the cycles of `standard`, and shorter ones."""

_SETS: Final = 64


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first result that is wrong."""

    instruction: MmaInstruction
    tile: int
    register: int
    lane: int
    found: int
    expected: int
    """Words of D."""

    def __str__(self) -> str:
        return (
            f"{self.instruction}: tile {self.tile}, register {self.register} of D, lane {self.lane}: "
            f"core {self.found:#010x}, golden {self.expected:#010x}"
        )


def core_of(family: str, preset: str = "standard") -> CoreConfig:
    """The core on which a family is fastest: a preset, or `F64_CORE`."""
    return F64_CORE if family == "mma.f64" else PRESETS[preset]


def compare(
    family: str, results: int, *, config: CoreConfig, seed: int | tuple[int, ...] = 1, sets: int = _SETS
) -> Iterator[int | Difference]:
    """Multiply random tiles and compare every bit of at least so many elements of D.

    All forms of the family and all kinds of operands take turns. Yields how many elements were compared in
    one batch; or what differs, and then nothing more. The core is built if it never was. ValueError for an
    unknown family, or one that the core has not.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, not {family}")
    forms = [item for item in multiplies_of(config) if item.family.name == family]
    if not forms:
        raise ValueError(f"the core has no {family}")
    batches = [Batch(instruction=form, sets=sets, registers=config.registers) for form in forms]
    words = [np.array([encode(item) for item in batch.commands()], dtype=np.uint32) for batch in batches]
    memory = Memory(max(batch.memory_bytes for batch in batches), BASE)
    machine = RtlMachine(config, memory)
    random = np.random.default_rng(seed)
    done = turn = 0
    try:
        while done < results:
            batch, commands = batches[turn % len(batches)], words[turn % len(batches)]
            found = _run(machine, batch, commands, _operands(random, batch))
            if isinstance(found, Difference):
                yield found
                return
            done, turn = done + found, turn + 1
            yield found
    finally:
        machine.close()


Operands = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _operands(random: np.random.Generator, batch: Batch) -> Operands:
    is_float = isinstance(FORMATS[batch.instruction.a_type], FloatFormat)
    kinds = FLOAT_KINDS if is_float else INTEGER_KINDS
    start = int(random.integers(len(kinds)))
    drawn = [
        draw_operands(random, batch.instruction, kinds[(start + tile) % len(kinds)])
        for tile in range(batch.tiles)
    ]
    a, b, c = (np.stack(matrices) for matrices in zip(*drawn, strict=True))
    return a, b, c


def _run(
    machine: RtlMachine, batch: Batch, commands: NDArray[np.uint32], operands: Operands
) -> int | Difference:
    data, size = machine.memory.data, batch.operand_bytes
    data[:size] = batch.operand_image(*operands)
    data[size:] = 0
    if not machine.execute_words(commands):
        raise RuntimeError(f"{batch.instruction}: the core stopped with a fault: {machine.clear_fault()}")
    found = batch.results(data[size : size + batch.sets * 1024])
    instruction = batch.instruction
    result = mma(instruction, *operands, profile=machine.profile)
    expected = distribute(result, "d", instruction.d_type, instruction.shape)
    places = np.argwhere(found != expected)
    if not len(places):
        return int(result.size)
    tile, register, lane = places[0].tolist()
    return Difference(
        instruction=instruction,
        tile=tile,
        register=register,
        lane=lane,
        found=int(found[tile, register, lane]),
        expected=int(expected[tile, register, lane]),
    )
