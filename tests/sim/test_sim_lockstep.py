"""What lockstep says when two machines differ: machines that are made to err on purpose."""

import numpy as np
import pytest
from rtl import BASE, fill, golden_machine, load, multiply, store

from golden.machine import Difference
from golden.memory import Memory
from golden.tables.commands import Move, StoreMatrix
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from golden.tables.profiles import PROFILES
from golden.warp import GoldenMachine
from sim.lockstep import LockstepMachine


class Erring:
    """A machine whose results are changed after chosen commands.

    Parameters
    ----------
    machine : Machine
    registers, memory : mapping of (register, lane) or address to int
        Bits that are flipped after command number `after`.
    """

    def __init__(self, machine, *, after, registers=None, memory=None, refuses=None):
        self._machine = machine
        self._after = after
        self._registers = registers or {}
        self._memory = memory or {}
        self._refuses = refuses

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def execute(self, command):
        index = self._machine.counters.instructions
        if index == self._after and self._refuses:
            raise Fault(self._refuses, index, "on purpose")
        self._machine.execute(command)
        if index == self._after:
            values = self._machine.read_registers()
            for place, flipped in self._registers.items():
                values[place] ^= np.uint32(flipped)
            self._machine.write_registers(0, values)
            for address, flipped in self._memory.items():
                self._machine.memory.data[address - BASE] ^= flipped


def difference_of(commands, **errors):
    """The message of the mismatch after the last of some commands."""
    machine = LockstepMachine(golden_machine(), Erring(golden_machine(), after=len(commands) - 1, **errors))
    for command in commands[:-1]:
        machine.execute(command)
    with pytest.raises(Difference) as error:
        machine.execute(commands[-1])
    return str(error.value)


ONES = (fill(0, 16, 0x3C003C00), fill(16, 8, 0))


def test_an_element_of_d_is_named_with_its_place_and_values():
    # Lane 13 is group 3, thread 1: element 5 of an f32 accumulator has rb 0, nb 1, j 1.
    message = difference_of([*ONES, multiply()], registers={(16 + 5, 13): 1 << 22})
    assert message == (
        "instruction 2: wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 with registers d 16, a 0, b 8, c 16: "
        "1 of 2048 registers differ; the first is row 3, column 11 of d (lane 13, register 21): "
        "golden 0x41800000 = 16.0, rtl 0x41c00000 = 24.0"
    )


def test_half_a_register_is_an_element_of_its_own():
    message = difference_of([*ONES, multiply(d_type="f16")], registers={(16, 0): 0x0400_0000})
    assert message.endswith(
        "the first is row 0, column 1 of d (lane 0, register 16): golden 0x4c00 = 16.0, rtl 0x4800 = 8.0"
    )


def test_the_transposed_accumulator_of_m8n32k16():
    shape = Shape(8, 32, 16)
    message = difference_of([*ONES, multiply(shape=shape)], registers={(17, 6): 1 << 31})
    assert (
        "row 5, column 1 of d (lane 6, register 17): golden 0x41800000 = 16.0, rtl 0xc1800000 = -16.0"
        in message
    )


def test_a_loaded_element_is_named_in_the_loaded_matrix():
    element = int(golden_machine().memory.data[:512].view("<u2")[9 * 16 + 2])
    # Row 9, column 2 of A: lane 5, in the register of x block 1, k block 0.
    message = difference_of([load("a", 8)], registers={(8 + 1, 5): 1})
    assert message.startswith(
        "instruction 0: wmma.load.a.sync.aligned.row.m16n16k16.global.f16 with register 8, "
    )
    assert f"row 9, column 2 of a (lane 5, register 9): golden {element:#06x} = " in message
    assert f", rtl {element ^ 1:#06x} = " in message


def test_the_written_fragment_comes_first():
    message = difference_of([*ONES, multiply()], registers={(0, 0): 1, (18, 31): 1})
    assert "2 of 2048 registers differ; the first is row 15, column 6 of d (lane 31, register 18)" in message


def test_a_register_that_was_not_to_be_written():
    message = difference_of([load("a", 8)], registers={(40, 3): 0x80})
    assert message.endswith(
        "the first is lane 3, register 40, outside the fragment that was written: "
        "golden 0x00000000, rtl 0x00000080"
    )


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (fill(0, 4), "fill of 4 registers from 0 on with 0x3c003c00"),
        (Move(0, 8, 4), "move of 4 registers from 8 on to 0 on"),
    ],
)
def test_fill_and_move_have_no_matrix(command, text):
    message = difference_of([command], registers={(3, 9): 1})
    assert message.startswith(
        f"instruction 0: {text}: 1 of 2048 registers differ; the first is lane 9, register 3: "
    )


def test_a_stored_element_is_named_by_row_and_column():
    # Column-major with 20 elements from column to column: row 3, column 2 is element 43.
    target = BASE + 0x1000
    commands = [fill(16, 8, 0x3F800000), store(16, target, 24, layout="col")]
    message = difference_of(commands, memory={target + 4 * (2 * 24 + 3) + 3: 0x80})
    assert message == (
        "instruction 1: wmma.store.d.sync.aligned.col.m16n16k16.global.f32 with register 16, "
        f"address {target:#x}, stride 24: 1 bytes of memory differ; "
        f"the first is row 3, column 2 of d (address {target + 4 * 51:#x}): "
        "golden 0x3f800000 = 1.0, rtl 0xbf800000 = -1.0"
    )


def test_memory_between_the_stored_rows():
    target = BASE + 0x1000
    commands = [store(16, target, 24)]
    before = int(golden_machine().memory.data[0x1000 + 4 * 20])
    message = difference_of(commands, memory={target + 4 * 20: 0x01})
    assert message.endswith(
        f"the first is address {target + 80:#x}, outside the matrix that was stored: "
        f"golden {before:#04x}, rtl {before ^ 1:#04x}"
    )


def test_one_refuses_what_the_other_executes():
    message = difference_of([fill()], refuses=Cause.REGISTER_RANGE)
    assert message == (
        "instruction 0: fill of 8 registers from 0 on with 0x3c003c00: golden executed it, "
        "rtl faulted (instruction 0: register range: on purpose)"
    )


def test_different_causes_are_a_mismatch():
    message = difference_of([load(address=BASE + 2)], refuses=Cause.MISALIGNED_STRIDE)
    assert "golden faulted (instruction 0: misaligned address: " in message
    assert "rtl faulted (instruction 0: misaligned stride: on purpose)" in message


def test_the_same_fault_is_a_fault_and_execution_goes_on():
    machine = LockstepMachine(golden_machine(), golden_machine())
    machine.execute(fill())
    with pytest.raises(Fault) as error:
        machine.execute(load(address=BASE + 2))
    assert (error.value.cause, error.value.index) == (Cause.MISALIGNED_ADDRESS, 1)
    machine.execute(load())
    assert machine.counters.instructions == 2


def test_what_the_caller_writes_reaches_both():
    machine = LockstepMachine(golden_machine(), golden_machine())
    machine.memory.write(BASE, np.full(512, 7, dtype=np.uint8))
    machine.execute(load("a", 0))
    assert (machine.read_registers()[:8] == 0x07070707).all()
    machine.write_registers(60, np.full((4, 32), 5, dtype=np.uint32))
    machine.execute(fill())
    assert (machine.rtl.read_registers()[60:] == 5).all()


def test_profiles_must_match():
    golden, rtl = (
        GoldenMachine(memory=Memory(4096), profile=PROFILES[name]) for name in ("hopper", "ampere")
    )
    with pytest.raises(
        ValueError, match=r"^machines in lockstep must have the same numerics profile, not hopper, ampere$"
    ):
        LockstepMachine(golden, rtl)


def test_memories_must_match_and_be_two():
    memory = Memory(4096)
    with pytest.raises(
        ValueError,
        match=r"^memories in lockstep must have the same base and size, not 0x0 and 4096, 0x0 and 8192$",
    ):
        LockstepMachine(GoldenMachine(memory=memory), GoldenMachine(memory=Memory(8192)))
    with pytest.raises(ValueError, match=r"^machines in lockstep must not share one memory$"):
        LockstepMachine(GoldenMachine(memory=memory), GoldenMachine(memory=memory))


class WrongHostPort(GoldenMachine):
    """A machine of which the host reads what it does not hold."""

    def read_registers(self, first=0, count=None, *, warp=0):
        values = super().read_registers(first, count, warp=warp)
        values[0, 31] ^= np.uint32(1)
        return values


def test_what_the_host_reads_is_compared_with_what_is_there():
    golden = GoldenMachine(memory=Memory(1 << 16, BASE))
    machine = LockstepMachine(golden, WrongHostPort(memory=Memory(1 << 16, BASE)))
    machine.execute(fill(0, 8, 1))
    with pytest.raises(Difference, match=r"the host reads other values in registers 4 to 6$"):
        machine.read_registers(4, 3)


class Words:
    """Memory that is not compared as a whole."""

    def __init__(self, memory):
        self._memory = memory

    def __getattr__(self, name):
        return getattr(self._memory, name)


class WrongRow(GoldenMachine):
    """A machine that spoils a byte of shared memory after each command."""

    place = None

    def __init__(self, *, shared, **others):
        super().__init__(shared=shared, **others)
        self.spoiled = shared
        self.shared = Words(shared)

    def execute(self, work):
        super().execute(work)
        if self.place is not None:
            self.spoiled.write(self.place, self.spoiled.read(self.place, 1) ^ 1)


@pytest.mark.parametrize(("space", "first"), [("shared", 0), ("generic", 1 << 20)])
def test_each_row_of_stored_matrices_is_compared(space, first):
    """Two matrices, whose rows are 32 bytes apart; in between the memories may differ until the end."""
    for row in (None, 0, 7, 15):
        machines = [
            kind(memory=Memory(1 << 14, BASE), shared=Memory(1 << 14, 1 << 20))
            for kind in (GoldenMachine, WrongRow)
        ]
        machine = LockstepMachine(*machines)
        machine.write_registers(9, np.array([first + 32 * np.arange(32)], dtype=np.uint32))
        machines[1].place = (1 << 20) + (16 if row is None else 32 * row + 5)
        if row is None:
            machine.execute(StoreMatrix(0, 9, 2, space=space))
        else:
            with pytest.raises(
                Difference, match=rf"shared memory differ; the first is address {machines[1].place:#x}"
            ):
                machine.execute(StoreMatrix(0, 9, 2, space=space))
