"""From the arguments of a launch to the bytes of a kernel's parameters."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.host_arrays import shared_array
from golden.ptx.syntax import Variable
from golden.simt.buffers import DeviceBuffer
from golden.simt.compiled import CompiledKernel
from golden.simt.device_memory import Allocation, DeviceMemory
from golden.simt.errors import LaunchError

__all__ = ["BoundArguments", "bind"]


class BoundArguments:
    """The parameters of one launch.

    Parameters
    ----------
    memory : DeviceMemory

    Attributes
    ----------
    data : bytearray
        The bytes of all parameters.
    """

    def __init__(self, memory: DeviceMemory, size: int) -> None:
        self.data = bytearray(size)
        self._memory = memory
        self._arrays: list[tuple[NDArray[Any], Allocation, bytes]] = []

    def place(self, array: NDArray[Any], name: str) -> int:
        """Copy an array into device memory for the time of the launch; its address."""
        for other, allocation, _ in self._arrays:
            if other is array or _same(other, array):
                return allocation.address
            if np.may_share_memory(other, array):
                raise LaunchError(f"the arrays for {name} and {allocation.name} overlap in part")
        if array.dtype.hasobject:
            raise LaunchError(f"{name}: an array of {array.dtype} has no bytes to copy to a device")
        allocation = self._memory.allocate(array.nbytes, name)
        allocation.bytes[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._arrays.append((array, allocation, allocation.bytes.tobytes()))
        return allocation.address

    @property
    def placed(self) -> tuple[tuple[NDArray[Any], Allocation, bytes], ...]:
        """The arrays in device memory, each with its memory and what that held at first."""
        return tuple(self._arrays)

    def collect(self) -> None:
        """Copy the arrays back, each if it has changed.

        Raises
        ------
        LaunchError
            For a change of a read-only array.
        """
        for array, allocation, before in self._arrays:
            if allocation.bytes.tobytes() == before:
                continue
            if not array.flags.writeable:
                raise LaunchError(f"{allocation.name}: the kernel writes to an array that is read-only")
            array[...] = allocation.bytes.view(array.dtype).reshape(array.shape)

    def release(self) -> None:
        """Give back the memory of the arrays."""
        for _, allocation, _ in self._arrays:
            self._memory.free(allocation)


def bind(
    kernel: CompiledKernel, arguments: Sequence[Any] | Mapping[str, Any], memory: DeviceMemory
) -> BoundArguments:
    """Convert the arguments of a launch.

    Parameters
    ----------
    kernel : CompiledKernel
    arguments : sequence, or mapping of str to value
        By position, or by the names of the parameters. A pointer takes an array (copied in and out), a
        `DeviceBuffer` or an integer; a scalar a number; a structure `bytes`, a numpy scalar or array, or a
        ctypes structure, of its size.
    memory : DeviceMemory
        Where arrays are placed.

    Raises
    ------
    LaunchError
        For a wrong number or type of arguments, with the signature of the kernel.
    """
    values = _in_order(kernel, arguments)
    bound = BoundArguments(memory, kernel.parameter_bytes)
    try:
        for (parameter, offset), value in zip(kernel.parameters, values, strict=True):
            data = _bytes(kernel, parameter, value, bound)
            bound.data[offset : offset + len(data)] = data
    except BaseException:
        bound.release()
        raise
    return bound


def _in_order(kernel: CompiledKernel, arguments: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    names = [parameter.name for parameter, _ in kernel.parameters]
    if isinstance(arguments, Mapping):
        unknown = [name for name in arguments if name not in names]
        missing = [name for name in names if name not in arguments]
        if unknown or missing:
            problem = f"no parameter {unknown[0]}" if unknown else f"no argument for {missing[0]}"
            raise LaunchError(f"{problem}: the kernel is {kernel.signature}")
        return [arguments[name] for name in names]
    values = list(arguments)
    if len(values) != len(names):
        raise LaunchError(
            f"{len(names)} arguments expected, not {len(values)}: the kernel is {kernel.signature}"
        )
    return values


def _bytes(kernel: CompiledKernel, parameter: Variable, value: Any, bound: BoundArguments) -> bytes:
    size = parameter.size or 0
    raw = _raw(value, is_array=parameter.is_array)
    if raw is not None:
        if len(raw) != size:
            raise LaunchError(
                f"{parameter.name} has {size} bytes, but the argument has {len(raw)}: "
                f"the kernel is {kernel.signature}"
            )
        return raw
    if parameter.is_array:
        raise _wrong(kernel, parameter, value, f"{size} bytes: bytes, a numpy scalar or a ctypes structure")
    if isinstance(value, DeviceBuffer):
        if size != 8:
            raise _wrong(kernel, parameter, value, f"a number of type {parameter.type}")
        return value.require().to_bytes(8, "little")
    try:
        array = shared_array(value)
    except (BufferError, TypeError, RuntimeError) as error:
        raise _wrong(kernel, parameter, value, "an array in the memory of the host") from error
    if array is not None:
        if size != 8 or parameter.type.kind == "float":
            raise _wrong(kernel, parameter, value, f"a number of type {parameter.type}")
        return bound.place(array, parameter.name).to_bytes(8, "little")
    return _number(kernel, parameter, value)


def _raw(value: Any, *, is_array: bool) -> bytes | None:
    """The bytes of a value that stands for its bytes; None for any other."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, ctypes.Structure | ctypes.Union | ctypes.Array):
        return bytes(value)
    if isinstance(value, np.void) or (is_array and isinstance(value, np.generic | np.ndarray)):
        return bytes(value.tobytes())
    return None


def _number(kernel: CompiledKernel, parameter: Variable, value: Any) -> bytes:
    type_, size = parameter.type, parameter.size or 0
    if isinstance(value, ctypes._SimpleCData):
        value = value.value
    if isinstance(value, np.generic) and value.dtype.kind not in "biuf" and value.nbytes == size:
        return value.tobytes()
    if isinstance(value, bool | np.bool_):
        value = int(value)
    if type_.kind == "float" and isinstance(value, int | float | np.integer | np.floating):
        return type_.float_bits(float(value)).to_bytes(size, "little")
    if isinstance(value, int | np.integer):
        if not -(1 << (8 * size - 1)) <= int(value) < 1 << 8 * size:
            raise LaunchError(f"{parameter.name} is {type_}, which cannot hold {int(value)}")
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if isinstance(value, np.floating) and value.nbytes == size and type_.kind == "bits":
        return value.tobytes()
    raise _wrong(kernel, parameter, value, f"a number of type {type_}")


def _same(x: NDArray[Any], y: NDArray[Any]) -> bool:
    same: bool = x.__array_interface__["data"] == y.__array_interface__["data"]
    return same and x.nbytes == y.nbytes and x.strides == y.strides


def _wrong(kernel: CompiledKernel, parameter: Variable, value: Any, expected: str) -> LaunchError:
    return LaunchError(
        f"{parameter.name} takes {expected}, not {type(value).__name__}: the kernel is {kernel.signature}"
    )
