"""Writes a launch to files in the format of docs/reference/launch-files.md."""

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.ptx.syntax import Variable
from golden.simt.arguments import BoundArguments, bind
from golden.simt.buffers import DEVICE, DeviceBuffer
from golden.simt.device_memory import Allocation
from golden.simt.errors import LaunchError
from golden.simt.module import Kernel

__all__ = ["SavedLaunch"]

POINTER_BYTES = 8


@dataclass
class _Array:
    """A buffer of the launch: where its contents are, and what they were before."""

    key: str
    allocation: Allocation
    source: NDArray[Any] | None
    """The array that was handed in directly; None for a buffer in device memory."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    variable: str | None = None
    before: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.contents()

    def contents(self) -> NDArray[Any]:
        if self.source is not None:
            return _plain(self.source.copy())
        data = self.allocation.bytes.copy()
        return _plain(data.view(self.dtype).reshape(self.shape))


class SavedLaunch:
    """A launch that is being written to ``PATH.json``, ``PATH.npz`` and ``PATH.ptx``.

    Parameters
    ----------
    path : Path
        Without a suffix.
    case : dict
        The description so far.
    arrays : sequence
        The buffers.
    """

    def __init__(self, path: Path, case: dict[str, Any], arrays: Sequence[_Array]) -> None:
        self._path = path
        self._case = case
        self._arrays = arrays

    @classmethod
    def begin(
        cls,
        path: Path,
        ptx: str,
        kernel: Kernel,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: Sequence[Any] | Mapping[str, Any],
        shared: int,
        variables: Mapping[str, DeviceBuffer],
    ) -> "SavedLaunch":
        """Write what a launch starts from, before it starts: a launch that fails is written too.

        Parameters
        ----------
        path : Path
            A suffix ``.json`` is dropped.
        ptx : str
        kernel : Kernel
        grid, block, arguments, shared
            As for `golden.simt.module.Kernel.launch`.
        variables : mapping of str to DeviceBuffer
            Variables of the module whose contents are not those of the file.

        Raises
        ------
        LaunchError
            For arguments that do not fit, for a folder that does not exist, and for a buffer that holds the
            address of another one, which the format cannot express.
        """
        path = path.with_suffix("") if path.suffix == ".json" else path
        if not path.parent.is_dir():
            raise LaunchError(f"save {path}: expected files in a folder that exists, not in {path.parent}")
        compiled = kernel.compiled
        bound = bind(compiled, arguments, DEVICE)
        try:
            found = _Arrays(bound, arguments, variables)
            described = [
                found.describe(parameter, bytes(bound.data[offset : offset + (parameter.size or 0)]))
                for parameter, offset in compiled.parameters
            ]
        finally:
            bound.release()
        case = {
            "case": path.name,
            "file": f"{path.name}.ptx",
            "entry": kernel.name,
            "grid": _triple(grid),
            "block": _triple(block),
            "shared": shared,
            "arguments": described,
            "outputs": [],
            "arrays": [array.key for array in found.arrays],
            "variables": {array.key: array.variable for array in found.arrays if array.variable is not None},
        }
        saved = cls(path, case, found.arrays)
        path.with_name(f"{path.name}.ptx").write_text(ptx)
        saved._write({})
        return saved

    def end(self) -> None:
        """Add what the launch has left."""
        after = {}
        for array in self._arrays:
            contents = array.contents()
            if contents.tobytes() != array.before.tobytes():
                after[array.key] = contents
        self._case["outputs"] = self._case["changed"] = list(after)
        self._write(after)

    def _write(self, after: Mapping[str, NDArray[Any]]) -> None:
        name = self._case["case"]
        contents = {f"{name}/{array.key}": array.before for array in self._arrays}
        contents |= {f"{name}/{key}.after": array for key, array in after.items()}
        with self._path.with_name(f"{self._path.name}.npz").open("wb") as file:
            np.savez_compressed(file, **contents)  # type: ignore[arg-type]
        text = json.dumps([self._case], indent=1)
        self._path.with_name(f"{self._path.name}.json").write_text(text + "\n")


class _Arrays:
    """The buffers that the parameters of a launch point to."""

    def __init__(
        self,
        bound: BoundArguments,
        arguments: Sequence[Any] | Mapping[str, Any],
        variables: Mapping[str, DeviceBuffer],
    ) -> None:
        self.arrays: list[_Array] = []
        self._sources = {allocation.address: array for array, allocation, _ in bound.placed}
        values = arguments.values() if isinstance(arguments, Mapping) else arguments
        self._buffers = {value.address: value for value in values if isinstance(value, DeviceBuffer)}
        for name, buffer in variables.items():
            self._add(buffer.allocation, buffer.dtype, buffer.shape, variable=name)

    def describe(self, parameter: Variable, data: bytes) -> Any:
        """A parameter as the format has it."""
        pointers = {}
        for offset in range(0, len(data) - POINTER_BYTES + 1, POINTER_BYTES):
            target = self._target(int.from_bytes(data[offset : offset + POINTER_BYTES], "little"))
            if target is not None:
                pointers[offset] = target
        if not pointers and not parameter.is_array:
            number = _number(parameter, data)
            if number is not None:
                return number
        if len(data) == POINTER_BYTES and pointers and not pointers[0][1]:
            return pointers[0][0]
        content = bytearray(data)
        for offset in pointers:
            content[offset : offset + POINTER_BYTES] = bytes(POINTER_BYTES)
        described: dict[str, Any] = {"struct": len(data), "hex": content.hex()}
        if pointers:
            described["pointers"] = {str(offset): list(target) for offset, target in pointers.items()}
        return described

    def _target(self, address: int) -> tuple[str, int] | None:
        """The array at an address, or just before it, and the offset in it."""
        allocation = DEVICE.find(address) or (DEVICE.find(address - 1) if address else None)
        if allocation is None:
            return None
        key = next((array.key for array in self.arrays if array.allocation is allocation), None)
        if key is None:
            source = self._sources.get(allocation.address)
            buffer = self._buffers.get(allocation.address)
            if source is not None:
                key = self._add(allocation, source.dtype, source.shape, source=source)
            elif buffer is not None:
                key = self._add(allocation, buffer.dtype, buffer.shape)
            else:
                key = self._add(allocation, np.dtype(np.uint8), (allocation.nbytes,))
        return key, address - allocation.address

    def _add(
        self,
        allocation: Allocation,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        *,
        source: NDArray[Any] | None = None,
        variable: str | None = None,
    ) -> str:
        base = re.sub(r"\W+", "_", allocation.name)
        used = {array.key for array in self.arrays}
        names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
        key = next(name for name in names if name not in used)
        if math.prod(shape) * dtype.itemsize != allocation.nbytes:
            dtype, shape = np.dtype(np.uint8), (allocation.nbytes,)
        array = _Array(key, allocation, source, dtype, shape, variable)
        words = allocation.bytes[: allocation.nbytes // POINTER_BYTES * POINTER_BYTES].view("<u8")
        for place in np.flatnonzero(words >= DEVICE.first_address):
            other = DEVICE.find(int(words[place]))
            if other is not None and variable is None:
                raise LaunchError(
                    f"cannot save: byte {place * POINTER_BYTES} of {allocation.name} holds the address of "
                    f"{other.name}, which the format of launch files does not have"
                )
        self.arrays.append(array)
        return key


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Types that numpy cannot read back, such as bfloat16, as their bit patterns."""
    if array.dtype.kind == "V" and array.dtype.fields is None and array.dtype.itemsize in (1, 2, 4, 8):
        return array.view(f"u{array.dtype.itemsize}")
    return array


def _number(parameter: Variable, data: bytes) -> dict[str, Any] | None:
    """A scalar as type and value; None where that would not keep its bits."""
    kind = {"float": "f", "signed": "s"}.get(parameter.type.kind, "u")
    bits = 8 * len(data)
    if bits not in (8, 16, 32, 64) or parameter.type.name == "bf16":
        return None
    if kind != "f":
        return {"type": f"{kind}{bits}", "value": int.from_bytes(data, "little", signed=kind == "s")}
    value = float(np.frombuffer(data, dtype=f"<f{len(data)}")[0])
    return {"type": f"f{bits}", "value": value} if math.isfinite(value) else None


def _triple(extent: int | Sequence[int]) -> list[int]:
    values = list(extent) if isinstance(extent, Sequence | np.ndarray) else [extent]
    return [int(value) for value in [*values, 1, 1][:3]]
