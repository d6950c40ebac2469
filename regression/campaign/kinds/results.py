"""Random results of mma.sync by the million: the Verilated core against the golden model."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from golden.block_scales import unpack_scales, uses_of_scales
from golden.fragments import collect, distribute
from golden.memory import Memory
from golden.multiply import mma
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Mma
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import PROFILES
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from regression.campaign.kind import Configuration, Kind, Outcome, Task
from regression.random_programs.choices import multiplies_of
from regression.random_programs.operands import (
    FLOAT_KINDS,
    INTEGER_KINDS,
    SOURCES,
    draw_operands,
    metadata_words,
    scale_selectors,
    scale_words,
)
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
        self._sizes |= dict.fromkeys(instruction.side_registers, 1)
        self._sources: tuple[str, ...] = (*SOURCES, *instruction.side_registers)
        # Tiles in a set: as many as have eight registers of results, or fewer where they do not fit.
        self._together = BLOCK_REGISTERS // self._sizes["d"]
        while self._together > 1 and self._slot > registers:
            self._together //= 2
        self._slots = registers // self._slot
        if self._slots < 1:
            raise ValueError(f"{instruction} needs {self._slot} registers, not {registers}")
        self.tiles = sets * self._together
        random = np.random.default_rng(self.tiles)
        self.selectors = [self._selectors(random) for _ in range(self.tiles)]
        """Of the metadata and the block scales of each tile, by their names in `Mma`."""
        self.operand_bytes = sets * self._operands * 4 * LANES
        """Of all sets."""
        self.memory_bytes = -(-(self.operand_bytes + sets * BLOCK_BYTES) // 4096) * 4096
        """Of operands and results, in whole pages."""

    def _selectors(self, random: np.random.Generator) -> dict[str, int]:
        item = self.instruction
        of_metadata = {"selector": int(random.choice(item.sparsity.selectors))} if item.is_sparse else {}
        return of_metadata | scale_selectors(random, item)

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
            selectors = self.selectors[number * self._together + tile]
            multiplies.append(Mma(self.instruction, **places, **selectors))
        return loads, multiplies, [block_store(result, BASE + self.operand_bytes + number * BLOCK_BYTES)]

    def operand_image(self, operands: Sequence[NDArray[Any]], side: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The bytes that the loads bring.

        The operands have shapes (tiles, m, k), (tiles, k, n) and (tiles, m, n), and elements as `golden.mma`
        takes them; the side registers of each tile have shape (tiles, registers, 32).
        """
        item = self.instruction
        parts = [
            distribute(matrix, use, item.types[use], item.shape, sparse=item.is_sparse)
            for use, matrix in zip(SOURCES, operands, strict=True)
        ]
        words = np.hstack([*parts, side])
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
"""Names of the families of every core; m8n8k16 is one of integers."""

SPARSE: Final = tuple(family.name for family in CORE_FAMILIES if family.is_sparse)
"""Names of families with a sparse A, for cores that have them."""

NARROW: Final = tuple(family.name for family in CORE_NARROW_FAMILIES)
"""Likewise of elements of 8, 6 and 4 bits, with block scales or not, sparse or not."""

F64_CORE: Final = replace(
    PRESETS["standard"], dot_product=DotProductConfig(formats=frozenset({"f16"})), f64_units=4
)
"""Four f64 units, and little beside them: a quarter of the cycles of `standard`, and shorter ones."""

SPARSE_CORE: Final = replace(PRESETS["small"], registers=128, f64_units=0, shared_bytes=0, sparse=True)
"""One unit, one quad in a register word."""

NARROW_CORE: Final = replace(
    PRESETS["tiny"],
    dot_product=replace(
        PRESETS["tiny"].dot_product,
        formats=frozenset({"f16", "fp8", "fp6", "fp4"}),
        profile=PROFILES["blackwell"],
        block_scale=True,
    ),
    sparse=True,
    mxf4=True,
)
"""One unit of each kind, with all formats and options of `blackwell`."""

_CORES: Final = {
    "mma.f64": F64_CORE,
    **dict.fromkeys(SPARSE, SPARSE_CORE),
    **dict.fromkeys(NARROW, NARROW_CORE),
}


class WrongResult(Exception):
    """The first result that is wrong."""


def core_of(family: str, preset: str = "standard") -> CoreConfig:
    """The core on which a family is fastest, if it is no preset's; or the preset."""
    return _CORES.get(family, PRESETS[preset])


def compare(
    family: str, results: int, *, config: CoreConfig, seed: int | tuple[int, ...] = 1, sets: int = 64
) -> Iterator[int]:
    """Multiply random tiles and compare every bit of at least so many elements of D.

    All forms of the family and all kinds of operands take turns. Yields how many elements were compared in
    one batch. The core is built if it never was. WrongResult for the first element that differs; ValueError
    for an unknown family, or one that the core has not.
    """
    known = FAMILIES + SPARSE + NARROW
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
            found = _run(machine, batch, commands, *_draw(random, batch))
            done, turn = done + found, turn + 1
            yield found


def _draw(random: np.random.Generator, batch: Batch) -> tuple[list[NDArray[Any]], NDArray[np.uint32]]:
    """The operands of each tile as of `draw_operands`, and its side registers: (tiles, registers, 32)."""
    item = batch.instruction
    is_float = isinstance(FORMATS[item.a_type], FloatFormat)
    kinds = FLOAT_KINDS if is_float else INTEGER_KINDS
    start = int(random.integers(len(kinds)))
    drawn, side = [], np.zeros((batch.tiles, len(item.side_registers), LANES), np.uint32)
    for tile, selectors in enumerate(batch.selectors):
        kind = kinds[(start + tile) % len(kinds)]
        drawn.append(draw_operands(random, item, kind))
        for place, name in enumerate(item.side_registers):
            if name == "metadata":
                words = metadata_words(random, item, drawn[-1][3], selectors["selector"])
            else:
                words = scale_words(random)
                if kind == "cancelling":
                    # The same for both halves of k, so that groups of one cancel groups of the other.
                    halves = words.view(np.uint8).reshape(LANES, -1, 2, max(item.scales // 2, 1))
                    halves[:, :, 1] = halves[:, :, 0]
            side[tile, place] = words
    return [np.stack(each) for each in zip(*drawn, strict=True)], side


def _run(
    machine: RtlMachine,
    batch: Batch,
    commands: NDArray[np.uint32],
    operands: Sequence[NDArray[Any]],
    side: NDArray[np.uint32],
) -> int:
    data, size = machine.memory.data, batch.operand_bytes
    a, b, c, *metadata = operands
    data[:size] = batch.operand_image((a, b, c), side)
    data[size:] = 0
    if not machine.execute_words(commands):
        raise RuntimeError(f"{batch.instruction}: the core stopped with a fault: {machine.clear_fault()}")
    found = batch.results(data[size : size + batch.sets * BLOCK_BYTES])
    instruction = batch.instruction
    given: dict[str, Any] = {"metadata": metadata[0]} if metadata else {}
    for use in uses_of_scales(instruction):
        name = f"scale_{use}"
        words = side[:, instruction.side_registers.index(name)]
        places = ([each[f"{part}_{use}"] for each in batch.selectors] for part in ("byte", "thread"))
        given[name] = unpack_scales(instruction, use, words, *places)
    result = mma(instruction, a, b, c, **given, profile=machine.profile)
    expected = distribute(result, "d", instruction.d_type, instruction.shape, sparse=instruction.is_sparse)
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
    known: ClassVar = {"preset": PRESETS, "family": FAMILIES + SPARSE + NARROW}
    amount = 1_000_000

    def _has(self, family: str) -> bool:
        config = core_of(family, self.configuration["preset"])
        return any(item.name == family for item in config.families)

    def require(self) -> None:
        """UsageError for a preset that is not there, and for a family that its core lacks."""
        super().require()
        if self.configuration["family"] != self.options["family"]:
            self.require_known("family", list(filter(self._has, self.known["family"])))

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
