"""Commands that must not be executed: every cause of a fault, and every way to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Final, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.lines import gather_lines
from golden.memory import Memory
from golden.tables.commands import (
    MATRIX_COUNTS,
    MATRIX_ROW_BYTES,
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
from golden.tables.faults import Cause
from golden.tables.layouts import LANES
from hdl.command import encode
from hdl.config import PRESETS, CoreConfig
from regression.random_programs.choices import (
    access_at,
    access_command,
    accesses_of,
    deck,
    default_stride,
    multiplies_of,
    operands_of,
    stride_unit,
)
from regression.random_programs.illegal_options import (
    OPTION_KINDS,
    broken_option,
    legal_option,
    option_ways,
    scale_ways,
)
from regression.random_programs.program import span
from regression.random_programs.words import KINDS, illegal_words, word_ways

_ACCESS_WAYS: Final[Mapping[Cause, tuple[str, ...]]] = {
    Cause.REGISTER_RANGE: ("fragment past the last register",),
    Cause.MISALIGNED_ADDRESS: ("global", "shared", "generic to global", "generic to shared"),
    Cause.MISALIGNED_STRIDE: ("one element more", "half a unit more", "less than a line"),
    Cause.ADDRESS_RANGE: ("first byte", "end of the first line", "last line", "wide stride"),
}
_Command = TypeVar("_Command", bound=Command)
_LAST_REGISTER: Final = 255
"""That a command can name."""
_LAST_WARP: Final = 15
"""Likewise."""

_TOGETHER: Final = "together with "
_PAST_REGISTERS: Final = " past the last register"

_MISALIGNED: Final = ", a row misaligned"

_MEMORY_WAYS: Final = (
    "before memory",
    "past the end",
    "across the end",
    "past the shared memory",
    "across the end of the shared memory",
)


def _all_ways() -> Iterator[tuple[Cause, str, str]]:
    for kind in KINDS:
        yield from ((Cause.ILLEGAL_INSTRUCTION, kind, way) for way in word_ways(PRESETS["small"], kind))
    for kind in ("load", "store"):
        for cause, ways in _ACCESS_WAYS.items():
            yield from ((cause, kind, way) for way in ways)
        # The smallest cause is told, whatever else is wrong.
        for cause, other in combinations(_ACCESS_WAYS, 2):
            yield (cause, kind, _TOGETHER + other.name.lower())
    yield from ((Cause.REGISTER_RANGE, "multiply", f"fragment {use}{_PAST_REGISTERS}") for use in "dabc")
    yield (Cause.REGISTER_RANGE, "fill", f"destination{_PAST_REGISTERS}")
    yield from ((Cause.WARP_RANGE, kind, "past the last warp") for kind in ("load", "store", "multiply"))
    yield (Cause.WARP_RANGE, "fill", _TOGETHER + "register_range")
    for kind, what in product(("move", "movmatrix"), ("destination", "source")):
        yield (Cause.REGISTER_RANGE, kind, f"{what}{_PAST_REGISTERS}")
    yield (Cause.READ_SLAVE_ERROR, "load", "marked bytes")
    yield (Cause.WRITE_SLAVE_ERROR, "store", "marked bytes")
    yield from ((Cause.READ_DECODE_ERROR, "load", way) for way in _MEMORY_WAYS)
    yield from ((Cause.WRITE_DECODE_ERROR, "store", way) for way in _MEMORY_WAYS)
    for kind, access in (("ldmatrix", "READ"), ("stmatrix", "WRITE")):
        for what in ("matrices", "addresses"):
            yield (Cause.REGISTER_RANGE, kind, f"{what}{_PAST_REGISTERS}")
        yield (Cause.REGISTER_RANGE, kind, f"matrices{_PAST_REGISTERS}{_MISALIGNED}")
        # Addresses of more bits than the core has are no way on a core of 32 bits, as every preset is.
        rows = ("first row", "last row")
        yield from ((Cause.MISALIGNED_ADDRESS, kind, row) for row in rows)
        for row in rows:
            yield (Cause[f"{access}_DECODE_ERROR"], kind, f"{row} past the shared memory")
            yield (Cause[f"{access}_DECODE_ERROR"], kind, f"{row} before memory")
            yield (Cause[f"{access}_SLAVE_ERROR"], kind, f"{row} marked")
    yield from option_ways()


WAYS: Final = tuple(_all_ways())
"""Each cause, with the kind of command and the way in which it comes to it, but for `scale_ways`."""


@dataclass(frozen=True, kw_only=True)
class Illegal:
    """A command that must fault."""

    cause: Cause
    """Expected."""
    kind: str
    way: str
    """As in `WAYS`."""
    words: tuple[int, ...]
    command: Command | None
    """None for words that stand for no command."""
    marked: tuple[int, int] | None = None
    """Address and size of global memory that must answer with SLVERR."""
    held: NDArray[np.uint32] | None = None
    """What the `register` must hold, shape (32,)."""

    @property
    def register(self) -> int:
        """Of the addresses of rows, or of metadata."""
        if isinstance(self.command, Mma):
            return self.command.metadata
        assert isinstance(self.command, LoadMatrix | StoreMatrix)
        return self.command.addresses


def illegal_commands(random: Generator, config: CoreConfig, memory: Memory, seed: int) -> list[Illegal]:
    """One command for each way that the core leaves open, in random order.

    Programs do nothing in the last two pages of global memory. The seed is of the instructions, which go
    round from one seed to the next.
    """
    maker = _Maker(random, config, memory, seed)
    ways = (*WAYS, *scale_ways(config))
    found = [illegal for way in ways if (illegal := maker.make(*way)) is not None]
    return [found[index] for index in random.permutation(len(found))]


class _Maker:
    """Legal commands, and how to break them."""

    def __init__(self, random: Generator, config: CoreConfig, memory: Memory, seed: int) -> None:
        self._random = random
        self._config = config
        self._memory = memory
        accesses = accesses_of(config)
        self._accesses = {
            kind: deck([item for item in accesses if (item.use == "d") == (kind == "store")], 1, 20 * seed)
            for kind in ("load", "store")
        }
        dense = [item for item in multiplies_of(config) if not item.is_sparse]
        self._multiplies = deck(dense, 1, 7 * seed)

    def make(self, cause: Cause, kind: str, way: str) -> Illegal | None:
        """A command of a kind that faults for a cause in a way; None where none can."""
        random, config = self._random, self._config
        command: Command | None = None
        words = held = marked = None
        if kind in OPTION_KINDS:
            if cause is Cause.REGISTER_RANGE:
                legal = legal_option(random, config, kind)
                command = None if legal is None else self._past_end(legal, way)
            else:
                command, held = broken_option(random, config, kind, way)
        elif cause is Cause.ILLEGAL_INSTRUCTION:
            words = illegal_words(random, config, kind, way, encode(self._legal(kind)))
        elif "matrix" in kind and not config.shared_bytes:
            return None
        elif kind in ("ldmatrix", "stmatrix"):
            command, held, marked = self._broken_move(cause, kind, way)
        elif cause is Cause.WARP_RANGE:
            command = self._past_warps(kind, way)
        elif cause is Cause.REGISTER_RANGE and kind not in ("load", "store"):
            command = self._past_end(self._legal(kind), way)
        elif access := self._broken_access(cause, kind, way):
            command = access
            if way == "marked bytes":
                # One beat, of the widest that there is.
                last = access.address + span(access.instruction, access.stride) - 1
                marked = (access.address if random.random() < 0.5 else last) & ~63, 64
        if command is not None:
            words = encode(command)
        if words is None:
            return None
        return Illegal(
            cause=cause, kind=kind, way=way, words=words, command=command, marked=marked, held=held
        )

    def _legal(self, kind: str) -> Command:
        """A command of a kind that is legal, or whose like is on another core."""
        if kind == "multiply":
            return Mma(next(self._multiplies), d=0, a=8, b=16, c=24)
        if kind == "fill":
            return Fill(0, int(self._random.integers(2, 300)), 1)
        if kind == "move":
            return Move(0, 0, 4)
        if kind == "movmatrix":
            return MoveMatrix(1, 2)
        if kind in ("ldmatrix", "stmatrix"):
            move = LoadMatrix if kind == "ldmatrix" else StoreMatrix
            return move(0, 9, int(self._random.choice(MATRIX_COUNTS)), bool(self._random.integers(2)))
        return self._access("store" if kind == "store" else "load")

    def _past_end(self, command: _Command, way: str) -> _Command | None:
        """A command one of whose operands ends one register behind the last; None if it cannot.

        It is the operand that `way` names, or else the one called ``register``.
        """
        operands = operands_of(command)
        named = way.partition(_PAST_REGISTERS)[0].split()[-1]
        operand = named if named in operands else "register"
        changed: dict[str, Any] = {operand: max(0, self._config.registers + 1 - operands[operand][0])}
        return replace(command, **changed) if changed[operand] <= _LAST_REGISTER else None

    def _past_warps(self, kind: str, way: str) -> Command | None:
        legal = self._legal(kind)
        command = self._past_end(legal, way) if way.startswith(_TOGETHER) else legal
        if command is None or self._config.warps > _LAST_WARP:
            return None
        return replace(command, warp=int(self._random.integers(self._config.warps, _LAST_WARP + 1)))

    def _access(self, kind: str, place: str = "global") -> Load | Store:
        """A legal access of the default stride; to the end of global memory, where programs do nothing."""
        instruction = next(self._accesses[kind])
        quiet = self._memory.base + self._memory.size - 2 * 4096
        base = {"shared": 0, "generic to shared": self._config.shared_base}.get(place, quiet)
        address = base + 1024 * int(self._random.integers(1, 4))
        return access_command(instruction, place, 0, address, default_stride(instruction))

    def _broken_access(self, cause: Cause, kind: str, way: str) -> Load | Store | None:
        if "shared" in way and not self._config.shared_bytes:
            return None
        for _ in range(200):
            place = way if cause is Cause.MISALIGNED_ADDRESS else "global"
            broken = self._break(cause, way, self._access(kind, place))
            if way.startswith(_TOGETHER) and broken is not None:
                broken = self._break(Cause[way.removeprefix(_TOGETHER).upper()], way, broken)
            if broken is not None:
                return broken
        raise LookupError(f"no {kind} of this core has {cause.name} by {way}")

    def _break(self, cause: Cause, way: str, access: Load | Store) -> Load | Store | None:
        """Break one rule more, in a way that leaves those broken that are; None where it cannot be."""
        instruction = access.instruction
        unit, stride = stride_unit(instruction), default_stride(instruction)
        if cause is Cause.REGISTER_RANGE:
            return self._past_end(access, way)
        if cause is Cause.MISALIGNED_ADDRESS:
            return replace(
                access, address=access.address + int(self._random.integers(1, instruction.core_alignment))
            )
        if cause is Cause.MISALIGNED_STRIDE:
            more = {"half a unit more": unit // 2, "less than a line": 1 - stride}.get(way, 1)
            return replace(access, stride=stride + more) if more % unit else None
        if cause is Cause.ADDRESS_RANGE:
            return self._beyond_addresses(way, access)
        return self._beyond_memory(way, access)

    def _beyond_addresses(self, way: str, access: Load | Store) -> Load | Store | None:
        instruction, end = access.instruction, 1 << self._config.address_bits
        size = instruction.core_alignment
        if way == "wide stride":
            unit = stride_unit(instruction)
            wide = ((1 << 32) - 1) // unit * unit
            beyond = access.address + span(instruction, wide) > end
            return replace(access, stride=wide) if beyond else None
        if way == "end of the first line":
            address = end - size
        elif way == "last line":
            address = (end - span(instruction, access.stride)) // size * size + size
        else:
            return replace(access, address=access.address + end + size * int(self._random.integers(1 << 20)))
        _, line = gather_lines(instruction, 0, access.stride)[0]
        is_inside = address + line <= end
        return replace(access, address=address) if is_inside == (way == "last line") else None

    def _beyond_memory(self, way: str, access: Load | Store) -> Load | Store | None:
        base, end = self._memory.base, self._memory.base + self._memory.size
        shared = self._config.shared_bytes
        extent = span(access.instruction, access.stride)
        space = "shared" if "shared" in way else "global"
        size = access_at(access.instruction, space).core_alignment
        within = extent // 2 // size * size
        if way == "marked bytes":
            return access
        if within == 0 or extent > base:
            return None
        address = {
            "before memory": base - extent // size * size - size,
            "past the end": end + 4096,
            "across the end": end - within,
            "past the shared memory": shared + 4096,
            "across the end of the shared memory": shared - within,
        }[way]
        return access_command(access.instruction, space, access.register, max(0, address), access.stride)

    def _broken_move(
        self, cause: Cause, kind: str, way: str
    ) -> tuple[Command | None, NDArray[np.uint32] | None, tuple[int, int] | None]:
        """A move on a core with on-chip memory, and `Illegal.held` and `Illegal.marked` for it."""
        random, memory, legal = self._random, self._memory, self._legal(kind)
        assert isinstance(legal, LoadMatrix | StoreMatrix)
        count, marked = legal.count, None
        is_global = ("memory" in way and "shared" not in way) or "marked" in way
        place = memory.base + memory.size - 4096 if is_global else 4096
        rows = place + MATRIX_ROW_BYTES * random.permutation(64)[:LANES].astype(np.int64)
        row = 0 if way.startswith("first") else 8 * count - 1
        command = self._past_end(legal, way) if cause is Cause.REGISTER_RANGE else legal
        if command is None:
            return None, None, None
        if cause is Cause.MISALIGNED_ADDRESS or way.endswith(_MISALIGNED):
            rows[row] += random.integers(1, MATRIX_ROW_BYTES)
        elif "past the shared memory" in way:
            rows[row] = self._config.shared_bytes + MATRIX_ROW_BYTES * random.integers(64)
        elif "before memory" in way:
            rows[row] = MATRIX_ROW_BYTES * random.integers(memory.base // MATRIX_ROW_BYTES)
        elif "marked" in way:
            marked = (int(rows[row]), MATRIX_ROW_BYTES)
        # Lanes without a row may hold anything.
        rows[8 * count :] = random.integers(0, 1 << 32, LANES - 8 * count)
        command = replace(command, space="generic" if is_global else "shared")
        return command, rows.astype(np.uint32), marked
