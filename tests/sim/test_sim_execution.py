"""Programs of commands on the golden machine, on the core and on both: progress, faults, differences."""

import numpy as np
import pytest
from rtl import BASE, fill, golden_machine, load, rtl_machine, store

from golden.machine import Difference
from golden.programs.execution import ProgramFault, execute
from golden.tables.commands import Fill, Move
from golden.tables.faults import Cause, Fault
from sim.lockstep import LockstepMachine

TARGET = BASE + 0x1000
MACHINES = {
    "golden": golden_machine,
    "rtl": rtl_machine,
    "lockstep": lambda: LockstepMachine(golden_machine(), rtl_machine()),
}


@pytest.fixture(params=MACHINES)
def machine(request):
    machine = MACHINES[request.param]()
    yield machine
    machine.close()


def numbered(commands):
    return [(command, f"line {index}") for index, command in enumerate(commands)]


def test_a_load_and_a_store(machine):
    values = np.random.default_rng(5).standard_normal((16, 16)).astype(np.float32)
    machine.memory.write(BASE, values.reshape(-1).view(np.uint8))
    progress = []
    commands = [load("c", 0, BASE, type="f32"), Move(8, 0, 8), store(8, TARGET)]
    execution = execute(machine, numbered(commands), progress.append)
    found = machine.memory.read(TARGET, 1024).view(np.float32).reshape(16, 16)
    np.testing.assert_array_equal(found, values)
    assert execution.counters.instructions == sum(progress) == 3


def test_a_long_program_is_handed_over_in_batches(machine):
    execution = execute(machine, numbered(Fill(index % 8, 1, index) for index in range(600)))
    assert machine.read_registers()[:8, 3].tolist() == list(range(592, 600))
    assert execution.counters.instructions == 600


def queue_and_finish(machine, commands):
    machine.queue(commands)
    machine.finish()


def test_a_fault_of_queued_commands_is_counted_from_the_beginning(machine):
    machine.execute(Fill(8, 1, 1))
    with pytest.raises(Fault) as caught:
        queue_and_finish(machine, [Fill(9, 1, 2), store(0, BASE + 2), Fill(10, 1, 3)])
    assert (caught.value.cause, caught.value.index) == (Cause.MISALIGNED_ADDRESS, 2)
    machine.execute(Fill(11, 1, 4))
    assert machine.read_registers()[8:12, 5].tolist() == [1, 2, 0, 4]


@pytest.mark.parametrize("before", [0, 1, 300])
def test_a_fault_has_its_place(machine, before):
    commands = [*[fill(0, 8, 7)] * before, store(0, BASE + 2), fill(0, 8, 9)]
    with pytest.raises(ProgramFault) as caught:
        execute(machine, numbered(commands))
    assert caught.value.fault.cause is Cause.MISALIGNED_ADDRESS
    assert (caught.value.fault.index, caught.value.origin) == (before, f"line {before}")
    assert (machine.read_registers()[:8] == (7 if before else 0)).all()


def test_a_difference_has_its_place():
    wrong = golden_machine()
    execute_right = wrong.execute

    def execute_wrong(command):
        execute_right(command)
        if wrong.counters.instructions == 300:
            wrong.write_registers(0, wrong.read_registers()[:1] ^ np.uint32(1))

    wrong.execute = execute_wrong
    program = [Fill(index % 9, 1, index) for index in range(600)]
    with pytest.raises(Difference) as caught:
        execute(LockstepMachine(golden_machine(), wrong), numbered(program))
    assert (caught.value.index, caught.value.origin) == (299, "line 299")
    assert str(caught.value).startswith(
        "instruction 299: fill of 1 registers from 2 on with 0x0000012b (line 299)"
    )
