"""Benchmarks that take names say which there are, and refuse others before they measure anything."""

import importlib
import sys

import pytest

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
