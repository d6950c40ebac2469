"""The buffers that a launch can reach, and the addresses of buffers that stand in them."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.arguments import BoundArguments
from golden.simt.buffers import DeviceBuffer
from golden.simt.device_memory import Allocation

POINTER_BYTES: Final = 8

Pointers = dict[int, tuple[str, int]]
"""By offset: the array whose address stands there, and what is added to the address."""

ModuleVariables = Mapping[str, tuple[DeviceBuffer, NDArray[Any]]]
"""The variables of a module by name, each with the contents that it had when the module was loaded."""


@dataclass
class LaunchArray:
    """A buffer of the launch."""

    key: str
    """Its name in the files."""
    allocation: Allocation
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Of the contents; bytes where they do not fit the memory."""
    variable: str | None = None
    """The variable of the module that it is."""
    before: NDArray[Any] = field(init=False)
    """What it held at first."""

    def __post_init__(self) -> None:
        if math.prod(self.shape) * self.dtype.itemsize != self.allocation.nbytes:
            self.dtype, self.shape = np.dtype(np.uint8), (self.allocation.nbytes,)
        self.before = self.contents()

    def contents(self) -> NDArray[Any]:
        """A copy of what it holds now; types that files do not have, such as bfloat16, as bit patterns."""
        data: NDArray[Any] = self.allocation.bytes.copy()
        data = data.view(self.dtype).reshape(self.shape)
        is_narrow = self.dtype.kind == "V" and self.dtype.fields is None and self.dtype.itemsize in _WIDTHS
        return data.view(f"u{self.dtype.itemsize}") if is_narrow else data

    @property
    def is_changed(self) -> bool:
        """Whether it holds something else than at first."""
        return self.allocation.bytes.tobytes() != self.before.tobytes()

    @property
    def may_hold_pointers(self) -> bool:
        """Whether its type is one in which addresses are kept: 64-bit integers, bytes and structures."""
        if self.dtype.kind == "V":
            return self.dtype.itemsize >= POINTER_BYTES
        return self.dtype.kind in "iu" and self.dtype.itemsize in (1, POINTER_BYTES)


_WIDTHS: Final = (1, 2, 4, 8)


class LaunchArrays:
    """The buffers of a launch, as they are found; `values` are its arguments, whose buffers have types.

    Variables that have changed since the module was loaded are arrays of the launch.
    """

    def __init__(self, bound: BoundArguments, values: Iterable[Any], variables: ModuleVariables) -> None:
        self.found: list[LaunchArray] = []
        self._memory = bound.memory
        self._variables = {buffer.address: (name, fresh) for name, (buffer, fresh) in variables.items()}
        buffers = [value for value in values if isinstance(value, DeviceBuffer)]
        buffers += [buffer for buffer, _ in variables.values()]
        self._types = {buffer.address: (buffer.dtype, buffer.shape) for buffer in buffers}
        for array, allocation, _ in bound.placed:
            self._types[allocation.address] = (array.dtype.newbyteorder("<"), array.shape)
        for buffer, fresh in variables.values():
            if buffer.numpy().tobytes() != fresh.tobytes():
                self._add(buffer.allocation)

    def follow(self) -> None:
        """Find what the arrays point to, and what that points to."""
        for array in self.found:  # grows meanwhile
            self.pointers(array)

    def pointers(self, array: LaunchArray, *, only_variables: bool = False) -> Pointers:
        """The addresses that stand in an array now, at multiples of 8 bytes.

        With `only_variables`, of the buffers that are new only variables of the module become arrays
        of the launch.
        """
        if not array.may_hold_pointers:
            return {}
        return self.addresses(array.allocation.bytes, only_variables=only_variables)

    def addresses(self, data: NDArray[np.uint8], *, only_variables: bool = False) -> Pointers:
        """The addresses of buffers, or just behind their ends, that stand in some bytes."""
        words = data[: data.size // POINTER_BYTES * POINTER_BYTES].copy().view("<u8")
        live = self._memory.allocations
        if not live or not words.size:
            return {}
        starts = np.array([allocation.address for allocation in live], dtype=np.uint64)
        ends = np.array([allocation.end for allocation in live], dtype=np.uint64)
        nearest = np.searchsorted(starts, words, side="right")
        inside = (nearest > 0) & (words <= ends[np.maximum(nearest, 1) - 1])
        found: Pointers = {}
        for place in np.flatnonzero(inside).tolist():
            allocation = live[int(nearest[place]) - 1]
            key = self._key(allocation, only_variables)
            if key is not None:
                found[place * POINTER_BYTES] = key, int(words[place]) - allocation.address
        return found

    def _key(self, allocation: Allocation, only_variables: bool) -> str | None:
        known = next((array for array in self.found if array.allocation is allocation), None)
        if known is not None:
            return known.key
        if only_variables and allocation.address not in self._variables:
            return None
        array = self._add(allocation)
        if array.variable is not None:  # one that the launch has not started from is as it was loaded
            fresh = self._variables[allocation.address][1]
            array.before = fresh.view(array.before.dtype).reshape(array.before.shape)
        return array.key

    def _add(self, allocation: Allocation) -> LaunchArray:
        base = re.sub(r"\W+", "_", allocation.name)
        used = {array.key for array in self.found}
        names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
        key = next(name for name in names if name not in used and not name.endswith(".after"))
        unknown = np.dtype(np.uint8), (allocation.nbytes,)
        dtype, shape = self._types.get(allocation.address, unknown)
        variable = self._variables.get(allocation.address, (None,))[0]
        array = LaunchArray(key, allocation, dtype, shape, variable)
        self.found.append(array)
        return array
