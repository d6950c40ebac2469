"""Benchmarks that take names say which there are, and refuse others before they measure anything."""

import importlib
import sys

import pytest

from bench.utilisation import busy, print_figures
from golden.machine import Counters
from hdl.config import PRESETS

BENCHMARKS = ("core", "cycles", "fpga", "gates", "kernel_launches", "kernels", "on_chip", "utilisation")


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("nonsense", 2)])
def test_a_benchmark_says_which_names_there_are(monkeypatch, capsys, name, argument, code):
    module = importlib.import_module(f"bench.{name}")
    monkeypatch.setattr(sys, "argv", [f"python -m bench.{name}", argument])
    with pytest.raises(SystemExit) as ended:
        module.main()
    printed = capsys.readouterr()
    said = " ".join((printed.out + printed.err).split())
    assert ended.value.code == code
    if argument == "--help":
        assert module.__doc__.splitlines()[0] in said
    else:
        assert said.endswith(", not nonsense")
        assert "names must be among" in said


def test_a_table_has_every_stall(capsys):
    stalls = {"stall_registers": 1, "stall_memory": 2, "stall_unit": 3, "queue_empty_cycles": 4}
    counters = Counters(cycles=100, dot_product_cycles=6400, bank_conflicts=5, **stalls)
    print_figures("table", [busy("program", counters, 90, PRESETS["large"])])
    printed = capsys.readouterr().out
    assert "100.0 %" in printed
    assert "1%/2%/3%/4%/5%" in printed
