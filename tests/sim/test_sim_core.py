"""The simulated core against the golden machine and the chip: programs, tiles, faults, host accesses."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from golden_captures import COMPACT, instruction_of
from rtl import BASE, CONFIG, TINY, fill, golden_machine, load, multiply, rtl_machine, store

from golden.memory import Memory
from golden.programs.tiles import multiply_tiles
from golden.tables.commands import Fill, Move
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from hdl.command import encode
from hdl.control.host.register_map import lane_address
from openwmma.modules import Module
from sim.build import build_core, core_verilog
from sim.lockstep import LockstepMachine
from sim.machines import Backend, open_machine
from sim.rtl_machine import RtlMachine
from sim.simulation import BusTiming, HostRefusal, SimulationError

ROOT = Path(__file__).parents[2]
GEMM = ROOT / "examples" / "gemm_f16_f32.ptx"
F16_FAMILY = [
    f"m{m}n{n}k16_{d}_f16_{c}"
    for m, n in ((16, 16), (8, 32), (32, 8))
    for d in ("f16", "f32")
    for c in ("f16", "f32")
]


@pytest.mark.long
def test_another_simulation_in_place_of_the_core_s():
    """Its registers are read through the host interface, in cycles."""
    own = RtlMachine(TINY, Memory(4096))
    other = RtlMachine(TINY, Memory(4096), library=build_core(TINY, verilog=core_verilog(TINY)))
    for machine in (own, other):
        machine.execute(Fill(3, 2, 7))
        before = machine.simulation.cycles
        assert (machine.inspect_registers()[2:6] == np.array([[0], [7], [7], [0]])).all()
        assert (machine.simulation.cycles > before) == (machine is other)
        machine.close()


CLOSED_IN_ANY_ORDER = """
from golden.memory import Memory
from golden.tables.commands import Fill
from hdl.config import PRESETS
from sim.rtl_machine import RtlMachine

for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
    opened = [RtlMachine(PRESETS["tiny"], Memory(4096, 0x4000)) for _ in range(3)]
    for place in order:
        for machine in opened:
            if machine is not None:
                machine.execute(Fill(0, 1, place))
        opened[place].close()
        opened[place] = None
"""


def test_simulations_of_one_library_end_in_any_order():
    """In a process of its own, which a simulation that does not end would hold up."""
    build_core(TINY)
    subprocess.run([sys.executable, "-c", CLOSED_IN_ANY_ORDER], cwd=ROOT, timeout=120, check=True)


def opener(backend, config=CONFIG):
    return lambda size: open_machine(backend, config, size)


@pytest.fixture
def rtl():
    machine = rtl_machine()
    yield machine
    machine.close()


@pytest.mark.parametrize("name", F16_FAMILY)
def test_captured_tiles_equal_the_chip(name):
    with np.load(COMPACT / "float16.npz") as captured:
        prefix = f"public_float16/{name}"
        a, b, c, d = (captured[f"{prefix}/{matrix}"] for matrix in "abcd")
    run = multiply_tiles(instruction_of(name), (a, b, c), opener(Backend.RTL))
    np.testing.assert_array_equal(run.d, d)
    assert run.execution.counters.instructions == 5 * len(a)


@pytest.mark.parametrize("layouts", [("row", "row"), ("col", "row"), ("col", "col")])
@pytest.mark.parametrize("shape", ["m16n16k16", "m8n32k16", "m32n8k16"])
def test_every_layout_in_memory_gives_the_same(layouts, shape):
    instruction = instruction_of(f"{shape}_f32_f16_f32")
    with np.load(COMPACT / "float16.npz") as captured:
        a, b, c, d = (captured[f"public_float16/{shape}_f32_f16_f32/{matrix}"][:2] for matrix in "abcd")
    changed = replace(instruction, a_layout=layouts[0], b_layout=layouts[1])
    np.testing.assert_array_equal(multiply_tiles(changed, (a, b, c), opener(Backend.LOCKSTEP)).d, d)


@pytest.mark.parametrize(
    "preset", ["tiny", "small", "standard", pytest.param("large", marks=pytest.mark.long)]
)
def test_every_preset_multiplies_matrices(preset):
    random = np.random.default_rng(8)
    a, b = (random.standard_normal((32, 32)).astype(np.float16) for _ in "ab")
    found = []
    for on in ("rtl", "golden"):
        found.append(np.zeros((32, 32), np.float32))
        Module(GEMM).kernel().launch(1, 32, [a, b, found[-1], 32], on=on, preset=preset)
    np.testing.assert_array_equal(*(array.view(np.uint32) for array in found))
    np.testing.assert_allclose(found[0], a.astype(float) @ b.astype(float), rtol=1e-4, atol=1e-4)


FAULTS = {
    "no such multiply": (multiply(a_type="bf16"), Cause.ILLEGAL_INSTRUCTION),
    "no such fragment": (load("a", type="s8"), Cause.ILLEGAL_INSTRUCTION),
    "fragment beyond the registers": (load("a", 57), Cause.REGISTER_RANGE),
    "fill beyond the registers": (fill(60, 5), Cause.REGISTER_RANGE),
    "move beyond the registers": (Move(0, 60, 5), Cause.REGISTER_RANGE),
    "multiply beyond the registers": (multiply(d=60), Cause.REGISTER_RANGE),
    "misaligned load": (load(address=BASE + 2), Cause.MISALIGNED_ADDRESS),
    "misaligned store": (store(address=BASE + 4), Cause.MISALIGNED_ADDRESS),
    "short stride": (load(stride=15), Cause.MISALIGNED_STRIDE),
    "misaligned stride": (store(stride=19), Cause.MISALIGNED_STRIDE),
    "beyond the address width": (load(address=(1 << 32) - 256), Cause.ADDRESS_RANGE),
    "load from nothing": (load(address=0x100), Cause.READ_DECODE_ERROR),
    "load past the end": (load(address=BASE + (1 << 14) - 256), Cause.READ_DECODE_ERROR),
    "store to nothing": (store(address=0x80), Cause.WRITE_DECODE_ERROR),
}


ABSENT = ("no such multiply", "no such fragment")
"""Only a core without all formats refuses these."""


@pytest.mark.parametrize("name", FAULTS)
def test_golden_and_rtl_fault_alike_and_go_on(name):
    command, cause = FAULTS[name]
    config = TINY if name in ABSENT else CONFIG
    machine = LockstepMachine(golden_machine(config=config), rtl_machine(config=config))
    for ordinary in (load("a", 0), load("b", 8, BASE + 512)):
        machine.execute(ordinary)
    for _ in range(2):
        with pytest.raises(Fault) as error:
            machine.execute(command)
        assert (error.value.cause, error.value.index) == (cause, 2)
    for ordinary in (fill(16, 8, 0), multiply(), store(16, BASE + 0x1000)):
        machine.execute(ordinary)
    assert machine.counters.instructions == 5
    machine.close()


@pytest.mark.parametrize(
    ("command", "cause"),
    [
        (load(address=BASE + 0x1000), Cause.READ_SLAVE_ERROR),
        (store(16, BASE + 0x1000), Cause.WRITE_SLAVE_ERROR),
    ],
)
def test_slave_errors_fault_and_change_nothing(rtl, command, cause):
    registers, data = rtl.read_registers(), rtl.memory.data.copy()
    rtl.simulation.set_slave_error(BASE + 0x1000, 4096)
    with pytest.raises(Fault) as error:
        rtl.execute(command)
    assert (error.value.cause, error.value.index) == (cause, 0)
    np.testing.assert_array_equal(rtl.read_registers(), registers)
    np.testing.assert_array_equal(rtl.memory.data, data)
    rtl.simulation.set_slave_error(0, 0)
    rtl.execute(command)
    assert rtl.counters.instructions == 1


@pytest.mark.parametrize("word", [0, 6, 7, 0x0FFFFFFF])
def test_an_unknown_command_word_is_illegal(rtl, word):
    assert not rtl.execute_words([(word, 0, 0, 0, 0)])
    assert rtl.clear_fault() == (Cause.ILLEGAL_INSTRUCTION, 0)
    assert rtl.execute_words([encode(fill())])


def test_a_fault_in_a_batch_drops_what_is_behind_it(rtl):
    with pytest.raises(Fault) as error:
        rtl.execute_batch([fill(0), fill(8), load(address=BASE + 2), *[fill(16, 8, 9)] * 20])
    assert (error.value.cause, error.value.index) == (Cause.MISALIGNED_ADDRESS, 2)
    assert "address 0x4002" in error.value.detail
    assert rtl.counters.instructions == 2
    assert not rtl.read_registers()[16:].any()
    rtl.execute_batch([fill(16, 8, 9)])
    assert (rtl.read_registers()[16:24] == 9).all()


def test_registers_begin_at_zero_and_are_read_and_written_by_the_host(rtl):
    assert not rtl.read_registers().any()
    values = np.random.default_rng(3).integers(0, 1 << 32, (5, 32), dtype=np.uint32)
    rtl.write_registers(59, values)
    np.testing.assert_array_equal(rtl.read_registers()[59:], values)
    assert not rtl.read_registers()[:59].any()
    with pytest.raises(ValueError, match=r"^registers 60 to 64 must be among 0 to 63$"):
        rtl.write_registers(60, values)
    with pytest.raises(ValueError, match=r"^register values must have shape \(count, 32\), not \(5, 4\)$"):
        rtl.write_registers(0, values[:, :4])


@pytest.mark.parametrize("config", [CONFIG, TINY], ids=["small", "tiny"])
def test_registers_are_inspected_as_the_host_reads_them(config):
    """At once: after a write of the host, and after commands of each unit that writes registers."""
    machine = rtl_machine(config=config)
    values = np.random.default_rng(4).integers(0, 1 << 32, (config.registers, 32), dtype=np.uint32)
    machine.write_registers(0, values)
    np.testing.assert_array_equal(machine.inspect_registers(), values)
    for command in (fill(), load(), multiply(), Move(0, 8, 5)):
        cycles = machine.simulation.cycles
        machine.execute(command)
        assert machine.simulation.cycles > cycles
        cycles = machine.simulation.cycles
        inspected = machine.inspect_registers()
        assert machine.simulation.cycles == cycles
        np.testing.assert_array_equal(inspected, machine.read_registers())
        assert not np.array_equal(inspected, values)
        values = inspected
    with pytest.raises(SimulationError, match=f"no memory of {values.size + 1} words to inspect"):
        machine.simulation.inspect(values.size + 1)
    machine.close()


def test_the_host_is_refused_what_does_not_exist():
    machine = rtl_machine(config=TINY)
    for address in (0x7FFC, 0x40000, 0x7FFFC):
        with pytest.raises(HostRefusal):
            machine.simulation.read(address)
    assert machine.simulation.read(0)[0] == 0x4F574D4D
    machine.close()


@pytest.mark.parametrize("kind", [int, np.int32, np.int64, np.uint32, np.uint64])
def test_an_address_may_be_any_integer(rtl, kind):
    values = np.arange(5, 69, dtype=np.uint32)
    address = kind(lane_address(3))
    rtl.simulation.write(address, values)
    np.testing.assert_array_equal(rtl.simulation.read(address, kind(64)), values)
    np.testing.assert_array_equal(rtl.read_registers()[3:5].reshape(-1), values)


@pytest.mark.parametrize(("address", "count"), [(-4, 1), (1 << 32, 1), ((1 << 32) - 4, 2)])
def test_an_address_beyond_32_bits_is_refused(rtl, address, count):
    message = f"^Host registers must have 32-bit addresses, not {count} from {address:#x} on$"
    with pytest.raises(ValueError, match=message):
        rtl.simulation.read(address, count)
    with pytest.raises(ValueError, match=message):
        rtl.simulation.write(np.int64(address), np.zeros(count, dtype=np.uint32))


def test_an_address_that_is_no_integer_is_refused(rtl):
    with pytest.raises(TypeError, match="integer"):
        rtl.simulation.write(0.0, np.zeros(1, dtype=np.uint32))


def test_counters_add_up(rtl):
    rtl.execute_batch(
        [load("a", 0), load("b", 8, BASE + 512), fill(16), multiply(), store(16, BASE + 0x1000)]
    )
    counters = rtl.counters
    assert counters.instructions == 5
    assert counters.dot_product_cycles == 256
    assert (counters.read_beats, counters.write_beats) == (2 * 512 // 16, 1024 // 16)
    assert counters.cycles > 256
    before = rtl.simulation.cycles
    rtl.read_registers()
    assert rtl.simulation.cycles > before
    assert rtl.counters == counters, "an idle core counts nothing"


def test_operands_that_have_no_place_in_the_command(rtl):
    with pytest.raises(ValueError, match=r"^register must be from 0 to 255, not 256$"):
        rtl.execute(load(register=256))
    assert rtl.counters.instructions == 0


@pytest.mark.parametrize("seed", range(4))
def test_random_commands_in_lockstep(seed):
    """Loads, stores, multiplies, fills and moves, legal and not, with random operands."""
    random = np.random.default_rng(seed)
    shapes = [Shape(16, 16, 16), Shape(8, 32, 16), Shape(32, 8, 16)]
    timing = BusTiming(stall=int(random.integers(0, 200)), latency=int(random.integers(0, 30)), seed=seed + 1)
    machine = LockstepMachine(golden_machine(seed), rtl_machine(seed, timing=timing))

    def pick(*choices):
        return choices[random.integers(len(choices))]

    def register():
        return int(random.integers(0, 66))

    def place():
        return {
            "register": register(),
            "address": BASE + 16 * int(random.integers(0, 1000)),
            "stride": pick(None, None, 8 * int(random.integers(0, 9))),
            "layout": pick("row", "col"),
            "shape": pick(*shapes),
        }

    faults = 0
    for _ in range(60):
        kind = random.integers(6)
        if kind < 2:
            use = pick("a", "b", "c")
            command = load(use, **place(), type="f16" if use != "c" else pick("f16", "f32"))
        elif kind == 2:
            command = store(**place(), type=pick("f16", "f32"))
        elif kind == 3:
            command = Fill(register(), int(random.integers(0, 9)), int(random.integers(0, 1 << 32)))
        elif kind == 4:
            command = Move(register(), register(), int(random.integers(0, 9)))
        else:
            types = {"d_type": pick("f16", "f32"), "c_type": pick("f16", "f32")}
            command = multiply(*(register() % 60 for _ in range(4)), **types, shape=pick(*shapes))
        try:
            machine.execute(command)
        except Fault:
            faults += 1
    machine.close()
    assert 0 < faults < 60
