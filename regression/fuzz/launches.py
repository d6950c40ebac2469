"""Kind ``launch``: damaged launch files, their archives and the arrays in these."""

import io
import json
import struct
import zipfile
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from golden.ptx.source import PtxError
from golden.simt.errors import SimtError
from openwmma.launch_repeat import RecordedLaunch, read_launches
from openwmma.output_files import array_bytes
from openwmma.usage_error import UsageError
from regression.fuzz.kind import Files, Kind, PropertyError, attempt, require_short
from regression.fuzz.ptx import damaged_bytes, damaged_text
from regression.fuzz.values import LAUNCH_PTX, LONG, WORDS, number_text

_CASE: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("launch.json").read_text())
_ARRAYS: Final[dict[str, np.ndarray]] = {
    "k/a": np.arange(64, dtype=np.float32),
    "k/a.after": np.where(np.arange(64) < 32, np.arange(64) * 1.5 + 1, np.arange(64)).astype(np.float32),
    "k/table": np.arange(4, dtype=np.uint64),
    "k/table.after": np.arange(4, dtype=np.uint64),
    "k/t": np.array(7, np.uint32),
    "k/t.after": np.array(103, np.uint32),
}


def damaged_array(random: Random, array: np.ndarray) -> bytes:
    """The bytes of an .npy file: another description, another type, or changes anywhere."""
    way = random.randrange(4)
    if way == 0:
        described = str(random.choice((*WORDS["headers"], *LONG[:5]))).encode()
        version = random.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0"))
        length = struct.pack(
            "<H" if version == b"\1\0" else "<I", random.choice((len(described) + 1, 5, 60000))
        )
        return b"\x93NUMPY" + version + length + described + b"\n" + array.tobytes()
    if way == 1:
        kinds = ("<f2", ">f4", "<f8", "|i1", "<u8", "?", "<c8", "|S4", "<U3", "M8[s]", "f4,i2", "V2")
        extents = random.choice(((0,), (), (1,), (4, 16), (64,), (65,), (3, 0)))
        return array_bytes(np.zeros(extents, random.choice(kinds)))
    return damaged_bytes(random, array_bytes(array))


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of the members, always the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


_MEMBERS: Final = {f"{name}.npy": array_bytes(array) for name, array in _ARRAYS.items()}


def launch_files() -> dict[str, bytes]:
    """A whole launch, undamaged."""
    return {
        "k.json": json.dumps([_CASE]).encode(),
        "k.npz": archive(_MEMBERS),
        "k.ptx": LAUNCH_PTX.encode(),
    }


def _damaged_archive(random: Random) -> bytes:
    members = dict(_MEMBERS)
    name = random.choice(list(members))
    way = random.randrange(6)
    if way == 0:
        return damaged_bytes(random, archive(members))
    if way == 1:
        new = random.choice(
            (name[:-4], name.replace("k/", ""), "k/\x1b.npy", f"../{name}", "k/é.npy", "x" * 5000, "k/")
        )
        members = {new if key == name else key: content for key, content in members.items()}
    elif way == 2:
        members[name] = bytes(random.choice((0, 10, 1 << 24)))
    elif way == 3:
        del members[name]
    else:
        members[name] = damaged_array(random, _ARRAYS[name.removesuffix(".npy")])
    return archive(members, random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2)))


def _damaged_case(random: Random) -> str:
    """The description with a value, a key or a number changed, or its text damaged."""
    case = json.loads(json.dumps(_CASE))
    if random.random() < 0.1:
        return damaged_text(random, json.dumps([case]))
    for _ in range(random.choice((1, 1, 2))):
        holder: Any = case
        while True:
            key = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not isinstance(holder[key], dict | list) or not holder[key] or random.random() < 0.3:
                break
            holder = holder[key]
        way = random.randrange(6)
        if way == 0:
            del holder[key]
        elif way == 1 and isinstance(holder, dict):
            holder[random.choice(("", "a", "type", "struct", "99999999999", "-1", "\x1b[2J"))] = holder.pop(
                key
            )
        elif way == 2 and isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            holder[key] = "@"
    new = number_text(random) if random.random() < 0.4 else random.choice((*WORDS["json"], *LONG))
    return json.dumps(random.choice(([case], [case], case, [case, case]))).replace('"@"', new)


def _make(random: Random) -> Files:
    files = launch_files()
    way = random.randrange(10)
    if way < 5:
        files["k.json"] = _damaged_case(random).encode("utf-8", "surrogatepass")
    elif way < 8:
        files["k.npz"] = _damaged_archive(random)
    elif way < 9:
        files["k.json"] = damaged_bytes(random, files["k.json"])
    else:
        files["k.ptx"] = damaged_bytes(random, files["k.ptx"])
    return files


def _repeated(launch: RecordedLaunch) -> Any:
    run = launch.launch(limit=2000)
    found = launch.differences()
    require_short(PropertyError("differences", "".join(map(str, found))))
    return (
        run.blocks,
        run.warp_instructions,
        [item.partition(":")[0] for item in found],
    )  # the bytes may be addresses


def _run(files: Files) -> Any:
    return [attempt(LAUNCHES.errors, partial(_repeated, item)) for item in read_launches(Path("k.json"))]


LAUNCHES: Final = Kind(
    make=_make, run=_run, errors=(SimtError, PtxError, UsageError), pieces=r'"[^"]*"|[\w.]+|\s+|.'
)
