"""Writes a launch to files in the format of docs/reference/launch-files.md."""

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from golden.integers import integer_of, listed
from golden.limits import ARRAY_BYTES
from golden.ptx.syntax import Variable
from golden.simt.arguments import BoundArguments
from golden.simt.errors import LaunchError
from openwmma.launch_arrays import POINTER_BYTES, LaunchArrays, Pointers
from openwmma.output_files import require_outputs
from openwmma.usage_error import UsageError
from sim.files import write_files

if TYPE_CHECKING:
    from openwmma.modules import Kernel


def saved_files(path: Path) -> tuple[Path, Path, Path]:
    """The files of a saved launch: description, arrays, PTX. A suffix ``.json`` of the path is dropped.

    LaunchError for a path without a name.
    """
    stem = path.with_suffix("") if path.suffix == ".json" else path
    if not stem.name:
        raise LaunchError(f"save {path}: expected the name of files")
    description, arrays, ptx = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("json", "npz", "ptx"))
    return description, arrays, ptx


class SavedLaunch:
    """A launch that is being written to ``PATH.json``, ``PATH.npz`` and ``PATH.ptx``.

    `record` writes the inputs first, so that a launch that fails is written too. Parameters are as for
    the launch. LaunchError for files that cannot be written.
    """

    def __init__(
        self,
        path: Path,
        kernel: "Kernel",
        extents: tuple[Any, Any],
        arguments: Sequence[Any] | Mapping[str, Any],
        shared: int,
        *,
        contract: bool,
        cluster: Any = None,
    ) -> None:
        self._files = saved_files(path)
        try:
            require_outputs([(f"save {path}", file) for file in self._files], kernel.module.files)
        except UsageError as error:
            raise LaunchError(str(error)) from None
        self._ptx = kernel.module.ptx
        self._parameters = kernel.compiled.parameters
        self._values = arguments
        self._variables = kernel.module.loaded_variables
        self._case: dict[str, Any] = {
            "case": self._files[0].name.removesuffix(".json"),
            "file": self._files[2].name,
            "entry": kernel.name,
            "grid": _triple(extents[0]),
            "block": _triple(extents[1]),
            "shared": integer_of(shared),
            **({} if contract else {"contract": False}),
            **({} if cluster is None else {"cluster": _triple(cluster)}),
        }
        self._arrays: LaunchArrays
        self._before: dict[str, Pointers]

    @contextmanager
    def record(self, bound: BoundArguments) -> Iterator[None]:
        """Write what the launch starts from, and in the end add the memory after it.

        LaunchError for more bytes than a launch file may have.
        """
        values = self._values.values() if isinstance(self._values, Mapping) else self._values
        self._arrays = arrays = LaunchArrays(bound, values, self._variables)
        self._case["arguments"] = [
            _described(arrays, parameter, bytes(bound.data[offset : offset + (parameter.size or 0)]))
            for parameter, offset in self._parameters
        ]
        arrays.follow()
        total = sum(array.allocation.nbytes for array in arrays.found)
        most = ARRAY_BYTES // 2  # before and after the launch
        if total > most:
            raise LaunchError(
                f"save {self._files[0]}: a launch file has at most {most} bytes of arrays, not {total}"
            )
        self._before = {array.key: arrays.pointers(array) for array in arrays.found}
        self._write({})
        yield
        for array in self._arrays.found:  # grows by variables whose addresses the kernel has written
            if array.is_changed:
                self._arrays.pointers(array, only_variables=True)
        changed = [array for array in self._arrays.found if array.is_changed]
        self._write({array.key: array.contents() for array in changed})

    def _write(self, after: Mapping[str, NDArray[Any]]) -> None:
        found = self._arrays.found
        name = self._case["case"]
        contents = {f"{name}/{array.key}": array.before for array in found}
        contents |= {f"{name}/{key}.after": array for key, array in after.items()}
        pointers = {key: places for key, places in self._before.items() if places}
        for array in found:
            places = self._arrays.pointers(array, only_variables=True) if array.key in after else {}
            if places or (array.key in after and array.key in pointers):
                pointers[f"{array.key}.after"] = places
        self._case |= {
            "arrays": [array.key for array in found],
            "outputs": list(after),
            "variables": {array.key: array.variable for array in found if array.variable is not None},
            "addresses": {array.key: array.allocation.address for array in found if array.variable is None},
            "pointers": {
                key: {str(offset): list(target) for offset, target in places.items()}
                for key, places in pointers.items()
            },
        }
        if after:
            self._case["changed"] = list(after)
        archive = io.BytesIO()
        np.savez_compressed(archive, **contents)  # type: ignore[arg-type]
        description, arrays, ptx = self._files
        text = json.dumps([self._case], indent=1)
        write_files({description: text + "\n", arrays: archive.getvalue(), ptx: self._ptx})


def _described(arrays: LaunchArrays, parameter: Variable, data: bytes) -> Any:
    """A parameter as the format has it."""
    pointers = arrays.addresses(np.frombuffer(data, np.uint8))
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


def _triple(extent: Any) -> list[int]:
    """Three extents; those that are none are refused by the launch, before anything is written."""
    return [integer_of(value) or 0 for value in [*(listed(extent) or ()), 1, 1][:3]]
