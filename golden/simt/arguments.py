"""From the arguments of a launch to the bytes of a kernel's parameters."""

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.arguments import VALUES
from golden.host_arrays import raw_bytes, shared_array
from golden.integers import integer_of, shortened
from golden.ptx.scalar_types import ScalarType, float_bits
from golden.ptx.syntax import Variable
from golden.simt.buffers import DeviceBuffer
from golden.simt.compiled import CompiledKernel
from golden.simt.device_memory import Allocation, DeviceMemory
from golden.simt.errors import LaunchError
from golden.simt.tensor_map import TensorMap
from golden.tables.formats import float_format

_KINDS_WITH_BYTES: Final = "biufcV"
"""Kinds of dtypes whose scalars may stand for a structure; not dates, text and objects."""


class BoundArguments:
    """The parameters of one launch: `data` is the bytes of all of them.

    `placed` are the arrays in device memory, each with its memory and what that held at first.
    """

    def __init__(self, memory: DeviceMemory, size: int) -> None:
        self.data = bytearray(size)
        self.memory = memory
        self.placed: list[tuple[NDArray[Any], Allocation, NDArray[np.uint8]]] = []

    def place(self, array: NDArray[Any], name: str) -> int:
        """Copy an array into device memory for the time of the launch; its address."""
        for other, allocation, _ in self.placed:
            if other is array or _same(other, array):
                return allocation.address
            if _overlap(other, array):
                raise LaunchError(
                    f"the arrays for {name} and {allocation.name} overlap, and do not hold the same"
                )
        if array.dtype.hasobject:
            raise LaunchError(f"{name}: an array of {array.dtype} has no bytes to copy to a device")
        allocation = self.memory.allocate(array.nbytes, name)
        allocation.bytes[:], allocation.dtype = raw_bytes(array), array.dtype
        self.placed.append((array, allocation, allocation.bytes.copy()))
        return allocation.address

    def collect(self) -> None:
        """Copy the arrays back, each if it has changed; LaunchError for a change of a read-only one."""
        for array, allocation, before in self.placed:
            if np.array_equal(allocation.bytes, before):
                continue
            if not array.flags.writeable:
                raise LaunchError(f"{allocation.name}: the kernel writes to an array that is read-only")
            array[...] = allocation.bytes.view(array.dtype.newbyteorder("<")).reshape(array.shape)

    def release(self) -> None:
        """Give back the memory of the arrays."""
        for _, allocation, _ in self.placed:
            self.memory.free(allocation)


def bind(
    kernel: CompiledKernel, arguments: Sequence[Any] | Mapping[str, Any], memory: DeviceMemory
) -> BoundArguments:
    """Convert the arguments of a launch, by position or by the names of the parameters.

    A pointer takes an array (copied in and out), a `DeviceBuffer` or an integer; a scalar a number, or an
    array without axes, which a 64-bit integer takes as a pointer; a structure `bytes`, a numpy scalar or
    array, or a ctypes structure, of its size, and one of 128 bytes a `TensorMap`. Floating point is rounded
    to nearest, ties to even; a finite number beyond the type is refused, infinities and NaN are passed on.

    LaunchError for a wrong number or type of arguments, with the signature of the kernel.
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
    if not isinstance(arguments, Mapping | Sequence | np.ndarray) or (
        isinstance(arguments, str | bytes) or (isinstance(arguments, np.ndarray) and not arguments.ndim)
    ):
        given = f"{shortened(arguments)} of type {type(arguments).__name__}"
        raise LaunchError(f"the arguments must be a sequence or a mapping, not {given}")
    if isinstance(arguments, Mapping):
        unknown = [name for name in arguments if name not in names]
        missing = [name for name in names if name not in arguments]
        if unknown or missing:
            problem = f"no parameter {unknown[0]}" if unknown else f"no argument for {missing[0]}"
            raise LaunchError(f"{problem}: the kernel is {kernel.signature}")
        return [arguments[name] for name in names]
    try:
        count = len(arguments)
    except OverflowError:  # of a range
        count = 1 << 64
    if count != len(names):
        raise LaunchError(f"{len(names)} arguments expected, not {count}: the kernel is {kernel.signature}")
    return list(arguments)


def _bytes(kernel: CompiledKernel, parameter: Variable, value: Any, bound: BoundArguments) -> bytes:
    size = parameter.size or 0
    if isinstance(value, TensorMap):
        value = _placed(value, parameter, bound).to_bytes()
    raw = _raw(value, is_array=parameter.is_array)
    if raw is not None:
        if len(raw) != size:
            raise LaunchError(
                f"{parameter.name} has {size} bytes, but the argument has {len(raw)}: "
                f"the kernel is {kernel.signature}"
            )
        return raw
    if parameter.is_array:
        scalar = f"a numpy scalar{' such as float16' if size == 2 else ''}"
        raise _wrong(kernel, parameter, value, f"{size} bytes: bytes, {scalar} or a ctypes structure")
    if isinstance(value, DeviceBuffer):
        if size != 8:
            raise _wrong(kernel, parameter, value, f"a number of type {parameter.type}")
        return value.allocation.address.to_bytes(8, "little")
    try:
        array = shared_array(value)
    except (BufferError, TypeError, RuntimeError, ValueError) as error:
        raise _wrong(kernel, parameter, value, "an array in the memory of the host") from error
    if array is None:
        return _number(kernel, parameter, value)
    if size == 8 and parameter.type.kind != "float":
        return bound.place(array, parameter.name).to_bytes(8, "little")
    if array.ndim:
        raise _wrong(kernel, parameter, value, f"a number of type {parameter.type}")
    return _number(kernel, parameter, array[()])


def _placed(found: TensorMap, parameter: Variable, bound: BoundArguments) -> TensorMap:
    """A tensor map with the address of its array in device memory."""
    if found.tensor is None:
        return found
    if isinstance(found.tensor, DeviceBuffer):
        return replace(found, address=found.tensor.allocation.address)
    array = shared_array(found.tensor)
    assert array is not None  # as it has been one when the map was made
    return replace(found, address=bound.place(array, parameter.name))


def _raw(value: Any, *, is_array: bool) -> bytes | None:
    """The bytes of a value that stands for its bytes; None for any other."""
    if isinstance(value, bytes | bytearray | memoryview) and not isinstance(value, np.generic):
        return bytes(value)
    if isinstance(value, ctypes.Structure | ctypes.Union | ctypes.Array):
        return bytes(value)
    if is_array and isinstance(value, np.generic | np.ndarray) and value.dtype.kind in _KINDS_WITH_BYTES:
        return raw_bytes(np.asarray(value)).tobytes()
    return None


def _number(kernel: CompiledKernel, parameter: Variable, value: Any) -> bytes:
    type_, size = parameter.type, parameter.size or 0
    if isinstance(value, ctypes._SimpleCData):
        value = 0 if value.value is None else value.value  # a null pointer
    if isinstance(value, bool | np.bool_):
        value = int(value)
    integer = integer_of(value)
    if isinstance(value, np.generic) and value.nbytes == size and _stands_for_bits(value, type_):
        return value.tobytes()
    if type_.kind == "float" and (integer is not None or isinstance(value, float | np.floating)):
        bits = _float_pattern(value if integer is None else integer, type_)
    elif type_.kind == "float" and _is_narrow(value):
        bits = _float_pattern(float(value), type_)
    elif integer is not None:
        least = type_.range[0] if type_.kind == "signed" else -(1 << (8 * size - 1))
        bits = integer & ((1 << 8 * size) - 1) if least <= integer <= type_.range[1] else None
    else:
        pointer = "an array, a buffer or " if size == 8 and type_.kind != "float" else ""
        raise _wrong(kernel, parameter, value, f"{pointer}a number of type {type_}")
    if bits is None:
        raise LaunchError(f"{parameter.name} is {type_}, which cannot hold {shortened(value)}")
    return bits.to_bytes(size, "little")


def _is_narrow(value: Any) -> bool:
    """Whether a value is a scalar of ml_dtypes, such as bfloat16."""
    return isinstance(value, np.generic) and value.dtype.kind == "V" and not isinstance(value, np.void)


def _stands_for_bits(value: np.generic, type_: ScalarType) -> bool:
    """Whether a scalar of the parameter's size is passed bit by bit."""
    if type_.kind == "float":
        return value.dtype.name == VALUES.get(type_.name)
    return _is_narrow(value) or (type_.kind == "bits" and isinstance(value, np.floating))


def _float_pattern(value: Any, type_: ScalarType) -> int | None:
    """The bits of a real number, rounded once; None for a finite one that becomes infinite."""
    try:
        is_finite = math.isfinite(value)
        number = float(value) if type_.bits == 64 or not is_finite else _sticky(value)
    except OverflowError:
        return None
    bits = type_.float_bits(number)
    infinity = float_format(type_.name).infinity
    return None if is_finite and bits & infinity == infinity else bits


def _sticky(value: Any) -> float:
    """A finite number in f64, rounded to odd: rounding it again, to f32 or less, is as rounding once."""
    near = float(value)
    if near == value or float_bits(near, 64) & 1:
        return near
    return math.nextafter(near, math.inf if value > near else -math.inf)


def _overlap(x: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether two arrays have a byte in common; also where that is hard to say."""
    try:
        return np.shares_memory(x, y, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _same(x: NDArray[Any], y: NDArray[Any]) -> bool:
    same: bool = x.__array_interface__["data"] == y.__array_interface__["data"]
    dense = x.flags.c_contiguous and y.flags.c_contiguous
    alike = x.dtype == y.dtype or (x.dtype.isnative and y.dtype.isnative)
    return same and x.nbytes == y.nbytes and alike and (dense or x.strides == y.strides)


def _wrong(kernel: CompiledKernel, parameter: Variable, value: Any, expected: str) -> LaunchError:
    return LaunchError(
        f"{parameter.name} takes {expected}, not {type(value).__name__}: the kernel is {kernel.signature}"
    )
