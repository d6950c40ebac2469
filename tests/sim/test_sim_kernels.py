"""Whole kernels with their matrix instructions on golden model and RTL in lockstep."""

import sys
from pathlib import Path

import pytest

from golden.simt.machine_engine import MachineEngine
from hdl.config import PRESETS
from sim.machines import Backend, open_machine

sys.path.insert(0, str(Path(__file__).parents[1] / "simt"))
from captured import module, prepare

NAMES = (
    "single_warp.wmma_ker",
    "single_warp.half_accumulator",
    "sub_byte.gemm_s4",
    "library.mixed_fragments",
)


@pytest.fixture(scope="module")
def lockstep():
    machine = open_machine(Backend.LOCKSTEP, PRESETS["small"], 1 << 16)
    yield machine
    machine.close()


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_that_of_the_chip(name, lockstep):
    prepared = prepare(name)
    case = prepared.case
    kernel = module(name).kernel(case["entry"])
    engine = MachineEngine(lockstep, name="small", formats=PRESETS["small"].formats)
    before = lockstep.counters.instructions
    kernel.launch(case["grid"], case["block"], prepared.arguments, case["shared"], engine=engine)
    lockstep.compare_memory()
    assert prepared.differences() == {}
    assert lockstep.counters.instructions > before
