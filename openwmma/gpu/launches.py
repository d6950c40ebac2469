"""Runs the grid of a launch on a GPU: the same PTX, parameters and addresses as on the golden model."""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.invalid_argument import InvalidArgument
from golden.limits import STACK_BYTES
from golden.machine import Difference
from golden.simt.compiled import CompiledKernel
from golden.simt.device_memory import Allocation
from golden.simt.errors import LaunchError
from golden.simt.grid import LaunchResult, LaunchState
from golden.simt.module import Module
from golden.simt.parallel import run_parallel
from golden.simt.tensor_map import TensorMap
from openwmma.gpu.driver import Gpu, encoded_map, read, write

_SHOWN: Final = 8
"""Differing bytes of a buffer that are listed."""


def run_on_gpu(
    kernel: CompiledKernel,
    launch: LaunchState,
    *,
    gpu: Gpu,
    module: Module,
    ptx: str,
    contract: bool,
    compares: bool,
) -> LaunchResult:
    """Run the blocks of a launch, for `golden.simt.module.Kernel.launch`.

    All buffers of device memory are copied to the GPU, to the addresses that they have here, and back.
    The variables of the module lie where the driver puts them: they are copied too, but for addresses in
    them. With `compares` the golden model runs the launch as well: Difference for buffers that differ.
    """
    found, seconds = _run(kernel, launch, gpu, module, ptx, contract=contract)
    if compares:
        result = run_parallel(kernel, launch)
        differences = [
            _difference(allocation, after)
            for allocation, after in found
            if not np.array_equal(allocation.bytes, after)
        ]
        if differences:
            raise Difference(f"{kernel.readable} on {gpu.name}:\n" + "\n".join(differences))
        return result
    for allocation, after in found:
        allocation.bytes[:] = after
        allocation.written = None
    return LaunchResult(
        blocks=launch.blocks,
        warp_instructions=0,
        thread_instructions=0,
        matrix_instructions=0,
        seconds=seconds,
    )


def _run(
    kernel: CompiledKernel, launch: LaunchState, gpu: Gpu, module: Module, ptx: str, *, contract: bool
) -> tuple[list[tuple[Allocation, NDArray[np.uint8]]], float]:
    """The buffers with what they hold afterwards, and seconds."""
    allocations = launch.device.allocations
    own = module.placed_variables
    with ExitStack() as stack:
        # First of all: the driver may place stacks at these addresses.
        stack.enter_context(gpu.memory([(each.address, each.nbytes) for each in allocations]))
        if kernel.has_stack:
            gpu.set_stack(STACK_BYTES)
        loaded = stack.enter_context(gpu.module(ptx, contract=contract))
        for allocation in allocations:
            write(allocation.address, allocation.bytes)
        places = {}
        for name, (allocation, pointers) in own.items():
            place = loaded.variable(name)
            if place is None:
                continue  # no kernel uses it
            if place[1] != allocation.nbytes:
                raise LaunchError(f"{name} has {place[1]} bytes on the GPU, not {allocation.nbytes}")
            places[name] = place[0]
            write(place[0], _with_pointers(allocation.bytes, read(*place), pointers))
        parameters = [
            _by_driver(launch.parameters[offset : offset + (parameter.size or 0)])
            for parameter, offset in kernel.parameters
        ]
        extents = launch.grid, launch.block, launch.dynamic_shared
        cluster = None if ".reqnctapercluster" in kernel.directives else launch.cluster
        cooperative = kernel.is_cooperative
        seconds = loaded.launch(kernel.name, *extents, parameters, cluster, cooperative=cooperative)
        after = {each.address: read(each.address, each.nbytes) for each in allocations}
        for name, address in places.items():
            allocation, pointers = own[name]
            contents = read(address, allocation.nbytes)
            after[allocation.address] = _with_pointers(contents, allocation.bytes, pointers)
    return [(each, after[each.address]) for each in allocations], seconds


def _with_pointers(
    contents: NDArray[np.uint8], other: NDArray[np.uint8], pointers: Iterable[slice]
) -> NDArray[np.uint8]:
    """The contents of a variable, with the addresses in it of the other side."""
    found = contents.copy()
    for pointer in pointers:
        found[pointer] = other[pointer]
    return found


def _by_driver(parameter: bytes) -> bytes:
    """A tensor map as the driver makes it; any other parameter as it is."""
    try:
        found = TensorMap.from_bytes(parameter)
    except InvalidArgument:
        return parameter
    return parameter if found.problem or found.to_bytes() != parameter else encoded_map(found)


def _difference(allocation: Allocation, after: NDArray[np.uint8]) -> str:
    places = np.flatnonzero(allocation.bytes != after)
    listed = ", ".join(
        f"byte {at}: golden {allocation.bytes[at]:#04x}, GPU {after[at]:#04x}" for at in places[:_SHOWN]
    )
    more = ", ..." if len(places) > _SHOWN else ""
    return f"{allocation.name}: {len(places)} of {allocation.nbytes} bytes differ; {listed}{more}"
