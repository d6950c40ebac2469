"""Numpy arrays in the memory of a machine, which follows what the host writes into them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.machine import Storage
from golden.programs.buffers import ALIGNMENT
from openwmma.wmma.element_types import Misuse
from openwmma.wmma.pointer import Pointer


@dataclass(frozen=True, kw_only=True)
class WarpArray:
    """An array that is in the machine's memory."""

    name: str
    """Of its parameter in the program."""
    owner: NDArray[Any] = field(repr=False)
    """The array; it is kept alive, so that its address stays its own."""
    bytes: NDArray[np.uint8] = field(repr=False)
    """Its memory on the host."""
    address: int
    """In the machine."""
    initial: NDArray[np.uint8] = field(repr=False)
    """What it held when it was first used."""
    machine: NDArray[np.uint8] = field(repr=False)
    """What the machine's memory holds."""
    program: NDArray[np.uint8] = field(repr=False)
    """What the machine's memory would hold if only the program had written into it, not the host."""


class WarpArrays:
    """The arrays that a warp has used, in the `size` bytes from address `first` on.

    An array is copied to the machine as a whole when it is first used. Before each load the lines of the
    tile are compared, and written where the host has changed them; after each store they are copied back.
    """

    def __init__(self, storage: Storage, first: int, size: int) -> None:
        self._storage = storage
        self._next = first
        self._end = first + size
        self._arrays: dict[int, WarpArray] = {}

    @property
    def arrays(self) -> tuple[WarpArray, ...]:
        """All that were used, in the order of their first use."""
        return tuple(self._arrays.values())

    def place(self, pointer: Pointer) -> WarpArray:
        """The place of the array that a pointer points into; copied there if it never was.

        Misuse when the memory is full.
        """
        found = self._arrays.get(id(pointer.owner))
        if found is not None:
            return found
        size = pointer.bytes.size
        if self._next + size > self._end:
            raise Misuse(
                f"an array of {size} bytes",
                f"{max(0, self._end - self._next)} bytes of the machine's memory are left; "
                "wmma.warp(memory_bytes=...) sets its size",
            )
        data = pointer.bytes.copy()
        self._storage.write(self._next, data)
        placed = WarpArray(
            name=f"array{len(self._arrays)}",
            owner=pointer.owner,
            bytes=pointer.bytes,
            address=self._next,
            initial=data,
            machine=data.copy(),
            program=data.copy(),
        )
        self._next += -(-size // ALIGNMENT) * ALIGNMENT
        self._arrays[id(pointer.owner)] = placed
        return placed

    def update(self, array: WarpArray, lines: list[tuple[int, int]]) -> bool:
        """Bring what the host has written into some lines, addresses and bytes, to the machine.

        The result is whether the lines hold what the program alone would have left there.
        """
        as_program = True
        for address, count in lines:
            part = slice(address - array.address, address - array.address + count)
            data = array.bytes[part]
            if not np.array_equal(data, array.machine[part]):
                self._storage.write(address, data)
                array.machine[part] = data
            as_program = as_program and np.array_equal(data, array.program[part])
        return as_program

    def take_back(self, array: WarpArray, lines: list[tuple[int, int]]) -> None:
        """Copy lines that a store has written to the host."""
        for address, count in lines:
            part = slice(address - array.address, address - array.address + count)
            data = self._storage.read(address, count)
            for copy in (array.bytes, array.machine, array.program):
                copy[part] = data
