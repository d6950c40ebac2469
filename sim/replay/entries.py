"""The entries of a trace, each of one warp, with addresses of a machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect
from golden.lines import gather_lines, matrix_to_lines
from golden.matrix_descriptors import CHUNK, K_BYTES, fragments_of_rows
from golden.matrix_moves import stmatrix
from golden.ptx.mnemonic import parse_instruction, parse_move
from golden.simt.trace_file import Kind, Part
from golden.tables.commands import MATRIX_ROW_BYTES, Load, Store, Wgmma
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import (
    MOVES,
    TILE_COLUMNS,
    Instruction,
    LoadInstruction,
    MmaInstruction,
    MoveInstruction,
    StoreInstruction,
    warp_tile,
)
from golden.warpgroup_share import descriptors
from sim.replay.addresses import AddressMap, Place, granules

Decoded = Instruction | MoveInstruction

_REGISTER_BYTES: Final = 4 * LANES


@dataclass(frozen=True, slots=True)
class Write:
    """What the host wrote."""

    place: Place
    data: NDArray[np.uint8]

    @property
    def granules(self) -> NDArray[np.int64]:
        """The granules that it changes."""
        return granules(np.array([self.place.offset]), self.data.size)


@dataclass(frozen=True, slots=True)
class Block:
    """The end of a block, by its number."""

    number: int


@dataclass(eq=False, slots=True)
class Entry:
    """A matrix instruction of a warp of the kernel."""

    instruction: Decoded
    line: str
    """Of the kernel: file, number and text."""
    block: int
    warp: int
    sources: tuple[bytes, ...]
    """The contents that it reads: a, b and c of a multiply, and its `side_registers`; the fragment of a
    store; behind the matrices of a move the addresses of their rows."""
    result: bytes | None
    """The content that it writes into registers."""
    place: Place | None = None
    """Where it begins to read or write memory."""
    stride: int | None = None
    """Elements from one line to the next."""
    starts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Where its lines, or the rows of its matrices, begin: offsets as of `place`."""
    granules: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Those of the memory that it reads or writes."""
    share: Wgmma | None = None
    """For a warp's share of `wgmma` the command, but for its registers and its warp."""
    number: int = 0
    """Its place among the entries that its warp of the machine executes."""
    next_uses: tuple[int, ...] = ()
    """Of the sources and, last, of the result: the numbers of the entries that read them next."""

    @property
    def stores(self) -> bool:
        """Whether it writes memory."""
        return self.result is None


@cache
def parsed(text: str) -> Decoded:
    """An instruction of a trace."""
    parts = text.split(".")
    if parts[0] in MOVES:
        return parse_move(parts)
    return parse_instruction(text, warp_tile=".m64n" not in text)


def entries_of(
    part: Part,
    addresses: AddressMap,
    accepts: Callable[[Load | Store | Wgmma], bool],
    shared_base: int | None,
    base: int,
) -> Iterator[Entry | Write | Block]:
    """The entries of a part, in the order of the program.

    A load without a place is left out: what it loads is pushed where it is needed. A store without one is
    what the host writes. `accepts` says whether the machine executes an access. `shared_base` is the address
    of the machine's shared memory, None without it, and so without moves of matrices; `base` of its global
    memory.
    """
    contents: dict[tuple[int, int], list[bytes]] = {}

    def split(number: int, count: int) -> list[bytes]:
        found = contents.get((number, count))
        if found is None:
            data = part.blobs[number]
            size = len(data) // count
            found = contents[number, count] = [data[at : at + size] for at in range(0, len(data), size)]
        return found

    for record in part.records.tolist():
        kind, block, instruction, line, threads, a, b, c, d, where, strides = record
        if kind == Kind.END:
            yield Block(block)
            continue
        if kind == Kind.WRITE:
            data = np.frombuffer(part.blobs[a], np.uint8)
            address = int.from_bytes(part.blobs[where], "little")
            place = addresses.place(address, address + data.size)
            if place is not None:
                yield Write(place, data)
            continue
        decoded, text = parsed(part.texts[instruction]), part.texts[line]
        numbers = (np.frombuffer(part.blobs[threads], "<i8") // LANES).tolist()
        count = len(numbers)
        if isinstance(decoded, MmaInstruction) and where >= 0:
            blobs = [part.blobs[number] for number in (a, b, c, d, where, strides)]
            yield from _of_warpgroups(decoded, text, block, numbers, blobs, accepts)
            continue
        sources = zip(*(split(number, count) for number in (a, b, c) if number >= 0), strict=True)
        results = repeat(None) if d < 0 else split(d, count)
        rows = None if where < 0 else np.frombuffer(part.blobs[where], "<u8").reshape(count, -1)
        steps = None if strides < 0 else np.frombuffer(part.blobs[strides], "<u4").tolist()
        for number, (warp, result) in enumerate(zip(numbers, results, strict=False)):
            read = next(sources, ())
            if isinstance(decoded, MmaInstruction):
                size = len(read[2]) - _REGISTER_BYTES * len(decoded.side_registers)
                starts = range(size, len(read[2]), _REGISTER_BYTES)
                read = *read[:2], read[2][:size], *(read[2][at : at + _REGISTER_BYTES] for at in starts)
            entry = Entry(decoded, text, block, warp, read, result)
            if rows is None:
                if shared_base is not None or isinstance(decoded, MmaInstruction):
                    yield entry
            elif isinstance(decoded, MoveInstruction):
                yield from _of_rows(entry, rows[number], addresses, shared_base, base)
            else:
                stride = None if steps is None else steps[number]
                yield from _of_lines(entry, int(rows[number, 0]), stride, addresses, accepts)


def _of_warpgroups(
    instruction: MmaInstruction,
    line: str,
    block: int,
    warps: list[int],
    blobs: list[bytes],
    accepts: Callable[[Load | Store | Wgmma], bool],
) -> Iterator[Entry]:
    """The shares of `wgmma`; their tiles on a machine that does not execute them."""
    rows = [np.frombuffer(blob, np.uint8).reshape(-1, K_BYTES) for blob in blobs[:2]]
    tile, columns = warp_tile(instruction), instruction.shape.n // TILE_COLUMNS
    left = fragments_of_rows(rows[0], tile.shape.m)
    right = fragments_of_rows(rows[1], TILE_COLUMNS).reshape(-1, columns, 2, LANES)
    before, after = (np.frombuffer(blob, "<u4").reshape(-1, len(warps), LANES) for blob in blobs[2:4])
    places = np.frombuffer(blobs[4], "<u8").reshape(2, -1).T.tolist()
    for number, flags in enumerate(np.frombuffer(blobs[5], "<u4").tolist()):
        warp, a = warps[number], left[number].tobytes()
        stored, scale_d, *others = (bool(flags >> place & 1) for place in range(6))
        c, result = before[:, number] * np.uint32(scale_d), after[:, number]
        share = Wgmma(
            instruction,
            0,
            places[number][0] if stored else len(after),
            places[number][1],
            a_in_registers=not stored,
            negated=(others[0] and stored, others[1]),
            transposed=(others[2], others[3]),
            scale_d=scale_d,
            warp=warp % 4,
        )
        # A and C in the same registers would be read and written side by side.
        if accepts(share) and (stored or a != c.tobytes()):
            chunks = [found.chunks(count, order).reshape(-1) for found, count, order in descriptors(share)]
            starts = np.concatenate(chunks)
            read = (() if stored else (a,)) + ((c.tobytes(),) if scale_d else ())
            yield Entry(
                *(instruction, line, block, warp, read, result.tobytes()),
                place=Place(True, int(starts[0])),
                starts=starts,
                granules=granules(starts, CHUNK),
                share=share,
            )
            continue
        parts = [item.reshape(columns, -1, LANES) for item in (c, result)]
        for b, *others in zip(right[number // 4], *parts, strict=True):
            c, d = (item.tobytes() for item in others)
            yield Entry(tile, line, block, warp, (a, b.tobytes(), c), d)


def _of_lines(
    entry: Entry,
    address: int,
    stride: int | None,
    addresses: AddressMap,
    accepts: Callable[[Load | Store], bool],
) -> Iterator[Entry | Write]:
    """A load or a store of a fragment."""
    instruction = entry.instruction
    assert not isinstance(instruction, MmaInstruction | MoveInstruction)
    lines = gather_lines(instruction, address, stride)
    (first, length), last = lines[0], sum(lines[-1])
    place = addresses.place(first, last)
    if place is None:
        return
    entry.place, entry.stride = place, stride
    access = Load if isinstance(instruction, LoadInstruction) else Store
    step = lines[1][0] - first if len(lines) > 1 else 0
    entry.starts = starts = place.offset + step * np.arange(len(lines))
    if accepts(access(instruction, 0, place.offset, stride)):  # type: ignore[arg-type]
        entry.granules = granules(starts, length)
        yield entry
    elif entry.result is None:
        for start, line in zip(starts.tolist(), stored_lines(entry), strict=True):
            yield Write(Place(place.is_shared, start), line)


def _of_rows(
    entry: Entry, rows: NDArray[np.uint64], addresses: AddressMap, shared_base: int | None, base: int
) -> Iterator[Entry | Write]:
    """A load or a store of matrices, whose rows may lie anywhere."""
    found = [addresses.place(row, row + MATRIX_ROW_BYTES) for row in rows.tolist()]
    places = [place for place in found if place is not None]
    one_memory = len(places) == len(found) and len({place.is_shared for place in places}) == 1
    if one_memory and shared_base is not None:
        entry.place = places[0]
        entry.starts = offsets = np.array([place.offset for place in places])
        entry.granules = granules(offsets, MATRIX_ROW_BYTES)
        lanes = np.resize(offsets + (shared_base if entry.place.is_shared else base), LANES)
        entry.sources = (*entry.sources, lanes.astype("<u4").tobytes())
        yield entry
    elif entry.result is None:
        for where, row in zip(found, stored_lines(entry), strict=True):
            if where is not None:
                yield Write(where, row)


def stored_lines(entry: Entry) -> NDArray[np.uint8]:
    """The bytes of each line that a store writes, or of each row of matrices."""
    words = np.frombuffer(entry.sources[0], np.uint32).reshape(-1, LANES)
    instruction = entry.instruction
    if isinstance(instruction, MoveInstruction):
        matrices = stmatrix(words, transposed=instruction.transposed)
        return matrices.astype("<u2").reshape(-1, MATRIX_ROW_BYTES // 2).view(np.uint8)
    assert isinstance(instruction, StoreInstruction)
    matrix = collect(words, "d", instruction.type, instruction.shape)
    return matrix_to_lines(matrix, instruction)
