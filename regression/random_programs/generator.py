"""Makes random programs that are legal: multiplies with their operands, and commands in their way."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.lines import matrix_to_lines
from golden.programs.buffers import BASE
from golden.tables.commands import Command, Fill, Mma, Move, MoveMatrix
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import LAYOUTS, Layout, Shape, Space, Use
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import MmaInstruction
from hdl.config import CoreConfig
from regression.random_programs.choices import (
    MOVES,
    PLACES,
    Access,
    access_at,
    access_command,
    access_of,
    accesses_of,
    deck,
    multiplies_of,
    names_of,
    places_of,
    registers_of,
)
from regression.random_programs.operands import (
    FLOAT_KINDS,
    INTEGER_KINDS,
    SOURCES,
    draw_operands,
    metadata_words,
    scale_selectors,
    scale_words,
    spare_bits,
)
from regression.random_programs.program import (
    BLOCK_BYTES,
    BLOCK_REGISTERS,
    HOT_BYTES,
    RAW,
    Image,
    Program,
    block_load,
    block_store,
    busy_warps,
    config_named,
    draw_rows,
    draw_stride,
    hot_access,
    noise,
    raw_count,
    span,
)
from regression.random_programs.shares import SHARED_WINDOW, common_shares, share_forms
from sim.simulation import BusTiming

MULTIPLIES: Final = 48
"""Multiplies with operands of their own in a program."""

_INTERFERENCE: Final = {False: 0.2, True: 0.9}
"""How likely any command is followed by one that has nothing to do with it; in a crowded program too."""

_OTHER_MULTIPLIES: Final = 0.4
"""Of such commands of a crowded program, how many are multiplies."""

_SHARES: Final = 0.2
"""Of such commands, how many are shares of `wgmma`, with what else the other warps do; on a core that has it.
"""

_ADDRESSES: Final = 2
"""Registers of row addresses that one load brings, or more where it brings more."""

EVERYWHERE: Final = (0x4444_4444, 0xEEEE_EEEE, 0x4E4E_E4E4)
"""Metadata that every sparse multiply takes, with any selector."""

_TIMINGS: Final = ((20, 0), (1, 0), (0, 40), (60, 0), (20, 120), (7, 200))
"""Latency and stall of global memory."""


def make_program(
    preset: str,
    seed: int,
    number: int = 0,
    multiplies: int = MULTIPLIES,
    type: str | None = None,
    kinds: Sequence[str] = FLOAT_KINDS,
    crowded: bool = False,
) -> Program:
    """Make one program of a run, the same for the same arguments, for a core as of `config_named`.

    The programs of a run together go through all instructions, places and kinds of operands evenly. A program
    has so many multiplies with operands of their own, about nine commands each; only those that have `type`
    among `names_of` if it is given, and of floating point only with operands of some kinds. In a crowded one
    most commands have nothing to do with these, and many of them multiply whatever any registers hold.
    """
    maker = _Maker(config_named(preset), seed, number, multiplies, type, kinds)
    maker.crowded = crowded
    latency, stall = _TIMINGS[number % len(_TIMINGS)]
    timing = BusTiming(latency=latency, stall=stall, seed=number + 1)
    return maker.image.program(preset, (seed, number), timing, maker.commands(multiplies))


class _Maker:
    """What is known while a program is made."""

    def __init__(
        self,
        config: CoreConfig,
        seed: int,
        number: int,
        multiplies: int,
        type: str | None,
        kinds: Sequence[str],
    ) -> None:
        self.config = config
        self.random: Generator = np.random.default_rng((seed, number))
        self.image = Image(self.random)
        dealt = number * multiplies
        self._chosen = [item for item in multiplies_of(config) if type in (None, *names_of(item))]
        self._multiplies = deck(self._chosen, seed, dealt)
        self._float_kinds = deck(kinds, seed, dealt)
        self._integer_kinds = deck(INTEGER_KINDS, seed, dealt)
        self._places = places_of(config)
        self._accesses = deck(
            [(access, place) for access in accesses_of(config) for place in self._places], seed, dealt
        )
        self._moves = deck(MOVES, seed, dealt)
        self._shares = deck(share_forms(config) or ((),), seed, dealt)
        self.crowded = False

    def commands(self, multiplies: int) -> Iterator[Command]:
        """First every register and the hot on-chip memory get a value; then come the multiplies."""
        blocks = HOT_BYTES // BLOCK_BYTES
        for register in range(0, self.config.registers, 8):
            yield block_load(register, BASE + BLOCK_BYTES * int(self.random.integers(blocks)))
        for place in range(0, min(SHARED_WINDOW, self.config.shared_bytes), BLOCK_BYTES):
            yield block_store(8 * int(self.random.integers(self.config.registers // 8)), place, "shared")
        for warp, register in product(
            range(1, busy_warps(self.config)), range(0, self.config.registers, BLOCK_REGISTERS)
        ):
            place = self.image.place(BLOCK_BYTES, 256)
            self.image.write(place, noise(self.random, BLOCK_BYTES))
            yield replace(block_load(register, place), warp=warp)
        # Two streams take turns command by command, so that units are at work for both.
        halves = 2 if self.config.registers >= 64 else 1
        streams = [self._stream(half, halves, multiplies // halves) for half in range(halves)]
        while streams:
            stream = streams[self.random.integers(len(streams))]
            command = next(stream, None)
            if command is None:
                streams.remove(stream)
                continue
            yield from command if isinstance(command, tuple) else (command,)
            while self.random.random() < _INTERFERENCE[self.crowded]:
                yield from self._interference()

    def _stream(self, half: int, halves: int, multiplies: int) -> Iterator[Command | tuple[Command, ...]]:
        """Commands, and some that must not have others between them."""
        for _ in range(multiplies):
            yield from self._multiply(half, halves)

    def _multiply(self, half: int, halves: int) -> Iterator[Command | tuple[Command, ...]]:
        """Loads of operands, a multiply, and the store of its result to a place of its own."""
        instruction = next(self._multiplies)
        is_float = isinstance(FORMATS[instruction.a_type], FloatFormat)
        kind = next(self._float_kinds if is_float else self._integer_kinds)
        a, b, c, *metadata = draw_operands(self.random, instruction, kind)
        matrices = dict(zip(SOURCES, (a, b, c), strict=True))
        sizes: dict[str, int] = {use: layout.registers for use, layout in instruction.fragments.items()}
        sizes |= dict.fromkeys(instruction.side_registers, 1)
        if instruction.mnemonic != "wmma":
            sizes = {use: self._raw_size(size) for use, size in sizes.items()}
        registers = self._registers(sizes, half, halves)
        pieces = [
            piece
            for use, matrix in matrices.items()
            for piece in self._pieces(instruction, use, matrix, registers[use], sizes[use])
        ]
        blocks = self.random.permutation(SHARED_WINDOW // BLOCK_BYTES // halves) * halves + half
        loads = []
        staging = half * (self.config.registers // halves)
        for (load, register, lines), block in zip(pieces, blocks[: len(pieces)].tolist(), strict=True):
            *moves, found = self._bring(load, register, lines, staging, BLOCK_BYTES * block)
            yield from moves
            loads.append(found)
        for index in self.random.permutation(len(loads)).tolist():
            yield loads[index]
        selectors = scale_selectors(self.random, instruction)
        for name in ("scale_a", "scale_b") if selectors else ():
            words = np.repeat(scale_words(self.random)[None], sizes[name], axis=0)
            yield self.image.place_words(registers[name], words, alignment=256)
        multiply = Mma(instruction, **registers, **selectors)
        yield tuple(self._behind_metadata(multiply, metadata[0], sizes["metadata"])) if metadata else multiply
        yield from self._stores(instruction, registers["d"], sizes["d"])

    def _behind_metadata(self, multiply: Mma, metadata: NDArray[Any], size: int) -> Iterator[Command]:
        """The load of metadata, commands that leave it as it is, and the multiply."""
        selector = int(self.random.choice(multiply.instruction.sparsity.selectors))
        words = metadata_words(self.random, multiply.instruction, metadata, selector)
        repeated = np.repeat(words[None], size, axis=0)
        yield self.image.place_words(multiply.metadata, repeated, alignment=256)
        while self.random.random() < 0.4:
            commands = list(self._interference())
            written = (registers for command in commands for registers in registers_of(command)["writes"])
            if not any(multiply.metadata in registers for registers in written):
                yield from commands
        yield replace(multiply, selector=selector)

    def _raw_size(self, size: int) -> int:
        """The registers of a fragment of `mma`, and those behind it that move with it."""
        return size if size > max(RAW) else raw_count(self.config, size)

    def _carriers(
        self, instruction: MmaInstruction, use: Use, size: int
    ) -> Iterator[tuple[int, Use, str, Shape]]:
        """The fragments as which an operand is loaded or stored, each with its first register."""
        if instruction.mnemonic == "wmma":
            yield 0, use, instruction.types[use], instruction.shape
            return
        step = min(size, max(RAW))
        yield from ((first, *RAW[step]) for first in range(0, size, step))

    def _pieces(
        self, instruction: MmaInstruction, use: Use, matrix: NDArray[Any], register: int, size: int
    ) -> Iterator[tuple[Access, int, NDArray[Any]]]:
        """The loads that bring an operand, each with its first register and the bytes of its lines."""
        words = np.zeros((size, LANES), dtype=np.uint32)
        types, is_sparse = instruction.types, instruction.is_sparse
        fragment_words = distribute(matrix, use, types[use], instruction.shape, sparse=is_sparse)
        words[: len(fragment_words)] = fragment_words | spare_bits(self.random, instruction, use)
        for first, carrier, name, shape in self._carriers(instruction, use, size):
            layout: Layout = {"a": instruction.a_layout, "b": instruction.b_layout}.get(carrier, "row")
            if instruction.mnemonic == "wmma" and carrier == "c":
                layout = LAYOUTS[self.random.integers(2)]
            load = access_of(carrier, name, shape, layout)
            part = collect(words[first : first + load.fragment.registers], carrier, name, shape)
            yield load, register + first, matrix_to_lines(part, load)

    def _stores(self, instruction: MmaInstruction, register: int, size: int) -> Iterator[Command]:
        """The stores of a result to where nothing else is ever stored, so that it is there to be compared."""
        layout: Layout = LAYOUTS[self.random.integers(2)]
        for first, _, name, shape in self._carriers(instruction, "d", size):
            store = access_of("d", name, shape, layout)
            stride = draw_stride(self.random, store, apart=True)
            address = self._global_place(store, span(store, stride))
            place = PLACES[2 * self.random.integers(2)]
            yield access_command(store, place, register + first, address, stride)

    def _registers(self, sizes: dict[str, int], half: int, halves: int) -> dict[str, int]:
        """First registers of the operands: mostly apart from each other in a half of the register file."""
        random, count = self.random, self.config.registers
        room = count // halves
        free = room - sum(sizes.values())
        if random.random() < 0.15 or free < 0:
            return {use: int(random.integers(count - size + 1)) for use, size in sizes.items()}
        order = random.permutation(sorted(sizes)).tolist()
        start = half * room + int(random.integers(free + 1))
        places: dict[str, int] = {}
        for use in order:
            places[use] = start
            start += sizes[use]
        if sizes["c"] == sizes["d"] and random.random() < 0.4:
            places["d"] = places["c"]
        return places

    def _bring(
        self, load: Access, register: int, lines: NDArray[Any], staging: int, target: int
    ) -> list[Command]:
        """Put a matrix into memory; the commands that move it to where it is loaded from, and its load."""
        random = self.random
        place = self._places[random.integers(len(self._places))]
        stride = draw_stride(random, access_at(load, place), apart=True)
        size = span(load, stride)
        moves: list[Command] = []
        if "shared" in place and size <= BLOCK_BYTES:
            source = self.image.place(BLOCK_BYTES, 256)
            self.image.write_lines(load, source, stride, lines)
            moves = [block_load(staging, source), block_store(staging, target, "shared")]
            address = target + (self.config.shared_base if place == "generic to shared" else 0)
        else:
            place = PLACES[2 * random.integers(2)]
            address = self._global_place(load, size)
            self.image.write_lines(load, address, stride, lines)
        return [*moves, access_command(load, place, register, address, stride)]

    def _global_place(self, access: Access, size: int) -> int:
        """A place of its own; of one access in four a part lies before the end of a page."""
        unit, across = access.core_alignment, 0
        if size >= 2 * unit and self.random.random() >= 0.75:
            across = unit * int(self.random.integers(1, size // unit))
        return self.image.place(size, unit, across=across)

    def _interference(self) -> Iterator[Command]:
        """Any access in the hot memory, a fill, a move, or perhaps a multiply, on any registers."""
        if self.crowded and self.random.random() < _OTHER_MULTIPLIES:
            yield from self._other_multiplies(*self.random.choice([[0, 1], [1, 4]]).tolist())
            return
        if self.config.wgmma and self.random.random() < _SHARES:
            yield from self._common_shares()
            return
        kind = int(self.random.integers(13 if self.config.shared_bytes else 10))
        if kind < 6:
            access, place = next(self._accesses)
            yield hot_access(self.random, self.config, access, place)
        elif kind < 10:
            yield self._fill_or_move(is_fill=kind < 8)
        else:
            yield from self._matrix_moves()

    def _other_multiplies(self, apart: int, count: int) -> Iterator[Command]:
        """Multiplies of what any registers hold; none needs a result of another if they are `apart`."""
        half = self.config.registers // 2
        for number in range(count):
            instruction = self._chosen[self.random.integers(len(self._chosen))]
            sizes = {use: layout.registers for use, layout in instruction.fragments.items()}
            room = half if apart else self.config.registers
            places: dict[str, int] = {
                use: int(self.random.integers(room - size + 1)) for use, size in sizes.items()
            }
            if apart:
                places["d"] = half + sizes["d"] * number % half
            places |= {name: int(self.random.integers(half)) for name in instruction.side_registers}
            if instruction.is_sparse:
                yield Fill(places["metadata"], 1, int(self.random.choice(EVERYWHERE)))
            yield Mma(instruction, **places, **scale_selectors(self.random, instruction))

    def _common_shares(self) -> Iterator[Command]:
        """Shares of some warps, with fills, moves and multiplies of these."""
        for share in common_shares(self.random, self.config, next(self._shares)):
            yield share
            if self.random.random() < 0.4:
                fill_or_move = self._fill_or_move(is_fill=bool(self.random.integers(2)))
                others = self._other_multiplies(0, 1) if self.random.integers(2) else [fill_or_move]
                yield from (replace(item, warp=share.warp) for item in others)

    def _matrix_moves(self) -> Iterator[Command]:
        """A move of a matrix in registers; or addresses of rows to registers, and moves that use them."""
        random, registers = self.random, self.config.registers
        if random.random() < 0.25:
            yield MoveMatrix(*random.integers(0, registers, 2).tolist())
            return
        kind, count, transposed, place = next(self._moves)
        together = raw_count(self.config, _ADDRESSES)
        first = int(random.integers(registers - together + 1))
        rows = [draw_rows(random, self.config, place) for _ in range(together)]
        yield self.image.place_words(first, np.stack(rows))
        addresses = first + int(random.integers(together))
        if random.random() < 0.3:
            moved = int(random.integers(registers))
            yield Move(moved, addresses, 1)
            addresses = moved
        register = int(random.integers(registers - count + 1))
        space: Space = "shared" if place == "shared" else "generic"
        yield kind(register, addresses, count, transposed, space)

    def _fill_or_move(self, *, is_fill: bool) -> Command:
        random, registers = self.random, self.config.registers
        count = int(random.integers(0, 9))
        # A command cannot name the register behind the last of 256, not even for no register at all.
        places = min(registers - count + 1, 256)
        first = int(random.integers(places))
        if is_fill:
            values = np.array([0, 0x3C003C00, 0x3F800000, random.integers(1 << 32)])
            return Fill(first, count, int(random.choice(values)))
        return Move(first, int(random.integers(places)), count)
