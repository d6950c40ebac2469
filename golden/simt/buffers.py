"""Arrays in device memory, as objects."""

import weakref
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from golden.host_arrays import host_array
from golden.simt.device_memory import Allocation, DeviceMemory
from golden.simt.errors import LaunchError

__all__ = ["DEVICE", "DeviceBuffer", "device", "empty"]

DEVICE = DeviceMemory()
"""The memory in which buffers are made unless another is named."""


class DeviceBuffer:
    """An array in device memory; it lives until it is freed or collected.

    Parameters
    ----------
    memory : DeviceMemory
    allocation : Allocation
    dtype : dtype
        Of an element.
    shape : tuple of int
    owned : bool
        Whether the memory is given back with this object; not that of a module's variable.
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
        count = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        return self._live().bytes[:count].copy().view(self.dtype).reshape(self.shape)

    def write(self, values: ArrayLike) -> None:
        """Replace the contents.

        Raises
        ------
        LaunchError
            For values of another size in bytes.
        """
        data = np.ascontiguousarray(np.asarray(values, dtype=self.dtype))
        if data.nbytes != self.nbytes:
            raise LaunchError(f"{self.name} has {self.nbytes} bytes, but the values have {data.nbytes}")
        allocation = self._live()
        allocation.bytes[:] = data.reshape(-1).view(np.uint8)
        allocation.written = None

    def free(self) -> None:
        """Give the memory back; kernels that still use the address fault."""
        if not self._owned:
            raise LaunchError(f"{self.name} belongs to its module and cannot be freed")
        self._finalizer()
        self._allocation = None

    def require(self) -> int:
        """The address, for a launch.

        Raises
        ------
        LaunchError
            If the buffer has been freed.
        """
        return self._live().address

    @property
    def allocation(self) -> Allocation:
        """The memory behind it."""
        return self._live()

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype} {self.shape} at {self.address:#x}>"

    def _live(self) -> Allocation:
        if self._allocation is None:
            raise LaunchError(f"{self.name} has been freed")
        return self._allocation


def device(array: ArrayLike, *, name: str = "", memory: DeviceMemory = DEVICE) -> DeviceBuffer:
    """Copy an array into device memory.

    Parameters
    ----------
    array : array_like
        Anything numpy makes an array of, or an object with ``__dlpack__``.
    name : str
        For messages.
    memory : DeviceMemory

    Raises
    ------
    LaunchError
        For an array of Python objects.
    """
    data = host_array(array)
    if data.dtype.hasobject:
        raise LaunchError(f"an array of {data.dtype} has no bytes to copy to a device")
    allocation = memory.allocate(data.nbytes, name)
    allocation.bytes[:] = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return DeviceBuffer(memory, allocation, data.dtype, data.shape)


def empty(
    shape: int | tuple[int, ...],
    dtype: DTypeLike = np.float32,
    *,
    name: str = "",
    memory: DeviceMemory = DEVICE,
) -> DeviceBuffer:
    """Make a buffer whose bytes have never been written; they read as zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype_like
    name : str
        For messages.
    memory : DeviceMemory
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    element = np.dtype(dtype)
    if any(extent < 0 for extent in extents):
        raise LaunchError(f"a buffer cannot have the shape {extents}")
    allocation = memory.allocate(int(np.prod(extents, dtype=np.int64)) * element.itemsize, name)
    allocation.written = np.zeros(allocation.data.size, dtype=np.bool_)
    return DeviceBuffer(memory, allocation, element, extents)
