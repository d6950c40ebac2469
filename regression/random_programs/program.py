"""A program as it runs, and global memory while one is made: where things lie in it, and what it holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, Final, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.fragments import collect
from golden.lines import gather_lines, matrix_to_lines
from golden.machine import Machine
from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.tables.commands import MATRIX_ROW_BYTES, Command, Load, Store
from golden.tables.instruction_set import Shape, Space, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from golden.warp import GoldenMachine
from hdl.config import CoreConfig
from openwmma.core_settings import adjusted_config, parse_settings
from openwmma.usage_error import UsageError
from regression.random_programs.choices import Access, access_at, access_command, default_stride, stride_unit
from regression.random_programs.shares import SHARED_WINDOW, quiet_bytes
from sim.simulation import BusTiming
from sim.testbench.reference import golden_machine

BLOCK_BYTES: Final = 1024
"""What one load of f32 brings into eight registers: any bytes, for nothing changes them."""

BLOCK_REGISTERS: Final = 8
"""How many registers that is."""

SQUARE: Final = Shape(16, 16, 16)

_Machine = TypeVar("_Machine", bound=Machine)

RAW: Final[Mapping[int, tuple[Use, str, Shape]]] = {
    8: ("c", "f32", SQUARE),
    4: ("c", "f16", SQUARE),
    2: ("c", "s32", Shape(8, 8, 32)),
    1: ("a", "s4", Shape(8, 8, 32)),
}
"""Fragments whose loads and stores move so many registers as they are: `mma` has none of its own."""

SPOT: Final = 2048
"""Bytes within which every second access to the hot bytes stays, so that they meet soon."""


@cache
def config_named(core: str) -> CoreConfig:
    """The configuration that a text names: a preset, and NAME=VALUE for each field that is otherwise.

    UsageError as of `openwmma.core_settings.adjusted_config`, and for less on-chip memory than programs use.
    """
    preset, *settings = core.split()
    config = adjusted_config(preset, parse_settings(settings))
    if 0 < config.shared_bytes < SHARED_WINDOW:
        raise UsageError(
            f"core {core}: expected no shared bytes or at least {SHARED_WINDOW}, not {config.shared_bytes}"
        )
    return config


def named_core(configuration: Mapping[str, Any]) -> str:
    """The text of `config_named` that the options ``preset`` and ``set`` of a campaign make."""
    return " ".join((configuration["preset"], *configuration.get("set", ())))


def busy_warps(config: CoreConfig) -> int:
    """How many warps get commands: all where they have commands in common, `wgmma`; else the first."""
    return config.warps if config.wgmma else 1


@dataclass(frozen=True, kw_only=True)
class Program:
    """Commands for a core that was just reset: its registers are zeros, and so is most on-chip memory."""

    preset: str
    """The core's configuration, as of `config_named`."""
    seed: tuple[int, int]
    """What it was made from: the seed of the run, and its number in it."""
    timing: BusTiming
    """How global memory behaves."""
    memory: NDArray[Any]
    """What global memory holds at the start, from `golden.programs.buffers.BASE` on; a multiple of 4096
    bytes."""
    commands: tuple[Command, ...]
    quiet: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """What the `quiet_bytes` hold."""

    @property
    def config(self) -> CoreConfig:
        """The configuration of the core."""
        return config_named(self.preset)

    def fresh_memory(self) -> Memory:
        """Global memory as it is at the start."""
        memory = Memory(self.memory.size, BASE)
        np.copyto(memory.data, self.memory)
        return memory

    def golden(self) -> GoldenMachine:
        """The golden machine on which the program starts."""
        return self.begun(golden_machine(self.config, self.fresh_memory()))

    def begun(self, machine: _Machine) -> _Machine:
        """The machine, with its on-chip memory as it is at the start."""
        if self.quiet.size:
            assert machine.shared is not None
            machine.shared.write(self.config.shared_base + SHARED_WINDOW, self.quiet)
        return machine


def block_load(register: int, address: int, space: Space = "global") -> Load:
    """Load `BLOCK_BYTES` bytes, whatever they are, into eight registers."""
    instruction = LoadInstruction(use="c", layout="row", shape=SQUARE, type="f32", space=space)
    return Load(instruction, register, address)


def block_store(register: int, address: int, space: Space = "global") -> Store:
    """Store eight registers, whatever they hold, to `BLOCK_BYTES` bytes."""
    instruction = StoreInstruction(layout="row", shape=SQUARE, type="f32", space=space)
    return Store(instruction, register, address)


def raw_count(config: CoreConfig, least: int) -> int:
    """The fewest registers, but no fewer than `least`, that one load of `RAW` brings on a core."""
    return min(count for count in RAW if count >= least and (count >= 4 or "i4" in config.formats))


def raw_load(register: int, words: NDArray[np.uint32], address: int) -> tuple[Load, NDArray[np.uint8]]:
    """The load that brings words to registers, and the bytes that it reads at an address in global memory.

    The words have shape (count, 32), with a count of `RAW`.
    """
    use, name, shape = RAW[len(words)]
    load = LoadInstruction(use=use, layout="row", shape=shape, type=name, space="global")
    lines = matrix_to_lines(collect(words, use, name, shape), load)
    return Load(load, register, address), lines.reshape(-1)


def observed_bytes(config: CoreConfig) -> int:
    """Bytes of global memory that `observations` needs."""
    return BLOCK_BYTES * busy_warps(config) * config.registers // BLOCK_REGISTERS + SHARED_WINDOW


def observations(config: CoreConfig, address: int) -> list[Command]:
    """Commands that bring all registers and the used on-chip memory into global memory, to be compared.

    They overwrite `observed_bytes` from the address on, and take an eighth of the cycles that the host would
    need to read them.
    """
    commands: list[Command] = []
    for warp, register in product(range(busy_warps(config)), range(0, config.registers, BLOCK_REGISTERS)):
        commands.append(replace(block_store(register, address), warp=warp))
        address += BLOCK_BYTES
    for place in range(0, min(SHARED_WINDOW, config.shared_bytes), BLOCK_BYTES):
        register = place // BLOCK_BYTES * BLOCK_REGISTERS % config.registers
        commands += [block_load(register, place, "shared"), block_store(register, address)]
        address += BLOCK_BYTES
    return commands


HOT_BYTES = 3 * 4096
"""The first bytes of memory: few enough that loads and stores at random places meet."""

_PAGE = 4096


class Image:
    """Bytes from `golden.programs.buffers.BASE` on: hot ones, then places that are given out once.

    What the hot bytes hold is random.
    """

    def __init__(self, random: Generator) -> None:
        self._end = HOT_BYTES
        self._data = np.zeros(64 * _PAGE, dtype=np.uint8)
        self._data[:HOT_BYTES] = noise(random, HOT_BYTES)

    def place(self, size: int, alignment: int, *, across: int = 0) -> int:
        """Give out `size` bytes; the address of the first, a multiple of `alignment`, a power of two.

        So many of the bytes as `across` says lie before a multiple of 4096; 0 for wherever there is room.
        """
        start = -(-self._end // alignment) * alignment
        if across:
            start = -(-(start + across) // _PAGE) * _PAGE - across
        self._end = start + size
        while self._end > self._data.size:
            self._data = np.concatenate([self._data, np.zeros_like(self._data)])
        return BASE + start

    def write_lines(self, load: Access, address: int, stride: int | None, lines: NDArray[Any]) -> None:
        """Let the memory hold the lines of a matrix where a load finds them."""
        for (start, count), line in zip(gather_lines(load, address, stride), lines, strict=True):
            self.write(start, line[:count])

    def write(self, address: int, data: NDArray[Any]) -> None:
        """Let the memory hold some bytes."""
        self._data[address - BASE : address - BASE + len(data)] = data

    def place_words(self, register: int, words: NDArray[np.uint32], alignment: int = 8) -> Load:
        """Place what `raw_load` reads, and return its load."""
        load, data = raw_load(register, words, self.place(words.nbytes, alignment))
        self.write(load.address, data)
        return load

    def program(
        self, preset: str, seed: tuple[int, int], timing: BusTiming, commands: Iterable[Command]
    ) -> Program:
        """A program with this memory at its start, and room for `observations` behind it, in whole pages."""
        commands = tuple(commands)  # which are drawn while places are given out
        config = config_named(preset)
        size = -(-(self._end + observed_bytes(config)) // _PAGE) * _PAGE
        data = np.zeros(size, dtype=np.uint8)
        data[: self._end] = self._data[: self._end]
        quiet = noise(np.random.default_rng(seed), len(quiet_bytes(config)))
        return Program(preset=preset, seed=seed, timing=timing, memory=data, commands=commands, quiet=quiet)


def noise(random: Generator, size: int) -> NDArray[np.uint8]:
    """Random bytes; every fourth half word has an exponent of f16 that is common: not all sums are NaN."""
    words = random.integers(0, 1 << 16, size // 2, dtype=np.uint16)
    words[::4] = words[::4] & 0x83FF | random.integers(10, 20, words[::4].size).astype(np.uint16) << 10
    return words.view(np.uint8)


def span(instruction: Access, stride: int | None) -> int:
    """Bytes from the first to the last that an access touches."""
    return sum(gather_lines(instruction, 0, stride)[-1])


def draw_stride(random: Generator, instruction: Access, *, apart: bool = False) -> int | None:
    """A legal stride: none, the default, a wider one, or, where lines need not be `apart`, less and 0."""
    line, unit = default_stride(instruction), stride_unit(instruction)
    kind = int(random.integers(5 if apart else 8))
    if kind < 2:
        return None
    wider, shorter = (unit * int(random.integers(1, most)) for most in (9, max(2, line // unit)))
    return (line, line + wider, line + wider, shorter, shorter, 0)[kind - 2]


def draw_rows(random: Generator, config: CoreConfig, place: str) -> NDArray[np.uint32]:
    """Addresses of a row for each lane, in the hot bytes of the memories of a core with on-chip memory.

    Shape (32,): one row behind the other, in any order, or a few of them again and again, in one of
    `regression.random_programs.choices.ROW_PLACES`.
    """
    near = random.random() < 0.5
    base = 0 if place == "shared" else config.shared_base
    shared = base + _draw(random, min(SHARED_WINDOW, config.shared_bytes), near)
    if place in ("shared", "generic to shared"):
        return shared.astype(np.uint32)
    hot = BASE + _draw(random, HOT_BYTES, near)
    if place == "generic to global":
        return hot.astype(np.uint32)
    # Of the first eight rows, which always count, one at least in each memory.
    chosen = random.random(LANES) < 0.5
    chosen[:2] = (True, False)
    return np.where(chosen, shared, hot).astype(np.uint32)


def _draw(random: Generator, size: int, near: bool) -> NDArray[np.int64]:
    count = (SPOT if near else size) // MATRIX_ROW_BYTES
    kind = random.integers(3)
    if kind == 0:
        places = random.integers(count - LANES + 1) + np.arange(LANES)
    elif kind == 1:
        places = random.permutation(count)[:LANES]
    else:
        places = random.choice(count, 5)[random.integers(0, 5, LANES)]
    return MATRIX_ROW_BYTES * places.astype(np.int64)


def hot_access(random: Generator, config: CoreConfig, access: Access, place: str) -> Load | Store:
    """A load or store at a random place of the hot bytes, with a random stride and random registers."""
    layout = access.fragment
    window = SHARED_WINDOW if "shared" in place else HOT_BYTES
    access = access_at(access, place)
    stride, unit = draw_stride(random, access), access.core_alignment
    if span(access, stride) <= SPOT and random.random() < 0.5:
        window = SPOT
    room = (window - span(access, stride)) // unit
    base = {"shared": 0, "generic to shared": config.shared_base}.get(place, BASE)
    address = base + unit * int(random.integers(room + 1))
    register = int(random.integers(config.registers - layout.registers + 1))
    if random.random() < 0.5:
        register = register // layout.registers * layout.registers
    return access_command(access, place, register, address, stride)
