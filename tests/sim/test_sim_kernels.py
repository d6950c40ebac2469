"""Whole kernels with their matrix instructions on golden model and RTL in lockstep."""

import sys
from pathlib import Path

import numpy as np
import pytest

from golden.memory import Memory
from golden.ptx.mnemonic import parse_instruction
from golden.simt.machine_engine import MachineEngine
from golden.tables.commands import Mma
from golden.warp import GoldenMachine
from hdl.config import PRESETS
from sim.lockstep import LockstepMachine
from sim.machines import Backend, open_machine
from sim.mismatch import Mismatch

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "simt"))
from captured import module, prepare
from contraction_kernels import captured as contraction
from contraction_kernels import results
from short_kernels import MOVES
from short_kernels import kernel as short_kernel

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
    lockstep.finish()
    assert prepared.differences() == {}
    assert lockstep.counters.instructions > before


@pytest.mark.parametrize("name", ["fp8_mma_scaled_c", "fp8_mma_rn_c"])
def test_products_join_the_accumulator_that_a_machine_computes(name, lockstep):
    body, given, expected = contraction()[name]
    engine = MachineEngine(lockstep, name="small", formats=PRESETS["small"].formats)
    before = lockstep.counters.instructions
    np.testing.assert_array_equal(results(body, given, engine=engine), expected)
    lockstep.finish()
    assert lockstep.counters.instructions > before


def test_moves_of_matrices(lockstep):
    given = np.random.default_rng(3).integers(0, 1 << 16, (2, 4, 8, 8), dtype=np.uint16)
    found, before = given.copy(), lockstep.counters.instructions
    engine = MachineEngine(lockstep, name="small", formats=PRESETS["small"].formats)
    short_kernel(MOVES).launch(1, 64, [found], engine=engine)
    lockstep.finish()
    expected = [(four[3].T, four[1], four[0].T, four[0]) for four in given]
    np.testing.assert_array_equal(found, expected)
    assert lockstep.counters.instructions > before


class Wrong(GoldenMachine):
    """A machine with one wrong bit in what it multiplies."""

    def execute(self, work):
        super().execute(work)
        if isinstance(work, Mma):
            self.write_registers(work.d, self.read_registers(work.d, 1) ^ np.uint32(1))


def test_a_difference_names_the_line_of_the_kernel():
    machines = [kind(memory=Memory(1 << 16, 0x1000)) for kind in (GoldenMachine, Wrong)]
    prepared = prepare("single_warp.wmma_ker")
    kernel = module("single_warp.wmma_ker").kernel("wmma_ker")
    with pytest.raises(Mismatch, match=r"single_warp\.ptx:\d+: wmma\.mma\.sync") as caught:
        kernel.launch(1, 32, prepared.arguments, engine=MachineEngine(LockstepMachine(*machines)))
    assert "row" in str(caught.value)


@pytest.mark.parametrize("formats", [{"i8"}, {"f16", "i8"}], ids=sorted)
def test_a_wrong_result_is_noticed_whatever_way_it_is_read(formats):
    """D of four registers: through memory where there is f16, otherwise through the host port."""
    machines = [kind(memory=Memory(1 << 16, 0x1000), formats=formats) for kind in (GoldenMachine, Wrong)]
    engine = MachineEngine(LockstepMachine(*machines, registers_each=False), formats=formats)
    instruction = parse_instruction("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32")
    a, b, c = (np.ones((1, count, 32), dtype=np.uint32) for count in (2, 1, 4))
    with pytest.raises(Mismatch, match=r"mma\.sync.*row 0, column 0 of d"):
        engine.multiply(instruction, a, b, c)
