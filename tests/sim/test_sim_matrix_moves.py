"""`ldmatrix`, `stmatrix` and `movmatrix` on the simulated core, against the golden machine."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from rtl import CONFIG, WIDE

from golden.memory import Memory
from golden.tables.commands import Fill, LoadMatrix, Mma, Move, MoveMatrix, StoreMatrix
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import MmaInstruction
from sim.lockstep import LockstepMachine
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

BASE = 0x4000
ADDRESSES = 60
"""A register of row addresses."""


def machines(config=CONFIG):
    """A golden machine and a core with the same random registers and memories."""
    random = np.random.default_rng(11)
    memories = [Memory(1 << 14, BASE) for _ in range(2)]
    machine, rtl = golden_machine(config, memories[0]), RtlMachine(config, memories[1])
    bytes_of = {
        size: random.integers(0, 256, size, dtype=np.uint8) for size in (1 << 14, config.shared_bytes)
    }
    registers = random.integers(0, 1 << 32, (config.warps, CONFIG.registers, 32), dtype=np.uint32)
    for made, memory in zip((machine, rtl), memories, strict=True):
        memory.data[:] = bytes_of[1 << 14]
        made.shared.write(CONFIG.shared_base, bytes_of[config.shared_bytes])
        for warp in range(config.warps):
            made.write_registers(0, registers[warp], warp=warp)
    return machine, rtl


@pytest.fixture(params=[CONFIG, pytest.param(WIDE, marks=pytest.mark.long)], ids=["small", "wide"])
def pair(request):
    golden, rtl = machines(request.param)
    yield golden, rtl
    rtl.close()


def row_addresses(random, space="shared", distinct=True, part=0, parts=1):
    """Addresses of 32 rows, anywhere in one of equal parts of the memory that a space means."""
    rows = CONFIG.shared_bytes // 16 // parts
    place = part * rows + (random.permutation(rows)[:32] if distinct else random.integers(0, 64, 32))
    base = {"shared": 0, "generic": CONFIG.shared_base, "global": BASE}[space]
    return (base + 16 * place.astype(np.int64)).astype(np.uint32)


def write_everywhere(machines, register, values, warps=None):
    """Write a register of some warps, or of all."""
    for machine in machines:
        for warp in range(machines[-1].config.warps) if warps is None else warps:
            machine.write_registers(
                register, np.ascontiguousarray(values, dtype=np.uint32).reshape(1, 32), warp=warp
            )


@pytest.mark.parametrize("space", ["shared", "generic"])
def test_every_form_equals_golden(pair, space):
    random = np.random.default_rng(5)
    lockstep = LockstepMachine(*pair)
    for kind in (LoadMatrix, StoreMatrix):
        for count in (1, 2, 4):
            for transposed in (False, True):
                for register in (0, 7, 32, 56):
                    for warp in range(pair[1].config.warps):
                        addresses = row_addresses(random, space, distinct=register != 7)
                        write_everywhere(pair, ADDRESSES, addresses, [warp])
                        move = kind(register + warp, ADDRESSES, count, transposed, space, warp=warp)
                        lockstep.execute(move)
    lockstep.finish()


def test_the_register_of_addresses_may_be_loaded_over(pair):
    random = np.random.default_rng(6)
    lockstep = LockstepMachine(*pair)
    for transposed in (False, True):
        write_everywhere(pair, 9, row_addresses(random))
        lockstep.execute(LoadMatrix(8, 9, 4, transposed))
        write_everywhere(pair, 9, row_addresses(random))
        lockstep.execute(StoreMatrix(9, 9, 1, transposed))
    lockstep.finish()


def test_movmatrix_equals_golden(pair):
    lockstep = LockstepMachine(*pair)
    for destination, source in ((3, 17), (17, 17), (0, 63), (63, 1)):
        lockstep.execute(MoveMatrix(destination, source))


def test_generic_addresses_of_global_memory(pair):
    random = np.random.default_rng(7)
    lockstep = LockstepMachine(*pair)
    write_everywhere(pair, ADDRESSES, row_addresses(random, "global"))
    lockstep.execute(LoadMatrix(0, ADDRESSES, 4, True, "generic"))
    lockstep.execute(StoreMatrix(16, ADDRESSES, 4, False, "generic"))
    lockstep.finish()


@pytest.mark.parametrize("kind", [LoadMatrix, StoreMatrix])
def test_faults(pair, kind):
    """Of the last warp, each with the cause of the golden machine; the registers stay, and work goes on."""
    move = partial(kind, warp=pair[1].config.warps - 1)
    random = np.random.default_rng(8)
    good = row_addresses(random)
    write_everywhere(pair, ADDRESSES, good)
    cases = [(move(61, ADDRESSES, 4), good, Cause.REGISTER_RANGE)]
    cases.append((move(0, 64, 1), good, Cause.REGISTER_RANGE))
    for lane in (0, 13, 31):
        bad = good.copy()
        bad[lane] += 8
        cases.append((move(0, ADDRESSES, 4), bad, Cause.MISALIGNED_ADDRESS))
        bad = good.copy()
        bad[lane] = pair[1].config.shared_bytes
        absent = Cause.READ_DECODE_ERROR if kind is LoadMatrix else Cause.WRITE_DECODE_ERROR
        cases.append((move(0, ADDRESSES, 4), bad, absent))
    for command, addresses, cause in cases:
        write_everywhere(pair, ADDRESSES, addresses)
        for machine in pair:
            with pytest.raises(Fault) as raised:
                machine.execute(command)
            assert raised.value.cause == cause, command
        np.testing.assert_array_equal(pair[0].inspect_registers(), pair[1].inspect_registers())
        write_everywhere(pair, ADDRESSES, good)
        for machine in pair:
            machine.execute(move(0, ADDRESSES, 2))
    base, size = CONFIG.shared_base, pair[1].config.shared_bytes
    np.testing.assert_array_equal(pair[0].shared.read(base, size), pair[1].shared.read(base, size))


def test_lanes_beyond_the_matrices_do_not_count(pair):
    random = np.random.default_rng(9)
    addresses = row_addresses(random)
    addresses[16:] = 3
    write_everywhere(pair, ADDRESSES, addresses)
    LockstepMachine(*pair).execute(LoadMatrix(0, ADDRESSES, 2))


def program(random, count):
    """Matrix moves, multiplies, fills and moves that overlap in registers and bytes."""
    multiply = MmaInstruction(
        mnemonic="mma",
        shape=Shape(16, 8, 16),
        a_layout="row",
        b_layout="col",
        a_type="f16",
        b_type="f16",
        c_type="f32",
        d_type="f32",
    )
    for _ in range(count):
        place, other = (int(item) for item in random.integers(0, 52, 2))
        matrices, transposed = int(random.choice([1, 2, 4])), bool(random.integers(0, 2))
        yield [
            LoadMatrix(place, int(random.integers(56, 64)), matrices, transposed),
            StoreMatrix(place, int(random.integers(56, 64)), matrices, transposed),
            MoveMatrix(place, other),
            Mma(multiply, place, other, int(random.integers(0, 52)), place),
            Move(place, other, 3),
            Fill(place, 2, int(random.integers(0, 1 << 32))),
        ][int(random.choice(6, p=[0.3, 0.3, 0.1, 0.2, 0.05, 0.05]))]


def test_commands_that_overlap_in_time(pair):
    """Hazards of registers and of bytes, addresses in registers included; each warp has its own bytes."""
    golden, rtl = pair
    random = np.random.default_rng(10)
    warps = rtl.config.warps
    for round_number in range(4):
        for register, warp in product(range(56, 64), range(warps)):
            addresses = row_addresses(random, distinct=bool(round_number % 2), part=warp, parts=warps)
            write_everywhere(pair, register, addresses, [warp])
        programs = [program(random, 150) for _ in range(warps)]
        commands = [
            replace(command, warp=warp)
            for given in zip(*programs, strict=True)
            for warp, command in enumerate(given)
        ]
        for command in commands:
            golden.execute(command)
        rtl.queue(commands)
        rtl.finish()
        np.testing.assert_array_equal(golden.inspect_registers(), rtl.inspect_registers())
        base, size = CONFIG.shared_base, rtl.config.shared_bytes
        np.testing.assert_array_equal(golden.shared.read(base, size), rtl.shared.read(base, size))


def test_a_row_in_nine_of_ten_cycles(pair):
    """Loads of four matrices from on-chip memory."""
    _, rtl = pair
    write_everywhere([rtl], ADDRESSES, row_addresses(np.random.default_rng(3)))
    before = rtl.counters
    rtl.queue([LoadMatrix(4 * (index % 14), ADDRESSES, 4) for index in range(64)])
    rtl.finish()
    cycles = rtl.counters.cycles - before.cycles
    assert 64 * 32 / cycles >= 0.9, cycles
