"""An attack that is kept: each option and each parameter gets each hostile value, in an otherwise good call.

Fuzzing draws such values at random; here none is left to chance. An input ends as a result or a sentence:
no traceback, no warning of numpy, within bounds of time and memory.
"""

import json
from collections.abc import Iterator

import numpy as np
import pytest

from openwmma.output_files import array_bytes
from regression.fuzz.calls import object_of, parameters_of, targets
from regression.fuzz.command_lines import commands
from regression.fuzz.launches import launch_files
from regression.fuzz.values import LAUNCH_PTX, PROGRAM_PTX, WORDS
from regression.fuzz.worker import Input, Limits, Worker

pytestmark = pytest.mark.long

GOOD_LINES = {
    "run": [
        "run",
        "kernel.ptx",
        "--grid",
        "1",
        "--block",
        "32",
        "--arg",
        "a.npy",
        "--arg",
        "2",
        "--arg",
        "hex:" + "00" * 16,
    ],
    "mma": [
        "mma",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "--a",
        "a.npy",
        "--b",
        "b.npy",
        "--c",
        "c.npy",
    ],
    "matmul": ["matmul", "a.npy", "a.npy"],
    "explain": [
        "explain",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "--a",
        "1,2",
        "--b",
        "3",
        "--c",
        "4",
    ],
    "layout": ["layout", "c", "f32", "m16n16k16"],
    "learn": ["learn"],
    "verilog": ["verilog", "--preset", "tiny"],
    "build": ["build", "--board", "ulx3s"],
    "soc": ["soc", "x.c"],
    "presets": ["presets"],
    "certify": ["certify", "--results", "10"],
    "campaign": ["campaign", "random", "--results", "10", "--seed", "1"],
}
GOOD_CALLS = {
    "instruction": "'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'",
    "a": "np.ones((16, 16), 'f2')",
    "b": "np.ones((16, 16), 'f2')",
    "c": "np.ones((16, 8), 'f4')",
    "type": "'f16'",
    "shape": "'m16n16k16'",
    "use": "'a'",
    "profile": "'hopper'",
}
_BLOCK_SCALED = (
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"
)
GOOD_CALLS_OF = {
    "golden.sparsity.": {
        "instruction": "'mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32'",
        "stored": "np.ones((16, 16), 'f2')",
        "metadata": "np.full((16, 8), 4, 'u1')",
        "registers": "np.zeros(32, 'u4')",
    },
    "golden.block_scales.": {
        "instruction": f"'{_BLOCK_SCALED}'",
        "scales": "np.ones((16, 1), 'u1')",
        "registers": "np.zeros(32, 'u4')",
    },
    "openwmma.block_scaled.": {
        "values": "np.ones((2, 4), 'u1')",
        "packed": "np.ones((2, 4), 'u1')",
        "scales": "np.ones((2, 4), 'u1')",
        "swizzled": "np.ones(512, 'u1')",
        "rows": "2",
        "columns": "4",
    },
    "openwmma.tensor_map": {"tensor": "np.ones((16, 16), 'f2')", "box": "(16, 16)"},
}
"""By the beginning of a function's name."""


def files(line):
    tile = np.ones((16, 16), np.float16)
    arrays = {"a": tile, "b": np.ones((16, 8), np.float16), "c": np.ones((16, 8), np.float32)}
    return {
        "arguments.json": json.dumps(line).encode(),
        "kernel.ptx": LAUNCH_PTX.encode(),
        "program.ptx": PROGRAM_PTX.encode(),
        "x.c": b"int main(void) { return 0; }\n",
        **launch_files(),
        **{f"{name}.npy": array_bytes(array) for name, array in arrays.items()},
    }


def attacks_on_command_lines() -> Iterator[tuple[str, ...]]:
    for name, parameters in commands().items():
        good = GOOD_LINES.get(name, [name])
        for parameter in parameters:
            option = parameter.opts[0]
            if getattr(parameter, "is_bool_flag", False):
                yield (*good, option)
                continue
            for value in WORDS["odd_arguments"]:
                yield (*good, option, value) if option.startswith("-") else (*good, value)


def attacks_on_calls() -> Iterator[str]:
    for name, function in sorted(targets().items()):
        parameters = [item for item in parameters_of(function) if item.name != "self"]
        needed = [
            item for item in parameters if item.default is item.empty and item.kind is not item.VAR_POSITIONAL
        ]
        own = next((values for start, values in GOOD_CALLS_OF.items() if name.startswith(start)), {})
        good = {
            item.name: object_of(item) or (GOOD_CALLS | own).get(item.name, "np.ones((16, 16), 'f2')")
            for item in needed
        }
        for attacked in parameters:
            if object_of(attacked) is None:
                for value in WORDS["values"]:
                    written = ", ".join(
                        f"{key}={item}" for key, item in (good | {attacked.name: value}).items()
                    )
                    yield f"{name}({written})"


def failures(kind, inputs):
    with Worker(Limits()) as worker:
        for files in inputs:
            found = worker.run(Input(kind, files=files))
            if found.is_failure:
                yield f"{files.get('arguments.json', files.get('call.py'))!r}: {found.what}\n{found.detail}"


def test_each_option_takes_or_refuses_each_hostile_value():
    lines = [list(line) for line in attacks_on_command_lines()]
    assert len(lines) > 850
    assert list(failures("cli", map(files, lines))) == []


def test_each_parameter_takes_or_refuses_each_hostile_value():
    calls = list(attacks_on_calls())
    assert len(calls) > 850
    assert list(failures("api", ({"call.py": call.encode("utf-8", "surrogatepass")} for call in calls))) == []
