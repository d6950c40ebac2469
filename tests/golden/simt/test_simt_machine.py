"""Matrix instructions of kernels through a machine's registers and memory."""

import numpy as np
import pytest
from captured import cases, module, prepare
from short_kernels import MOVES
from short_kernels import kernel as short_kernel

from golden.memory import Memory
from golden.simt import KernelFault, LaunchError
from golden.simt.golden_engine import GoldenEngine
from golden.simt.machine_engine import MachineEngine
from golden.simt.machine_registers import MachineRegisters
from golden.tables.commands import Load, LoadMatrix, MoveMatrix, StoreMatrix
from golden.tables.layouts import LANES, fragment
from golden.tables.profiles import PROFILES
from golden.warp import GoldenMachine

CORE = [name for name in cases() if name.startswith(("single_warp", "sub_byte", "families"))]


def machine(registers=64, **options):
    return GoldenMachine(
        registers=registers, memory=Memory(1 << 16, 0x1000), shared=Memory(1 << 14, 1 << 20), **options
    )


def launch(name, engine):
    prepared = prepare(name)
    case = prepared.case
    kernel = module(name).kernel(case["entry"])
    result = kernel.launch(case["grid"], case["block"], prepared.arguments, case["shared"], engine=engine)
    assert prepared.differences() == {}
    return result


@pytest.mark.parametrize("warps", [1, 3])
@pytest.mark.parametrize("name", [*CORE, "multi_warp.scores_softmax", "library.gemm_structure"])
def test_memory_is_that_of_the_chip(name, warps):
    used = machine(warps=warps)
    result = launch(name, MachineEngine(used))
    assert used.counters.instructions >= result.matrix_instructions > 0


def test_warps_of_a_block_are_dealt_out_to_those_of_the_machine():
    used = machine(warps=3)
    together = []
    queue = used.queue

    def noted(work):
        together.append([command.warp for command in work])
        queue(work)

    used.queue = noted
    launch("multi_warp.scores_softmax", MachineEngine(used))
    assert [0, 1, 2] in together
    assert all(warps == list(range(len(warps))) for warps in together)


def test_fragments_stay_in_registers():
    used = machine(128)
    engine = MachineEngine(used)
    writes = []
    write, execute = used.write_registers, used.execute

    def counted(work):
        if isinstance(work, Load) and work.instruction.use == "c":
            writes.append(fragment("c", work.instruction.type, work.instruction.shape).registers)
        execute(work)

    used.write_registers = lambda first, values, warp: (writes.append(len(values)), write(first, values))
    used.execute = counted
    launch("single_warp.gemm_tile", engine)
    # What is loaded or multiplied is where it is needed; accumulators that the host computed are written.
    assert sum(writes) <= 3 * 8


def test_moves_of_matrices_are_commands_of_the_machine():
    short = short_kernel(MOVES)
    given = np.random.default_rng(2).integers(0, 1 << 16, (2, 4, 8, 8), dtype=np.uint16)
    used = machine()
    executed = []
    execute = used.execute
    used.execute = lambda work: (executed.append(type(work)), execute(work))
    found = given.copy()
    short.launch(1, 64, [found], engine=MachineEngine(used))
    for before, after in zip(given, found, strict=True):
        expected = before[3].T, before[1], before[0].T, before[0]
        np.testing.assert_array_equal(after, expected)
    counts = [executed.count(kind) for kind in (LoadMatrix, StoreMatrix, MoveMatrix)]
    assert counts == [4, 2, 2]
    without = GoldenMachine(memory=Memory(1 << 16, 0x1000))
    on_host = given.copy()
    short.launch(1, 64, [on_host], engine=MachineEngine(without))
    np.testing.assert_array_equal(on_host, found)
    assert without.counters.instructions == 0


FORMATS = [None, {"f16"}, {"bf16"}, {"i8"}, {"tf32"}, {"f16", "f64"}]


@pytest.mark.parametrize("formats", FORMATS, ids=lambda formats: "+".join(sorted(formats or {"all"})))
def test_any_registers_there_and_back(formats):
    used = machine(64, **({} if formats is None else {"formats": formats}))
    registers = MachineRegisters(used, None if formats is None else frozenset(formats))
    random = np.random.default_rng(1)
    for counts in ((1,), (2, 2, 4), (8, 8, 8), (16, 8, 8), (5, 3, 1)):
        fragments = [random.integers(0, 1 << 32, (count, LANES), dtype=np.uint32) for count in counts]
        for first, words in zip(registers.hold(*fragments), fragments, strict=True):
            assert np.array_equal(used.read_registers(first, len(words)), words)
            assert np.array_equal(registers.read(first, len(words)), words)
            assert registers.hold(words) == (first,)


@pytest.mark.parametrize("registers", [24, 25, 40])
def test_few_registers(registers):
    launch("single_warp.gemm_tile", MachineEngine(machine(registers)))


def test_too_few_registers():
    with pytest.raises((LaunchError, KernelFault), match="registers"):
        launch("single_warp.gemm_tile", MachineEngine(machine(16)))


def test_what_a_machine_lacks_is_said_before_anything_runs():
    prepared = prepare("families.gemm_f64")
    kernel = module("families.gemm_f64").kernel("gemm_f64")
    before = {name: buffer.numpy() for name, buffer in prepared.buffers.items()}
    engine = MachineEngine(machine(formats={"f16"}), name="small", formats={"f16"})
    with pytest.raises(LaunchError, match=r"small has no \.f64 multiply, needed at families\.ptx:\d+: "):
        kernel.launch(1, 32, prepared.arguments, engine=engine)
    for name, buffer in prepared.buffers.items():
        assert np.array_equal(buffer.numpy().view(np.uint8), before[name].view(np.uint8))
    turing = GoldenEngine(PROFILES["turing"])
    prepared = prepare("families.gemm_tf32")
    with pytest.raises(LaunchError, match="turing, which has no tf32"):
        module("families.gemm_tf32").kernel("gemm_tf32").launch(1, 32, prepared.arguments, engine=turing)
