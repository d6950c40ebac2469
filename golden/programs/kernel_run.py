"""Runs a PTX kernel: arrays into memory, commands through a machine, arrays out of memory."""

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.host_arrays import little_endian
from golden.integers import (
    checked_integer,
    checked_object,
    checked_objects,
    checked_text,
    integer_of,
    listed,
    shortened,
)
from golden.invalid_argument import ArrayTypeWarning, InvalidArgument
from golden.limits import DEVICE_BYTES
from golden.machine import Machine
from golden.programs.bounds import checked_bounds
from golden.programs.buffers import Buffers
from golden.programs.execution import Execution, execute
from golden.ptx.program import Entry
from golden.tables.commands import Load, Work
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.matrix_instructions import LoadInstruction

OUTPUT_TYPES: Final = {
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "bf16": "<u2",
    "tf32": "<u4",
    "s32": "<i4",
    "s8": "<i1",
    "u8": "<u1",
}
"""The dtype of each type of an output; numpy has none for bf16 and tf32, which stay raw bits."""

Argument = NDArray[Any] | int | float
"""An array is placed in memory, and its address is what the kernel gets."""


@dataclass(frozen=True)
class Output:
    """An array that is read from memory when the program has ended.

    InvalidArgument for an unknown type, an extent below 1, and more bytes than `golden.limits.DEVICE_BYTES`.
    """

    name: str
    """The parameter or variable that points to it."""
    type: str
    """Key of `OUTPUT_TYPES`."""
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        checked_text("output", self.name)
        if not isinstance(self.type, str) or self.type not in OUTPUT_TYPES:
            given = f"type {shortened(self.type)}"
            raise InvalidArgument(f"output {self.name}", given, ", ".join(OUTPUT_TYPES))
        extents = [integer_of(value) or 0 for value in listed(self.shape) or (0,)]
        if min(extents, default=1) < 1:
            given = f"shape {shortened(self.shape)}"
            raise InvalidArgument(f"output {self.name}", given, "extents of at least 1")
        object.__setattr__(self, "shape", tuple(extents))
        if self.size > DEVICE_BYTES:
            raise InvalidArgument(
                f"output {self.name}", f"{shortened(self.size)} bytes", f"at most {DEVICE_BYTES} bytes"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array."""
        return np.dtype(OUTPUT_TYPES[self.type])

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, kw_only=True)
class ProgramRun:
    """What a run gave."""

    outputs: Mapping[str, NDArray[Any]]
    """The arrays asked for, by the name of their parameter."""
    execution: Execution


def run_program(
    entry: Entry,
    open_machine: Callable[[int], Machine],
    *,
    arguments: Mapping[str, Argument],
    outputs: Sequence[Output],
    registers: int,
    on_progress: Callable[[int], None] = lambda count: None,
    on_command: Callable[[object], None] = lambda place: None,
) -> ProgramRun:
    """Run a kernel on one warp.

    Parameters
    ----------
    entry : Entry
        Its variables in ``.global`` are placed in memory like arrays of their size.
    open_machine : callable
        Makes the machine, given the bytes of memory it needs; it is closed in the end.
    arguments : mapping of str to array or number
        By the name of the parameter; arrays by the name of a variable too. Arrays are placed in memory as
        they are: float16 for f16, float32 for f32 and tf32, or raw bits in unsigned integers.
    outputs : sequence of Output
        Arrays to read in the end. One that is no argument as well begins as zeros.
    registers : int
        32-bit registers per lane of the machine.
    on_progress : callable
        Called with the number of pieces of work that the machine has taken since the last call.
    on_command : callable
        Called with the `SourceLine` of each command, in order, before the machine gets it.

    Raises
    ------
    InvalidArgument
        For an output that does not fit its argument, for an argument or output that does not fit its
        variable, for an argument that is neither array nor number, and for more than
        `golden.limits.DEVICE_BYTES` of arrays.
    golden.ptx.source.PtxError
        For arguments that do not fit the kernel.
    golden.programs.execution.ProgramFault
        For an access beyond the array in which it begins, too.
    golden.machine.Difference
        From a machine that checks itself.

    Warns
    -----
    ArrayTypeWarning
        For an array of values that are loaded as another type.
    """
    checked_object("entry", entry, Entry, "an Entry")
    registers = checked_integer("registers", registers, 1)
    checked_object("arguments", arguments, Mapping, "a mapping of names to arrays and numbers")
    outputs = checked_objects("outputs", outputs, Output, "an Output")
    arguments = _converted(entry, arguments)
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in arguments.items() if not isinstance(value, np.ndarray)}
    buffers = Buffers(_sizes(entry, numbers, arrays, outputs))
    values = {**numbers, **buffers.addresses}
    entry.require(values, registers=registers)
    if buffers.memory_size > DEVICE_BYTES:
        raise InvalidArgument("arrays", f"{buffers.memory_size} bytes", f"at most {DEVICE_BYTES} bytes")
    with closing(open_machine(buffers.memory_size)) as machine:
        shared = machine.shared
        window = range(shared.base, shared.base + shared.size) if shared is not None else range(0)
        commands = entry.commands(values, registers=registers, shared=window)
        for name, array in arrays.items():
            buffers.write(machine.memory, name, array)
        program = checked_bounds(commands, buffers, window, entry.shared_bytes)
        program = checked_types(program, arrays, buffers.addresses)
        execution = execute(machine, program, on_progress, on_command)
        results = {
            output.name: buffers.read(machine.memory, output.name)[: output.size]
            .view(output.dtype)
            .reshape(output.shape)
            for output in outputs
        }
    return ProgramRun(outputs=results, execution=execution)


def _converted(entry: Entry, arguments: Mapping[str, Argument]) -> dict[str, Argument]:
    """Arrays in the byte order of the machine; numpy's numbers, and arrays of one, as Python's."""
    widths = {parameter.name: parameter.type.bits for parameter in entry.parameters}
    found: dict[str, Argument] = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray) and (value.ndim or widths.get(name, 64) == 64):
            if value.dtype.hasobject:
                raise InvalidArgument(f"argument {name}", f"dtype {value.dtype}", "an array of numbers")
            found[name] = little_endian(value)
        elif isinstance(value, np.generic | np.ndarray):
            if value.dtype.kind not in "biuf":
                raise InvalidArgument(f"argument {name}", f"the {value.dtype} {shortened(value)}", "a number")
            found[name] = float(value) if value.dtype.kind == "f" else int(value)
        else:
            found[name] = int(value) if isinstance(value, bool) else value
    return found


def _sizes(
    entry: Entry,
    numbers: Mapping[str, int | float],
    arrays: Mapping[str, NDArray[Any]],
    outputs: Sequence[Output],
) -> dict[str, int]:
    """Bytes of each array; of a variable as it is declared, or where that is open, of what it gets."""
    sizes = {name: array.nbytes for name, array in arrays.items()}
    variables = {}
    for variable in entry.variables:
        name, size = variable.name, variable.size
        if numbers.get(name) is not None:
            given = f"the number {shortened(numbers[name])}"
            raise InvalidArgument(f"argument {name}", given, f"an array, as {name} is a variable")
        counts = {
            "argument": sizes.pop(name, 0),
            "output": max((output.size for output in outputs if output.name == name), default=0),
        }
        for kind, count in counts.items():
            if size is not None and count > size:
                allowed = f"at most the {size} bytes that are declared"
                raise InvalidArgument(f"{kind} {name}", f"{count} bytes", allowed)
        variables[name] = max(counts.values()) if size is None else size
    for output in outputs:
        name = output.name
        if name in variables:
            continue
        if numbers.get(name) is not None:
            given = f"the number {shortened(numbers[name])} as its argument"
            raise InvalidArgument(f"output {name}", given, "an array")
        if name in arrays and arrays[name].nbytes < output.size:
            allowed = f"at most the {arrays[name].nbytes} bytes of its argument"
            raise InvalidArgument(f"output {name}", f"{output.size} bytes", allowed)
        sizes.setdefault(name, output.size)
    return sizes | variables


def checked_types(
    program: Iterable[tuple[Work, object]],
    arrays: Mapping[str, NDArray[Any]],
    addresses: Mapping[str, int],
) -> Iterator[tuple[Work, object]]:
    """Pass a program on, and warn of each load that reads an array of values of another type.

    Unsigned integers are raw bits, which may be loaded as any type. Arrays and their addresses go by the name
    of the parameter. There is one ArrayTypeWarning for each array and type of load, with the first such load.
    """
    checked = sorted((addresses[name], name) for name, array in arrays.items() if array.dtype.kind != "u")
    starts = [start for start, _ in checked]
    seen: set[tuple[str, str]] = set()
    for work, place in program:
        if isinstance(work, Load) and work.instruction.space != "shared":
            index = bisect_right(starts, work.address) - 1
            if index >= 0:
                start, name = checked[index]
                key = name, work.instruction.type
                if work.address < start + arrays[name].nbytes and key not in seen:
                    seen.add(key)
                    _check_type(name, arrays[name].dtype, work.instruction, place)
        yield work, place


def _check_type(name: str, found: np.dtype[Any], instruction: LoadInstruction, place: object) -> None:
    element = FORMATS[instruction.type]
    is_float = isinstance(element, FloatFormat)
    bits = element.bits
    if is_float == (found.kind == "f") and 8 * found.itemsize == max(8, bits) and instruction.type != "bf16":
        return
    expected = {"f16": "float16", "f32": "float32", "tf32": "float32", "f64": "float64"}.get(instruction.type)
    if expected is None and not is_float:
        expected = f"int{max(8, bits)}"
    unsigned = f"uint{max(8, bits)}"
    allowed = f"{expected}, or raw bits in {unsigned}" if expected else f"raw bits in {unsigned}"
    warnings.warn(
        f"argument {name}: an array of {found} is loaded as {instruction.type} ({place}); expected {allowed}",
        ArrayTypeWarning,
        stacklevel=2,
    )
