"""A GPU through NVIDIA's driver: memory at given addresses, PTX as it is, launches.

Source of the calls: NVIDIA, "CUDA Driver API", chapters Virtual Memory Management, Module Management and
Execution Control.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.installation import install_command
from golden.simt.errors import KernelFault, LaunchError
from golden.simt.tensor_map import CHUNK, TensorMap

_LOG_BYTES: Final = 1 << 13
_RANGE: Final = 1 << 25
"""The driver gives the address that is asked for to whole multiples of this; seen on an H100, driver 580."""

Dim3 = tuple[int, int, int]


@cache
def _bindings() -> Any:
    try:
        from cuda.bindings import driver  # noqa: PLC0415  an optional package
    except ImportError:
        raise LaunchError(
            f"a GPU needs the package cuda-bindings; install it with: {install_command('gpu')}"
        ) from None
    try:
        (status,) = driver.cuInit(0)
    except RuntimeError as error:  # no driver library
        raise LaunchError(f"there is no driver for a GPU: {error}") from None
    if status:
        raise LaunchError(f"there is no GPU, or no driver for it: {_text(driver, status)}")
    return driver


def _text(driver: Any, status: Any) -> str:
    _, text = driver.cuGetErrorString(status)
    return text.decode() if text else str(status)


def _call(function: str, *arguments: Any) -> Any:
    """What a function of the driver returns; LaunchError with the driver's text."""
    driver = _bindings()
    status, *results = getattr(driver, function)(*arguments)
    if status:
        raise LaunchError(f"{function} of the GPU's driver: {_text(driver, status)}")
    return results[0] if len(results) == 1 else results


def _end(function: str, *arguments: Any) -> None:
    """Give something back. After a fault the driver refuses that too, which is no news then."""
    getattr(_bindings(), function)(*arguments)


class GpuModule:
    """A loaded PTX module, by its CUmodule."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def variable(self, name: str) -> tuple[int, int] | None:
        """Address and bytes of a ``.global`` or ``.const`` variable; None where the module has none."""
        driver = _bindings()
        status, address, size = driver.cuModuleGetGlobal(self._handle, name.encode())
        return None if status else (int(address), int(size))

    def launch(
        self,
        entry: str,
        grid: Dim3,
        block: Dim3,
        shared: int,
        parameters: Sequence[bytes],
        cluster: Dim3 | None = None,
        *,
        cooperative: bool = False,
    ) -> float:
        """Run a kernel to its end; seconds that the GPU took.

        The driver places the parameters, of which the bytes are given: one that is aligned to more
        than 16 bytes is not where sizes and alignments say. Without `cluster`, it is what the kernel
        itself asks for. The blocks of a `cooperative` launch run at the same time.

        LaunchError for what the driver refuses; KernelFault for what stops the kernel, after which
        the driver gives this process no GPU.
        """
        driver = _bindings()
        function = _call("cuModuleGetFunction", self._handle, entry.encode())
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _call("cuFuncSetAttribute", function, attribute, shared)
        values = [ctypes.create_string_buffer(value, len(value)) for value in parameters]
        pointers = (ctypes.c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))
        start, end = (_call("cuEventCreate", 0) for _ in range(2))
        _call("cuEventRecord", start, 0)
        sizes = *grid, *block, shared, 0
        if cooperative:
            _call("cuLaunchCooperativeKernel", function, *sizes, ctypes.addressof(pointers))
        elif cluster is None:
            _call("cuLaunchKernel", function, *sizes, ctypes.addressof(pointers), 0)
        else:
            kind = driver.CUfunction_attribute
            _call("cuFuncSetAttribute", function, kind.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
            _call("cuLaunchKernelEx", _configuration(grid, block, shared, cluster), function,
                  ctypes.addressof(pointers), 0)  # fmt: skip
        _call("cuEventRecord", end, 0)
        (status,) = driver.cuCtxSynchronize()
        if status:
            raise KernelFault(
                f"the GPU stopped: {_text(driver, status)}; this process cannot use it any more", kernel=entry
            )
        return float(_call("cuEventElapsedTime", start, end)) / 1000


def _configuration(grid: Dim3, block: Dim3, shared: int, cluster: Dim3) -> Any:
    driver = _bindings()
    found, attribute = driver.CUlaunchConfig(), driver.CUlaunchAttribute()
    found.gridDimX, found.gridDimY, found.gridDimZ = grid
    found.blockDimX, found.blockDimY, found.blockDimZ = block
    found.sharedMemBytes = shared
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = cluster
    found.attrs, found.numAttrs = [attribute], 1
    return found


def encoded_map(found: TensorMap) -> bytes:
    """The 128 bytes of a tensor map, made by the driver's `cuTensorMapEncodeTiled`; or LaunchError."""
    driver = _bindings()

    def number(kind: str, prefix: str, name: str) -> Any:
        return getattr(getattr(driver, kind), f"CU_TENSOR_MAP_{prefix}_{name}")

    words = [
        [kind(value) for value in values]
        for kind, values in (
            (driver.cuuint64_t, found.sizes),
            (driver.cuuint64_t, found.strides or (CHUNK,)),  # the driver asks for an array also of rank 1
            (driver.cuuint32_t, found.box),
            (driver.cuuint32_t, found.element_strides),
        )
    ]
    made = _call(
        "cuTensorMapEncodeTiled",
        number("CUtensorMapDataType", "DATA_TYPE", found.type),
        found.rank,
        found.address,
        *words,
        number("CUtensorMapInterleave", "INTERLEAVE", found.interleave),
        number("CUtensorMapSwizzle", "SWIZZLE", found.swizzle),
        number("CUtensorMapL2promotion", "L2_PROMOTION", found.promotion),
        number("CUtensorMapFloatOOBfill", "FLOAT_OOB_FILL", found.fill),
    )
    return b"".join(int(word).to_bytes(8, "little") for word in made.opaque)


class Gpu:
    """An opened GPU, by its CUdevice."""

    def __init__(self, device: Any) -> None:
        driver = _bindings()
        self._device = device
        self.name: str = _call("cuDeviceGetName", 128, device).split(b"\0")[0].decode()
        kind = driver.CUdevice_attribute
        self.capability: tuple[int, int] = (
            _call("cuDeviceGetAttribute", kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
            _call("cuDeviceGetAttribute", kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
        )

    def set_stack(self, size: int) -> None:
        """Give each thread a stack of at least so many bytes, if the GPU has room for them."""
        limit = _bindings().CUlimit.CU_LIMIT_STACK_SIZE
        if int(_call("cuCtxGetLimit", limit)) < size:
            _end("cuCtxSetLimit", limit, size)

    @contextmanager
    def memory(self, ranges: Sequence[tuple[int, int]]) -> Iterator[None]:
        """Memory at given addresses, while the context lasts.

        The ranges are first address and bytes of each buffer, in ascending order. LaunchError where
        the GPU has no room at these addresses.
        """
        driver = _bindings()
        properties = driver.CUmemAllocationProp()
        properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = int(self._device)
        access = driver.CUmemAccessDesc()
        access.location = properties.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        with ExitStack() as stack:
            for start, size in _granules(ranges, _RANGE):
                found = int(_call("cuMemAddressReserve", size, _RANGE, start, 0))
                stack.callback(_end, "cuMemAddressFree", found, size)
                if found != start:
                    raise LaunchError(f"the GPU has no room at the addresses {start:#x} to {start + size:#x}")
                handle = _call("cuMemCreate", size, properties, 0)
                stack.callback(_end, "cuMemRelease", handle)
                _call("cuMemMap", start, size, 0, handle, 0)
                stack.callback(_end, "cuMemUnmap", start, size)
                _call("cuMemSetAccess", start, size, [access], 1)
            yield

    @contextmanager
    def module(self, ptx: str, *, contract: bool = True) -> Iterator[GpuModule]:
        """A PTX module, assembled by the driver; `contract` joins multiplications and additions.

        LaunchError with what the assembler says.
        """
        driver = _bindings()
        option = driver.CUjit_option
        log = bytearray(_LOG_BYTES)
        options = {
            option.CU_JIT_ERROR_LOG_BUFFER: log,
            option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
            option.CU_JIT_FMA: int(contract),
        }
        status, handle = driver.cuModuleLoadDataEx(
            ptx.encode() + b"\0", len(options), list(options), list(options.values())
        )
        if status:
            told = log.split(b"\0")[0].decode(errors="replace").strip().split("\n")[0]
            raise LaunchError(f"the GPU's assembler: {told or _text(driver, status)}")
        try:
            yield GpuModule(handle)
        finally:
            driver.cuModuleUnload(handle)


def write(address: int, values: NDArray[np.uint8]) -> None:
    """Copy bytes to the GPU."""
    values = np.ascontiguousarray(values)
    if values.nbytes:
        _call("cuMemcpyHtoD", address, values.ctypes.data, values.nbytes)


def read(address: int, count: int) -> NDArray[np.uint8]:
    """Copy bytes from the GPU."""
    values = np.empty(count, np.uint8)
    if count:
        _call("cuMemcpyDtoH", values.ctypes.data, address, count)
    return values


@contextmanager
def open_gpu(number: int = 0) -> Iterator[Gpu]:
    """Open a GPU by its number among those the driver shows.

    LaunchError without the package, a driver, or such a GPU.
    """
    count = int(_call("cuDeviceGetCount"))
    if not 0 <= number < count:
        raise LaunchError(f"GPU {number}: the driver shows {count}, numbered from 0")
    device = _call("cuDeviceGet", number)
    context = _call("cuDevicePrimaryCtxRetain", device)
    try:
        _call("cuCtxSetCurrent", context)
        yield Gpu(device)
    finally:
        _end("cuDevicePrimaryCtxRelease", device)


def _granules(ranges: Sequence[tuple[int, int]], unit: int) -> Iterator[tuple[int, int]]:
    """The fewest pieces of whole units that hold all ranges."""
    start = end = 0
    for first, size in ranges:
        low, high = first // unit * unit, -(-(first + size) // unit) * unit
        if low > end or not end:
            if end:
                yield start, end - start
            start = low
        end = high
    if end:
        yield start, end - start
