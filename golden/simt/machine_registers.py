"""The registers of a machine, and which fragments they hold."""

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from golden.machine import Machine, Storage
from golden.simt.errors import LaunchError
from golden.tables.commands import Load, Store
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES, fragment
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction

_ALIGNMENT: Final = 256
_SHAPE: Final = Shape(16, 16, 16)
_WORD_BYTES: Final = 4

Accumulator = Literal["f32", "s32", "f16"]


def scratch_address(memory: Storage) -> int:
    """The address in a machine's global memory through which fragments go."""
    return -(-memory.base // _ALIGNMENT) * _ALIGNMENT


class _Carrier:
    """Registers moved as if they held an accumulator of 16 x 16, which is any bits at all.

    Elements of 32 bits take eight registers, of 16 bits four.
    """

    def __init__(self, element: Accumulator) -> None:
        layout = fragment("d", element, _SHAPE)
        each = layout.elements // layout.registers
        self.registers = layout.registers
        self.bytes = _WORD_BYTES * layout.registers * LANES
        """Of the matrix in memory."""
        self.load = LoadInstruction(use="c", layout="row", shape=_SHAPE, type=element, space="global")
        self.store = StoreInstruction(layout="row", shape=_SHAPE, type=element, space="global")
        rows, columns = np.array(layout.positions)[:, ::each].T  # each of shape (registers, lanes)
        self._places: NDArray[np.int64] = ((_SHAPE.n * rows + columns) // each).reshape(-1)

    def in_memory(self, words: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The bytes from which a load fills the registers; `words` has shape (registers, 32)."""
        spread = np.empty(self._places.size, dtype=np.uint32)
        spread[self._places] = words.reshape(-1)
        return spread.view(np.uint8)

    def in_registers(self, data: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """The inverse of `in_memory`."""
        words: NDArray[np.uint32] = data.view(np.uint32)[self._places].reshape(self.registers, LANES)
        return words


class MachineRegisters:
    """Which fragments the registers of a warp of a machine hold, and how they get there and back.

    A fragment goes through global memory, as an accumulator that the machine loads or stores: about 80 cycles
    for eight registers, of which the host port would take 256 words. A fragment of one or two registers takes
    the place of four. What fills no such accumulator goes through the host port. `formats` are the
    multiplicand formats of the machine; None for all.
    """

    def __init__(self, machine: Machine, formats: frozenset[str] | None, warp: int = 0) -> None:
        self._machine = machine
        self._warp = warp
        self._size = machine.register_count
        self._next = 0
        self._memory = machine.memory
        self._address = scratch_address(machine.memory)
        self._held: dict[bytes, tuple[int, int]] = {}
        elements: list[Accumulator] = []
        if formats is None or formats & {"f16", "bf16"}:
            elements.append("f32")
        elif "i8" in formats:
            elements.append("s32")
        if formats is None or "f16" in formats:
            elements.append("f16")
        self._unit = 4 if "f16" in elements else 1
        self._carriers = [_Carrier(element) for element in elements]

    def hold(self, *fragments: NDArray[np.uint32]) -> tuple[int, ...]:
        """Have fragments, each of shape (registers, 32), in registers; the first register of each."""
        places: list[tuple[int, int]] = []
        keys = [words.tobytes() for words in fragments]
        kept = [self._held[key] for key in keys if key in self._held]
        for key, words in zip(keys, fragments, strict=True):
            found = self._held.get(key)
            if found is None:
                first = self.take(len(words), keep=(*places, *kept))
                self._write(first, words)
                found = self._held[key] = (first, self._whole(len(words)))
            places.append(found)
        return tuple(first for first, _ in places)

    def take(self, count: int, keep: tuple[tuple[int, int], ...] = ()) -> int:
        """Free registers for a fragment, none of some others'; the first one."""
        count = self._whole(count)
        for _ in range(2 * self._size):
            if self._next + count > self._size:
                self._next = 0
            overlapping = [
                first + kept for first, kept in keep if self._next - kept < first < self._next + count
            ]
            if not overlapping:
                first = self._next
                self._next += count
                self._forget(first, count)
                return first
            self._next = max(overlapping)
        raise LaunchError(f"the fragments of one instruction do not fit {self._size} registers")

    def read(self, first: int, count: int) -> NDArray[np.uint32]:
        """The registers that an instruction has written."""
        whole = self._whole(count)
        parts = []
        for start, registers, carrier in self._parts(first, whole):
            if carrier is None:
                parts.append(self._machine.read_registers(start, registers, warp=self._warp))
            else:
                self._machine.execute(Store(carrier.store, start, self._address, warp=self._warp))
                parts.append(carrier.in_registers(self._memory.read(self._address, carrier.bytes)))
        self._forget(first, whole)
        found = np.concatenate(parts)[:count]
        self._held[found.tobytes()] = (first, whole)
        return found

    def _write(self, first: int, words: NDArray[np.uint32]) -> None:
        padded = np.pad(words, ((0, self._whole(len(words)) - len(words)), (0, 0)))
        for start, registers, carrier in self._parts(first, len(padded)):
            values = padded[start - first :][:registers]
            if carrier is None:
                self._machine.write_registers(start, values, warp=self._warp)
            else:
                self._memory.write(self._address, carrier.in_memory(values))
                self._machine.execute(Load(carrier.load, start, self._address, warp=self._warp))

    def _whole(self, count: int) -> int:
        return -(-count // self._unit) * self._unit

    def _parts(self, first: int, count: int) -> Iterator[tuple[int, int, _Carrier | None]]:
        """Registers that move together: first, number, and what carries them if not the host port."""
        for carrier in self._carriers:
            while count >= carrier.registers:
                yield first, carrier.registers, carrier
                first, count = first + carrier.registers, count - carrier.registers
        if count:
            yield first, count, None

    def _forget(self, first: int, count: int) -> None:
        self._held = {
            key: (start, size)
            for key, (start, size) in self._held.items()
            if start >= first + count or start + size <= first
        }
