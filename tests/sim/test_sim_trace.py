"""Traces: what they say agrees with the RTL cycle by cycle, and the signals they need exist."""

import io
import json
import sys
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rtl import BASE, FOUR_WARPS, fill, load, memory_of_noise, multiply, store

from golden.memory import Memory
from golden.ptx.source import Location, Source, SourceLine
from golden.tables.commands import LoadMatrix, Move, MoveMatrix, StoreMatrix
from golden.tables.faults import Fault
from golden.warp import GoldenMachine
from hdl.config import PRESETS
from hdl.control.scoreboard import Unit
from sim.build import core_verilog
from sim.machines import Backend, open_machine
from sim.replay.replay import Follower, Player
from sim.rtl_machine import RtlMachine
from sim.simulation import CHANGE, BusTiming
from sim.trace.bursts import bursts
from sim.trace.command_log import CommandLog
from sim.trace.command_text import short_name
from sim.trace.core_trace import core_trace
from sim.trace.lifetimes import RegisterRange, lifetimes
from sim.trace.probes import Probe, harness_header, probes_of, verilator_settings
from sim.trace.recording import Interval, Recording
from sim.trace.trace_events import Slice, TraceEvents
from sim.trace.trace_file import TraceFile
from sim.trace.waits import memory_conflicts, register_conflicts, waits
from sim.waves.signal_groups import signal_widths

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "simt"))
from short_kernels import kernel as short_kernel

PROGRAM = [
    fill(0, 8),
    load("a", 8, BASE),
    load("b", 16, BASE + 512, layout="col"),
    multiply(0, 8, 16, 0),
    load("a", 8, BASE + 1024),
    multiply(24, 8, 16, 0),
    store(0, BASE + 2048),
    load("c", 0, BASE + 2048, type="f32"),
    Move(40, 24, 4),
    store(24, BASE + 4096),
    fill(56, 1, 0),
    LoadMatrix(48, 56, 2, space="shared"),
    MoveMatrix(50, 48),
    StoreMatrix(50, 56, 1, space="shared"),
    multiply(32, 8, 16, 32),
    multiply(0, 8, 16, 32),
    load("b", 16, BASE),
    fill(16, 8),
]
"""Commands of every kind, with every hazard."""


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A machine that has run `PROGRAM`, its recording, what was logged, and the file it wrote."""
    path = tmp_path_factory.mktemp("trace") / "t.json"
    trace = TraceFile(path)
    machine = RtlMachine(FOUR_WARPS, memory_of_noise(), trace=trace)
    for number in range(1, len(PROGRAM) + 1):
        trace.log.place(SourceLine("p.ptx", number, 1, "text", f"k.cu:{10 * number}"))
    machine.queue(PROGRAM)
    machine.finish()
    cycles = [machine.simulation.observed_cycles]
    for count in (1, FOUR_WARPS.registers):
        machine.read_registers(0, count)
        cycles.append(machine.simulation.observed_cycles)
    selection, again = np.diff(cycles)
    assert selection == again < 10, "reads in a row are no part of the trace"
    machine.execute(fill(63, 1))
    probes = probes_of(FOUR_WARPS)
    recording = Recording(probes, machine.simulation.changes, machine.simulation.observed_cycles)
    counters = machine.counters
    machine.close()
    return recording, trace.log, json.loads(path.read_text()), counters


def test_every_command_is_followed_to_its_end(traced):
    recording, log, _, _ = traced
    found = lifetimes(recording, log.parts())
    assert [item.logged.command for item in found] == [*PROGRAM, fill(63, 1)]
    assert [str(item.logged.place) for item in found[:2]] == ["p.ptx:1: text", "p.ptx:2: text"]
    assert found[-1].logged.place is None
    for item in found:
        assert item.queued < item.accepted < item.decoded < item.allocated < item.started == item.ended
        assert item.started < item.done
        assert item.fetched is None if item.unit is Unit.LOAD else item.started < item.fetched <= item.done
    for one, other in pairwise(found):
        assert one.accepted < other.accepted
        assert one.started < other.started
    multiply_ = found[3]
    assert multiply_.unit is Unit.TILE
    assert multiply_.reads == [RegisterRange(8, 15), RegisterRange(16, 23), RegisterRange(0, 7)]
    assert multiply_.write == RegisterRange(0, 7)
    assert found[1].span == (BASE, BASE + 511)


def test_the_rules_of_the_scoreboard_hold_in_every_cycle(traced):
    """The cause of a wait is told by the same rules with which the RTL decides to wait."""
    recording, log, _, _ = traced
    found = lifetimes(recording, log.parts())
    conflicts = spans = 0
    for item in found:
        operands = [*((operand, False) for operand in item.reads), (item.write, True)]
        for cycle in range(item.allocated + 1, item.started + 1):
            before = found[: item.number]
            waits_for = [
                other
                for operand, is_write in operands
                if operand is not None
                for other in register_conflicts(item, operand, is_write, before, cycle)
            ]
            assert recording.value("sequencer.scoreboard.conflict", cycle) == bool(waits_for)
            touching = memory_conflicts(item, before, cycle)
            assert recording.value("sequencer.scoreboard.span_conflict", cycle) == bool(touching)
            conflicts += bool(waits_for)
            spans += bool(touching)
    assert conflicts > 100
    assert spans > 10


def test_a_trace_follows_the_commands_of_each_warp(tmp_path):
    config = FOUR_WARPS
    trace = TraceFile(tmp_path / "t.json")
    machine = RtlMachine(config, memory_of_noise(), trace=trace)
    work = [replace(command, warp=warp) for command in PROGRAM[:6] for warp in (3, 0)]
    machine.queue(work)
    machine.finish()
    recording = Recording(probes_of(config), machine.simulation.changes, machine.simulation.observed_cycles)
    machine.close()
    first = 0
    for warp in (0, 3):
        found = lifetimes(recording.of_warp(warp), trace.log.parts(warp), first)
        assert [item.logged.command for item in found] == [item for item in work if item.warp == warp]
        assert [item.number for item in found] == list(range(first, first + len(found)))
        assert all(item.started < item.done for item in found)
        first += len(found)
    events = json.loads(trace.path.read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event.get("name") == "process_name"}
    assert {"commands of warp 0", "commands of warp 3", "load engine"} <= names


OF_EACH_WARP = """
    shr.u32 %r1, %r0, 5; mul.wide.u32 %rd2, %r1, 2048; add.u64 %rd1, %rd0, %rd2;
    wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}, [%rd1];
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7},
        {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}, {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9},
        {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};
    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};"""


def test_a_kernel_shows_warps_and_units_on_one_time_line(tmp_path):
    file, trace = io.BytesIO(), TraceFile(tmp_path / "t.json")
    player = Player(
        FOUR_WARPS,
        lambda size: closing(RtlMachine(FOUR_WARPS, Memory(size, 0x1000), trace=trace)),
        on_command=trace.log.place,
    )
    follower = Follower(player, "hopper", file)
    short_kernel(OF_EACH_WARP).launch(1, 128, [np.zeros(2048, np.uint32)], trace=follower)
    events = json.loads(trace.path.read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    shown = defaultdict(set)
    for event in events:
        if event["ph"] == "X" and ": wmma." in str(event["args"].get("PTX")):
            shown[names[event["pid"]]].add(event["args"]["command"])
    assert {*shown} >= {*(f"commands of warp {warp}" for warp in range(4)), "tile multiplier", "load engine"}
    assert all(len(commands) >= 3 for commands in shown.values())


def test_waits_are_those_that_the_core_counts(traced):
    recording, log, _, counters = traced
    found = waits(recording, lifetimes(recording, log.parts()))
    cycles = defaultdict(int)
    for wait in found:
        kind = "empty" if wait.reason == "queue empty" else wait.reason.partition(" ")[0]
        cycles[kind] += wait.last - wait.first + 1
    assert cycles.pop("registers") == counters.stall_registers
    assert cycles.pop("memory") == counters.stall_memory
    assert cycles.pop("empty") == counters.queue_empty_cycles
    assert sum(cycles.values()) == counters.stall_unit
    assert {"row", "unit", "serial"} >= set(cycles) > {"row"}
    details = " ".join(wait.detail for wait in found)
    for hazard in ("read after write", "write after read", "write after write"):
        assert hazard in details
    for wait in found:
        if wait.reason.startswith(("registers", "memory")):
            assert wait.blockers
            assert all(blocker.number < wait.command.number for blocker in wait.blockers)


def test_a_wait_names_a_command_of_long_ago(tmp_path):
    """A load from slow memory, and many commands that overtake it."""
    trace = TraceFile(tmp_path / "t.json")
    machine = RtlMachine(FOUR_WARPS, memory_of_noise(), trace=trace, timing=BusTiming(latency=3000))
    machine.queue(
        [load(register=0), *(fill(40 + index % 8, 1, index) for index in range(60)), Move(50, 0, 1)]
    )
    machine.finish()
    recording = Recording(
        probes_of(FOUR_WARPS), machine.simulation.changes, machine.simulation.observed_cycles
    )
    machine.close()
    (wait,) = (
        wait
        for wait in waits(recording, lifetimes(recording, trace.log.parts()))
        if wait.reason.startswith("registers")
    )
    assert wait.command.number == 61
    assert [blocker.number for blocker in wait.blockers] == [0]
    assert wait.detail == "to read r0, which #0 still uses: read after write"


def test_bursts_are_those_of_the_bus(traced):
    recording, log, _, counters = traced
    commands = lifetimes(recording, log.parts())
    found = bursts(recording, commands)
    beats = {kind: sum(item.beats for item in found if item.kind == kind) for kind in ("read", "write")}
    assert beats == {"read": counters.read_beats, "write": counters.write_beats}
    for item in found:
        assert item.response == "OKAY"
        assert item.asked <= item.first_beat <= item.last_beat <= item.answered
        assert item.command.logged.command.address <= item.address
    assert found[0].address == BASE
    assert found[0].command.number == 1


def test_the_file_is_of_the_format(traced):
    _, _, document, counters = traced
    events = document["traceEvents"]
    assert document["otherData"]["time"] == "1 us in the viewer is 1 cycle of the clock aclk"
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {"commands", "load engine", "store engine", "tile multiplier", "register mover"} < set(
        processes.values()
    )
    rows = defaultdict(list)
    for event in events:
        assert event["pid"] in processes
        if event["ph"] == "X":
            assert event["dur"] >= 1
            rows[event["pid"], event["tid"]].append(event)
    assert set(rows) <= set(names)
    for row in rows.values():
        for one, other in pairwise(row):
            assert one["ts"] + one["dur"] <= other["ts"], "slices of a row may not overlap"
    flows = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            flows[event["id"]][event["ph"]] = event
            inside = [
                item
                for item in rows[event["pid"], event["tid"]]
                if item["ts"] <= event["ts"] < item["ts"] + item["dur"]
            ]
            assert len(inside) == 1, "an arrow needs a slice at either end"
    assert flows
    assert all(set(pair) == {"s", "f"} for pair in flows.values())
    third = next(
        event for event in events if event["ph"] == "X" and event["name"] == "#3 mma m16n16k16 f32 f16"
    )
    assert (third["args"]["PTX"], third["args"]["source"]) == ("p.ptx:4: text", "k.cu:40")
    assert third["args"]["writes"] == "r0-r7"
    busy = [event for event in events if event["name"].startswith("busy dot-product units of 1")]
    changes = [(event["ts"], event["args"]["value"]) for event in busy]
    high = sum(end - start for (start, value), (end, _) in pairwise(changes) if value)
    assert high == counters.dot_product_cycles


def test_counters_end_where_they_began(traced):
    _, _, document, counters = traced
    values = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "C":
            values[event["name"]].append(event["args"]["value"])
    assert {name: max(found) for name, found in values.items() if name.startswith("busy")} == {
        "busy dot-product units of 1": 1
    }
    for name in ("queue depth", "commands in flight", "read bursts in flight", "write bursts in flight"):
        assert values[name][0] == values[name][-1] == 0
        assert max(values[name]) >= 1
    assert max(values["read bursts in flight"]) <= FOUR_WARPS.outstanding_reads
    assert counters.instructions == len(PROGRAM) + 1


def test_after_a_fault_the_next_commands_have_their_own_names(tmp_path):
    trace = TraceFile(tmp_path / "t.json")
    machine = RtlMachine(FOUR_WARPS, memory_of_noise(), trace=trace)
    try:
        with pytest.raises(Fault):
            machine.execute_batch([fill(0, 4), load(address=BASE + 1), *[fill(8, 2)] * 3])
        machine.queue([store(0, BASE), Move(4, 0, 1)])
        machine.finish()
        probes = probes_of(FOUR_WARPS)
        recording = Recording(probes, machine.simulation.changes, machine.simulation.observed_cycles)
        found = lifetimes(recording.of_warp(0), trace.log.parts())
    finally:
        machine.close()
    assert [item.logged.command for item in found] == [
        fill(0, 4),
        load(address=BASE + 1),
        fill(8, 2),  # had left the queue
        store(0, BASE),
        Move(4, 0, 1),
    ]
    assert [item.started is None for item in found] == [False, True, True, False, False]
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert any(event["name"] == "misaligned address" for event in events)


def test_in_lockstep_commands_do_not_overlap(tmp_path):
    trace = TraceFile(tmp_path / "t.json")
    machine = open_machine(Backend.LOCKSTEP, FOUR_WARPS, 1 << 14, trace=trace)
    machine.queue([fill(0, 4), load(register=8, address=machine.memory.base), fill(4, 4)])
    machine.finish()
    machine.close()
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    slices = [
        event["args"] for event in events if event["name"].startswith("#") and "done at" in event["args"]
    ]
    by_number = {args["command"]: args for args in slices}
    assert len(by_number) == 3
    for number in (1, 2):
        assert by_number[number - 1]["done at"] < by_number[number]["queued at"]


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_every_probe_is_a_signal_of_the_verilog(preset):
    widths = signal_widths(core_verilog(PRESETS[preset]))
    for probe in probes_of(PRESETS[preset]):
        width = widths[f"{probe.path}.{probe.signal}" if probe.path else probe.signal]
        assert width <= 64 if not probe.part else probe.first + probe.width <= width


def test_a_recording_answers_questions():
    probes = [Probe(path="", signal="valid"), Probe(path="a.b", signal="ready"), Probe(path="", signal="n")]
    changes = np.array(
        [(0, 0, 0, 0), (0, 1, 1, 0), (0, 5, 2, 0), (2, 1, 0, 0), (3, 0, 1, 0), (4, 1, 1, 0), (6, 0, 0, 0)],
        dtype=CHANGE,
    )
    recording = Recording(probes, changes, 8)
    assert recording.intervals("valid") == [Interval(0, 1, 0), Interval(2, 5, 1), Interval(6, 7, 0)]
    assert recording.high("valid", "a.b.ready") == [Interval(2, 2, 1), Interval(4, 5, 1)]
    assert recording.pulses("valid", "a.b.ready") == [2, 4, 5]
    assert recording.bit_pulses("n", 2) == list(range(8))
    assert recording.bit_pulses("n", 1) == []
    assert [recording.value("valid", cycle) for cycle in range(8)] == [0, 0, 1, 1, 1, 1, 0, 0]
    assert recording.high("absent") == []


def test_names_for_verilator():
    probe = Probe(path="load.bursts", signal="bursts__valid")
    assert probe.member == "openwmma_core__DOT__core__DOT__load__DOT__bursts__DOT__bursts___05Fvalid"
    assert verilator_settings([probe, Probe(path="", signal="aclk")]) == (
        'public_flat_rd -module "openwmma_core*core*load*bursts" -var "bursts*valid"\n'
    )
    assert f"PROBE({probe.member}, 0, 64)" in harness_header([probe])


def test_overlapping_slices_get_rows_of_their_own():
    events = TraceEvents()
    slices = [
        Slice(name=name, first=a, last=b, args={}) for name, a, b in (("x", 0, 4), ("y", 2, 6), ("z", 5, 6))
    ]
    assert [(item.name, row) for item, row in events.lanes("p", "lane", slices)] == [
        ("x", "lane 0"),
        ("y", "lane 1"),
        ("z", "lane 0"),
    ]
    document = json.loads(events.json({"cycles": 7}))
    assert document["otherData"]["cycles"] == 7
    assert [event["ts"] for event in document["traceEvents"] if event["ph"] == "X"] == [0, 2, 5]


def test_commands_in_a_few_words():
    assert [
        short_name(command) for command in (PROGRAM[1], PROGRAM[3], PROGRAM[6], PROGRAM[11], PROGRAM[12])
    ] == [
        "load a f16",
        "mma m16n16k16 f32 f16",
        "store d f32",
        "ldmatrix x2",
        "movmatrix",
    ]


def test_a_golden_machine_has_no_trace(tmp_path):
    with pytest.raises(ValueError, match="a trace needs a simulated core: rtl or lockstep, not golden"):
        open_machine(Backend.GOLDEN, FOUR_WARPS, 64, trace=TraceFile(tmp_path / "t.json"))


@pytest.mark.parametrize(
    ("backend", "config", "message"),
    [
        ("gold", FOUR_WARPS, "backend: got 'gold'; allowed: golden, rtl, lockstep"),
        ("golden", "tiny", "Configuration must be a CoreConfig, not of type str"),
    ],
)
def test_a_machine_of_an_unknown_backend_or_configuration_is_refused(backend, config, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        open_machine(backend, config, 4096)


def test_a_backend_may_be_given_by_name():
    assert isinstance(open_machine("golden", FOUR_WARPS, 4096), GoldenMachine)


def test_the_origin_of_a_line_is_that_of_its_loc():
    text = '.file 1 "k.cu"\n.entry f() {\nadd;\n.loc 1 7 3\nmul;\nsub;\n.loc 2 9 1\ndiv;\n}\n'
    source = Source(f"{text}.entry g() {{\nret;\n}}", "k.ptx")
    origins = [source.line(Location(line, 1)).origin for line in (3, 5, 6, 8, 11)]
    assert origins == ["", "k.cu:7", "k.cu:7", "", ""]
    assert str(source.line(Location(5, 1))) == "k.ptx:5: mul;"


def test_an_empty_recording_has_no_commands():
    probes = probes_of(FOUR_WARPS)
    changes = np.array([(0, 0, number, 0) for number in range(len(probes))], dtype=CHANGE)
    events = core_trace(FOUR_WARPS, Recording(probes, changes, 1), CommandLog())
    document = json.loads(events.json({}))
    assert [event for event in document["traceEvents"] if event["ph"] == "X"] == []
