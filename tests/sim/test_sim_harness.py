"""The harness against a block copier that breaks the rules of the bus on demand."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from golden.memory import Memory
from sim.simulation import BusTiming, HostRefusal, Simulation, SimulationError
from sim.verilate import BuildError, build_verilog

COPIER = Path(__file__).with_name("copier.v").read_text()
CONSTANTS = {"BEAT_BYTES": 16, "DATA_BITS": 128, "OUTSTANDING_READS": 1, "QUEUE_DEPTH": 1, "WARPS": 1}
BASE, SIZE = 0x4000, 1 << 14
COPY, HANG, STRAY_STROBE = 1, 4, 10
STOP = 1 + next(index for index, line in enumerate(COPIER.splitlines()) if "$stop" in line)


def library_of(data_bits):
    """A copier with a bus of so many bits."""
    constants = {**CONSTANTS, "BEAT_BYTES": min(data_bits // 8, 16), "DATA_BITS": data_bits}
    return build_verilog(COPIER.replace("BUS = 128", f"BUS = {data_bits}"), constants)


@pytest.fixture(scope="module")
def library():
    return library_of(128)


@pytest.fixture
def memory():
    memory = Memory(SIZE, BASE)
    memory.data[:] = np.random.default_rng(5).integers(0, 256, SIZE, dtype=np.uint8)
    return memory


@pytest.fixture
def simulate(library, memory):
    opened = []

    def start(**options):
        timing = BusTiming(**{"latency": 7, **options})
        simulation = Simulation(library, memory, timing=timing, cycle_limit=2000)
        opened.append(simulation)
        return simulation

    yield start
    for simulation in opened:
        simulation.close()


def copy(source, destination, beats=16, kind=COPY):
    return (kind, source, destination, beats, 0)


@pytest.mark.parametrize("stall", [0, 100, 224])
@pytest.mark.parametrize("latency", [0, 1, 40])
def test_bursts_copy_memory_whatever_its_timing(simulate, memory, stall, latency):
    simulation = simulate(stall=stall, latency=latency)
    wanted = memory.data[:4096].copy()
    pages = [copy(BASE + offset, BASE + 0x2000 + offset) for offset in range(0, 4096, 256)]
    assert simulation.execute(pages)
    np.testing.assert_array_equal(memory.data[0x2000:0x3000], wanted)


def test_the_waits_of_each_channel_are_counted(simulate):
    """A memory that never stalls keeps nobody waiting; one that does, stalls on every channel."""
    pages = [copy(BASE + offset, BASE + 0x2000 + offset) for offset in range(0, 4096, 256)]
    prompt, slow = simulate(stall=0), simulate(stall=100)
    for simulation in (prompt, slow):
        assert simulation.execute(pages)
    channels = ("read_address", "read_gap", "write_address", "write_data", "write_response")
    assert [getattr(prompt.waits, channel) for channel in channels] == [0] * 5
    assert all(getattr(slow.waits, channel) > 0 for channel in channels)
    assert slow.waits.queue > 0  # the copier has room for one command


@pytest.mark.parametrize("stall", [0, 150])
@pytest.mark.parametrize("data_bits", [64, pytest.param(256, marks=pytest.mark.long), 512])
def test_every_width_of_the_bus_copies_the_same(memory, data_bits, stall):
    timing = BusTiming(latency=7, stall=stall)
    simulation = Simulation(library_of(data_bits), memory, timing=timing, cycle_limit=2000)
    before = memory.data.copy()
    beat = min(data_bits // 8, 16)
    # Four beats each, from and to any place that is a multiple of a beat.
    assert simulation.execute(
        [copy(BASE + 80 * page, BASE + 0x2000 + 112 * page, 64 // beat) for page in range(20)]
    )
    for page in range(20):
        place = 0x2000 + 112 * page
        np.testing.assert_array_equal(memory.data[place : place + 64], before[80 * page :][:64])
        np.testing.assert_array_equal(memory.data[place + 64 : place + 112], before[place + 64 : place + 112])
    np.testing.assert_array_equal(memory.data[:0x2000], before[:0x2000])
    simulation.close()


@pytest.mark.parametrize("data_bits", [256, 512])
def test_a_strobe_beside_a_narrow_beat_ends_the_simulation(memory, data_bits):
    simulation = Simulation(library_of(data_bits), memory, timing=BusTiming())
    with pytest.raises(SimulationError) as error:
        simulation.execute([copy(BASE, BASE + 0x1000, 2, STRAY_STROBE)])
    assert str(error.value) == "W of the burst at 0x5000: a strobe lies outside the lanes of beat 1"
    simulation.close()


@pytest.mark.parametrize("data_bits", [64, 512])
def test_narrower_beats_than_agreed_end_the_simulation(memory, data_bits):
    simulation = Simulation(library_of(data_bits), memory, timing=BusTiming())
    with pytest.raises(SimulationError) as error:
        simulation.execute([copy(BASE, BASE + 0x1000, 2, 7)])
    assert str(error.value) == f"AR at 0x4000: beats of 4 bytes on a bus of {data_bits // 8}"
    simulation.close()


def test_commands_are_queued_while_others_are_at_work(simulate, memory):
    simulation = simulate(latency=60)
    assert simulation.queue([copy(BASE, BASE + 0x1000)] * 2)
    assert simulation.read(0x14)[0] & 1
    assert simulation.finish()
    assert not simulation.read(0x14)[0] & 1
    np.testing.assert_array_equal(memory.data[0x1000:0x1100], memory.data[:0x100])


def test_latency_and_stalls_cost_cycles(simulate):
    def cycles(**options):
        simulation = simulate(**options)
        before = simulation.cycles
        simulation.execute([copy(BASE, BASE + 0x1000)] * 8)
        return simulation.cycles - before

    quick = cycles(latency=0)
    assert cycles(latency=100) >= quick + 8 * 2 * 99
    assert cycles(latency=0, stall=128) > 1.3 * quick


def test_stalls_depend_on_the_seed_alone(simulate):
    def cycles(seed):
        simulation = simulate(stall=100, seed=seed)
        simulation.execute([copy(BASE, BASE + 0x1000)] * 20)
        return simulation.cycles

    assert cycles(3) == cycles(3)
    assert len({cycles(seed) for seed in range(2, 8)}) > 1


@pytest.mark.parametrize(
    ("kind", "beats", "message"),
    [
        (2, 2, "W of the burst at 0x5000: WLAST is 1 at beat 1 of 2"),
        (3, 2, "AR payload changed before ARREADY rose"),
        (5, 2, "ARVALID fell before ARREADY rose"),
        (6, 2, f"assertion failed at openwmma_core.v:{STOP}"),
        (7, 2, "AR at 0x4000: beats of 4 bytes on a bus of 16"),
        (8, 2, "AR at 0x4000: burst type 0 is not INCR"),
        (11, 2, "AW at 0x5000: id, lock, prot, qos and region are not all 0"),
        (12, 2, "AR at 0x4000: cache 0 is not normal, bufferable memory"),
        (9, 2, "W of the burst at 0x5004: a strobe lies below the address"),
    ],
)
def test_a_broken_rule_ends_the_simulation(simulate, kind, beats, message):
    simulation = simulate(stall=128)
    with pytest.raises(SimulationError) as error:
        simulation.execute([copy(BASE, BASE + 0x1000, beats, kind)] * 12)
    assert str(error.value) == message


def test_a_burst_must_not_cross_a_page(simulate):
    with pytest.raises(SimulationError) as error:
        simulate().execute([copy(BASE + 0x1000 - 16, BASE, 2)])
    assert str(error.value) == "AR at 0x4ff0: 2 beats cross a 4 KiB boundary"


def test_too_many_reads_under_way(memory):
    none_allowed = build_verilog(COPIER, {**CONSTANTS, "OUTSTANDING_READS": 0})
    simulation = Simulation(none_allowed, memory, timing=BusTiming())
    with pytest.raises(SimulationError, match=r"^more than 0 read bursts in flight$"):
        simulation.execute([copy(BASE, BASE)])
    simulation.close()


def test_what_never_ends_is_ended_with_the_state(simulate):
    with pytest.raises(SimulationError) as error:
        simulate().execute([copy(BASE, BASE, 2, HANG)])
    text = str(error.value)
    assert text.startswith("no end of the commands after ")
    assert "last status 0x1, 0 reads and 0 writes in flight" in text
    with pytest.raises(SimulationError, match="no end of a full queue"):
        simulate().execute([copy(BASE, BASE, 2, HANG)] * 2)


def test_reads_outside_the_memory_get_a_decode_error(simulate):
    simulation = simulate()
    assert not simulation.execute([copy(BASE - 16, BASE, 1)])
    assert simulation.read(0x18)[0] == 8
    simulation.write(0x10, np.array([1], dtype=np.uint32))
    assert simulation.execute([copy(BASE, BASE + 512, 1)])


def test_writes_outside_the_memory_write_what_exists(library, memory):
    short = Memory(SIZE - 64, BASE)
    short.data[:] = memory.data[:-64]
    simulation = Simulation(library, short, timing=BusTiming())
    assert not simulation.execute([copy(BASE, BASE + SIZE - 96, 4)])
    assert simulation.read(0x18)[0] == 10
    np.testing.assert_array_equal(short.data[-32:], memory.data[:32])
    np.testing.assert_array_equal(short.data[:-32], memory.data[:-96])
    simulation.close()


def test_slave_errors_where_they_are_asked_for(simulate, memory):
    simulation = simulate()
    before = memory.data.copy()
    simulation.set_slave_error(BASE + 0x1000, 64)
    assert not simulation.execute([copy(BASE + 0x1030, BASE, 1)])
    assert simulation.read(0x18)[0] == 7
    simulation.write(0x10, np.array([1], dtype=np.uint32))
    assert not simulation.execute([copy(BASE, BASE + 0x1000, 4)])
    assert simulation.read(0x18)[0] == 9
    np.testing.assert_array_equal(memory.data, before)


def test_host_registers_one_by_one_and_in_a_row(simulate):
    simulation = simulate()
    np.testing.assert_array_equal(simulation.read(0x8000, 2048), 0x8000 + 4 * np.arange(2048))
    simulation.write(0x064, np.array([11, 12, 13], dtype=np.uint32))
    assert simulation.read(0x200)[0] == 0x200


def test_a_refused_access_is_an_error_of_the_host(simulate):
    simulation = simulate(latency=200)
    words = np.array([COPY, BASE, BASE, 1], dtype=np.uint32)
    simulation.write(0x064, words[1:])
    simulation.write(0x060, words[:1])
    with pytest.raises(HostRefusal, match="refused a read of 4 host registers at 0x8000"):
        simulation.read(0x8000, 4)
    with pytest.raises(HostRefusal, match="refused a write of 1 host registers at 0x0060"):
        simulation.write(0x060, words[:1])


def test_a_closed_simulation_says_so(simulate):
    simulation = simulate()
    simulation.close()
    with pytest.raises(ValueError, match="the simulation is closed"):
        simulation.read(0)


def test_bus_timing_is_checked():
    with pytest.raises(ValueError, match=r"^Latency must be from 0 to 65535 cycles, not -1$"):
        BusTiming(latency=-1)
    with pytest.raises(ValueError, match=r"^Stall must be from 0 to 224 chances of 256, not 256$"):
        BusTiming(stall=256)


def test_waveforms_need_a_library_that_was_built_for_them(library, memory, tmp_path):
    with pytest.raises(SimulationError, match="this library was built without waveforms"):
        Simulation(library, memory, timing=BusTiming(), waves=tmp_path / "no.fst")
    with pytest.raises(SimulationError, match="this library was built without a record of signals"):
        Simulation(library, memory, timing=BusTiming(), records=True)


def test_verilog_that_verilator_refuses():
    with pytest.raises(BuildError, match=r"(?s)^Verilator failed:\n.*syntax error"):
        build_verilog("module openwmma_core (input", CONSTANTS)


@pytest.mark.long
def test_all_simulations_of_a_library_add_to_its_counts(memory, tmp_path):
    library = build_verilog(COPIER, CONSTANTS, counts=True)

    def counts_after_a_copy():
        simulation = Simulation(library, memory, timing=BusTiming())
        simulation.queue([copy(BASE, BASE + 0x2000)])
        simulation.finish()
        simulation.close()
        ctypes.CDLL(str(library)).openwmma_write_counts(str(tmp_path / "counts").encode())
        rows = (tmp_path / "counts").read_text().splitlines()[1:]
        return {point: int(count) for point, count in (row.rsplit(" ", 1) for row in rows)}

    once, twice = counts_after_a_copy(), counts_after_a_copy()
    assert max(once.values()) > 16, "a block that every cycle executes"
    assert twice == {point: 2 * count for point, count in once.items()}
