"""Reads launch files (docs/reference/launch-files.md) and repeats what they describe."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.host_arrays import raw_bytes
from golden.integers import integer_of, shortened
from golden.simt.buffers import DeviceBuffer, device
from golden.simt.errors import LaunchError
from openwmma.arguments import typed_number
from openwmma.input_files import UnreadableFile, is_readable, read_archive, read_json
from openwmma.launch_arrays import POINTER_BYTES
from openwmma.launch_files import saved_files
from openwmma.launching import KernelRun
from openwmma.modules import Kernel, Module
from openwmma.output_files import checked_path, is_same_file

SHOWN: Final = 8
"""Differing bytes of an array that are listed."""

_AFTER: Final = ".after"
_REASON: Final = 200
"""Most characters of a list or of an error in a message."""

_KINDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("case", "file", "entry"), str),
    **dict.fromkeys(("arguments", "ignored"), list),
    **dict.fromkeys(("variables", "addresses", "pointers"), dict),
    "contract": bool,
}
_KIND_NAMES: Final[Mapping[type, str]] = {
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}

_KEYS: Final = ("case", "file", "entry", "grid", "block", "arguments")


class RecordedLaunch:
    """One launch of a launch file: its description, and the file's arrays.

    The arrays are by the names ``CASE/NAME`` and ``CASE/NAME.after``. LaunchError for a description that
    lacks something, or has another type.
    """

    def __init__(
        self,
        case: Mapping[str, Any],
        path: Path,
        arrays: Mapping[str, NDArray[Any]],
        *,
        allow_outside: bool = False,
    ) -> None:
        missing = [key for key in _KEYS if key not in case]
        if missing:
            raise LaunchError(f"a launch without {missing[0]!r}: {shortened(dict(case))}")
        for key, kind in _KINDS.items():
            if key in case and not isinstance(case[key], kind):
                given = f"{shortened(case[key])} as {key!r}"
                raise LaunchError(f"a launch with {given}: expected {_KIND_NAMES[kind]}")
        self.name = str(case["case"])
        self._case = case
        self._path = path
        self._allow_outside = allow_outside
        prefix = f"{self.name}/"
        own = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
        self._before = {key: array for key, array in own.items() if not key.endswith(_AFTER)}
        tables = {name: given for name, given in case.get("addresses", {}).items() if isinstance(given, list)}
        self._pointers = case.get("pointers", {}) | {
            name: {POINTER_BYTES * index: place for index, place in enumerate(table)}
            for name, table in tables.items()
        }
        self._after = {key.removesuffix(_AFTER): array for key, array in own.items() if key.endswith(_AFTER)}

    @property
    def is_compared(self) -> bool:
        """Whether it is recorded what the launch left."""
        return bool(self._after)

    @cached_property
    def module(self) -> Module:
        """The module, freshly loaded.

        LaunchError for a file that is missing, or outside of the launch file's folder without
        `allow_outside`.
        """
        folder, file = self._path.parent, str(self._case["file"])
        path = folder / file
        if not is_readable(path):
            raise LaunchError(f"{self.name}: there is no file {path}")
        if not self._allow_outside and not Path(os.path.realpath(path)).is_relative_to(
            os.path.realpath(folder)
        ):
            raise LaunchError(
                f"{self.name}: {path} lies outside of the launch file's folder; "
                "--allow-outside (allow_outside=True) allows that"
            )
        return Module(path)

    @property
    def kernel(self) -> Kernel:
        """The kernel that is launched."""
        return self.module.kernel(str(self._case["entry"]))

    @cached_property
    def buffers(self) -> Mapping[str, DeviceBuffer]:
        """The arrays, in device memory: where they were when the launch was saved, if there is room."""
        variables = self._case.get("variables", {})
        addresses = self._case.get("addresses", {})
        found = {}
        for name, array in self._before.items():
            if name not in variables:
                address = integer_of(addresses.get(name))
                found[name] = device(_supported(name, array), name=name, address=address)
        for name in [name for name in self._before if name in variables]:
            try:
                found[name] = self.module[str(variables[name])]
            except KeyError as error:
                raise LaunchError(f"{self.name}: {error.args[0]}") from None
            found[name].write(self._before[name])
        found = {name: found[name] for name in self._before}
        for name, buffer in found.items():
            buffer.allocation.bytes[:] = self._relocated(name, buffer.numpy(), name, found)
        return found

    def launch(self, **options: Any) -> KernelRun:
        """Repeat the launch; options as for `openwmma.modules.Kernel.launch`.

        Raises
        ------
        LaunchError
            For a description that is malformed, and as `Kernel.launch` does.
        """
        case = self._case
        if options.get("save") is not None:
            self._require_other_files(checked_path("save", options["save"]) or Path())
        self.buffers  # noqa: B018  takes its addresses before the module does
        kernel = self.kernel
        with self._explained("arguments"):
            arguments = [self._argument(item) for item in case["arguments"]]
        options = {"contract": case.get("contract", True), "cluster": case.get("cluster")} | options
        return kernel.launch(case["grid"], case["block"], arguments, case.get("shared", 0), **options)

    def differences(self) -> list[str]:
        """The arrays that are not as recorded, in words; what the launch did not change must be as before it.

        Addresses of arrays that stand in arrays are compared as such, wherever the arrays lie now.
        """
        found = []
        ignored = self._case.get("ignored", ())
        for name, buffer in self.buffers.items():
            if name in ignored:
                continue
            now = raw_bytes(buffer.numpy())
            recorded = self._recorded(name)
            if len(recorded) != len(now):
                raise LaunchError(f"{self.name}: {name} has {len(now)} bytes, {name}.after {len(recorded)}")
            places = np.flatnonzero(recorded != now)
            if len(places):
                listed = ", ".join(
                    f"byte {at}: {recorded[at]:#04x} recorded, {now[at]:#04x} now" for at in places[:SHOWN]
                )
                more = ", ..." if len(places) > SHOWN else ""
                found.append(f"{name}: {len(places)} of {len(now)} bytes differ; {listed}{more}")
        return found

    def _recorded(self, name: str) -> NDArray[np.uint8]:
        """What an array is to hold in the end, with the addresses of now."""
        before, pointers = self._before[name], self._pointers
        if name not in self._after:
            return self._relocated(name, before, name, self.buffers)
        after = self._after[name]
        key = f"{name}{_AFTER}"
        if key in pointers or name not in pointers:
            return self._relocated(key, after, name, self.buffers)
        # Without a list of its own, an address is still one where the bytes are as they were.
        recorded = self._relocated(name, after, name, self.buffers)
        old, new = raw_bytes(before), raw_bytes(after)
        for offset in map(int, pointers[name]):
            word = slice(offset, offset + POINTER_BYTES)
            if len(old) != len(new) or (old[word] != new[word]).any():
                recorded[word] = new[word]
        return recorded

    def _relocated(
        self, key: str, array: NDArray[Any], name: str, buffers: Mapping[str, DeviceBuffer]
    ) -> NDArray[np.uint8]:
        """The bytes of an array, with the addresses of now that ``pointers`` has under a key."""
        data = bytearray(raw_bytes(array))
        with self._explained(f"pointers of {name}"):
            self._set_pointers(data, self._pointers.get(key, {}), buffers)
        return np.frombuffer(data, np.uint8)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Turn what a malformed description raises into one sentence."""
        try:
            yield
        except LaunchError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = shortened(repr(error), _REASON)
            raise LaunchError(f"{self.name}: malformed {what} ({reason})") from None

    def _set_pointers(self, content: bytearray, pointers: Any, buffers: Mapping[str, DeviceBuffer]) -> None:
        for place, (name, inside) in pointers.items():
            offset = int(place)
            if not 0 <= offset <= len(content) - POINTER_BYTES:
                raise LaunchError(f"{self.name}: a pointer at byte {offset} of {len(content)} bytes")
            address = self._buffer(name, buffers).allocation.address + inside
            content[offset : offset + POINTER_BYTES] = address.to_bytes(POINTER_BYTES, "little")

    def _argument(self, item: Any) -> Any:
        if isinstance(item, str):
            return self._buffer(item, self.buffers)
        if "struct" in item:
            content = bytearray.fromhex(item["hex"])
            if len(content) != item["struct"]:
                raise LaunchError(
                    f"{self.name}: a structure of {shortened(item['struct'])} bytes "
                    f"with {len(content)} bytes in hex"
                )
            self._set_pointers(content, item.get("pointers", {}), self.buffers)
            return bytes(content)
        return typed_number(item["type"], item["value"])

    def _buffer(self, name: str, buffers: Mapping[str, DeviceBuffer]) -> DeviceBuffer:
        if name not in buffers:
            known = ", ".join(buffers) or "none"
            raise LaunchError(f"{self.name}: no array {shortened(name)}; arrays: {shortened(known, _REASON)}")
        return buffers[name]

    def _require_other_files(self, save: Path) -> None:
        """Refuse to save over the launch file itself."""
        for file in saved_files(save):
            for own in (self._path, self._path.with_suffix(".npz")):
                if is_same_file(file, own):
                    raise LaunchError(f"save {save}: expected another file than {own}, which is read too")


def read_launches(
    path: str | Path, case: str | None = None, *, allow_outside: bool = False
) -> list[RecordedLaunch]:
    """Read a launch file.

    Parameters
    ----------
    path : str or Path
        ``NAME.json``; ``NAME.npz`` beside it has the arrays.
    case : str or None
        The one launch to read; None for all.
    allow_outside : bool
        Whether its PTX may lie outside of its folder.

    Raises
    ------
    LaunchError
        For files that are missing or malformed, and for an unknown case.
    """
    if not isinstance(path, str | Path):
        raise LaunchError(f"a launch file has a path, not {shortened(path)}")
    path = Path(path)
    if not is_readable(path):
        raise LaunchError(f"there is no launch file {path}")
    arrays_path = path.with_suffix(".npz")
    try:
        cases = read_json(path)
        cases = [cases] if isinstance(cases, dict) else cases
        if not isinstance(cases, list) or not all(isinstance(item, dict) for item in cases):
            raise LaunchError(f"{path}: expected a list of launches")
        if not is_readable(arrays_path):
            raise LaunchError(f"{path}: there is no {arrays_path.name} beside it")
        arrays = read_archive(arrays_path)
    except UnreadableFile as error:
        raise LaunchError(str(error)) from None
    launches = [RecordedLaunch(item, path, arrays, allow_outside=allow_outside) for item in cases]
    if case is None:
        return launches
    chosen = [launch for launch in launches if launch.name == case]
    if not chosen:
        known = shortened(", ".join(launch.name for launch in launches), _REASON)
        raise LaunchError(f"{path}: no case {shortened(case)}; cases: {known}")
    return chosen


def _supported(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An array of the archive; LaunchError for one that is no array of numbers, bytes or structures."""
    if array.dtype.kind not in "biufcV":
        raise LaunchError(f"array {shortened(name)}: expected numbers or structures, not {array.dtype}")
    return array
