"""Which C++ compiler builds simulations, and with which flags."""

import subprocess
from dataclasses import replace

import pytest

from hdl.config import PRESETS
from sim import fastest as choice
from sim.build import build_core
from sim.compiler import Compiler, compiler, installed, using
from sim.fastest import fastest, measure, rates
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


def test_what_is_not_optimised_calls_no_library_of_checks(tmp_path):
    source, target = tmp_path / "at.cpp", tmp_path / "at.o"
    source.write_text("int at(int *place, int index) { return place[index] << index; }\n")
    for tool in installed(zig=True):
        subprocess.run([*tool.command, *tool.library_flags, "-O0", "-c", source, "-o", target], check=True)
        assert b"__ubsan" not in target.read_bytes(), tool.version


@pytest.mark.parametrize(
    ("tool", "system", "atomic"), [(GCC, "Linux", False), (CLANG, "Linux", True), (CLANG, "Darwin", False)]
)
def test_libatomic_is_linked_where_calls_of_it_are_made(monkeypatch, tool, system, atomic):
    monkeypatch.setattr("platform.system", lambda: system)
    assert ("-latomic" in tool.link_flags) == atomic
    assert ("-Wl,-Bsymbolic" in tool.link_flags) == (system == "Linux")


@pytest.fixture
def measurable(monkeypatch, tmp_path):
    """Two compilers and nothing measured; what a library is named after says how fast it is."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(choice, "installed", lambda zig=False: [GCC, CLANG])
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (0.9, 0.0, 0.0))
    speeds = {"g++": 100.0, "clang++": 120.0}
    monkeypatch.setattr(choice, "_cycles_per_second", lambda config, library: speeds[library.name])
    builds: list[str] = []

    def build():
        (name,) = compiler().command
        builds.append(name)
        return tmp_path / name

    return speeds, builds, build


def test_the_fastest_compiler_is_measured_once_for_each_preset(measurable):
    speeds, builds, build = measurable
    assert fastest(PRESETS["tiny"], build) == CLANG
    assert sorted(builds) == ["clang++", "g++"]
    assert rates(PRESETS["tiny"]) == {GCC.version: 100.0, CLANG.version: 120.0}
    speeds["clang++"] = 95.0
    assert fastest(PRESETS["large"], build) == GCC
    assert fastest(PRESETS["tiny"], build) == CLANG
    assert len(builds) == 4
    # Cores that are no preset are not measured: they are like tiny, and like large.
    assert fastest(replace(PRESETS["tiny"], queue_depth=8), build) == CLANG
    assert fastest(replace(PRESETS["large"], queue_depth=8), build) == GCC
    assert len(builds) == 4


def test_nothing_is_measured_where_the_compiler_is_named_or_would_take_turns(measurable, monkeypatch):
    _, builds, build = measurable
    with using(CLANG):
        assert fastest(PRESETS["tiny"], build) == CLANG
    monkeypatch.setattr("os.getloadavg", lambda: (1.1, 0.0, 0.0))
    assert fastest(PRESETS["tiny"], build) == GCC
    monkeypatch.setenv("CXX", "c++ -pipe")
    assert fastest(PRESETS["tiny"], build).command == ("c++", "-pipe")
    assert not builds


def test_a_compiler_that_cannot_build_is_not_chosen(measurable):
    _, _, build = measurable

    def fails_with(names):
        def attempt():
            if compiler().command[0] in names:
                raise BuildError(compiler().command[0], "no such flag")
            return build()

        return attempt

    assert fastest(PRESETS["tiny"], fails_with({"clang++"})) == GCC
    with pytest.raises(BuildError, match="no such flag"):
        measure(PRESETS["small"], fails_with({"g++", "clang++"}), [GCC, CLANG])


def test_each_version_of_a_compiler_counts_once(monkeypatch):
    monkeypatch.setattr("sim.compiler._SYSTEM", ("c++", compiler().command[0], "no-such-c++"))
    assert len(installed()) == 1


def test_the_rate_of_a_simulation_is_measured():
    assert choice._cycles_per_second(PRESETS["tiny"], build_core(PRESETS["tiny"])) > 1000
