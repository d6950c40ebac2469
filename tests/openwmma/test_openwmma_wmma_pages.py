"""What docs/how-to/wmma-api.md and examples/wmma_gemm.py show is what happens."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import golden
import openwmma

ROOT = Path(__file__).parents[2]
INSTRUCTION = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"


def test_the_code_of_the_page_runs():
    page = (ROOT / "docs" / "how-to" / "wmma-api.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)
    expected = np.zeros((16, 16), np.uint32)
    a, b = names["A"].view(np.uint16), names["B"].view(np.uint16)
    for k in range(0, 32, 16):
        expected = golden.mma(INSTRUCTION, a[:16, k : k + 16], b[k : k + 16, 16:], expected)
    np.testing.assert_array_equal(names["D"], expected.view(np.float32) / 2)


@pytest.mark.parametrize("on", ["golden", "lockstep"])
def test_the_example_is_equal_in_every_bit(on):
    gemm = runpy.run_path(str(ROOT / "examples" / "wmma_gemm.py"))["gemm"]
    random = np.random.default_rng(4)
    a = random.standard_normal((16, 48)).astype(np.float16)
    b = random.standard_normal((48, 32)).astype(np.float16)
    c = random.standard_normal((16, 32)).astype(np.float32)
    d, instructions, text = gemm(a, b, c, 1.5, -0.5, on=on, preset="small")
    for j in range(0, 32, 16):
        product = np.zeros((16, 16), np.uint32)
        for k in range(0, 48, 16):
            tiles = a[:, k : k + 16], b[k : k + 16, j : j + 16]
            product = golden.mma(
                INSTRUCTION, *(np.ascontiguousarray(t).view(np.uint16) for t in tiles), product
            )
        expected = np.float32(1.5) * product.view(np.float32) + np.float32(-0.5) * c[:, j : j + 16]
        np.testing.assert_array_equal(d[:, j : j + 16], expected)
    assert instructions == 2 * (1 + 3 * 3 + 2)
    assert openwmma.Module(text).kernel().name == "warp"


def test_the_example_prints_its_result(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["wmma_gemm.py", "--size", "32"])
    runpy.run_path(str(ROOT / "examples" / "wmma_gemm.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("36 instructions on golden\ngreatest distance from float64: ")
