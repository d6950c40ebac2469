"""The captured launches of tests/data/kernels: see the README there for their format."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from golden.simt import DeviceBuffer, Module, device

DATA = Path(__file__).parents[2] / "data" / "kernels"


@dataclass(frozen=True)
class Launch:
    """A launch as captured, with the buffers that it starts from."""

    case: Mapping[str, Any]
    buffers: Mapping[str, DeviceBuffer]
    """Those that are compared."""
    arguments: list[Any]

    def differences(self) -> dict[str, int]:
        """The buffers that differ from the chip's, each with the number of bytes."""
        after = arrays(self.case["set"])
        wrong = {}
        for name, buffer in self.buffers.items():
            key = f"{self.case['case']}/{name}"
            expected = after.get(f"{key}.after", after[key])
            got = buffer.numpy().reshape(-1).view(np.uint8)
            count = int(np.count_nonzero(got != expected.reshape(-1).view(np.uint8)))
            if count:
                wrong[name] = count
        return wrong


@cache
def arrays(name: str) -> Mapping[str, Any]:
    with np.load(DATA / f"{name}.npz") as file:
        return dict(file)


@cache
def cases() -> Mapping[str, Mapping[str, Any]]:
    found = {}
    for file in sorted(DATA.glob("*.json")):
        for case in json.loads(file.read_text()):
            found[case["case"]] = {**case, "set": file.stem}
    return found


def text(file: str) -> str:
    return (DATA / file).read_text()


def prepare(name: str) -> Launch:
    case = cases()[name]
    buffers = {
        key.rpartition("/")[2]: device(array, name=key.rpartition("/")[2])
        for key, array in arrays(case["set"]).items()
        if key.rpartition("/")[0] == name and not key.endswith(".after")
    }
    for name_, places in case.get("addresses", {}).items():
        buffers[name_].write(np.array([buffers[other].address + at for other, at in places], np.uint64))
    arguments = [_argument(item, buffers) for item in case["arguments"]]
    ignored = (*case.get("addresses", ()), *case.get("ignored", ()))
    return Launch(case, {key: value for key, value in buffers.items() if key not in ignored}, arguments)


def _argument(item: Any, buffers: Mapping[str, DeviceBuffer]) -> Any:
    if isinstance(item, str):
        return buffers[item]
    if "struct" in item:
        content = bytearray.fromhex(item["hex"])
        for offset, (name, inside) in item["pointers"].items():
            content[int(offset) : int(offset) + 8] = (buffers[name].address + inside).to_bytes(8, "little")
        assert len(content) == item["struct"]
        return bytes(content)
    kind, bits = item["type"][0], int(item["type"][1:])
    return np.dtype(f"{'i' if kind == 's' else kind}{bits // 8}").type(item["value"])


def module(name: str) -> Module:
    file = cases()[name]["file"]
    return Module(text(file), file)
