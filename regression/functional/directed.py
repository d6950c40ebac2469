"""Programs for what random ones come to too seldom: every hazard between two units, side by side."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
from numpy.random import Generator

from golden.programs.buffers import BASE
from golden.tables.commands import (
    MATRIX_COUNTS,
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    StoreMatrix,
)
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Use
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import PRESETS, CoreConfig
from regression.functional.hazards import BYTES, EXTENTS, KINDS, MEMORY_KINDS, ROLES, UNITS, impossible
from regression.functional.matrix_pairs import address_pairs, row_pairs, valid_rows
from regression.random_programs.choices import (
    PLACES,
    Access,
    access_command,
    accesses_of,
    multiplies_of,
    place_in,
)
from regression.random_programs.generator import hot_access
from regression.random_programs.image import HOT_BYTES, Image, span
from regression.random_programs.program import (
    BLOCK_BYTES,
    BLOCK_REGISTERS,
    Program,
    block_load,
    observed_bytes,
)
from regression.random_programs.rows import TABLE_REGISTERS, place_table
from sim.simulation import BusTiming

__all__ = ["hazard_program"]

_TRIES: Final = 500


def hazard_program(preset: str, seed: int) -> Program:
    """Two commands for each hazard between registers and between memory accesses, one right after the other.

    Parameters
    ----------
    preset : str
        Of a core of all families, with on-chip memory.
    seed : int
    """
    random = np.random.default_rng((seed, 2))
    config = PRESETS[preset]
    blocks = HOT_BYTES // BLOCK_BYTES
    commands: list[Command] = [
        block_load(register, BASE + BLOCK_BYTES * (register // BLOCK_REGISTERS % blocks))
        for register in range(0, config.registers, BLOCK_REGISTERS)
    ]
    image = Image(random)
    pairs = [
        *_register_pairs(random, config, image),
        *_memory_pairs(random, config),
        *address_pairs(random, image),
        *row_pairs(random, config, image),
    ]
    for index in random.permutation(len(pairs)):
        commands += pairs[index]
    return Program(
        preset=preset,
        seed=(seed, 0),
        timing=BusTiming(latency=int(random.integers(0, 60)), stall=0, seed=1),
        memory=image.finished(observed_bytes(config)),
        commands=tuple(commands),
    )


def _register_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[tuple[Command, ...]]:
    for kind, older, younger, extent in product(KINDS, UNITS, UNITS, EXTENTS):
        # What ldmatrix reads are addresses, which `address_pairs` has.
        is_of_addresses = (kind, younger) == ("read after write", "ldmatrix")
        if impossible(kind, older, younger, extent) is None and not is_of_addresses:
            yield _register_pair(random, config, image, kind, older, younger, extent)


def _register_pair(
    random: Generator, config: CoreConfig, image: Image, kind: str, older: str, younger: str, extent: str
) -> tuple[Command, ...]:
    """Draw commands until the operands in common have sizes that allow the extent.

    Before them come the loads of the addresses of rows that they need.
    """
    for _ in range(_TRIES):
        first, second = _Draft(random, config, older), _Draft(random, config, younger)
        one, other = (draft.operand(role) for draft, role in zip((first, second), ROLES[kind], strict=True))
        start, count, size = first.places[one], first.sizes[one], second.sizes[other]
        shift = 0 if extent == "all" else int(random.integers(1 - size, count))
        if (size == count and not shift) != (extent == "all"):
            continue
        if 0 <= start + shift <= config.registers - size:
            second.places[other] = start + shift
            if not first.spoils(second):
                ready = (draft.addresses(image) for draft in (second, first))
                return *(load for loads in ready for load in loads), first.command(), second.command()
    raise LookupError(f"no {younger} of this core can {kind} of {extent} of the registers of a {older}")


class _Draft:
    """A command of a unit whose registers are still open."""

    def __init__(self, random: Generator, config: CoreConfig, unit: str) -> None:
        self._random = random
        self._value = int(random.integers(1 << 32))
        self.sizes: dict[Use, int]
        if unit in ("tile", "f64"):
            choices = [item for item in multiplies_of(config) if (item.a_type == "f64") == (unit == "f64")]
            self._multiply = choices[random.integers(len(choices))]
            self.sizes = {use: layout.registers for use, layout in self._multiply.fragments.items()}
        elif unit in ("load", "store"):
            accesses = [item for item in accesses_of(config) if (item.use == "d") == (unit == "store")]
            access = accesses[random.integers(len(accesses))]
            self._access = hot_access(random, config, access, PLACES[random.integers(4)])
            self.sizes = {"d" if unit == "load" else "a": access.fragment.registers}
        elif unit == "movmatrix":
            self.sizes = {"d": 1, "a": 1}
        elif unit in ("ldmatrix", "stmatrix"):
            # B is the register of addresses.
            count = int(random.choice(MATRIX_COUNTS))
            self.sizes = {"d" if unit == "ldmatrix" else "a": count, "b": 1}
        else:
            count = int(random.choice([1, 2, 3, 4, 8]))
            self.sizes = {"d": count} if unit == "fill" else {"d": count, "a": count}
        self._unit = unit
        self._registers = config.registers
        self.places = {
            name: int(random.integers(config.registers - size + 1)) for name, size in self.sizes.items()
        }

    def operand(self, role: str) -> Use:
        """An operand that is read or written."""
        names = [name for name in self.sizes if (name == "d") == (role == "writes")]
        if self._unit == "stmatrix":
            names.remove("b")
        return names[self._random.integers(len(names))]

    @property
    def _has_rows(self) -> bool:
        return self._unit in ("ldmatrix", "stmatrix")

    def addresses(self, image: Image) -> list[Load]:
        """The load that brings addresses of rows, if the command needs any."""
        if not self._has_rows:
            return []
        first = min(self.places["b"], self._registers - TABLE_REGISTERS)
        return [place_table(image, first, valid_rows(self._random))]

    def spoils(self, younger: "_Draft") -> bool:
        """Whether this command writes over the addresses of another."""
        if not younger._has_rows or "d" not in self.sizes:
            return False
        return 0 <= younger.places["b"] - self.places["d"] < self.sizes["d"]

    def command(self) -> Command:
        """The command with its registers as they now are."""
        places = self.places
        if self._unit in ("tile", "f64"):
            return Mma(self._multiply, **places)
        if self._unit in ("load", "store"):
            return replace(self._access, register=places["d" if self._unit == "load" else "a"])
        if self._unit == "movmatrix":
            return MoveMatrix(places["d"], places["a"])
        transposed = bool(self._value & 1)
        if self._unit == "ldmatrix":
            return LoadMatrix(places["d"], places["b"], self.sizes["d"], transposed)
        if self._unit == "stmatrix":
            return StoreMatrix(places["a"], places["b"], self.sizes["a"], transposed)
        if self._unit == "fill":
            return Fill(places["d"], self.sizes["d"], self._value)
        return Move(places["d"], places["a"], self.sizes["d"])


def _memory_pairs(random: Generator, config: CoreConfig) -> Iterator[tuple[Command, Command]]:
    stores = [item for item in accesses_of(config) if isinstance(item, StoreInstruction)]
    for kind, place in product(MEMORY_KINDS, ("global", "shared")):
        younger, _, older = kind.split()
        generic = f"generic to {place}"
        for places, extent in product(((place, place), (place, generic), (generic, place)), BYTES):
            store = stores[random.integers(len(stores))]
            yield _memory_pair(random, config, store, (older, younger), places, extent)


def _memory_pair(
    random: Generator,
    config: CoreConfig,
    store: StoreInstruction,
    kinds: tuple[str, str],
    places: tuple[str, str],
    extent: str,
) -> tuple[Command, Command]:
    """Two accesses of the same stride: at the same place, a line apart, or between each other's lines."""
    rows, columns = store.shape.extent("d")
    length = columns if store.layout == "row" else rows
    stride = length if extent == "all" else 2 * length
    line = length * FORMATS[store.type].bits // 8
    shift = {"all": 0, "part": 2 * line, "between lines": line}[extent]
    room = (8192 - span(store, stride) - shift) // line
    offset = line * int(random.integers(room))
    made = []
    for kind, place, further in zip(kinds, places, (0, shift), strict=True):
        base = {"shared": 0, "generic to shared": config.shared_base}.get(place, BASE)
        access: Access = store
        if kind == "load":
            access = LoadInstruction(use="c", layout=store.layout, shape=store.shape, type=store.type)
        register = int(random.integers(config.registers - 8 + 1))
        made.append(access_command(place_in(access, place), register, base + offset + further, stride))
    return made[0], made[1]
