"""Programs for what random ones come to too seldom: every hazard between two units, side by side."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from golden.programs.buffers import BASE
from golden.tables.commands import (
    MATRIX_COUNTS,
    Command,
    Fill,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    StoreMatrix,
)
from golden.tables.formats import FORMATS
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
from regression.random_programs.footprints import operands_of, registers_of
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

_TRIES: Final = 500


def hazard_program(preset: str, seed: int) -> Program:
    """Two commands for each hazard between registers and between memory accesses, one right after the other.

    The preset is of a core of all families, with on-chip memory.
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
            yield tuple(_register_pair(random, config, image, kind, older, younger, extent))


def _register_pair(
    random: Generator, config: CoreConfig, image: Image, kind: str, older: str, younger: str, extent: str
) -> Iterator[Command]:
    """Draw commands until the operands in common have sizes that allow the extent.

    Before them come the loads of the addresses of rows that they need.
    """
    for _ in range(_TRIES):
        first, second = _command(random, config, older), _command(random, config, younger)
        one, other = (
            _operand(random, item, role) for item, role in zip((first, second), ROLES[kind], strict=True)
        )
        count, size = operands_of(first)[one][0], operands_of(second)[other][0]
        shift = 0 if extent == "all" else int(random.integers(1 - size, count))
        place = getattr(first, one) + shift
        if (size == count and not shift) != (extent == "all") or not 0 <= place <= config.registers - size:
            continue
        second = replace(second, **{other: place})
        moves = [item for item in (second, first) if isinstance(item, LoadMatrix | StoreMatrix)]
        if second not in moves or second.addresses not in registers_of(first)[1]:
            for move in moves:
                register = min(move.addresses, config.registers - TABLE_REGISTERS)
                yield place_table(image, register, valid_rows(random))
            yield from (first, second)
            return
    raise LookupError(f"no {younger} of this core can {kind} of {extent} of the registers of a {older}")


def _command(random: Generator, config: CoreConfig, unit: str) -> Command:
    """A command of a unit, with any registers."""
    value = int(random.integers(1 << 32))
    command: Command
    if unit in ("tile", "f64"):
        choices = [item for item in multiplies_of(config) if (item.a_type == "f64") == (unit == "f64")]
        command = Mma(choices[random.integers(len(choices))], 0, 0, 0, 0)
    elif unit in ("load", "store"):
        accesses = [item for item in accesses_of(config) if (item.use == "d") == (unit == "store")]
        access = accesses[random.integers(len(accesses))]
        command = hot_access(random, config, access, PLACES[random.integers(4)])
    elif unit == "movmatrix":
        command = MoveMatrix(0, 0)
    elif unit in ("ldmatrix", "stmatrix"):
        move = LoadMatrix if unit == "ldmatrix" else StoreMatrix
        command = move(0, 0, int(random.choice(MATRIX_COUNTS)), bool(value & 1))
    else:
        count = int(random.choice([1, 2, 3, 4, 8]))
        command = Fill(0, count, value) if unit == "fill" else Move(0, 0, count)
    places: dict[str, Any] = {
        name: int(random.integers(config.registers - count + 1))
        for name, (count, _) in operands_of(command).items()
    }
    return replace(command, **places)


def _operand(random: Generator, command: Command, role: str) -> str:
    """An operand that is read or written; of a store no addresses."""
    names = [
        name
        for name, (_, is_written) in operands_of(command).items()
        if is_written == (role == "writes") and (name, type(command)) != ("addresses", StoreMatrix)
    ]
    return names[random.integers(len(names))]


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
