"""Programs for what random ones come to too seldom: every hazard between two units, side by side."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.programs.buffers import BASE
from golden.resolve import resolve_instruction
from golden.tables.commands import (
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
    Wgmma,
)
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Space
from golden.tables.layouts import LANES
from golden.warpgroup_share import share_error
from hdl.config import CoreConfig
from regression.functional import hazards
from regression.random_programs.choices import (
    OPTIONS,
    UNITS,
    access_command,
    access_of,
    accesses_of,
    commands_of,
    operands_of,
    places_of,
    registers_of,
)
from regression.random_programs.generator import EVERYWHERE
from regression.random_programs.program import (
    BLOCK_BYTES,
    BLOCK_REGISTERS,
    HOT_BYTES,
    SQUARE,
    Image,
    Program,
    block_load,
    block_store,
    config_named,
    hot_access,
    span,
)
from sim.simulation import BusTiming

Commands = tuple[Command, ...]

_SOURCE: Final = 0
"""First of the registers in which what the older command reads is made ready."""

_BLOCK: Final = 8
_ADDRESSES: Final = 16
"""First of those that the older command writes, and the younger reads."""

_MATRICES: Final = 24
_ROW: Final = 16
_MULTIPLIES_OF_ZEROS: Final = {
    "tile": "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
    "f64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "sparse": "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
}
_SQUARE_BYTES: Final = 512
"""Of a matrix of f16 in memory, as many as four matrices of a move have."""


def hazard_program(preset: str, seed: int) -> Program:
    """Two commands for each hazard between registers and between memory accesses, one right after the other.

    Of commands and memories that the core lacks there are none.
    """
    random = np.random.default_rng((seed, 2))
    config = config_named(preset)
    blocks = HOT_BYTES // BLOCK_BYTES
    commands: list[Command] = [
        block_load(register, BASE + BLOCK_BYTES * (register // BLOCK_REGISTERS % blocks))
        for register in range(0, config.registers, BLOCK_REGISTERS)
    ]
    image = Image(random)
    pairs = [
        *_register_pairs(random, config, image),
        *_memory_pairs(random, config),
    ]
    if config.shared_bytes:
        pairs += [*_address_pairs(random, config, image), *_row_pairs(random, config, image)]
    pairs += _side_pairs(random, config, image)
    if config.wgmma:
        pairs += _share_pairs(random, config, image)
    for index in random.permutation(len(pairs)):
        commands += pairs[index]
    timing = BusTiming(latency=int(random.integers(0, 60)), stall=0, seed=1)
    return image.program(preset, (seed, 0), timing, commands)


def _register_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[tuple[Command, ...]]:
    units = (*UNITS, *OPTIONS)
    for kind, older, younger, extent in product(hazards.ROLES, units, units, hazards.EXTENTS):
        # What ldmatrix reads are addresses, which `_address_pairs` has.
        is_of_addresses = (kind, younger) == ("read after write", "ldmatrix")
        if hazards.impossible(kind, older, younger, extent, config) is None and not is_of_addresses:
            yield tuple(_register_pair(random, config, image, kind, older, younger, extent))


def _register_pair(
    random: Generator, config: CoreConfig, image: Image, kind: str, older: str, younger: str, extent: str
) -> Iterator[Command]:
    """Draw commands until the operands in common have sizes that allow the extent.

    Before them come the loads of the addresses of rows that they need.
    """
    before, after = hazards.ROLES[kind]
    for _ in range(500):
        first, second = _command(random, config, older), _command(random, config, younger)
        one, other = _operand(random, first, before), _operand(random, second, after)
        if one is None or other is None:
            continue
        count, size = operands_of(first)[one][0], operands_of(second)[other][0]
        shift = 0 if extent == "all" else int(random.integers(1 - size, count))
        place = getattr(first, one) + shift
        if (size == count and not shift) != (extent == "all") or not 0 <= place <= config.registers - size:
            continue
        second = replace(second, **{other: place})
        if not (_is_legal(first) and _is_legal(second, first)):
            continue
        moves = [item for item in (second, first) if isinstance(item, LoadMatrix | StoreMatrix)]
        sparse = [item for item in (first, second) if isinstance(item, Mma) and item.instruction.is_sparse]
        if any(abs(item.metadata - move.addresses) < 2 for item in sparse for move in moves):
            continue
        if second not in moves or second.addresses not in chain(*registers_of(first)["writes"]):
            for move in moves:
                yield image.place_words(min(move.addresses, config.registers - 2), _valid_rows(random))
            for multiply in sparse:
                yield Fill(multiply.metadata, 1, int(random.choice(EVERYWHERE)))
            yield from (first, second)
            return
    raise LookupError(f"no {younger} of this core can {kind} of {extent} of the registers of a {older}")


def _is_legal(command: Command, before: Command | None = None) -> bool:
    """Whether registers allow it, and metadata that was there before both commands is there when it runs."""
    if isinstance(command, Wgmma):
        return not share_error(command)
    if before is None or not isinstance(command, Mma) or not command.instruction.is_sparse:
        return True
    return command.metadata not in chain(*registers_of(before)["writes"])


def _command(random: Generator, config: CoreConfig, unit: str) -> Command:
    """A command of a unit, with any registers."""
    forms = commands_of(unit, config)
    command = forms[random.integers(len(forms))]
    if isinstance(command, Load | Store):
        places = places_of(config)
        command = hot_access(random, config, command.instruction, places[random.integers(len(places))])
    first: dict[str, Any] = {
        name: int(random.integers(config.registers - count + 1))
        for name, (count, _) in operands_of(command).items()
    }
    return replace(command, **first)


def _operand(random: Generator, command: Command, role: str) -> str | None:
    """An operand that is read or written, none of `hazards.SIDE`, nor addresses of a store; None without."""
    names = [
        name
        for name, (_, is_written) in operands_of(command).items()
        if is_written == (role == "writes")
        and (name, type(command)) != ("addresses", StoreMatrix)
        and name not in hazards.SIDE
    ]
    return names[random.integers(len(names))] if names else None


def _memory_pairs(random: Generator, config: CoreConfig) -> Iterator[Commands]:
    """Two accesses of the same stride: at the same place, a line apart, or between each other's lines."""
    stores = [item for item in accesses_of(config) if item.use == "d"]
    for kind, memory, named, extent in product(
        hazards.MEMORY_KINDS,
        ("global", "shared") if config.shared_bytes else ("global",),
        ((False, False), (False, True), (True, False)),
        hazards.BYTES,
    ):
        store = stores[random.integers(len(stores))]
        rows, columns = store.shape.extent("d")
        length = columns if store.layout == "row" else rows
        stride = length if extent == "all" else 2 * length
        line = length * FORMATS[store.type].bits // 8
        shift = {"all": 0, "part": 2 * line, "between lines": line}[extent]
        offset = line * int(random.integers((8192 - span(store, stride) - shift) // line))
        made = []
        for each, generic, further in zip(reversed(kind.split()[::2]), named, (0, shift), strict=True):
            place = f"generic to {memory}" if generic else memory
            base = BASE if memory == "global" else config.shared_base if generic else 0
            access = access_of("c" if each == "load" else "d", store.type, store.shape, store.layout)
            register = int(random.integers(config.registers - 8 + 1))
            made.append(access_command(access, place, register, base + offset + further, stride))
        yield tuple(made)


def _valid_rows(random: Generator, count: int = 2) -> NDArray[np.uint32]:
    """Row addresses in the first kilobytes of on-chip memory, shape (count, 32)."""
    return (_ROW * random.integers(0, 256, (count, LANES))).astype(np.uint32)


def _address_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[Commands]:
    """A command that writes a register of row addresses, and a move that uses them, for each unit.

    Before each pair comes what makes it ready. The addresses are placed in the image, global memory.
    """
    units = (*UNITS, *OPTIONS)
    for older, younger, extent in product(units, ("ldmatrix", "stmatrix"), hazards.EXTENTS):
        if hazards.impossible("read after write", older, "ldmatrix", extent, config) is None:
            count = int(random.choice([1, 2, 4]))
            kind = LoadMatrix if younger == "ldmatrix" else StoreMatrix
            writing = _writer(random, config, image, older, extent, partial(_valid_rows, random))
            yield *writing, kind(_MATRICES, _ADDRESSES, count, bool(random.integers(2)))


def _side_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[Commands]:
    """A command that writes a register of metadata or scales, before or behind a multiply that reads it."""

    def draw(count: int = 2) -> NDArray[np.uint32]:
        return random.choice(np.array(EVERYWHERE, np.uint32), (count, LANES))

    for name, unit, is_after in product(hazards.SIDE, UNITS, (False, True)):
        multiplies = commands_of("sparse" if name == "metadata" else "tile", config)
        forms = [
            item for item in multiplies if isinstance(item, Mma) and name in item.instruction.side_registers
        ]
        written = hazards.sizes(config, unit, "writes")
        if written and forms:
            form = forms[int(random.integers(len(forms)))]
            register: dict[str, Any] = {name: _ADDRESSES}
            multiply = replace(form, d=_MATRICES, a=_BLOCK, b=_BLOCK, c=_SOURCE, **register)
            extent = "all" if 1 in written else "part"
            *before, last = _writer(random, config, image, unit, extent, draw)
            if is_after:
                yield *before, Fill(_ADDRESSES, 1, EVERYWHERE[0]), multiply, last
            else:
                yield *before, last, multiply


def _share_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[Commands]:
    """A share and a store to the on-chip memory, with bytes in common or not; before them addresses."""
    shares = [item for item in commands_of("wgmma", config) if isinstance(item, Wgmma)]
    for is_after, is_matrix, extent in product((False, True), (False, True), hazards.ROW_BYTES):
        share = replace(shares[int(random.integers(len(shares)))], d=_SOURCE, a=0, a_in_registers=False)
        place = 0 if extent == "some" else 2048
        store: Command = block_store(_MATRICES, place, "shared")
        rows = place + _ROW * random.permutation(LANES)
        if is_matrix:
            store = StoreMatrix(_MATRICES, _ADDRESSES, 4)
        load = image.place_words(_ADDRESSES, np.stack([rows] * 2).astype(np.uint32))
        yield load, *((share, store) if is_after else (store, share))


def _writer(
    random: Generator,
    config: CoreConfig,
    image: Image,
    unit: str,
    extent: str,
    draw: Callable[..., NDArray[np.uint32]],
) -> Commands:
    """Commands of which the last one writes what is drawn to the register of addresses.

    It writes others too, if not `all` is meant. A share of `wgmma` adds the bytes of two rows to it.
    """
    rows = draw()
    size = 1 if extent == "all" else 2
    load = image.place_words(_SOURCE, rows)
    if unit == "fill":
        return (Fill(_ADDRESSES, size, int(rows[0, 0])),)
    if unit == "load":
        return (image.place_words(_ADDRESSES, rows[:size], alignment=8 if size == 2 else 256),)
    if unit == "move":
        return load, Move(_ADDRESSES, _SOURCE, size)
    if unit == "movmatrix":
        # The transpose of the transpose.
        return load, MoveMatrix(_BLOCK, _SOURCE), MoveMatrix(_ADDRESSES, _BLOCK)
    if unit == "ldmatrix":
        # Rows of on-chip memory in which every word is an address.
        pool = image.place(BLOCK_BYTES, 256)
        image.write(pool, draw(BLOCK_BYTES // (4 * LANES)).reshape(-1).view(np.uint8))
        in_order = np.tile(_ROW * np.arange(LANES, dtype=np.uint32), (2, 1))
        return (
            block_load(_BLOCK, pool),
            block_store(_BLOCK, 0, "shared"),
            image.place_words(_SOURCE, in_order),
            LoadMatrix(_ADDRESSES, _SOURCE, size),
        )
    if unit == "wgmma":
        # A and B are ones: each sum of k = 32 products is 32.
        shares = (item for item in commands_of(unit, config) if isinstance(item, Wgmma))
        share = next(item for item in shares if item.a_in_registers and item.instruction.a_type == "s8")
        return (
            Fill(_SOURCE, BLOCK_REGISTERS, 0x0101_0101),
            block_store(_SOURCE, 0, "shared"),
            image.place_words(_ADDRESSES, rows),
            replace(share, d=_ADDRESSES, a=_SOURCE),
        )
    # A multiply of zeros, whose C is its D: addresses are integers, or tiny numbers of f64.
    instruction = resolve_instruction(_MULTIPLIES_OF_ZEROS[unit])
    loads: list[Command] = [
        image.place_words(_BLOCK + first, draw()) for first in ((0, 2) if unit == "f64" else (0,))
    ]
    multiply = Mma(instruction, d=_ADDRESSES, a=_SOURCE, b=_SOURCE + 2, c=_BLOCK)
    if instruction.is_sparse:
        multiply = replace(multiply, metadata=_SOURCE + 4)
        loads.append(Fill(_SOURCE + 4, 1, EVERYWHERE[0]))
    return *loads, Fill(_SOURCE, 4, 0), multiply


def _row_pairs(random: Generator, config: CoreConfig, image: Image) -> Iterator[Commands]:
    """Two accesses of which one or both move matrices, with bytes in common or not, for each memory.

    Before each pair comes the load of the addresses. The core has on-chip memory.
    """
    for kind, moves, memory, extent in product(
        hazards.MEMORY_KINDS, hazards.MOVES, ("global", "shared"), hazards.ROW_BYTES
    ):
        start = _SQUARE_BYTES * int(random.integers(4))
        starts = (start, start + (_SQUARE_BYTES if extent == "none" else 0))
        generic = memory == "global" or bool(random.integers(2))
        space: Space = "generic" if generic else "shared"
        base = BASE if memory == "global" else config.shared_base if generic else 0
        rows = [base + place + _ROW * random.permutation(LANES) for place in starts]
        commands: list[Command] = [image.place_words(_ADDRESSES, np.stack(rows).astype(np.uint32))]
        for index, (each, place) in enumerate(zip(reversed(kind.split()[::2]), starts, strict=True)):
            register = _MATRICES + 4 * index
            if moves in ("both", ("older", "younger")[index]):
                move = LoadMatrix if each == "load" else StoreMatrix
                commands.append(move(register, _ADDRESSES + index, 4, bool(random.integers(2)), space))
                continue
            access = access_of("c" if each == "load" else "d", "f16", SQUARE, "row")
            commands.append(access_command(access, space, register, base + place, None))
        yield tuple(commands)
