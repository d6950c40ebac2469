"""The arguments and outputs of a launch on the command line: by position, or by name."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.integers import parsed_integer, shortened
from golden.programs.kernel_run import Output
from openwmma.arguments import input_files, is_file, load_array, parse_number, parse_output
from openwmma.modules import Kernel, Module
from openwmma.output_files import array_bytes, require_folder, require_outputs
from openwmma.typed_numbers import typed_number
from openwmma.usage import UsageError

__all__ = ["LaunchOutput", "parse_extent", "prepare_launch"]

_NAMED: Final = re.compile(r"(?P<key>[A-Za-z_$%][\w$]*|[0-9]+)=(?P<value>.+)", re.DOTALL)
_TYPED: Final = re.compile(r"(?P<type>[us](?:8|16|32|64)|f(?:16|32|64)):(?P<value>.+)")
_MOST_AXES: Final = 3


@dataclass
class LaunchOutput:
    """An array to write to a file when the kernel has ended.

    Parameters
    ----------
    path : Path
    parameter : str
        The parameter; empty for a variable.
    array : ndarray or None
        The argument, updated in place; None for a variable.
    variable : str
        The variable of the module.
    view : Output or None
        The type and shape in which it is written; None for the argument's own.
    """

    path: Path
    parameter: str
    array: NDArray[Any] | None
    variable: str
    view: Output | None

    def contents(self, module: Module) -> bytes:
        """What the file is to hold."""
        array = module[self.variable].numpy() if self.array is None else self.array
        if self.view is not None:
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            array = data[: self.view.size].view(self.view.dtype).reshape(self.view.shape)
        return array_bytes(array)


def parse_extent(option: str, text: str) -> tuple[int, ...]:
    """Parse ``2,2,1``, or fewer numbers.

    Raises
    ------
    UsageError
    """
    parts = text.split(",")
    if len(parts) > _MOST_AXES or not all(re.fullmatch(r"\s*[0-9]{1,1000}\s*", part) for part in parts):
        raise UsageError(
            f"{option} {shortened(text)}: expected one to three numbers with commas, as in 2,2,1"
        )
    return tuple(int(part) for part in parts)


def prepare_launch(
    module: Module, kernel: Kernel, args: Sequence[str], outs: Sequence[str], inputs: Iterable[Path] = ()
) -> tuple[list[Any], list[LaunchOutput]]:
    """The arguments of a kernel in their order, and its outputs.

    Parameters
    ----------
    module : Module
    kernel : Kernel
    args : sequence of str
        ``VALUE``, which takes the next position, or ``NAME=VALUE``, or ``POSITION=VALUE``. A value is an
        .npy file, a number, or a number with its type as in ``f16:0.5``.
    outs : sequence of str
        ``KEY=FILE.npy`` or ``KEY=FILE.npy:TYPE:SHAPE``; the key is a position, a parameter or a variable. A
        parameter with an output and no argument is zeros of that type and shape.
    inputs : iterable of Path
        Other files that are read. No output may overwrite one, nor an argument of another parameter.

    Raises
    ------
    UsageError
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
            name, value = _parameter("--arg", text, match["key"], kernel), match["value"]
        if name in given:
            raise UsageError(f"--arg {text}: {name} already has a value")
        files[name] = input_files([value])
        given[name] = _value(text, value)
    outputs = [_output(text, module, kernel, given) for text in outs]
    require_outputs([(f"--out {text}", output.path) for text, output in zip(outs, outputs, strict=True)])
    for text, output in zip(outs, outputs, strict=True):
        others = [path for name, paths in files.items() if name != output.parameter for path in paths]
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
        f"{option} {text}: expected a parameter, or a position below {len(names)}, not {key}; "
        f"the kernel is {kernel.signature}"
    )


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


def _output(text: str, module: Module, kernel: Kernel, given: dict[str, Any]) -> LaunchOutput:
    match = re.fullmatch(r"(?P<key>[^=]+)=(?P<path>[^:]+\.npy|/(?:dev|proc)/[^:]+)(?P<view>:.*)?", text)
    if match is None:
        raise UsageError(f"--out {text}: expected KEY=FILE.npy or KEY=FILE.npy:TYPE:SHAPE, as in 2=d.npy")
    path = Path(match["path"])
    require_folder(f"--out {text}", path)
    view = parse_output(text)[0] if match["view"] else None
    key = match["key"]
    if not key.isdigit() and key not in kernel.parameters:
        try:
            available = module[key].nbytes
        except KeyError:
            raise UsageError(
                f"--out {text}: {key} is no parameter and no variable; the kernel is {kernel.signature}"
            ) from None
        _require_room(text, view, available)
        return LaunchOutput(path, "", None, key, view)
    name = _parameter("--out", text, key, kernel)
    if name not in given:
        if view is None:
            raise UsageError(f"--out {text}: expected an --arg for {name}, or KEY=FILE.npy:TYPE:SHAPE")
        given[name] = np.zeros(view.shape, view.dtype)
    if not isinstance(given[name], np.ndarray):
        raise UsageError(f"--out {text}: expected an array as argument {name}, not {shortened(given[name])}")
    _require_room(text, view, given[name].nbytes)
    return LaunchOutput(path, name, given[name], "", view)


def _require_room(text: str, view: Output | None, available: int) -> None:
    if view is not None and view.size > available:
        raise UsageError(f"--out {text}: expected at most the {available} bytes there are, not {view.size}")
