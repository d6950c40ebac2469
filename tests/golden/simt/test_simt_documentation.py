"""The page about whole kernels: its example runs, and kernels that do not run say what it says."""

import doctest
import re
from pathlib import Path

import pytest
from short_kernels import HEADER

from golden.ptx.source import PtxError
from golden.simt import Module

ROOT = Path(__file__).parents[3]
BEFORE = ".extern .func (.param .b64 p) malloc(.param .b64 n); .func f(.reg .b128 x) { ret; }"
PAGE = ROOT / "docs" / "reference" / "kernels.md"

BODIES = {
    "copies with `im2col`": ".reg .b64 %d; .reg .b32 %r; .reg .b16 %h; "
    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
    "[%r], [%d, {%r, %r, %r}], [%r], {%h};",
    "textures, surfaces": ".reg .f32 %f<4>; .reg .b32 %r<2>; "
    "tex.1d.v4.f32.s32 {%f0,%f1,%f2,%f3}, [t, {%r0}];",
    "memory from the device's heap": "{ .param .b64 n; .param .b64 p; call (p), malloc, (n); }",
    "a `.b128` register as argument": ".reg .b128 %q<1>; call f, (%q0);",
}


def test_the_example(monkeypatch):
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 5
    assert not results.failed


@pytest.mark.parametrize("construct", BODIES)
def test_messages(construct):
    (message,) = re.findall(rf"^\| {re.escape(construct)} \| `(.*)` \|$", PAGE.read_text(), re.MULTILINE)
    with pytest.raises(PtxError, match=re.escape(message)):
        Module(f"{HEADER}{BEFORE} .global .b64 t; .entry k() {{ {BODIES[construct]} ret; }}").kernel()
