"""Bulk copies: boxes of tensors by their maps, and plain bytes.

A copy is made when it is issued; what it writes to shared memory completes transactions of the mbarrier that
it names.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.invalid_argument import InvalidArgument
from golden.scalar.float_arithmetic import OUTSIDE_NAN
from golden.simt.address_map import LOCAL_PARAMETERS, OFFSET_MASK, WINDOWS, in_block
from golden.simt.arrays import Access, Threads, Values
from golden.simt.atomics import REDUCTIONS, atomic_function
from golden.simt.mbarrier_access import MbarrierAccess
from golden.simt.tensor_map import CHUNK, MAP_BYTES, TYPES, TensorMap, replaced

_BOX_ALIGNMENT: Final = 128
_MAP_ALIGNMENT: Final = 64
_OFFSETS: Final = np.arange(CHUNK, dtype=np.uint64)
"""Of the bytes of a chunk."""
_NAN_FILL: Final = np.full(8, OUTSIDE_NAN, np.uint16).view(np.uint8)
_LETTERS: Final = {"UINT": "u", "INT": "s", "FLOAT": "f", "BFLOAT": "bf", "TFLOAT": "f"}
"""Beginnings of types of maps, and of the scalar types in which they are reduced."""

Place = tuple[str, Access]
"""A state space and addresses in it."""

Coordinates = Sequence[NDArray[np.uint32]]


class Reduction(NamedTuple):
    """What a copy does with what is there; a plain copy has none."""

    operation: str
    type: str
    flush: bool = False


class Landing(NamedTuple):
    """Who hears of the bytes that a copy writes to shared memory: a barrier in each block of the mask."""

    barrier: Access
    mask: int | None
    """Ranks in the cluster; None for the block that the address is in."""
    nbytes: int
    """Without the gaps of a swizzle."""


class TensorCopies(MbarrierAccess):
    """What the code of a block calls for bulk copies; each of the threads issues one."""

    def load_tensor(
        self,
        threads: Threads,
        to: Place,
        tensor: Access,
        coordinates: Coordinates,
        barrier: Place,
        mask: NDArray[np.uint16] | None = None,
    ) -> None:
        """``cp.async.bulk.tensor`` to shared memory."""
        for i, found, at in self._boxes(tensor, coordinates, to[1], stores=False):
            transfer = found.transfer(at)
            words = self._loaded(tensor.one(i).at(found.address + transfer.offsets), found, transfer.counts)
            places = found.swizzled(int(to[1].addresses[i]) + transfer.places)
            landing = _landing(barrier, mask, i, found.box_bytes)
            self._write(("shared", to[1].one(i).at(places)), words, None, landing)

    def store_tensor(
        self,
        threads: Threads,
        tensor: Access,
        coordinates: Coordinates,
        source: Place,
        *,
        operation: str = "",
    ) -> None:
        """``cp.async.bulk.tensor`` and ``cp.reduce.async.bulk.tensor`` to global memory.

        Nothing is written beyond the tensor, except along dimension 0 up to a multiple of 16 bytes.
        """
        for i, found, at in self._boxes(tensor, coordinates, source[1], stores=True):
            transfer = found.transfer(at)
            inside = transfer.counts > 0
            if not inside.any():
                continue
            places = found.swizzled(int(source[1].addresses[i]) + transfer.places[inside])
            words = self.load_async(source[1].one(i).at(places), "store")
            reduction = _reduction(operation, found.type) if operation else None
            if operation and reduction is None:
                types = ", ".join(type_ for type_ in TYPES if _reduction(operation, type_))
                message = f".{operation} of a tensor of {found.type}; there are: {types}"
                self.fault(tensor.number, tensor.threads, message, i)
            access = tensor.one(i).at(found.address + transfer.offsets[inside])
            self._write(("global", access), words, reduction, None)

    def copy_bulk(
        self,
        threads: Threads,
        to: Place,
        source: Place,
        sizes: NDArray[np.uint32],
        barrier: Place | None = None,
        mask: NDArray[np.uint16] | None = None,
        *,
        reduction: tuple[str, str] | None = None,
    ) -> None:
        """``cp.async.bulk`` and ``cp.reduce.async.bulk``, of bytes that follow one another."""
        for i, size in enumerate(sizes.tolist()):
            for what, value in (
                ("target", to[1].addresses[i]),
                ("source", source[1].addresses[i]),
                ("size", size),
            ):
                if int(value) % CHUNK:
                    message = f"the {what} of a bulk copy is a multiple of {CHUNK} bytes, not {int(value):#x}"
                    self.fault(to[1].number, threads, message, i)
            steps = np.arange(0, size, CHUNK)
            access = source[1].one(i).at(int(source[1].addresses[i]) + steps)
            user = "store" if barrier is None else ""
            words = (
                self.load("global", access, 8, 2) if source[0] == "global" else self.load_async(access, user)
            )
            landing = None if barrier is None else _landing(barrier, mask, i, size)
            target = to[0], to[1].one(i).at(int(to[1].addresses[i]) + steps)
            self._write(target, words, Reduction(*reduction) if reduction else None, landing)

    # Tensor maps

    def replace_field(
        self, threads: Threads, place: Place, *values: NDArray[np.unsignedinteger[Any]] | int, name: str
    ) -> None:
        """``tensormap.replace``: of a list, the values are the number of the dimension and the new value."""
        ordinal = int(values[0]) if len(values) > 1 else 0
        for i, value in enumerate(np.broadcast_to(values[-1], threads.shape).tolist()):
            access = place[1].one(i)
            bits = int.from_bytes(self._map_bytes(place[0], access), "little")
            content = replaced(bits, name, ordinal, value).to_bytes(MAP_BYTES, "little")
            self._put_map(place[0], access, content)

    def copy_map(self, threads: Threads, to: Place, source: Place, size: int) -> None:
        """``tensormap.cp_fenceproxy``; the lanes of a warp copy the same map."""
        for i in np.flatnonzero(np.diff(threads >> 5, prepend=-1)).tolist():
            content = self._map_bytes(source[0], source[1].one(i))
            self._put_map(to[0], to[1].one(i), content)

    def _map_bytes(self, space: str, access: Access) -> bytes:
        """The map at an address; one below all windows is in parameter space."""
        address = int(access.addresses[0])
        if space == "generic" and address < LOCAL_PARAMETERS:
            address += WINDOWS["param"]
        if address % _MAP_ALIGNMENT:
            self.refuse(
                access, 0, f"a tensor map at {address:#x}, which is no multiple of {_MAP_ALIGNMENT} bytes"
            )
        words = self.load(space, access.at(address + np.arange(0, MAP_BYTES, 8)), 8, 1)
        return bytes(words.tobytes())

    def _put_map(self, space: str, access: Access, content: bytes) -> None:
        places = int(access.addresses[0]) + np.arange(0, MAP_BYTES, 8)
        self.store(space, access.at(places), [np.frombuffer(content, np.uint64)], 8)

    # How bytes move

    def _boxes(
        self, tensor: Access, coordinates: Coordinates, shared: Access, *, stores: bool
    ) -> Iterator[tuple[int, TensorMap, list[int]]]:
        """Position, map and coordinates of each thread's copy; a fault for one that a chip refuses."""
        columns = [column.view(np.int32).tolist() for column in coordinates]
        for i, at in enumerate(zip(*columns, strict=True)):
            try:
                found = TensorMap.from_bytes(self._map_bytes("generic", tensor.one(i)))
            except InvalidArgument as error:
                self.fault(tensor.number, tensor.threads, str(error), i)
            problem = found.problem or self._problem(
                found, at, int(shared.addresses[i]) & OFFSET_MASK, stores
            )
            if problem:
                self.fault(tensor.number, tensor.threads, f"a tensor copy with {problem}", i)
            yield i, found, list(at)

    def _problem(self, found: TensorMap, at: Sequence[int], place: int, stores: bool) -> str:
        """Why a chip would not make a copy, as the end of a message; empty if it would."""
        if found.rank != len(at):
            return f"{len(at)} coordinates, but a map of rank {found.rank}"
        first = at[0] * found.element_bytes
        if first % CHUNK:
            return f"coordinate {at[0]} of dimension 0, byte {first}, which is no multiple of {CHUNK}"
        negative = [axis for axis, value in enumerate(at) if value < 0]
        if stores and negative:
            return f"coordinate {at[negative[0]]} of dimension {negative[0]}, where stores take none below 0"
        if place % _BOX_ALIGNMENT:
            return f"a box at byte {place:#x} of shared memory, which is no multiple of {_BOX_ALIGNMENT}"
        if place + found.shared_bytes > self.shared.nbytes:
            end = f"of shared memory, which has {self.shared.nbytes} bytes"
            return f"a box of {found.shared_bytes} bytes at byte {place} {end}"
        return ""

    def _loaded(self, access: Access, found: TensorMap, counts: NDArray[np.int64]) -> Values:
        """The chunks of a box in global memory, as two words each; beyond the tensor there is the fill."""
        chunks = np.zeros((counts.size, 2), np.uint64)
        whole, part = counts == CHUNK, np.flatnonzero((counts > 0) & (counts < CHUNK))
        if whole.any():
            chunks[whole] = np.stack(self.load("global", access.some(whole), 8, 2), axis=-1)
        if part.size:
            count = int(counts[part[0]])  # the same in all rows
            rest = access.some(part)
            content = self.load("global", rest.at(rest.addresses[:, None] + _OFFSETS[:count]), 1, 1)
            chunks.view(np.uint8)[part, :count] = content.reshape(-1, count)
        if found.type.startswith("TFLOAT32"):
            chunks = _rounded_to_tf32(chunks.view(np.uint32)).view(np.uint64)
        if found.fill != "NONE":
            outside = np.arange(CHUNK) >= counts[:, None]
            chunks.view(np.uint8)[outside] = np.broadcast_to(_NAN_FILL, outside.shape)[outside]
        return list(np.ascontiguousarray(chunks.T))

    def _write(self, to: Place, words: Values, reduction: Reduction | None, landing: Landing | None) -> None:
        """Write chunks, or reduce what is there with them; complete transactions where they land."""
        space, access = to
        mask = None if landing is None else landing.mask
        for rank in [None] if mask is None else [rank for rank in range(16) if mask >> rank & 1]:
            target = access._replace(addresses=in_block(rank, access.addresses))
            if reduction is None:
                self.store(space, target, words, 8)
            else:
                self._reduce(space, target, words, reduction)
            if landing is not None:
                place = landing.barrier.addresses
                barrier = landing.barrier._replace(addresses=in_block(rank, place))
                self.arrive_mbarrier(
                    barrier, None, np.full(1, landing.nbytes, np.uint32), "complete_tx", True
                )

    def _reduce(self, space: str, access: Access, words: Values, reduction: Reduction) -> None:
        """Reduce memory with chunks, element by element."""
        operation, type_, flush = reduction
        size = int(type_.lstrip("bfsu")) // 8
        elements = np.ascontiguousarray(np.stack(words, axis=-1)).view(f"u{size}").reshape(-1)
        function = _sum_of_f64 if type_ == "f64" else atomic_function(operation, type_, flush=flush)
        places = access.addresses[:, None] + _OFFSETS[::size]
        self.atomic(space, access.at(places), (function, function), [elements], size)


def _reduction(operation: str, type_: str) -> Reduction | None:
    """An operation on the elements of a map; None where it has none on the type."""
    name = type_.removesuffix("_FTZ")
    kind = name.rstrip("0123456789")
    scalar = f"{_LETTERS[kind]}{name.removeprefix(kind)}"
    if operation in ("and", "or", "xor") and scalar in ("u32", "s32", "u64"):  # an H200 faults at s64
        scalar = f"b{scalar[1:]}"
    found = Reduction(operation, scalar, type_.endswith("_FTZ"))
    return found if scalar in REDUCTIONS[operation] else None


def _landing(barrier: Place, mask: NDArray[np.uint16] | None, i: int, count: int) -> Landing:
    return Landing(barrier[1].one(i), None if mask is None else int(mask[i]), count)


def _rounded_to_tf32(bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """To nearest even in 19 bits; every NaN becomes one."""
    magnitude = bits & np.uint32(0x7FFFFFFF)
    rounded = bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)) & np.uint32(0xFFFFE000)
    return np.where(
        magnitude > 0x7F800000, np.uint32(0x7FFFE000), np.where(magnitude == 0x7F800000, bits, rounded)
    )


def _sum_of_f64(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The sum of doubles; a reduction has one NaN, unlike the scalar instruction."""
    total = old.view(np.float64) + new.view(np.float64)
    return np.where(np.isnan(total), np.uint64(0x7FFFFFFFFFFFFFFF), total.view(np.uint64))
