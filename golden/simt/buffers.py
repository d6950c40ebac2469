"""Arrays in device memory, as objects."""

import math
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from golden.host_arrays import host_array, raw_bytes
from golden.integers import checked_integer, listed, shortened
from golden.simt.device_memory import Allocation, DeviceMemory
from golden.simt.errors import LaunchError

_MAX_AXES: Final = 64
"""Of an array of numpy."""

DEVICE = DeviceMemory()
"""The memory in which buffers are made unless another is named."""


class DeviceBuffer:
    """An array in device memory; it lives until it is freed or collected.

    With `owned`, the memory is given back with this object; the memory of a module's variable is not.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        allocation: Allocation,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        *,
        owned: bool = True,
    ) -> None:
        self._memory = memory
        self._allocation: Allocation | None = allocation
        self._owned = owned
        self.dtype = dtype
        self.shape = shape
        self.address = allocation.address
        self.nbytes = allocation.nbytes
        self.name = allocation.name
        if owned:
            self._finalizer = weakref.finalize(self, memory.free, allocation)

    def numpy(self) -> NDArray[Any]:
        """A copy of the contents now."""
        count = math.prod(self.shape) * self.dtype.itemsize
        return self.allocation.bytes[:count].copy().view(self.dtype).reshape(self.shape)

    def write(self, values: ArrayLike) -> None:
        """Replace the contents; LaunchError for values that the dtype does not have, and of another size."""
        try:
            data = self._converted(host_array(values))
        except (TypeError, ValueError, ArithmeticError, BufferError, RuntimeError) as error:
            raise LaunchError(f"{self.name} takes values of {self.dtype}: {shortened(str(error))}") from None
        if data.nbytes != self.nbytes:
            raise LaunchError(f"{self.name} has {self.nbytes} bytes, but the values have {data.nbytes}")
        allocation = self.allocation
        allocation.bytes[:] = raw_bytes(data)
        allocation.written = None

    def free(self) -> None:
        """Give the memory back; kernels that still use the address fault."""
        if not self._owned:
            raise LaunchError(f"{self.name} belongs to its module and cannot be freed")
        self._finalizer()
        self._allocation = None

    @property
    def allocation(self) -> Allocation:
        """The memory behind it; LaunchError if it has been freed."""
        if self._allocation is None:
            raise LaunchError(f"{self.name} has been freed")
        return self._allocation

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype} {self.shape} at {self.address:#x}>"

    def _converted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values in the dtype of the buffer; ValueError for those that it does not have."""
        if values.dtype == self.dtype:
            return values
        if values.dtype.kind not in "biufV":
            raise ValueError(f"not of {values.dtype}")
        with np.errstate(invalid="ignore", over="raise"):
            converted = values.astype(self.dtype)
        if self.dtype.kind in "iu" and not np.array_equal(converted, values):
            raise ValueError("it does not have all of these")
        return converted


def device(
    array: ArrayLike, *, name: str = "", memory: DeviceMemory = DEVICE, address: int | None = None
) -> DeviceBuffer:
    """Copy an array into device memory; at `address`, if there is room.

    The array is anything numpy makes an array of, or an object with ``__dlpack__``; on the device it is in
    little-endian byte order. `name` is for messages. LaunchError for an array of Python objects, for what is
    no array, and for more bytes than are left.
    """
    try:
        data = host_array(array)
    except (TypeError, ValueError, OverflowError, BufferError, RuntimeError) as error:
        raise LaunchError(f"a buffer takes an array: {shortened(str(error))}") from None
    if data.dtype.hasobject:
        raise LaunchError(f"an array of {data.dtype} has no bytes to copy to a device")
    allocation = memory.allocate(data.nbytes, name, address=address)
    allocation.bytes[:], allocation.dtype = raw_bytes(data), data.dtype
    return DeviceBuffer(memory, allocation, data.dtype.newbyteorder("<"), data.shape)


def empty(
    shape: int | Sequence[int],
    dtype: DTypeLike = np.float32,
    *,
    name: str = "",
    memory: DeviceMemory = DEVICE,
) -> DeviceBuffer:
    """Make a buffer whose bytes have never been written; they read as zeros.

    `name` is for messages. LaunchError for a shape that is no such one, a dtype without bytes, and more bytes
    than are left.
    """
    values = listed(shape)
    if values is None:
        raise LaunchError(f"a shape takes integers, not {shortened(shape)}")
    extents = tuple(
        checked_integer("an extent of a shape", value, 0, refuse=LaunchError.refused) for value in values
    )
    try:
        element = np.dtype(dtype).newbyteorder("<")
    except (TypeError, ValueError) as error:
        raise LaunchError(f"dtype {shortened(dtype)}: {shortened(str(error))}") from None
    if element.hasobject or not element.itemsize:
        raise LaunchError(f"an array of {element} has no bytes on a device")
    if len(extents) > _MAX_AXES:
        raise LaunchError(f"a shape must have 0 to {_MAX_AXES} axes, not {len(extents)}")
    allocation = memory.allocate(math.prod(extents) * element.itemsize, name)
    try:
        allocation.written = np.zeros(allocation.data.size, dtype=np.bool_)
    except MemoryError:
        memory.free(allocation)
        raise LaunchError(f"the host has no memory for a buffer of {allocation.nbytes} bytes") from None
    return DeviceBuffer(memory, allocation, element, extents)
