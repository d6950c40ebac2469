"""The testbench in SystemVerilog with the trace of a captured launch, and a wrong core under it."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from golden.memory import Memory
from golden.simt.trace_file import TraceReader
from hdl.config import PRESETS
from openwmma.cli import main
from openwmma.launch_repeat import read_launches
from openwmma.verilog_files import write_verilog
from openwmma.verilog_testbench import TESTBENCH, Kind, launch_stimulus
from sim.build import core_description, core_verilog
from sim.rtl_machine import RtlMachine
from sim.testbench.runner import iverilog

KERNELS = Path(__file__).parents[1] / "data" / "kernels"


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """The trace of a captured launch, by its name."""
    folder = tmp_path_factory.mktemp("traces")

    def trace(name):
        path = folder / f"{name}.trace"
        if not path.exists():
            (launch,) = (case for case in read_launches(KERNELS / "public_kernels.json") if case.name == name)
            launch.launch(trace_file=path)
        return path

    return trace


def stimulus_of(path, preset):
    with path.open("rb") as file:
        return launch_stimulus(TraceReader(file, path.name), PRESETS[preset], preset)


def first_difference(stimulus, preset):
    """Execute the records on the simulated core: the first line at which it differs, or None."""
    machine = RtlMachine(PRESETS[preset], Memory(1 << stimulus.memory_bits, 0))
    words, place, counts = stimulus.words, 0, dict.fromkeys(Kind, 0)
    while words[place] != Kind.END:
        kind, line, address, count = words[place : place + 4].tolist()
        data = words[place + 4 : place + 4 + count]
        place += 4 + count
        counts[kind] += 1
        if kind == Kind.COMMAND:
            assert machine.simulation.queue(data)
        elif kind == Kind.WAIT:
            assert machine.simulation.finish()
        elif kind == Kind.WRITE:
            machine.memory.write(address, data.view(np.uint8))
        elif kind == Kind.HOST_WRITE:
            machine.simulation.write(address, data)
        else:
            is_memory = kind == Kind.CHECK
            found = (
                machine.memory.read(address, 4 * count).view("<u4")
                if is_memory
                else machine.simulation.read(address, count)
            )
            if not np.array_equal(found, data):
                return stimulus.lines[line]
    machine.close()
    assert counts[Kind.CHECK] + counts[Kind.HOST_CHECK] > 20
    return None


@pytest.mark.parametrize("name", ["single_warp.gemm_tile", "multi_warp.scores_softmax"])
def test_records_are_what_the_core_does(traces, name):
    stimulus = stimulus_of(traces(name), "small")
    assert first_difference(stimulus, "small") is None
    heads = stimulus._pieces[::2]
    place = next(place for place, head in enumerate(heads) if head[0] in (Kind.CHECK, Kind.HOST_CHECK))
    stimulus._pieces[2 * place + 1] ^= np.uint32(1)
    assert f"{name.split('.')[0]}.ptx:" in first_difference(stimulus, "small")


def test_a_launch_that_the_core_cannot_execute_is_refused(traces, capsys, tmp_path):
    path = traces("multi_warp.scores_softmax")
    options = ["verilog", "--preset", "tiny", "-o", str(tmp_path / "core.v"), "--stimulus"]
    assert main([*options, str(path)]) == 2
    assert "bytes of shared memory, but preset tiny has 0" in capsys.readouterr().err
    assert main([*options, "none.trace"]) == 2
    assert "expected the trace of a launch, but there is no file none.trace" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def folder(traces, tmp_path_factory):
    """The files of `tiny` with the trace of a launch."""
    folder = tmp_path_factory.mktemp("stimulus")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "openwmma.verilog_files.generate", lambda config: (core_verilog(config), core_description(config))
        )
        stimulus = stimulus_of(traces("single_warp.gemm_tile"), "tiny")
        write_verilog(PRESETS["tiny"], folder / "core.v", stimulus)
    return folder


def run(folder, *command):
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def icarus(folder, core="core.v"):
    options = ("-g2012", "-s", TESTBENCH, "-o", f"{core}vp")
    code, printed = run(folder, iverilog(), *options, core, "core_example.v", "core_testbench.sv")
    assert (code, printed) == (0, "")
    return run(folder, "vvp", "-n", f"{core}vp")


@pytest.mark.icarus
def test_icarus_executes_the_launch(folder):
    code, printed = icarus(folder)
    assert (code, printed.splitlines()[0]) == (0, "PASS")


STORE = "single_warp.ptx:174: wmma.store.d.sync.aligned.row.m16n16k16.global.f32"
FAULTS = {
    "a bit of a beat": ("memory ", r"(= m_axi_rdata);", r"\1 & ~128'h400;", STORE),
    "a stride": ("load.bursts ", r"word \+ (access\[\d+:\d+\])", r"word + (\1 ^ 33'h1)", STORE),
    "a bank": ("banks ", "(drain_select_2 <= drain_select_1);", r"\1 ^ 5'h02;", STORE),
    "the scoreboard": (
        *("warps.sequencer_0.scoreboard ", r"(assign conflict = .*?)(tile_\d_until_\w+, )+", r"\1"),
        r"single_warp.ptx:\d+: wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    ),
}
"""A module, a pattern in it, what takes its place, and the line at which the difference is found."""


@pytest.mark.icarus
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_core_is_found_at_its_line(folder, fault):
    module, old, new, line = FAULTS[fault]
    text = (folder / "core.v").read_text()
    begin = text.index(f"\nmodule \\openwmma_core.core.{module}") if fault != "a bit of a beat" else 0
    end = text.index("\nendmodule", begin) if begin else len(text)
    wrong, count = re.subn(old, new, text[begin:end])
    assert count
    (folder / "wrong.v").write_text(text[:begin] + wrong + text[end:])
    code, printed = icarus(folder, "wrong.v")
    assert code
    assert re.search(line, printed.splitlines()[0])
    assert ": expected " in printed
    assert "PASS" not in printed


@pytest.mark.icarus
def test_verilator_executes_the_launch(folder):
    """The system's."""
    program = shutil.which("verilator")
    assert program, "needs verilator; on Debian or Ubuntu: apt-get install verilator"
    options = ("--binary", "-Wall", "--top-module", TESTBENCH, "-o", "launch")
    code, printed = run(folder, program, *options, "core.v", "core_example.v", "core_testbench.sv")
    assert code == 0, printed
    assert "%Warning" not in printed
    code, printed = run(folder, str(folder / "obj_dir" / "launch"))
    assert (code, printed.splitlines()[0]) == (0, "PASS")
