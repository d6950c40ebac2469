"""Reads launch files (docs/reference/launch-files.md) and repeats what they describe."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.simt.buffers import DeviceBuffer, device
from golden.simt.errors import LaunchError
from openwmma.launch_files import POINTER_BYTES
from openwmma.launching import KernelRun
from openwmma.modules import Kernel, Module

__all__ = ["ArrayDifference", "RecordedLaunch", "read_launches"]

SHOWN: Final = 8
"""Differing bytes of an array that are listed."""

_KEYS: Final = ("case", "file", "entry", "grid", "block", "arguments")


@dataclass(frozen=True)
class ArrayDifference:
    """An array that is not as recorded.

    Parameters
    ----------
    name : str
    size : int
        Bytes of the array.
    places : tuple of (int, int, int)
        The first differing bytes: offset, recorded and present value.
    count : int
        Of all differing bytes.
    """

    name: str
    size: int
    places: tuple[tuple[int, int, int], ...]
    count: int

    def __str__(self) -> str:
        listed = ", ".join(
            f"byte {at}: {want:#04x} recorded, {got:#04x} now" for at, want, got in self.places
        )
        more = ", ..." if self.count > len(self.places) else ""
        return f"{self.name}: {self.count} of {self.size} bytes differ; {listed}{more}"


class RecordedLaunch:
    """One launch of a launch file.

    Parameters
    ----------
    case : mapping
        Its description.
    folder : Path
        In which the PTX lies.
    arrays : mapping of str to ndarray
        Those of the file, as ``CASE/NAME`` and ``CASE/NAME.after``.

    Raises
    ------
    LaunchError
        For a description that lacks something.
    """

    def __init__(self, case: Mapping[str, Any], folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
        missing = [key for key in _KEYS if key not in case]
        if missing:
            raise LaunchError(f"a launch without {missing[0]!r}: {str(dict(case))[:60]}")
        self.name = str(case["case"])
        self._case = case
        self._folder = folder
        prefix = f"{self.name}/"
        own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
        self._before = {key: array for key, array in own.items() if not key.endswith(".after")}
        self._after = {
            key.removesuffix(".after"): array for key, array in own.items() if key.endswith(".after")
        }

    @property
    def is_compared(self) -> bool:
        """Whether it is recorded what the launch left."""
        return bool(self._after)

    @cached_property
    def module(self) -> Module:
        """The module, freshly loaded."""
        path = self._folder / str(self._case["file"])
        if not path.is_file():
            raise LaunchError(f"{self.name}: there is no file {path}")
        return Module(path)

    @property
    def kernel(self) -> Kernel:
        """The kernel that is launched."""
        return self.module.kernel(str(self._case["entry"]))

    @cached_property
    def buffers(self) -> Mapping[str, DeviceBuffer]:
        """The arrays, in device memory."""
        variables = self._case.get("variables", {})
        found = {}
        for name, array in self._before.items():
            if name in variables:
                found[name] = self.module[variables[name]]
                found[name].write(array)
            else:
                found[name] = device(array, name=name)
        return found

    def launch(self, **options: Any) -> KernelRun:
        """Repeat the launch; options as for `openwmma.modules.Kernel.launch`.

        Raises
        ------
        LaunchError
            For a description that is malformed, and as `Kernel.launch` does.
        """
        case = self._case
        kernel = self.kernel
        try:
            arguments = [self._argument(item) for item in case["arguments"]]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, LaunchError):
                raise
            raise LaunchError(f"{self.name}: malformed arguments ({error!r})") from None
        return kernel.launch(case["grid"], case["block"], arguments, case.get("shared", 0), **options)

    def differences(self) -> list[ArrayDifference]:
        """The arrays that are not as recorded; what the launch did not change must be as before it."""
        found = []
        for name, buffer in self.buffers.items():
            recorded = _bytes(self._after.get(name, self._before[name]))
            now = _bytes(buffer.numpy())
            if len(recorded) != len(now):
                raise LaunchError(f"{self.name}: {name} has {len(now)} bytes, {name}.after {len(recorded)}")
            places = np.flatnonzero(recorded != now)
            if len(places):
                shown = tuple((int(at), int(recorded[at]), int(now[at])) for at in places[:SHOWN])
                found.append(ArrayDifference(name, len(now), shown, len(places)))
        return found

    def _argument(self, item: Any) -> Any:
        if isinstance(item, str):
            return self._buffer(item)
        if "struct" in item:
            content = bytearray.fromhex(item["hex"])
            if len(content) != item["struct"]:
                raise LaunchError(
                    f"{self.name}: a structure of {item['struct']} bytes with {len(content)} bytes in hex"
                )
            for offset, (name, inside) in item.get("pointers", {}).items():
                address = self._buffer(name).require() + inside
                content[int(offset) : int(offset) + POINTER_BYTES] = address.to_bytes(POINTER_BYTES, "little")
            if len(content) != item["struct"]:
                raise LaunchError(f"{self.name}: a pointer past the end of its structure")
            return bytes(content)
        kind, bits = item["type"][0], int(item["type"][1:])
        code = {"s": "i", "b": "u"}.get(kind, kind)
        return np.dtype(f"{code}{bits // 8}").type(item["value"])

    def _buffer(self, name: str) -> DeviceBuffer:
        if name not in self.buffers:
            raise LaunchError(f"{self.name}: no array {name}; arrays: {', '.join(self.buffers) or 'none'}")
        return self.buffers[name]


def read_launches(path: Path, case: str | None = None) -> list[RecordedLaunch]:
    """Read a launch file.

    Parameters
    ----------
    path : Path
        ``NAME.json``; ``NAME.npz`` beside it has the arrays.
    case : str or None
        The one launch to read; None for all.

    Raises
    ------
    LaunchError
        For files that are missing or malformed, and for an unknown case.
    """
    if not path.is_file():
        raise LaunchError(f"there is no launch file {path}")
    try:
        cases = json.loads(path.read_text())
    except ValueError as error:  # of the decoding of text, too
        raise LaunchError(f"{path}: not JSON ({error})") from None
    cases = [cases] if isinstance(cases, dict) else cases
    if not isinstance(cases, list) or not all(isinstance(item, dict) for item in cases):
        raise LaunchError(f"{path}: expected a list of launches")
    arrays_path = path.with_suffix(".npz")
    if not arrays_path.is_file():
        raise LaunchError(f"{path}: there is no {arrays_path.name} beside it")
    try:
        with np.load(arrays_path, allow_pickle=False) as file:
            arrays = dict(file)
    except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile):
        raise LaunchError(f"{arrays_path}: expected an archive of arrays") from None
    launches = [RecordedLaunch(item, path.parent, arrays) for item in cases]
    if case is None:
        return launches
    chosen = [launch for launch in launches if launch.name == case]
    if not chosen:
        raise LaunchError(f"{path}: no case {case}; cases: {', '.join(launch.name for launch in launches)}")
    return chosen


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
