"""The arguments and outputs of a launch on the command line: by position, or by name."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.host_arrays import raw_bytes
from golden.integers import parsed_integer, quoted, shortened
from golden.invalid_argument import InvalidArgument
from golden.limits import DEVICE_BYTES
from golden.simt.buffers import DeviceBuffer
from golden.simt.tensor_map import TensorMap, tensor_map
from openwmma.arguments import TYPES, input_files, is_file, load_array, parse_number, typed_number
from openwmma.modules import Kernel, Module
from openwmma.output_files import array_bytes, require_folder, require_outputs
from openwmma.usage_error import UsageError

_NAMED: Final = re.compile(r"(?P<key>[A-Za-z_$%][\w$]*|[0-9]+)=(?P<value>.+)", re.DOTALL)
_TYPED: Final = re.compile(r"(?P<type>[us](?:8|16|32|64)|f(?:16|32|64)):(?P<value>.+)")
_MAP: Final = re.compile(r"map:(?P<tensor>[^,]+)(?P<options>(?:,[^,]*)*)")
_MAP_LISTS: Final = ("box", "element_strides")
_MAP_NAMES: Final = ("type", "swizzle", "fill", "interleave", "promotion")
"""Options of a tensor map: numbers as in 64x64, and names."""

_VIEW: Final = re.compile(r":(?P<type>[^:]+):(?P<shape>[^:]+)")
_MAX_AXES: Final = 3

_OUTPUT_TYPES: Final = TYPES | {"bf16": np.dtype("u2"), "tf32": np.dtype("u4")}
"""The dtype of each type of an output; numpy has none for bf16 and tf32, which stay raw bits."""


class _View(NamedTuple):
    """The type and shape of an output."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass
class LaunchOutput:
    """An array to write to a file when the kernel has ended."""

    path: Path
    name: str
    """The parameter or the variable."""
    array: NDArray[Any] | DeviceBuffer
    """The argument, updated in place, or the variable."""
    view: _View | None
    """The type and shape in which it is written; None for the argument's own."""

    def contents(self) -> bytes:
        """What the file is to hold."""
        array = self.array.numpy() if isinstance(self.array, DeviceBuffer) else self.array
        if self.view is not None:
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            array = data[: self.view.size].view(self.view.dtype).reshape(self.view.shape)
        return array_bytes(array)


def parse_extent(option: str, text: str) -> tuple[int, ...]:
    """Parse ``2,2,1``, or fewer numbers; UsageError for anything else."""
    parts = text.split(",")
    if len(parts) > _MAX_AXES or not all(re.fullmatch(r"\s*[0-9]{1,1000}\s*", part) for part in parts):
        raise UsageError(
            f"{option} {shortened(text)}: expected one to three numbers with commas, as in 2,2,1"
        )
    return tuple(int(part) for part in parts)


def prepare_launch(
    module: Module, kernel: Kernel, args: Sequence[str], outs: Sequence[str], inputs: Iterable[Path] = ()
) -> tuple[list[Any], list[LaunchOutput]]:
    """The arguments of a kernel in their order, and its outputs; UsageError for what does not fit.

    `args` are ``VALUE``, which takes the next position, ``NAME=VALUE`` or ``POSITION=VALUE``. A value is
    an .npy file, a number, a number with its type as in ``f16:0.5``, or a tensor map as in
    ``map:a.npy,box=64x64,swizzle=128B`` with the options of `golden.simt.tensor_map.tensor_map`; in the
    place of a file, it may have the name of an argument before it. The name of a variable takes a file,
    whose bytes are written to its beginning.

    `outs` are ``KEY=FILE.npy`` or ``KEY=FILE.npy:TYPE:SHAPE``; the key is a position, a parameter or a
    variable. A parameter with an output and no argument is zeros of that type and shape. No output may
    overwrite one of `inputs`, other files that are read, nor an argument of another parameter.
    """
    names = kernel.parameters
    given: dict[str, Any] = {}
    files: dict[str, list[Path]] = {}
    position = 0
    for text in args:
        match = _NAMED.fullmatch(text)
        if match is None:
            if position >= len(names):
                raise UsageError(f"--arg {text}: {len(names)} arguments expected by {kernel.signature}")
            name, value = names[position], text
            position += 1
        else:
            key, value = match["key"], match["value"]
            name = key if _is_variable(module, kernel, key) else _parameter("--arg", text, key, kernel)
        if name in given:
            raise UsageError(f"--arg {text}: {name} already has a value")
        found = _MAP.fullmatch(value)
        files[name] = input_files([value if found is None else _tensor_file(found["tensor"], given)])
        given[name] = _value(text, value) if found is None else _map(text, found, given)
        if name not in names:
            _set_variable(text, module, name, given[name])
    outputs = [_output(text, module, kernel, given) for text in outs]
    require_outputs([(f"--out {text}", output.path) for text, output in zip(outs, outputs, strict=True)])
    for text, output in zip(outs, outputs, strict=True):
        others = [path for name, paths in files.items() if name != output.name for path in paths]
        require_outputs([(f"--out {text}", output.path)], [*inputs, *others])
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(f"parameter {missing[0]} has no --arg; the kernel is {kernel.signature}")
    return [given[name] for name in names], outputs


def _parameter(option: str, text: str, key: str, kernel: Kernel) -> str:
    names = kernel.parameters
    if key.isdigit() and int(key) < len(names):
        return names[int(key)]
    if key in names:
        return key
    raise UsageError(
        f"{option} {text}: expected a parameter, a variable, or a position below {len(names)}, "
        f"not {key}; "
        f"the kernel is {kernel.signature}"
    )


def _is_variable(module: Module, kernel: Kernel, key: str) -> bool:
    """Whether a key of the command line names a variable of the module, and no parameter."""
    if key.isdigit() or key in kernel.parameters:
        return False
    try:
        module[key]
    except KeyError:
        return False
    return True


def _set_variable(text: str, module: Module, name: str, value: Any) -> None:
    """Write an array to the beginning of a variable."""
    buffer = module[name]
    if not isinstance(value, np.ndarray):
        raise UsageError(f"--arg {text}: expected an .npy file for the variable {name}")
    data = raw_bytes(value)
    if data.size > buffer.nbytes:
        raise UsageError(
            f"--arg {text}: expected at most the {buffer.nbytes} bytes there are, not {data.size}"
        )
    buffer.allocation.bytes[: data.size] = data


def _value(text: str, value: str) -> Any:
    if is_file(value):
        return load_array(f"--arg {text}", Path(value))
    typed = _TYPED.fullmatch(value)
    try:
        if typed is None:
            return parse_number(value)
        is_float = typed["type"].startswith("f")
        return typed_number(typed["type"], (parse_number if is_float else parsed_integer)(typed["value"]))
    except OverflowError as error:
        raise UsageError(f"--arg {shortened(text)}: {error} is more than any parameter holds") from None
    except ValueError:
        raise UsageError(
            f"--arg {shortened(text)}: expected an .npy file, a number, "
            "or a number with its type as in f16:0.5"
        ) from None


def _tensor_file(name: str, given: Mapping[str, Any]) -> str:
    """The file of the tensor of a map; ``.npy`` may be left off. Empty where it is another argument's."""
    return "" if name in given else name if is_file(name) else f"{name}.npy"


def _map(text: str, found: re.Match[str], given: Mapping[str, Any]) -> TensorMap:
    """The tensor map that an argument describes."""
    file = _tensor_file(found["tensor"], given)
    other = given[found["tensor"]] if not file else load_array(f"--arg {text}", Path(file))
    tensor = other.tensor if isinstance(other, TensorMap) else other
    options: dict[str, Any] = {}
    for option in found["options"].split(",")[1:]:
        key, _, value = option.partition("=")
        is_list = key in _MAP_LISTS and re.fullmatch(r"[0-9]{1,9}(x[0-9]{1,9})*", value)
        if not is_list and key not in _MAP_NAMES:
            allowed = (
                f"{' or '.join(_MAP_LISTS)} with numbers such as 64x64, {', '.join(_MAP_NAMES)} with a name"
            )
            raise UsageError(f"--arg {shortened(text)}: expected {allowed}, not {quoted(option)}")
        if key in options:
            raise UsageError(f"--arg {shortened(text)}: expected {key} once")
        options[key] = [int(part) for part in value.split("x")] if is_list else value
    if "box" not in options:
        raise UsageError(f"--arg {shortened(text)}: expected a box, as in map:a.npy,box=64x64")
    try:
        return tensor_map(tensor, **options)
    except InvalidArgument as error:
        raise UsageError(f"--arg {shortened(text)}: {error}") from None


def _output(text: str, module: Module, kernel: Kernel, given: dict[str, Any]) -> LaunchOutput:
    match = re.fullmatch(r"(?P<key>[^=]+)=(?P<path>[^:]+\.npy|/(?:dev|proc)/[^:]+)(?P<view>:.*)?", text)
    if match is None:
        raise UsageError(f"--out {text}: expected KEY=FILE.npy or KEY=FILE.npy:TYPE:SHAPE, as in 2=d.npy")
    path = Path(match["path"])
    require_folder(f"--out {text}", path)
    view = None if match["view"] is None else _parse_view(text, match["view"])
    name = match["key"]
    if _is_variable(module, kernel, name):
        array: Any = module[name]
    else:
        name = _parameter("--out", text, name, kernel)
        if name not in given:
            if view is None:
                raise UsageError(f"--out {text}: expected an --arg for {name}, or KEY=FILE.npy:TYPE:SHAPE")
            given[name] = np.zeros(view.shape, view.dtype)
        array = given[name].tensor if isinstance(given[name], TensorMap) else given[name]
        if not isinstance(array, np.ndarray):
            raise UsageError(f"--out {text}: expected an array as argument {name}, not {shortened(array)}")
    if view is not None and view.size > array.nbytes:
        message = f"expected at most the {array.nbytes} bytes there are, not {view.size}"
        raise UsageError(f"--out {text}: {message}")
    return LaunchOutput(path, name, array, view)


def _parse_view(text: str, view: str) -> _View:
    match = _VIEW.fullmatch(view)
    if match is None:
        raise UsageError(f"--out {text}: expected KEY=FILE.npy:TYPE:SHAPE, as in D=d.npy:f32:64x64")
    if match["type"] not in _OUTPUT_TYPES:
        types = ", ".join(_OUTPUT_TYPES)
        raise UsageError(f"--out {text}: expected one of the types {types}, not {match['type']}")
    if not re.fullmatch(r"[1-9][0-9]{0,18}(x[1-9][0-9]{0,18}){0,31}", match["shape"]):
        given = shortened(match["shape"])
        raise UsageError(f"--out {shortened(text)}: expected a shape such as 64x64, not {given}")
    found = _View(_OUTPUT_TYPES[match["type"]], tuple(map(int, match["shape"].split("x"))))
    if found.size > DEVICE_BYTES:
        allowed = f"at most {DEVICE_BYTES} bytes, not {shortened(found.size)} bytes"
        raise UsageError(f"--out {shortened(text)}: expected {allowed}")
    return found
