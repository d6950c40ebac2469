"""Runs the grid of a launch on a GPU: the same PTX, parameters and addresses as on the golden model."""

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


class GpuGrid:
    """What runs the blocks of launches, for `golden.simt.module.Kernel.launch`.

    All buffers of device memory are copied to the GPU, to the addresses that they have here, and back.
    The variables of the module lie where the driver puts them: they are copied too, but for addresses in
    them. In lockstep the golden model runs the launch as well, and all buffers are compared.
    """

    def __init__(self, gpu: Gpu, module: Module, ptx: str, *, lockstep: bool, contract: bool) -> None:
        self._gpu = gpu
        self._module = module
        self._ptx = ptx
        self._lockstep = lockstep
        self._contract = contract

    def __call__(self, kernel: CompiledKernel, launch: LaunchState) -> LaunchResult:
        """Run a launch; LaunchError, KernelFault, and Difference in lockstep, for buffers that differ."""
        found, seconds = self._run(kernel, launch)
        if self._lockstep:
            result = run_parallel(kernel, launch)
            differences = [
                _difference(allocation, after)
                for allocation, after in found
                if not np.array_equal(allocation.bytes, after)
            ]
            if differences:
                raise Difference(f"{kernel.readable} on {self._gpu.name}:\n" + "\n".join(differences))
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
        self, kernel: CompiledKernel, launch: LaunchState
    ) -> tuple[list[tuple[Allocation, NDArray[np.uint8]]], float]:
        """The buffers with what they hold afterwards, and seconds."""
        allocations = launch.device.allocations
        own = self._module.placed_variables
        with ExitStack() as stack:
            # First of all: the driver may place stacks at these addresses.
            stack.enter_context(self._gpu.memory([(each.address, each.nbytes) for each in allocations]))
            if kernel.has_stack:
                self._gpu.set_stack(STACK_BYTES)
            module = stack.enter_context(self._gpu.module(self._ptx, contract=self._contract))
            for allocation in allocations:
                write(allocation.address, allocation.bytes)
            places = {}
            for name, (allocation, _) in own.items():
                place = module.variable(name)
                if place is None:
                    continue  # no kernel uses it
                if place[1] != allocation.nbytes:
                    raise LaunchError(f"{name} has {place[1]} bytes on the GPU, not {allocation.nbytes}")
                places[name] = place[0]
                self._write_variable(name, place[0])
            parameters = [
                _by_driver(launch.parameters[offset : offset + (parameter.size or 0)])
                for parameter, offset in kernel.parameters
            ]
            extents = launch.grid, launch.block, launch.dynamic_shared
            cluster = None if ".reqnctapercluster" in kernel.directives else launch.cluster
            seconds = module.launch(kernel.name, *extents, parameters, cluster)
            after = {each.address: read(each.address, each.nbytes) for each in allocations}
            for name, address in places.items():
                allocation, pointers = own[name]
                contents = read(address, allocation.nbytes)
                for pointer in pointers:
                    contents[pointer] = allocation.bytes[pointer]
                after[allocation.address] = contents
        return [(each, after[each.address]) for each in allocations], seconds

    def _write_variable(self, name: str, address: int) -> None:
        """Copy a variable to the GPU, but for addresses in it, which the driver has set."""
        allocation, pointers = self._module.placed_variables[name]
        contents = allocation.bytes.copy()
        there = read(address, allocation.nbytes)
        for pointer in pointers:
            contents[pointer] = there[pointer]
        write(address, contents)


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
