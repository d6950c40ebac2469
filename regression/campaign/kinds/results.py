"""Random results of mma.sync by the million: the Verilated core against the golden model."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.memory import Memory
from golden.multiply import mma
from golden.programs.buffers import BASE
from golden.sparsity import pack_metadata
from golden.tables.commands import Command, Mma
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from regression.campaign.kind import Configuration, Kind, Outcome, Task
from regression.random_programs.choices import multiplies_of
from regression.random_programs.operands import FLOAT_KINDS, INTEGER_KINDS, SOURCES, draw_operands
from regression.random_programs.program import BLOCK_BYTES, BLOCK_REGISTERS, SQUARE, block_load, block_store
from sim.rtl_machine import RtlMachine


class Batch:
    """The commands of many tiles, and where their operands and results lie; ValueError if no set fits.

    `mma` has no loads and stores of its own. The operands of some tiles lie one after the other in registers,
    as loads of 8 registers bring them; so do their results. Sets of such tiles take turns, so that a core
    loads the next set and stores the last one while it multiplies.

    `instruction` is a form of `mma`, `sets` how many sets are multiplied, and `registers` the 32-bit
    registers per lane of the machine.
    """

    def __init__(self, *, instruction: MmaInstruction, sets: int, registers: int) -> None:
        self.instruction = instruction
        self.sets = sets
        self._sizes: dict[str, int] = {use: layout.registers for use, layout in instruction.fragments.items()}
        self._sources: tuple[str, ...] = SOURCES
        if instruction.is_sparse:
            self._sources, self._sizes["metadata"] = (*SOURCES, "metadata"), 1
        # Tiles in a set: as many as have eight registers of results, or fewer where they do not fit.
        self._together = BLOCK_REGISTERS // self._sizes["d"]
        while self._together > 1 and self._slot > registers:
            self._together //= 2
        self._slots = registers // self._slot
        if self._slots < 1:
            raise ValueError(f"{instruction} needs {self._slot} registers, not {registers}")
        self.tiles = sets * self._together
        self.operand_bytes = sets * self._operands * 4 * LANES
        """Of all sets."""
        self.memory_bytes = -(-(self.operand_bytes + sets * BLOCK_BYTES) // 4096) * 4096
        """Of operands and results, in whole pages."""

    @property
    def _operands(self) -> int:
        """Registers for the operands of a set, in whole blocks."""
        used = self._together * sum(self._sizes[use] for use in self._sources)
        return -(-used // BLOCK_REGISTERS) * BLOCK_REGISTERS

    @property
    def _slot(self) -> int:
        return self._operands + BLOCK_REGISTERS

    def commands(self) -> Iterator[Command]:
        """Loads, multiplies and stores; successive sets are interleaved."""
        sets = [self._set(number) for number in range(self.sets)]
        lags = (0, 1, 2) if self._slots > 1 else (0, 0, 0)
        for step in range(self.sets + lags[-1]):
            for part, lag in enumerate(lags):
                if 0 <= step - lag < self.sets:
                    yield from sets[step - lag][part]

    def _set(self, number: int) -> tuple[list[Command], list[Command], list[Command]]:
        """The loads, the multiplies and the store of a set."""
        register = first = number % self._slots * self._slot
        result = first + self._operands
        blocks = range(0, self._operands, BLOCK_REGISTERS)
        image = BASE + number * self._operands * 4 * LANES
        loads: list[Command] = [block_load(first + block, image + block * 4 * LANES) for block in blocks]
        multiplies: list[Command] = []
        for tile in range(self._together):
            places = {"d": result + tile * self._sizes["d"]}
            for use in self._sources:
                places[use] = register
                register += self._sizes[use]
            multiplies.append(Mma(self.instruction, **places))
        return loads, multiplies, [block_store(result, BASE + self.operand_bytes + number * BLOCK_BYTES)]

    def operand_image(self, operands: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
        """The bytes that the loads bring.

        The operands have shapes (tiles, m, k), (tiles, k, n) and (tiles, m, n), and elements as `golden.mma`
        takes them; behind them comes the metadata of a sparse multiply.
        """
        item = self.instruction
        sources = zip(SOURCES, operands, strict=False)
        parts = [
            distribute(matrix, use, item.types[use], item.shape, sparse=item.is_sparse)
            for use, matrix in sources
        ]
        if item.is_sparse:
            parts.append(pack_metadata(item, operands[3])[:, None])
        words = np.hstack(parts)
        image = np.zeros((self.sets, self._operands, LANES), dtype=np.uint32)
        packed = words.reshape(self.sets, -1, LANES)
        image[:, : packed.shape[1]] = packed
        blocks = collect(image.reshape(-1, BLOCK_REGISTERS, LANES), "c", "f32", SQUARE)
        return np.ascontiguousarray(blocks, dtype="<u4").reshape(-1).view(np.uint8)

    def results(self, data: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """The registers of D of each tile, shape (tiles, registers, 32), from the bytes that were stored."""
        blocks = np.ascontiguousarray(data).view("<u4").reshape(self.sets, SQUARE.m, SQUARE.n)
        words = distribute(blocks.astype(np.uint32), "c", "f32", SQUARE)
        used = self._together * self._sizes["d"]
        return words[:, :used].reshape(self.tiles, self._sizes["d"], LANES)


FAMILIES: Final = tuple(
    family.name for family in CORE_FAMILIES if family.mnemonic == "mma" and family.name.startswith("mma.")
)
"""Names of the families; m8n8k16 is one of integers."""

SPARSE: Final = tuple(family.name for family in CORE_FAMILIES if family.is_sparse)
"""Names of families with a sparse A, for cores that have them."""

SMALL: Final = tuple(family.name for family in CORE_NARROW_FAMILIES)
"""Likewise of elements of 8, 6 and 4 bits."""

F64_CORE: Final = replace(
    PRESETS["standard"], dot_product=DotProductConfig(formats=frozenset({"f16"})), f64_units=4
)
"""Four f64 units, and little beside them: a quarter of the cycles of `standard`, and shorter ones."""


class WrongResult(Exception):
    """The first result that is wrong."""


def core_of(family: str, preset: str = "standard") -> CoreConfig:
    """The core on which a family is fastest: a preset, or `F64_CORE`."""
    return F64_CORE if family == "mma.f64" else PRESETS[preset]


def compare(
    family: str, results: int, *, config: CoreConfig, seed: int | tuple[int, ...] = 1, sets: int = 64
) -> Iterator[int]:
    """Multiply random tiles and compare every bit of at least so many elements of D.

    All forms of the family and all kinds of operands take turns. Yields how many elements were compared in
    one batch. The core is built if it never was. WrongResult for the first element that differs; ValueError
    for an unknown family, or one that the core has not.
    """
    known = FAMILIES + SPARSE + SMALL
    if family not in known:
        raise ValueError(f"family must be one of {', '.join(known)}, not {family}")
    forms = [item for item in multiplies_of(config) if item.family.name == family]
    if not forms:
        raise ValueError(f"the core has no {family}")
    batches = [Batch(instruction=form, sets=sets, registers=config.registers) for form in forms]
    words = [np.array([encode(item) for item in batch.commands()], dtype=np.uint32) for batch in batches]
    memory = Memory(max(batch.memory_bytes for batch in batches), BASE)
    random = np.random.default_rng(seed)
    done = turn = 0
    with closing(RtlMachine(config, memory)) as machine:
        while done < results:
            batch, commands = batches[turn % len(batches)], words[turn % len(batches)]
            found = _run(machine, batch, commands, _operands(random, batch))
            done, turn = done + found, turn + 1
            yield found


def _operands(random: np.random.Generator, batch: Batch) -> list[NDArray[Any]]:
    is_float = isinstance(FORMATS[batch.instruction.a_type], FloatFormat)
    kinds = FLOAT_KINDS if is_float else INTEGER_KINDS
    start = int(random.integers(len(kinds)))
    drawn = [
        draw_operands(random, batch.instruction, kinds[(start + tile) % len(kinds)])
        for tile in range(batch.tiles)
    ]
    return [np.stack(matrices) for matrices in zip(*drawn, strict=True)]


def _run(
    machine: RtlMachine, batch: Batch, commands: NDArray[np.uint32], operands: Sequence[NDArray[Any]]
) -> int:
    data, size = machine.memory.data, batch.operand_bytes
    data[:size] = batch.operand_image(operands)
    data[size:] = 0
    if not machine.execute_words(commands):
        raise RuntimeError(f"{batch.instruction}: the core stopped with a fault: {machine.clear_fault()}")
    found = batch.results(data[size : size + batch.sets * BLOCK_BYTES])
    instruction = batch.instruction
    a, b, c, *metadata = operands
    nibbles = metadata[0] if metadata else None
    result = mma(instruction, a, b, c, metadata=nibbles, profile=machine.profile)
    expected = distribute(result, "d", instruction.d_type, instruction.shape)
    wrong = np.argwhere(found != expected)
    if len(wrong):
        tile, register, lane = wrong[0].tolist()
        place = f"tile {tile}, register {register} of D, lane {lane}"
        core, golden = (f"{words[tile, register, lane]:#010x}" for words in (found, expected))
        raise WrongResult(f"{instruction}: {place}: core {core}, golden {golden}")
    return int(result.size)


_RESULTS: Final = 200_000
"""Of a task."""


class Results(Kind):
    """Random tiles of each family of mma.sync, every bit of their results compared."""

    name = "results"
    options: ClassVar[Configuration] = {"preset": "standard", "family": list(FAMILIES)}
    known: ClassVar = {"preset": PRESETS, "family": FAMILIES}
    amount = 1_000_000

    def _has(self, family: str) -> bool:
        config = core_of(family, self.configuration["preset"])
        return any(item.name == family for item in config.families)

    def require(self) -> None:
        """UsageError for a preset that is not there, and for a family that its core lacks."""
        super().require()
        if self.configuration["family"] != self.options["family"]:
            self.require_known("family", list(filter(self._has, FAMILIES)))

    def tasks(self) -> Iterator[Task]:
        """The families of the core in turn, without end."""
        for number in count():
            for family in filter(self._has, self.configuration["family"]):
                yield Task(
                    key=f"{family} {number:06}",
                    arguments={"family": family, "number": number},
                    results=_RESULTS,
                )

    def run(self, task: Task) -> Outcome:
        """Compare the results of one family, and stop at the first that differs."""
        family, number = task.arguments["family"], task.arguments["number"]
        config = core_of(family, self.configuration["preset"])
        done, failure = 0, ""
        try:
            for found in compare(family, _RESULTS, config=config, seed=(self.seed, number)):
                done += found
        except WrongResult as wrong:
            failure = str(wrong)
        return Outcome(cases=(self.case(task, failure),), results=done)
