"""Modules and kernels: from the text of a PTX file to launches."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from golden.integers import checked_integer, checked_object, checked_text, shortened
from golden.limits import BLOCK, GRID, MAX_JOBS, VARIABLE_BYTES
from golden.locks import LOCK
from golden.ptx.body import parse_body
from golden.ptx.parser import parse_syntax
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Source
from golden.ptx.syntax import Body, Function, Variable
from golden.simt.address_map import FUNCTIONS
from golden.simt.arguments import BoundArguments, bind
from golden.simt.buffers import DEVICE, DeviceBuffer
from golden.simt.call_graph import CallGraph
from golden.simt.compiled import CompiledKernel
from golden.simt.device_memory import Allocation, DeviceMemory
from golden.simt.errors import LaunchError
from golden.simt.grid import Dim3, LaunchOptions, LaunchResult, LaunchState, extent
from golden.simt.inlining import flatten
from golden.simt.names import matches, readable
from golden.simt.parallel import run_parallel

Runner = Callable[[CompiledKernel, LaunchState], LaunchResult]
"""What runs the blocks of a launch; see `Kernel.launch`."""


class Kernel:
    """An entry of a module, ready to be launched; it keeps the module alive with its variables."""

    def __init__(
        self, module: "Module", compile_: Callable[..., CompiledKernel], memory: DeviceMemory
    ) -> None:
        self.module = module
        self._compile = compile_
        self._memory = memory
        # With the target `debug` the driver's assembler optimises nothing.
        self.compiled: CompiledKernel = compile_(contract="debug" not in module.target)
        self.name = self.compiled.name
        """The name as mangled."""
        self.signature = self.compiled.signature
        """Readable name and parameters."""
        self.contractions = self.compiled.contractions
        """The additions that are joined with multiplications: docs/explanation/contraction.md."""
        self.parameters = tuple(parameter.name for parameter, _ in self.compiled.parameters)
        """The names of the parameters."""

    @cached_property
    def uncontracted(self) -> CompiledKernel:
        """The decoded kernel with every multiplication and addition rounded by itself."""
        return self._compile(contract=False)

    def launch(
        self,
        grid: Dim3,
        block: Dim3,
        arguments: Sequence[Any] | Mapping[str, Any] = (),
        shared: int = 0,
        *,
        contract: bool = True,
        cluster: Dim3 | None = None,
        recorder: Callable[[BoundArguments], AbstractContextManager[None]] | None = None,
        runner: Runner = run_parallel,
        **options: Any,
    ) -> LaunchResult:
        """Run the kernel on a grid, given its blocks and the threads of a block along x, y and z.

        The arguments are as for `golden.simt.arguments.bind`; arrays are updated in place. There are `shared`
        bytes of dynamic shared memory. With `contract`, multiplications and additions are joined as the
        assembler does. A cluster has the blocks that the kernel is compiled for, unless they are given.
        `recorder` makes of the arguments, when they are in device memory, a context for the time of the
        launch. `runner` runs the blocks, given kernel and launch. Options are fields of
        `golden.simt.grid.LaunchOptions`.

        LaunchError for a grid, a block, shared memory or arguments that do not fit; KernelFault for what the
        kernel does wrong; `golden.machine.Difference` from a core that executes the trace.
        """
        unknown = next((name for name in options if name not in LaunchOptions.__dataclass_fields__), None)
        if unknown is not None:
            raise TypeError(f"launch() got an unexpected keyword argument {unknown!r}")
        given = LaunchOptions(**options)
        checked_object("contract", contract, (bool, np.bool_), "True or False", refuse=LaunchError.refused)
        compiled = self.compiled if contract else self.uncontracted
        extents = extent("grid", grid, GRID), extent("block", block, BLOCK)
        if given.check or given.races:
            compiled = compiled.checked
        if given.on_step is not None:
            compiled = compiled.stepped()
        compiled.require_threads(extents[1])
        shared = checked_integer("shared memory", shared, 0, unit="bytes", refuse=LaunchError.refused)
        compiled.require_shared(shared)
        blocks = None if cluster is None else extent("cluster", cluster, GRID)
        clusters = compiled.cluster(extents[0], blocks)
        compiled.require(given.engine.missing)
        if given.trace is not None:
            compiled.require(given.trace.missing)
        bound = bind(compiled, arguments, self._memory)
        try:
            trace = given.trace
            if trace is not None and given.jobs == 1:
                given.on_block = trace.reporting(given.on_block, math.prod(extents[0]))
            given.jobs = min(given.jobs, MAX_JOBS)
            state = LaunchState(
                **vars(given),
                device=self._memory,
                parameters=bytes(bound.data),
                grid=extents[0],
                block=extents[1],
                dynamic_shared=shared,
                cluster=clusters,
            )
            if trace is not None:
                trace.begin(compiled.readable, compiled.shared_base + shared)
            with nullcontext() if recorder is None else recorder(bound):
                result = runner(compiled, state)
                if trace is not None:
                    trace.end()
                bound.collect()
        finally:
            bound.release()
        return result

    def __getitem__(self, configuration: tuple[Any, ...]) -> Callable[..., LaunchResult]:
        """``kernel[grid, block](a, b)``, or with bytes of shared memory third: `launch` as in numba."""
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 3:
            problem = f"not {configuration!r}"
            raise LaunchError(f"expected kernel[grid, block] or kernel[grid, block, shared], {problem}")
        grid, block, *shared = configuration

        def launch(*arguments: Any, **options: Any) -> LaunchResult:
            return self.launch(grid, block, arguments, *shared, **options)

        return launch

    def __repr__(self) -> str:
        return f"<kernel {self.signature}>"


class Module:
    """A loaded PTX file: its variables live in device memory, from launch to launch.

    The `name` of the file is for messages; `kernel_type` is the class of its kernels. PtxError for text that
    is not PTX; what is not supported in an entry is reported when that entry is selected.
    """

    def __init__(
        self,
        text: str,
        name: str = "<ptx>",
        *,
        memory: DeviceMemory = DEVICE,
        kernel_type: type[Kernel] = Kernel,
    ) -> None:
        self._source = Source(checked_text("PTX", text), name)
        self._memory = memory
        self._kernel_type = kernel_type
        self._syntax = parse_syntax(self._source)
        self.target = self._syntax.target
        """The target specifiers, the architecture first."""
        self._bodies: dict[str, Body] = {}
        self._kernels: dict[str, Kernel] = {}
        self._buffers: dict[str, DeviceBuffer] = {}
        addresses = {name: FUNCTIONS + 16 * i for i, name in enumerate(self._syntax.functions)}
        functions = self._syntax.functions.items()
        self._function_addresses = {name: addresses[function.name] for name, function in functions}
        self._allocations: dict[str, Allocation] = {}
        self._bytes = 0
        for key, variable in self._syntax.variables.items():
            self._allocate(key, variable)
        for variable in self._syntax.variables.values():
            self._initialise(variable)

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the kernels, as mangled."""
        return tuple(item.name for item in self._syntax.functions.values() if item.kind == "entry")

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its own variables in ``.global`` and ``.const``, as mangled; kernels may have more."""
        return tuple(key for key in self._syntax.variables if key in self._allocations)

    @property
    def placed_variables(self) -> dict[str, tuple[Allocation, tuple[slice, ...]]]:
        """The memory of each variable in ``.global`` and ``.const``, and where addresses initialise it."""
        return {
            variable.name: (
                self._allocations[key],
                tuple(
                    slice(piece.offset, piece.offset + piece.size)
                    for piece in variable.initialiser or ()
                    if piece.symbol is not None
                ),
            )
            for key, variable in self._syntax.variables.items()
            if key in self._allocations
        }

    def kernel(self, name: str | None = None) -> Kernel:
        """A kernel by name: mangled, as C++ writes it, or without its parameters.

        The name may be left out where the module has one kernel. LaunchError for a name that no kernel has,
        or several; PtxError for a kernel that is malformed or not supported.
        """
        name = None if name is None else checked_text("the kernel", name, refuse=LaunchError.refused)
        found = [entry for entry in self.entries if name is None or entry == name]
        if not found and name is not None:
            found = [entry for entry in self.entries if matches(entry, name)]
        if len(found) != 1:
            names = ", ".join(readable(entry) for entry in self.entries) or "none"
            problem = "name one of the kernels" if name is None or found else f"no kernel {name}"
            raise LaunchError(f"{self._source.file}: {problem}; kernels: {names}")
        with LOCK:
            if found[0] not in self._kernels:
                compile_ = self._compile(self._syntax.functions[found[0]])
                self._kernels[found[0]] = self._kernel_type(self, compile_, self._memory)
            return self._kernels[found[0]]

    def __getitem__(self, name: str) -> DeviceBuffer:
        """The buffer over a ``.global`` or ``.const`` variable."""
        if not isinstance(name, str):
            raise KeyError(f"no variable {shortened(name)}: a name is a text")
        found = [key for key in self.variables if key == name]
        found = found or [key for key in self.variables if matches(key, name)]
        if len(found) != 1:
            names = ", ".join(map(readable, self.variables)) or "none"
            raise KeyError(f"no variable {name} in .global or .const; variables: {names}")
        key = found[0]
        with LOCK:
            if key not in self._buffers:
                variable = self._syntax.variables[key]
                dtype = _dtype(variable)
                allocation = self._allocations[key]
                shape = (allocation.nbytes // dtype.itemsize,) if variable.is_array else ()
                self._buffers[key] = DeviceBuffer(self._memory, allocation, dtype, shape, owned=False)
            return self._buffers[key]

    def __del__(self) -> None:
        for allocation in getattr(self, "_allocations", {}).values():
            self._memory.free(allocation)

    def _allocate(self, key: str, variable: Variable) -> None:
        """Give a variable its memory, if it is in device memory."""
        if variable.space in ("global", "const") and variable.size is not None:
            self._bytes += variable.size
            if self._bytes > VARIABLE_BYTES:
                told = f"the variables up to {variable.name} have {self._bytes} bytes"
                raise self._source.error(variable.location, f"{told}, more than {VARIABLE_BYTES}")
            self._allocations[key] = self._memory.allocate(variable.size, variable.name)
            self._allocations[key].constant = variable.space == "const"

    def _initialise(self, variable: Variable) -> None:
        """Give a variable its values, if it is in device memory."""
        allocation = self._allocations.get(variable.key)
        if allocation is None:
            return
        for piece in variable.initialiser or ():
            value = piece.value
            if piece.symbol is not None:
                other = self._allocations.get(piece.symbol)
                if other is not None:
                    value += other.address
                elif piece.symbol in self._function_addresses:
                    value += self._function_addresses[piece.symbol]
                else:
                    raise self._source.error(
                        piece.location, f"{piece.symbol} is no variable and no function of this module"
                    )
            data = (value >> piece.shift & ((1 << 8 * piece.size) - 1)).to_bytes(piece.size, "little")
            allocation.bytes[piece.offset : piece.offset + piece.size] = np.frombuffer(data, dtype=np.uint8)

    def _body(self, function: Function) -> Body:
        if function.name not in self._bodies:
            self._bodies[function.name] = parse_body(self._syntax, function)
        return self._bodies[function.name]

    def _compile(self, entry: Function) -> Callable[..., CompiledKernel]:
        if not entry.tokens:
            raise self._source.error(entry.location, f"{readable(entry.name)} is declared, but has no body")
        declared, functions = self._syntax.variables, self._syntax.functions
        pieces = (piece for variable in declared.values() for piece in variable.initialiser or ())
        stored = frozenset(piece.symbol for piece in pieces if piece.symbol is not None)
        flat = flatten(CallGraph(self._source, functions, self._body, stored, entry))
        placed = {key: (declared[key], self._allocations[key].address) for key in self.variables}
        for name, address in self._function_addresses.items():
            location = self._syntax.functions[name].location
            placed[name] = (Variable(name, name, "function", TYPES["b8"], 0, 1, location), address)
        for key, variable in flat.variables.items():
            own = f"{entry.name}:{key}"  # kernels may have variables of the same name
            self._allocate(own, variable)
            self._initialise(replace(variable, key=own))
            if own in self._allocations:
                placed[key] = (variable, self._allocations[own].address)
        version = self._syntax.version
        return partial(CompiledKernel, self._source, version, entry, flat, placed, declared.values())


def _dtype(variable: Variable) -> np.dtype[Any]:
    kinds = {"float": "f", "signed": "i"}
    kind = "u" if variable.type.name == "bf16" else kinds.get(variable.type.kind, "u")
    return np.dtype(f"{kind}{variable.type.bits // 8}")
