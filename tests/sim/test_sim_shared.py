"""Shared memory on the machines: the host's window onto it, and its comparison in lockstep."""

from dataclasses import replace

import numpy as np
import pytest
from rtl import BASE, WIDE, load, memory_of_noise, store

from golden.machine import Difference
from golden.memory import Memory
from golden.programs.execution import execute
from golden.warp import GoldenMachine
from hdl.config import PRESETS
from hdl.control.host import register_map
from sim.lockstep import LockstepMachine
from sim.rtl_machine import RtlMachine
from sim.simulation import SimulationError
from sim.testbench.reference import golden_machine

CONFIG = PRESETS["small"]
WINDOW = CONFIG.shared_base


def golden():
    return golden_machine(CONFIG, memory_of_noise())


def shared(command, space="shared"):
    """The same command on shared memory."""
    return replace(command, instruction=replace(command.instruction, space=space))


@pytest.fixture(params=[True, False], ids=["window", "no cycles"])
def rtl(request):
    """A core whose shared memory the host reaches through its window, or without a cycle."""
    machine = RtlMachine(CONFIG, memory_of_noise(), window=request.param)
    yield machine
    machine.close()


@pytest.fixture
def pair():
    """Two golden machines in lockstep, the second of which can be made to err."""
    return LockstepMachine(golden(), golden())


def test_the_golden_machine_of_a_configuration_has_its_shared_memory():
    assert (golden().shared.base, golden().shared.size) == (WINDOW, 16384)
    assert golden_machine(PRESETS["tiny"], Memory(4096)).shared is None


def test_the_window_reads_and_writes_any_range(rtl):
    window = rtl.shared
    assert (window.base, window.size) == (WINDOW, CONFIG.shared_bytes)
    assert not window.read(WINDOW, 4096).any(), "it begins as zeros, as on the golden machine"
    random = np.random.default_rng(4)
    model = np.zeros(CONFIG.shared_bytes, dtype=np.uint8)
    for _ in range(40):
        start = int(random.integers(0, 200))
        values = random.integers(0, 256, int(random.integers(0, 30)), dtype=np.uint8)
        window.write(WINDOW + start, values)
        model[start : start + values.size] = values
        place, count = (int(number) for number in random.integers(0, 110, 2))
        np.testing.assert_array_equal(window.read(WINDOW + place, count), model[place : place + count])
    end = WINDOW + window.size
    window.write(end - 3, np.array([1, 2, 3], dtype=np.uint8))
    assert window.read(end - 4, 4).tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(window.read(WINDOW, 256), model[:256])


@pytest.mark.parametrize(
    ("address", "count"), [(WINDOW - 1, 2), (WINDOW + CONFIG.shared_bytes - 3, 4), (0, 1)]
)
def test_the_window_ends_where_the_memory_does(rtl, address, count):
    assert not rtl.shared.contains(address, count)
    message = rf"{count} bytes at {address:#x} are outside the memory 0xff000000 \.\. 0xff004000"
    with pytest.raises(IndexError, match=message):
        rtl.shared.read(address, count)
    with pytest.raises(IndexError, match=message):
        rtl.shared.write(address, np.zeros(count, dtype=np.uint8))


@pytest.mark.parametrize("config", [CONFIG, WIDE], ids=["a beat of 16 bytes", "a beat of 32 bytes"])
def test_words_that_take_no_cycle_are_those_of_the_window(config):
    machine = RtlMachine(config, memory_of_noise())
    words = np.random.default_rng(6).integers(0, 1 << 32, config.shared_bytes // 4, dtype=np.uint32)
    before = machine.simulation.cycles
    machine.shared.write(config.shared_base, words.view(np.uint8))
    assert machine.simulation.cycles == before
    found = machine.simulation.read(register_map.SHARED_WINDOW, words.size)
    np.testing.assert_array_equal(found, words)
    machine.simulation.write(register_map.SHARED_WINDOW + 64, words[:5])
    assert machine.shared.read(config.shared_base + 64, 20).view(np.uint32).tolist() == words[:5].tolist()
    with pytest.raises(SimulationError, match=f"no on-chip memory of {words.size + 1} words"):
        machine.simulation.write_shared(4 * words.size, words[:1])
    machine.close()


def test_a_core_without_shared_memory_has_no_window():
    machine = RtlMachine(PRESETS["tiny"], Memory(4096))
    assert machine.shared is None
    machine.close()


def test_what_the_host_writes_is_what_a_load_finds_and_what_a_store_leaves_is_what_it_reads(rtl):
    values = np.random.default_rng(5).integers(0, 256, 1024, dtype=np.uint8)
    rtl.shared.write(WINDOW + 2048, values)
    rtl.execute(shared(load("c", 8, 2048, type="f32")))
    rtl.execute(shared(store(8, WINDOW + 4096), "generic"))
    np.testing.assert_array_equal(rtl.shared.read(WINDOW + 4096, 1024), values)
    np.testing.assert_array_equal(rtl.memory.data, memory_of_noise().data)


def test_writes_in_lockstep_reach_both(pair):
    values = np.arange(50, dtype=np.uint8)
    pair.shared.write(WINDOW + 7, values)
    for side in (pair.golden, pair.rtl):
        np.testing.assert_array_equal(side.shared.read(WINDOW + 7, 50), values)
    np.testing.assert_array_equal(pair.shared.read(WINDOW + 7, 50), values)
    assert (pair.shared.base, pair.shared.size) == (WINDOW, CONFIG.shared_bytes)
    assert pair.shared.contains(WINDOW, 1)
    pair.finish()


@pytest.mark.parametrize("space", ["shared", "generic"])
def test_a_difference_in_what_a_store_reached_is_named(pair, space):
    address = 512 if space == "shared" else WINDOW + 512
    command = shared(store(8, address, 24), space)
    pair.rtl.write_registers(9, np.full((1, 32), 7, dtype=np.uint32))
    pair.rtl.inspect_registers = pair.golden.inspect_registers
    with pytest.raises(Difference) as error:
        pair.execute(command)
    text = str(error.value)
    # Register 1 of an accumulator is column 1 of each pair; its first element in memory is row 0, column 1.
    assert (
        f"bytes of shared memory differ; the first is row 0, column 1 of d (address {address + 4:#x}): "
        in text
    )
    assert "golden 0x00000000 = 0.0, rtl 0x00000007 = " in text


def test_bytes_between_the_lines_of_a_store_are_compared(pair):
    pair.rtl.shared.write(WINDOW + 512 + 4 * 20, np.array([9], dtype=np.uint8))
    with pytest.raises(
        Difference, match=r"address 0x250, outside the matrix that was stored: golden 0x00, rtl 0x09"
    ):
        pair.execute(shared(store(8, 512, 24)))


def test_bytes_that_no_store_reached_are_compared_in_the_end(pair):
    pair.execute(shared(store(8, 512)))
    pair.rtl.shared.write(WINDOW + 8000, np.array([1], dtype=np.uint8))
    pair.execute(shared(store(8, 512)))
    with pytest.raises(
        Difference,
        match=r"^after 2 instructions: 1 bytes of shared memory differ; the first is address 0xff001f40: ",
    ):
        pair.finish()


def test_a_program_in_lockstep_ends_with_that_comparison(pair):
    pair.rtl.shared.write(WINDOW + 8000, np.array([1], dtype=np.uint8))
    with pytest.raises(Difference, match=r"^after 1 instructions: 1 bytes of shared memory differ"):
        execute(pair, [(shared(store(8, 512)), "line 1")])


def test_stores_to_global_memory_and_past_the_window_compare_nothing_shared(pair):
    pair.rtl.shared.write(WINDOW, np.array([1], dtype=np.uint8))
    pair.execute(store(8, BASE + 4096))
    pair.execute(shared(store(8, BASE + 4096), "generic"))


def test_shared_memory_must_be_on_both():
    with_it, without = golden(), GoldenMachine(memory=memory_of_noise())
    with pytest.raises(
        ValueError, match=r"^shared memories in lockstep must have .*, not 0xff000000 and 16384, none$"
    ):
        LockstepMachine(with_it, without)


@pytest.mark.parametrize("space", ["shared", "generic"])
def test_core_and_golden_machine_agree_on_shared_memory(rtl, space):
    base = 0 if space == "shared" else WINDOW
    machine = LockstepMachine(golden(), rtl)
    commands = [
        load("a", 0),
        load("c", 8, type="f32"),
        shared(store(8, base + 1024, 24), space),
        shared(load("c", 16, base + 1024, 24, layout="col", type="f32"), space),
        shared(store(16, base + 4096, type="f16"), space),
        shared(load("b", 24, base + 4096, layout="col"), space),
    ]
    for command in commands:
        machine.execute(command)
    machine.finish()
    assert machine.shared.read(WINDOW + 1024, 1024).any()
