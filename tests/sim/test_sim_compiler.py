"""Which C++ compiler builds simulations, and with which flags."""

import pytest

from sim.compiler import Compiler, compiler
from sim.verilate import BuildError, build_verilog

GCC = Compiler(command=("g++",), version="g++ (Debian 12.2.0-14) 12.2.0")
CLANG = Compiler(command=("clang++",), version="Debian clang version 14.0.6")


def test_the_environment_names_the_compiler(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    assert compiler().command == ("c++",)
    assert compiler().version
    monkeypatch.setenv("CXX", "")
    assert compiler().command == ("c++",)
    monkeypatch.setenv("CXX", "c++ -pipe")
    assert compiler().command == ("c++", "-pipe")
    assert compiler().make_variables["CXX"] == "c++ -pipe"


def test_a_compiler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-c++")
    assert compiler().version == ""
    constants = {"BEAT_BYTES": 16, "DATA_BITS": 128, "OUTSTANDING_READS": 1, "QUEUE_DEPTH": 1, "WARPS": 1}
    with pytest.raises(BuildError, match="there is no program no-such-c"):
        build_verilog("module openwmma_core; endmodule", constants)


def test_clang_is_not_given_what_it_rejects():
    assert "-fno-gnu-unique" in GCC.library_flags
    assert "-fno-gnu-unique" not in CLANG.library_flags
    assert GCC.make_variables["CFG_CXXFLAGS_PCH_I"] == "-include"
    assert CLANG.make_variables["CFG_CXXFLAGS_PCH_I"] == "-include-pch"


@pytest.mark.parametrize(
    ("tool", "system", "atomic"), [(GCC, "Linux", False), (CLANG, "Linux", True), (CLANG, "Darwin", False)]
)
def test_libatomic_is_linked_where_calls_of_it_are_made(monkeypatch, tool, system, atomic):
    monkeypatch.setattr("platform.system", lambda: system)
    assert ("-latomic" in tool.link_flags) == atomic
    assert ("-Wl,-Bsymbolic" in tool.link_flags) == (system == "Linux")
