"""Programs whose commands overlap in the core end as on the golden machine, which overlaps none."""

from dataclasses import replace
from functools import partial
from itertools import groupby, islice

import numpy as np
import pytest
from random_commands import (
    BASE,
    FRAGMENTS,
    MULTIPLIES,
    SIZE,
    SPACES,
    access,
    fragment_instruction,
    machines_of_noise,
)
from rtl import WIDE

from bench.utilisation import FIGURES
from golden.tables.commands import Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import PRESETS
from sim.simulation import BusTiming

WINDOW = 8192
"""Bytes of each memory that the programs use: few, so that loads and stores meet."""

SQUARE = Shape(16, 16, 16)


def random_commands(random, config, warp=0):
    """Legal commands on few registers and little memory, for ever; each warp has its own part of memory."""
    for command in commands_of_warp_0(random, config):
        own = {"address": command.address + warp * WINDOW} if isinstance(command, Load | Store) else {}
        yield replace(command, warp=warp, **own)


def commands_of_warp_0(random, config):

    def register(count):
        # Mostly multiples of eight, so that whole fragments are passed on; sometimes anything.
        last = config.registers - max(count, 1)
        return (
            8 * int(random.integers(0, last // 8 + 1))
            if random.random() < 0.7
            else int(random.integers(last + 1))
        )

    while True:
        kind = random.integers(10)
        if kind < 5:
            row = FRAGMENTS[random.integers(len(FRAGMENTS))]
            space = SPACES[random.integers(4)]
            yield access(
                fragment_instruction(row),
                random,
                config,
                space,
                register(fragment(*row[:3]).registers),
                WINDOW,
            )
        elif kind < 8:
            instruction = MULTIPLIES[random.integers(len(MULTIPLIES))]
            types = {
                "d": instruction.d_type,
                "a": instruction.a_type,
                "b": instruction.b_type,
                "c": instruction.c_type,
            }
            places = {
                use: register(fragment(use, type, instruction.shape).registers) for use, type in types.items()
            }
            yield Mma(instruction, **places)
        elif kind == 8:
            count = int(random.integers(0, 9))
            yield Fill(register(count), count, int(random.integers(1 << 32)))
        else:
            count = int(random.integers(0, 9))
            yield Move(register(count), register(count), count)


LOAD = LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16", space="global")
STORE = StoreInstruction(layout="row", shape=SQUARE, type="f32")
REFUSED = (
    Load(LOAD, 0, BASE + 2),
    Load(LOAD, 0, BASE, 9),
    Load(LOAD, 0, BASE, 17),
    Load(LOAD, 124, BASE + 1024),
    Load(LOAD, 250, BASE),
    Store(STORE, 0, (1 << 32) - 512),
    Fill(63, 250, 1),
)
"""Commands that stop before anything happens."""
FAILING = (
    Store(STORE, 0, BASE + SIZE - 512),
    Load(replace(LOAD, space="shared"), 8, 1 << 20),
    Load(LOAD, 0, BASE + SIZE - 256),
    Load(LOAD, 0, 0),
)
"""Commands that a memory refuses."""


ALL = PRESETS["small"]
OTHERS = {
    "large": PRESETS["large"],
    "two units, 64 bits": replace(ALL, dot_product_units=2, f64_units=2, data_bits=64, registers=128),
    "eight units, 256 bits": replace(ALL, dot_product_units=8, f64_units=4, data_bits=256, address_bits=40),
    "sixteen units, 512 bits": replace(ALL, dot_product_units=16, data_bits=512, queue_depth=4),
    "thirty-two units, 512 bits": replace(ALL, dot_product_units=32, data_bits=512, warps=2),
    "two warps": replace(ALL, warps=2),
    "eight warps": replace(ALL, warps=8, queue_depth=4, shared_bytes=8 * WINDOW),
    "standard, eight warps": replace(PRESETS["standard"], warps=8),
}
"""Sizes that take long to build."""


def execute_all(machine, commands):
    for command in commands:
        machine.execute(command)


def assert_equal_state(golden, rtl, config):
    np.testing.assert_array_equal(rtl.inspect_registers(), golden.inspect_registers())
    np.testing.assert_array_equal(rtl.memory.data, golden.memory.data)
    base = config.shared_base
    used = WINDOW * config.warps
    np.testing.assert_array_equal(rtl.shared.read(base, used), golden.shared.read(base, used))


@pytest.mark.parametrize("stall", [0, 120])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("preset", ["small", "standard"])
def test_random_programs(preset, seed, stall):
    run_random_programs(PRESETS[preset], seed, stall)


@pytest.mark.long
@pytest.mark.parametrize("stall", [0, 120])
@pytest.mark.parametrize("name", OTHERS)
def test_random_programs_on_other_sizes(name, stall):
    run_random_programs(OTHERS[name], 1, stall)


@pytest.mark.parametrize("stall", [0, 120])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_of_four_warps(seed, stall):
    run_random_programs(WIDE, seed, stall)


def programs(random, config, count):
    """So many commands of each warp, in the order of a host that gives them to the warps at random."""
    left = [islice(random_commands(random, config, warp), count) for warp in range(config.warps)]
    while left:
        warp = int(random.integers(len(left)))
        part = list(islice(left[warp], int(random.integers(1, 4))))
        if part:
            yield from part
        else:
            del left[warp]


def run_random_programs(config, seed, stall):
    random = np.random.default_rng(100 * seed + stall)
    golden, rtl = machines_of_noise(
        config, timing=BusTiming(latency=int(random.integers(1, 60)), stall=stall)
    )
    commands = list(programs(random, config, 150 // min(config.warps, 3)))
    execute_all(golden, commands)
    rtl.execute_batch(commands)
    assert rtl.counters.instructions == len(commands)
    assert_equal_state(golden, rtl, config)
    rtl.close()


def run_into(bad, seed):
    """Run 60 random commands with a bad one among them on both machines, and compare the faults."""
    config = PRESETS["small"]
    random = np.random.default_rng(seed)
    golden, rtl = machines_of_noise(config)
    commands = list(islice(random_commands(random, config), 60))
    commands.insert(int(random.integers(20, 50)), bad)
    with pytest.raises(Fault) as expected:
        execute_all(golden, commands)
    with pytest.raises(Fault) as found:
        rtl.execute_batch(commands)
    assert (found.value.cause, found.value.index) == (expected.value.cause, expected.value.index)
    return golden, rtl, random


def run_on(golden, rtl, random):
    """Both go on, from the same state to the same state."""
    rest = list(islice(random_commands(random, rtl.config), 20))
    execute_all(golden, rest)
    rtl.execute_batch(rest)
    assert_equal_state(golden, rtl, rtl.config)
    rtl.close()


@pytest.mark.parametrize("bad", REFUSED, ids=str)
def test_a_refusal_among_overlapping_commands_is_exact(bad):
    """What came before it is done, what came after never was."""
    golden, rtl, random = run_into(bad, REFUSED.index(bad))
    assert_equal_state(golden, rtl, rtl.config)
    run_on(golden, rtl, random)


@pytest.mark.parametrize("bad", FAILING, ids=str)
def test_a_failure_among_overlapping_commands_stops_the_core(bad):
    """Cause and index are exact; commands behind it that do not need it may have been executed."""
    golden, rtl, random = run_into(bad, FAILING.index(bad))
    rtl.write_registers(0, golden.read_registers())
    rtl.memory.data[:] = golden.memory.data
    base = rtl.config.shared_base
    rtl.shared.write(base, golden.shared.read(base, golden.shared.size))
    run_on(golden, rtl, random)


@pytest.mark.parametrize("bad", FAILING, ids=str)
def test_a_failure_is_exact_one_at_a_time(bad):
    config = PRESETS["small"]
    random = np.random.default_rng(FAILING.index(bad))
    golden, rtl = machines_of_noise(config)
    for machine in (golden, rtl):
        execute_all(machine, islice(random_commands(np.random.default_rng(5), config), 20))
        with pytest.raises(Fault):
            machine.execute(bad)
    assert_equal_state(golden, rtl, config)
    run_on(golden, rtl, random)


def all_faults(machine, work):
    """Have all work executed but what is behind a fault of its warp; the fault of each warp that has one."""
    faults = {}
    action = partial(machine.queue, work)
    while True:
        try:
            action()
        except Fault as fault:
            faults[fault.warp] = fault.cause, fault.index
        else:
            if action == machine.finish:
                return faults
        action = machine.finish


@pytest.mark.parametrize("failing", [1, 2, 4])
@pytest.mark.parametrize("bad", [*REFUSED, *FAILING], ids=str)
def test_a_fault_stops_its_warp_alone(bad, failing):
    """Of four warps some fail: each for its cause, at its command; the others execute all they have."""
    config = WIDE
    random = np.random.default_rng([REFUSED.index(bad) if bad in REFUSED else FAILING.index(bad), failing])
    golden, rtl = machines_of_noise(config)
    commands = list(programs(random, config, 48))
    failed = random.choice(config.warps, failing, replace=False).tolist()
    for warp in failed:
        commands.insert(int(random.integers(20, 150)), replace(bad, warp=warp))
    expected = {}
    for command in commands:
        if command.warp not in expected:
            try:
                golden.execute(command)
            except Fault as fault:
                expected[fault.warp] = fault.cause, fault.index
    assert set(expected) == set(failed)
    assert all_faults(rtl, commands) == expected
    for warp in range(config.warps):
        # Behind a failure of a memory, commands of the same warp may have been executed.
        if bad in REFUSED or warp not in failed:
            np.testing.assert_array_equal(rtl.read_registers(warp=warp), golden.read_registers(warp=warp))
            place = BASE + warp * WINDOW
            np.testing.assert_array_equal(rtl.memory.read(place, WINDOW), golden.memory.read(place, WINDOW))
    for warp in failed:
        rtl.execute(Fill(3, 2, 0x1234 + warp, warp=warp))
        assert (rtl.read_registers(3, 2, warp=warp) == 0x1234 + warp).all()
    rtl.close()


@pytest.mark.parametrize("warp", [4, 5, 15])
def test_a_command_for_a_warp_that_does_not_exist_is_refused_by_warp_0(warp):
    config = WIDE
    golden, rtl = machines_of_noise(config)
    commands = list(programs(np.random.default_rng(warp), config, 8))
    commands[20:20] = [Fill(1, 1, 5, warp=warp)]
    index = sum(command.warp == 0 for command in commands[:20])
    assert all_faults(rtl, commands) == {0: (Cause.WARP_RANGE, index)}
    for place, command in enumerate(commands):
        if command.warp < config.warps and (command.warp or place < 20):
            golden.execute(command)
    assert_equal_state(golden, rtl, config)
    rtl.close()


def test_warps_hide_each_others_latency():
    """The same programs, one warp after the other and side by side."""
    config = WIDE
    commands = list(programs(np.random.default_rng(5), config, 16))
    cycles = []
    for order in (commands, sorted(commands, key=lambda command: command.warp)):
        _, rtl = machines_of_noise(config, timing=BusTiming(latency=60))
        for _, part in groupby(order, key=lambda command: command.warp if order is not commands else 0):
            rtl.execute_batch(part)
        cycles.append(rtl.counters.cycles)
        rtl.close()
    assert cycles[0] < 0.75 * cycles[1]


def test_one_at_a_time_and_overlapped_give_the_same_and_overlapping_is_quicker():
    config = PRESETS["small"]
    commands = list(islice(random_commands(np.random.default_rng(77), config), 80))
    _, overlapped = machines_of_noise(config)
    _, single = machines_of_noise(config)
    overlapped.execute_batch(commands)
    execute_all(single, commands)
    assert_equal_state(single, overlapped, config)
    assert overlapped.counters.cycles < single.counters.cycles
    for machine in (overlapped, single):
        machine.close()


@pytest.mark.parametrize("name", FIGURES)
def test_the_units_and_the_bus_are_kept_as_busy_as_required(name):
    figures = FIGURES[name]()
    assert figures
    assert [figure.name for figure in figures if not figure.is_reached] == []
