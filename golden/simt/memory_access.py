"""Loads, stores, atomics and asynchronous copies of the threads of a block, in every state space.

An access of several elements must be aligned to its whole size, as the hardware demands.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from golden.limits import MAX_CLUSTER, TEXT_BYTES
from golden.locks import LOCK
from golden.ptx.special_registers import Geometry, coordinates
from golden.simt.address_map import (
    GLOBAL,
    LOCAL_PARAMETERS,
    OFFSET_MASK,
    RANK_BITS,
    SHARED,
    WINDOW_BYTES,
    WINDOWS,
)
from golden.simt.arrays import Access, Addresses, Threads, Values
from golden.simt.atomics import in_order
from golden.simt.device_memory import CELLS, Allocation, DeviceMemory
from golden.simt.errors import KernelFault
from golden.simt.stack import Stack
from golden.tables.layouts import LANES


class Piece(NamedTuple):
    """The part of an access that lies in one memory."""

    space: str
    memory: Allocation
    where: NDArray[np.int64] | None
    """Positions among the threads of the whole access; None for all of them."""
    access: Access
    """Of the threads at these positions, with addresses in the state space."""
    offsets: NDArray[np.int64]
    """From the beginning of the memory."""

    def elements(self, size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The memory as elements of `size` bytes, and the numbers of those at the offsets."""
        return self.memory.views[size], self.offsets >> (size.bit_length() - 1)


class MemoryAccess:
    """The memory of one block, by its number in the grid; the other parts of a `BlockRun` are subclasses.

    `kernel` is a `golden.simt.compiled.CompiledKernel`, `launch` a `golden.simt.grid.LaunchState`.
    """

    def __init__(self, kernel: Any, launch: Any, number: int) -> None:
        index = coordinates(number, launch.grid)
        total_shared = kernel.shared_base + launch.dynamic_shared
        self.kernel = kernel
        self.number = number
        self.launch = launch
        """It counts the stores, and the atomics that changed something."""
        self.geometry = Geometry(
            *(launch.grid, launch.block, index, launch.dynamic_shared, total_shared),
            cluster=launch.cluster or (1, 1, 1),
            explicit=launch.cluster is not None,
        )
        self.peers: list[Any] = []
        """The blocks of the cluster, this one too, by rank; none where it is alone."""
        self.total = math.prod(launch.block)
        self.device: DeviceMemory = launch.device
        self.shared = Allocation(0, total_shared, "shared memory")
        self.local = Allocation(0, kernel.local_bytes * self.total, "local memory")
        self.stack = Stack(self)
        self.parameters = Allocation(0, len(launch.parameters), "the parameters")
        self.parameters.bytes[:] = np.frombuffer(launch.parameters, dtype=np.uint8)
        self._own = {"shared": self.shared, "local": self.local, "param": self.parameters}

    def load(self, space: str, access: Access, size: int, count: int) -> Any:
        """Load `count` elements of `size` bytes for each thread; an array, or a list of `count` arrays.

        `space` is ``"global"``, ``"shared"``, ``"local"``, ``"param"`` or ``"generic"``. Constants are in
        global memory. Parameters of the entry have a memory of their own, parameters of calls are in local
        memory.
        """
        results = [np.zeros(access.threads.size, dtype=CELLS[size]) for _ in range(count)]
        for piece in self._pieces(space, access, size * count):
            view, places = piece.elements(size)
            values = [view[places + i] if i else view[places] for i in range(count)]
            if piece.where is None:
                results = values
            else:
                for result, value in zip(results, values, strict=True):
                    result[piece.where] = value
            self.note_access(piece, size * count, reads=True)
        return results[0] if count == 1 else results

    def parameter(self, offset: int, size: int, count: int) -> NDArray[Any]:
        """A parameter of the entry, the same in all threads."""
        return np.full(count, self.parameters.data[offset : offset + size].view(f"u{size}")[0])

    def store(self, space: str, access: Access, values: Values, size: int, *, lowest: bool = True) -> None:
        """Store elements of `size` bytes; of lanes that store to one place the lowest or highest stays."""
        width = size * len(values)
        for piece in self._pieces(space, access, width, writes=True):
            self.launch.changed += piece.space != "local"
            view, places = piece.elements(size)
            order: NDArray[np.int64] | slice = slice(None)
            if lowest and not (places[1:] > places[:-1]).all():  # a place twice: as an H200, by 128 bytes
                lanes = min(LANES, 128 // max(width, 4))
                order = np.argsort(piece.access.threads ^ (lanes - 1), kind="stable")
            places = places[order]
            for i, value in enumerate(values):
                some = value if piece.where is None else value[piece.where]
                view[places + i if i else places] = some[order]
            self.note_access(piece, width, writes=True)

    def note_access(self, piece: Piece, width: int, *, reads: bool = False, writes: bool = False) -> None:
        """Note accesses of `width` bytes, after them; an atomic reads and writes."""

    # Atomics, on global and shared memory: one thread after the other

    def atomic(self, space: str, access: Access, functions: Any, sources: Values, size: int) -> NDArray[Any]:
        """Do an atomic on cells of `size` bytes, thread after thread; the old values.

        `space` is ``"global"``, ``"shared"`` or ``"generic"``; `functions`: for global, for shared memory.
        """
        if space == "generic" and int(access.addresses.min()) < GLOBAL:
            for name, where in self._by_space(access):
                if name not in ("global", "shared"):
                    self.refuse(access.some(where), 0, f"an atomic on .{name} memory")
        result = np.zeros(access.threads.size, dtype=CELLS[size])
        for piece in self._pieces(space, access, size, writes=True):
            positions = slice(None) if piece.where is None else piece.where
            some = [source[positions] for source in sources]
            view, cells = piece.elements(size)
            with LOCK:  # other launches wait meanwhile
                result[positions], changes = in_order(view, cells, functions[piece.space == "shared"], some)
            self.launch.changed += changes
            self.note_access(piece, size, reads=True, writes=True)
        return result

    # Asynchronous copies, from global to shared memory

    def copy_async(self, target: Access, source: Access, size: int, valid: NDArray[np.uint32] | None) -> None:
        """``cp.async``: copy `size` bytes for each thread, the last ones zeros where `valid` is less.

        Where nothing is valid, the source address is not used. The bytes are moved at once; a checker is told
        that they are in flight.
        """
        if valid is None:
            cells = self.load("global", source, size, 1)
        else:
            cells = self._load_part(target, source, size, valid)
        self.store("shared", target, [cells], size, lowest=False)

    def _load_part(self, target: Access, source: Access, size: int, valid: NDArray[np.uint32]) -> Any:
        if int(valid.max()) > size:
            position = int(np.argmax(valid))
            message = f"a copy of {size} bytes with {int(valid[position])} from its source"
            self.fault(target.number, target.threads, message, position)
        words = np.zeros((source.threads.size, size), dtype=np.uint8)
        for count in np.unique(valid).tolist():
            where, unit = np.flatnonzero(valid == count), min(count & -count, 8)
            for at in range(0, count, unit or 1):
                part = source.some(where)._replace(addresses=source.addresses[where] + np.uint64(at))
                found = self.load("global", part, unit, 1)
                words[where, at : at + unit] = found.view(np.uint8).reshape(-1, unit)
        return words.view(CELLS[size])[:, 0]

    def fence_proxy(self, threads: Threads) -> None:
        """``fence.proxy.async``."""

    def load_async(self, access: Access, user: str = "") -> Values:
        """Chunks of shared memory that are read asynchronously, as two words of 64 bits each."""
        found: Values = self.load("shared", access, 8, 2)
        return found

    def commit_group(self, threads: Threads, *, kind: str) -> None:
        """``commit_group`` of copies (``copy``), bulk copies (``store``) or multiplies (``multiply``)."""

    def await_groups(self, threads: Threads, remaining: int | None, *, kind: str) -> None:
        """``wait_group``, and ``wait_all``, of which None remain."""

    def text(self, access: Access) -> bytes:
        """The text at a generic address, up to a zero; of one thread."""
        (piece,) = self._pieces("generic", access, 1)
        start = int(piece.offsets[0])
        found: bytes = piece.memory.bytes[start : start + TEXT_BYTES].tobytes()
        return found.partition(b"\0")[0]

    # Where addresses lie

    def own_memory(self) -> NDArray[np.uint8]:
        """Local memory with the parameters of calls, without the free stack: a row for each thread."""
        return self.local.bytes.reshape(self.total, self.kernel.local_bytes)[:, self.stack.lowest :]

    def in_window(self, space: str, addresses: Addresses) -> NDArray[np.bool_]:
        """Whether generic addresses lie in a state space; ``"shared"`` is the memory of the whole cluster."""
        if space == "global":
            return addresses >= np.uint64(GLOBAL)
        if space == "const":
            found = [self.device.find(int(address)) for address in addresses]
            return np.array([memory is not None and memory.constant for memory in found])
        base = WINDOWS[space.partition("::")[0]]
        size = OFFSET_MASK + 1 if space == "shared::cta" else WINDOW_BYTES
        return (addresses >= np.uint64(base)) & (addresses < np.uint64(base + size))

    def _pieces(self, space: str, access: Access, width: int, *, writes: bool = False) -> Iterator[Piece]:
        """The parts of an access by the memories that they lie in.

        They keep bounds and alignment, and what they write may be written.
        """
        addresses = access.addresses
        if space == "generic" and int(addresses.min()) < GLOBAL:
            for name, where in self._by_space(access):
                inside = addresses[where] - np.uint64(WINDOWS[name])
                own = Access(access.threads[where], inside, access.number)
                for piece in self._pieces(name, own, width, writes=writes):
                    yield piece._replace(where=where if piece.where is None else where[piece.where])
        elif space in ("global", "generic"):
            for memory, positions, offsets in self._by_buffer(access, width):
                some = access if positions is None else access.some(positions)
                self._require_aligned(some, offsets, width)
                if writes and memory.constant:
                    place = f"{self.device.describe(int(some.addresses[0]))} at {some.addresses[0]:#x}"
                    self.refuse(some, 0, f"constants cannot be written: {place}")
                yield Piece("global", memory, positions, some, offsets)
        elif space == "shared" and int(np.maximum.reduce(addresses)) > OFFSET_MASK:
            for block, positions, some in self.by_block(access):
                yield Piece(space, block.shared, positions, some, self._offsets(space, some, width))
        else:
            if space == "param" and writes and int(addresses.min()) < LOCAL_PARAMETERS:
                self.fault(access.number, access.threads, "parameters of an entry cannot be stored to")
            if space == "param" and (writes or int(addresses.max()) >= LOCAL_PARAMETERS):
                space = "local"
            yield Piece(space, self._own[space], None, access, self._offsets(space, access, width))

    def by_block(self, access: Access) -> Iterator[tuple[Any, NDArray[np.int64], Access]]:
        """The blocks of the cluster in whose shared memory addresses lie, each with positions and accesses.

        What lies in no block of the cluster is left as it is, beyond the memory of this one.
        """
        ranks = access.addresses >> np.uint64(RANK_BITS)
        blocks = [self, *(self.peers or [self])]
        for rank in np.unique(ranks).tolist():
            where = np.flatnonzero(ranks == rank)
            some = access.some(where)
            if len(blocks) <= rank <= MAX_CLUSTER:
                message = f"shared memory of rank {rank - 1}, but the cluster has {len(blocks) - 1} blocks"
                self.refuse(some, 0, message)
            if rank >= len(blocks):
                yield self, where, some
            else:
                yield blocks[rank], where, some._replace(addresses=some.addresses & np.uint64(OFFSET_MASK))

    def _by_buffer(
        self, access: Access, width: int
    ) -> Iterator[tuple[Allocation, NDArray[np.int64] | None, NDArray[np.int64]]]:
        """The buffers that hold the accesses, each with the positions and the offsets of those it holds.

        Where one holds them all, the positions are None.
        """
        addresses = access.addresses
        found = self.device.find(int(np.minimum.reduce(addresses)))
        if found is not None and int(np.maximum.reduce(addresses)) + width <= found.end:
            yield found, None, (addresses - np.uint64(found.address)).view(np.int64)
            return
        left = np.arange(addresses.size)
        while left.size:
            address = int(addresses[left[0]])
            found = self.device.find(address)
            if found is None or address + width > found.end:
                where = self.device.describe(address if found is None else address + width - 1)
                message = f"no memory for {width} bytes at {address:#x}: {where}"
                self.refuse(access, int(left[0]), message)
            some = addresses[left]
            last = np.uint64(max(found.end - width, found.address))
            inside = (some >= np.uint64(found.address)) & (some <= last)
            yield found, left[inside], (some[inside] - np.uint64(found.address)).view(np.int64)
            left = left[~inside]

    def _by_space(self, access: Access) -> list[tuple[str, NDArray[np.int64]]]:
        """The state spaces in which generic addresses lie, each with the positions of those in it."""
        addresses = access.addresses
        groups = []
        for name in ("global", "shared", "local", "param"):
            where = np.flatnonzero(self.in_window(name, addresses))
            if where.size:
                groups.append((name, where))
        if sum(where.size for _, where in groups) != addresses.size:
            missing = np.flatnonzero(addresses < np.uint64(SHARED))
            position = int(missing[0]) if missing.size else 0
            address = int(addresses[position])
            self.refuse(access, position, f"no memory at {address:#x}: {self.device.describe(address)}")
        return groups

    def _offsets(self, space: str, access: Access, width: int) -> NDArray[np.int64]:
        """Where the accesses lie in a memory of the block, whose bounds and alignment they keep."""
        addresses = access.addresses
        if space == "local":  # parameters of calls have addresses of their own, in the same memory
            addresses = np.where(addresses < LOCAL_PARAMETERS, addresses, addresses - LOCAL_PARAMETERS)
            access = access._replace(addresses=addresses)
        memory = self._own[space]
        have = self.kernel.local_bytes if space == "local" else memory.nbytes
        if int(np.maximum.reduce(addresses)) + width > have:
            position = int(np.argmax(addresses + np.uint64(width) > np.uint64(have)))
            address = int(addresses[position])
            near = f": {self.kernel.shared_variable(address)}" if space == "shared" else ""
            message = f"{width} bytes at {address:#x} of {memory.name}, which has {have} bytes{near}"
            self.fault(access.number, access.threads, message, position, WINDOWS[space] + address)
        offsets = addresses.view(np.int64)
        self._require_aligned(access, offsets, width)
        return offsets + access.threads * have if space == "local" else offsets

    def _require_aligned(self, access: Access, offsets: NDArray[np.int64], width: int) -> None:
        if width > 1 and int(np.bitwise_or.reduce(offsets)) & (width - 1):
            position = int(np.flatnonzero(offsets & (width - 1))[0])
            place = f"address {access.addresses[position]:#x}"
            self.refuse(access, position, f"{place} is not a multiple of the {width} bytes accessed")

    # Faults

    def coordinates(self, thread: int) -> tuple[int, int, int]:
        """The index of a thread in its block."""
        return coordinates(thread, self.geometry.block)

    def describe_shared(self, offset: int) -> str:
        """Where a byte of shared memory lies, for a message."""
        return f"byte {offset} of shared memory, {self.kernel.shared_variable(offset)}"

    def fault(
        self, index: int, threads: Threads, message: str, position: int = 0, address: int | None = None
    ) -> NoReturn:
        """Raise the fault of an instruction; `position` is the thread's among `threads`."""
        raise KernelFault(
            message,
            kernel=self.kernel.readable,
            place=str(self.kernel.source_line(index)),
            block=self.geometry.index,
            thread=self.coordinates(int(threads[position])),
            address=address,
        )

    def refuse(self, access: Access, position: int, message: str) -> NoReturn:
        """Raise the fault of the thread at a position of an access."""
        self.fault(access.number, access.threads, message, position, int(access.addresses[position]))
