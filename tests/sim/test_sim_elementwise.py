"""What the host does between commands: on the golden machine, on the core and on both; and variables."""

import numpy as np
import pytest
from rtl import BASE, CONFIG, fill, golden_machine, load, memory_of_noise, rtl_machine, store

from golden.host_work import execute_host_work
from golden.invalid_argument import InvalidArgument
from golden.memory import Memory
from golden.programs.execution import ProgramFault, execute
from golden.programs.kernel_run import Output, run_program
from golden.ptx import parse_module
from golden.tables.commands import Elementwise, Fill, Uniform
from golden.tables.faults import Cause, Fault
from golden.warp import GoldenMachine
from hdl.command import encode
from sim.lockstep import LockstepMachine
from sim.mismatch import Mismatch

TARGET = BASE + 0x1000
MACHINES = {
    "golden": golden_machine,
    "rtl": rtl_machine,
    "lockstep": lambda: LockstepMachine(golden_machine(), rtl_machine()),
}
TWICE = Elementwise("mul", "f32", 0, (0, Uniform(0x40000000)), 8)


@pytest.fixture(params=MACHINES)
def machine(request):
    machine = MACHINES[request.param]()
    yield machine
    machine.close()


def numbered(commands):
    return [(command, f"line {index}") for index, command in enumerate(commands)]


def test_between_a_load_and_a_store(machine):
    values = np.random.default_rng(5).standard_normal((16, 16)).astype(np.float32)
    machine.memory.write(BASE, values.reshape(-1).view(np.uint8))
    commands = [
        load("c", 0, BASE, type="f32"),
        TWICE,
        Elementwise("add", "f32", 8, (0, Uniform(0x3F800000)), 8),
        store(8, TARGET),
    ]
    progress = []
    execution = execute(machine, numbered(commands), progress.append)
    found = machine.memory.read(TARGET, 1024).view(np.float32).reshape(16, 16)
    np.testing.assert_array_equal(found, values * 2 + np.float32(1))
    assert execution.counters.instructions == 2
    assert sum(progress) == 4


def test_in_a_long_program(machine):
    """Work of the host on both sides of where commands are handed over in batches."""
    commands = [Fill(0, 8, 0x3F800000)]
    for index in range(1, 600):
        commands.append(TWICE if index in (100, 255, 256, 511, 512, 599) else Fill(9 + index % 8, 1, index))
    execution = execute(machine, numbered(commands))
    registers = machine.read_registers()
    assert (registers[:8].view(np.float32) == 64).all()
    assert execution.counters.instructions == 594


def test_one_piece_at_a_time(machine):
    """Commands and host work by `execute`, behind queued ones and before them."""
    machine.queue([Fill(0, 8, 0x3F800000), TWICE])
    machine.finish()
    for work in (TWICE, Fill(8, 1, 5), TWICE):
        machine.execute(work)
    machine.queue(iter([TWICE]))
    machine.finish()
    machine.finish()
    registers = machine.read_registers()
    assert (registers[:8].view(np.float32) == 16).all()
    assert (registers[8] == 5).all()
    assert machine.counters.instructions == 2


def queue_and_finish(machine, work):
    machine.queue(work)
    machine.finish()


def test_a_fault_of_queued_work_is_counted_from_the_beginning(machine):
    machine.execute(Fill(8, 1, 1))
    with pytest.raises(Fault) as caught:
        queue_and_finish(machine, [TWICE, Fill(9, 1, 2), TWICE, store(0, BASE + 4), Fill(10, 1, 3)])
    assert (caught.value.cause, caught.value.index) == (Cause.MISALIGNED_ADDRESS, 2)
    machine.execute(Fill(11, 1, 4))
    assert machine.read_registers()[8:12, 5].tolist() == [1, 2, 0, 4]


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_fault_has_its_place_whatever_the_host_did(machine, before):
    commands = [fill(0, 8, 0x3F800000), *[TWICE] * before, store(0, BASE + 4), TWICE]
    with pytest.raises(ProgramFault) as caught:
        execute(machine, numbered(commands))
    assert caught.value.fault.cause is Cause.MISALIGNED_ADDRESS
    assert caught.value.fault.index == 1
    assert caught.value.origin == f"line {before + 1}"
    assert (machine.read_registers()[:8].view(np.float32) == 2**before).all()


def test_registers_that_a_machine_does_not_have(machine):
    last = CONFIG.registers - 1
    work = Elementwise("add", "u32", last, (last, Uniform(1)), 2)
    with pytest.raises(ValueError, match=f"got registers {last} to {last + 1}; allowed: 0 to {last}"):
        execute(machine, [(work, "")])
    assert not machine.read_registers().any()


class Forgetful:
    """A machine that loses one bit of what the host writes."""

    def __init__(self):
        self._machine = golden_machine()

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def execute(self, work):
        if isinstance(work, Elementwise):
            execute_host_work(self, work)
        else:
            self._machine.execute(work)

    def write_registers(self, first, values, *, warp=0):
        values = values.copy()
        values[2, 7] ^= 0x400
        self._machine.write_registers(first, values, warp=warp)


def test_lockstep_compares_what_the_host_wrote():
    machine = LockstepMachine(golden_machine(), Forgetful())
    with pytest.raises(Mismatch) as caught:
        execute(machine, numbered([fill(0, 8, 0x3F800000), TWICE]))
    assert str(caught.value) == (
        "after 1 instructions: mul of f32 on registers 0 on, 0x40000000 to 8 registers from 0 on: "
        "1 of 2048 registers differ; the first is lane 7, register 2: golden 0x40000000, rtl 0x40000400"
    )


def test_a_difference_has_its_place():
    wrong = golden_machine()
    execute_right = wrong.execute

    def execute_wrong(work):
        execute_right(work)
        if wrong.counters.instructions == 300:
            wrong.write_registers(0, wrong.read_registers()[:1] ^ np.uint32(1))

    wrong.execute = execute_wrong
    program = [TWICE, *[Fill(index % 9, 1, index) for index in range(600)]]
    with pytest.raises(Mismatch) as caught:
        execute(LockstepMachine(golden_machine(), wrong), numbered(program))
    assert (caught.value.index, caught.value.origin) == (299, "line 300")
    assert str(caught.value).startswith(
        "instruction 299: fill of 1 registers from 2 on with 0x0000012b (line 300)"
    )


def test_no_core_takes_it():
    message = r"^no core executes mul of f32 on registers 0 on, 0x40000000 to 8 registers from 0 on: expected"
    with pytest.raises(ValueError, match=message):
        encode(TWICE)


VARIABLES = parse_module(
    ".version 8.0 .target sm_90 .global .align 32 .f32 C[256], D[256];"
    ".entry k(.param .u64 E) { .reg .f32 %c<8>; .reg .u64 %e;"
    "wmma.load.c.sync.aligned.m16n16k16.row.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [C];"
    "ld.param.u64 %e, [E];"
    "wmma.store.d.sync.aligned.m16n16k16.row.f32 [%e], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};"
    "wmma.store.d.sync.aligned.m16n16k16.col.f32 [D], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}; }",
    "k.ptx",
).entry()


def run(arguments, *outputs):
    outputs = [Output(name, "f32", shape) for name, shape in outputs]
    return run_program(
        VARIABLES,
        lambda size: GoldenMachine(memory=Memory(size, 0x1000)),
        arguments=arguments,
        outputs=outputs,
        registers=64,
    ).outputs


def test_variables_are_arguments_and_outputs():
    values = memory_of_noise().data[:1024].view(np.uint32).reshape(16, 16)
    found = run({"C": values}, ("D", (16, 16)), ("E", (16, 16)))
    np.testing.assert_array_equal(found["E"].view(np.uint32), values)
    np.testing.assert_array_equal(found["D"].view(np.uint32), values.T)


def test_a_variable_without_an_argument_begins_as_zeros():
    found = run({"D": np.ones(256, np.float32)}, ("D", (256,)), ("E", (256,)))
    assert not found["D"].any()
    assert not found["E"].any()


def test_a_variable_keeps_its_size_where_less_is_given():
    values = np.arange(1, 11, dtype=np.float32)
    found = run({"C": values}, ("C", (256,)), ("E", (256,)))
    np.testing.assert_array_equal(found["C"][:10], values)
    assert not found["C"][10:].any()
    np.testing.assert_array_equal(found["E"], found["C"])


@pytest.mark.parametrize(
    ("arguments", "output", "message"),
    [
        (
            {"C": np.zeros(257, np.float32)},
            ("E", (256,)),
            "argument C: got 1028 bytes; allowed: at most the 1024 bytes",
        ),
        ({}, ("D", (257,)), "output D: got 1028 bytes; allowed: at most the 1024 bytes that are declared"),
        (
            {"C": 4096},
            ("E", (256,)),
            "argument C: got the number 4096; allowed: an array, as C is a variable",
        ),
    ],
)
def test_what_does_not_fit_a_variable(arguments, output, message):
    with pytest.raises(InvalidArgument, match=f"^{message}"):
        run(arguments, output)
