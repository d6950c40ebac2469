"""From a recording to a trace: tracks for the commands, each unit, the buses and counters."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from golden.tables.faults import Cause
from hdl.config import CoreConfig
from sim.trace.bursts import Burst, bursts
from sim.trace.command_log import CommandLog
from sim.trace.command_text import UNIT_NAMES, command_facts, command_slice, command_title
from sim.trace.lifetimes import Lifetime, lifetimes
from sim.trace.probes import ACTIVITIES, BUS, SHARED
from sim.trace.recording import Interval, Recording
from sim.trace.trace_events import Slice, TraceEvents
from sim.trace.waits import Wait, waits

_CONTROL: Final = "commands"
_CAUSES: Final = {cause.value: cause.name.lower().replace("_", " ") for cause in Cause}


def core_trace(config: CoreConfig, recording: Recording, log: CommandLog) -> TraceEvents:
    """Make the trace of a simulation: of what its probes recorded, and of what the host handed over."""
    events = TraceEvents()
    last = recording.cycles - 1
    commands: list[Lifetime] = []
    flows: list[tuple[str, list[Lifetime], list[Wait]]] = []
    for warp in range(config.warps):
        own = recording.of_warp(warp)
        control = _CONTROL if config.warps == 1 else f"{_CONTROL} of warp {warp}"
        taken = lifetimes(own, log.parts(warp), len(commands))
        commands += taken
        flows.append((control, taken, _control(events, control, own, taken)))
    commands.sort(key=lambda command: command.started or last)
    _counters(events, config, recording, commands)
    places = _units(events, config, recording, commands, last)
    _bus(events, bursts(recording, commands), last)
    for process in (BUS, *([SHARED] if config.shared_bytes else [])):
        for name, signals in ACTIVITIES[process].items():
            events.slices(process, name, _high(recording, name, signals))
    for control, taken, found in flows:
        _flows(events, control, taken, found, places, last)
    return events


def _control(
    events: TraceEvents, process: str, recording: Recording, commands: Sequence[Lifetime]
) -> list[Wait]:
    """The queue, the sequencer and the faults of a warp; returns its waits."""
    queued = (
        command_slice(command, command.queued, command.accepted - 1) for command in commands if command.queued
    )
    events.lanes(process, "queue place", queued)
    for stage in ("decode", "compare", "issue"):
        events.slices(process, stage, _passed(commands, stage))
    found = waits(recording, commands)
    events.slices(process, "waits", [_wait(wait) for wait in found])
    events.counter(process, "queue depth", _values(recording.intervals("host.registers.queue.level")))
    faults = [
        Slice(name=_CAUSES[item.value], first=item.first, last=item.last, args={})
        for item in recording.intervals("sequencer.cause")
        if item.value
    ]
    events.slices(process, "faults", faults)
    return found


def _passed(commands: Sequence[Lifetime], stage: str) -> Iterator[Slice]:
    """Commands in a stage of the sequencer."""
    for command in commands:
        for name, first, last in command.stages:
            if name == stage:
                yield command_slice(command, first, last)


def _wait(wait: Wait) -> Slice:
    args = {
        "command": None if wait.command is None else command_title(wait.command),
        "waits": wait.detail,
        "for": ", ".join(command_title(blocker) for blocker in wait.blockers) or None,
        "for PTX": command_facts(wait.blockers[0])["PTX"] if wait.blockers else None,
        "cycles": wait.last - wait.first + 1,
    }
    return Slice(name=wait.reason, first=wait.first, last=wait.last, args=args)


def _high(recording: Recording, name: str, signals: Sequence[str]) -> Iterator[Slice]:
    for item in recording.high(*signals):
        yield Slice(name=name, first=item.first, last=item.last, args={"cycles": item.last - item.first + 1})


def _units(
    events: TraceEvents,
    config: CoreConfig,
    recording: Recording,
    commands: Sequence[Lifetime],
    last: int,
) -> dict[int, tuple[str, str]]:
    """Rows of each unit that had a command; the process and row of each command, by its number."""
    places = {}
    for unit, process in UNIT_NAMES.items():
        mine = {command.number: command for command in commands if command.unit is unit}
        if not mine:
            continue
        slices = [
            command_slice(command, command.started, last if command.done is None else command.done)
            for command in mine.values()
            if command.started is not None
        ]
        for item, row in events.lanes(process, "command", slices):
            places[int(item.args["command"])] = process, row
        for name, signals in ACTIVITIES[process].items():
            events.slices(process, name, _high(recording, name, signals))
    rows = sorted(
        start
        for warp in range(config.warps)
        for start in recording.of_warp(warp).high("sequencer.rows_start")
    )
    if rows:
        # One warp's rows are read at a time.
        done = recording.pulses("sequencer.rows_done")
        slices = [
            Slice(name="reads row addresses", first=start.first, last=end, args={})
            for start, end in zip(rows, done, strict=False)
        ]
        events.slices("row addresses", "rows", slices)
    return places


def _bus(events: TraceEvents, found: Sequence[Burst], last: int) -> None:
    for kind in ("read", "write"):
        slices = [
            Slice(
                name=f"{kind} {burst.address:#x}, {burst.beats} beats",
                first=burst.asked,
                last=last if burst.answered is None else burst.answered,
                args={
                    "address": f"{burst.address:#x}",
                    "beats": burst.beats,
                    "first beat at": burst.first_beat,
                    "last beat at": burst.last_beat,
                    "response": burst.response,
                    "command": None if burst.command is None else command_title(burst.command),
                },
            )
            for burst in found
            if burst.kind == kind
        ]
        events.lanes(BUS, f"{kind} bursts", slices)
        spans = [(burst.asked, burst.answered) for burst in found if burst.kind == kind]
        events.counter(BUS, f"{kind} bursts in flight", _in_flight(spans))


def _counters(
    events: TraceEvents, config: CoreConfig, recording: Recording, commands: Sequence[Lifetime]
) -> None:
    """Counters: commands in flight and busy units."""
    started = [(command.started, command.done) for command in commands if command.started is not None]
    events.counter(_CONTROL, "commands in flight", _in_flight(started))
    busy = _values(recording.intervals("tile.issue.busy_units"))
    events.counter(_CONTROL, f"busy dot-product units of {config.dot_product_units}", busy)
    if config.f64_units:
        busy = _values(recording.intervals("f64.issue.busy_units"))
        events.counter(_CONTROL, f"busy f64 units of {config.f64_units}", busy)


def _in_flight(spans: Sequence[tuple[int, int | None]]) -> list[tuple[int, int]]:
    """How many spans from a first to a last cycle hold each cycle, where that changes."""
    changes = Counter({0: 0})
    for first, last in spans:
        changes[first] += 1
        if last is not None:
            changes[last + 1] -= 1
    return list(zip(sorted(changes), accumulate(changes[cycle] for cycle in sorted(changes)), strict=True))


def _values(intervals: Sequence[Interval]) -> list[tuple[int, int]]:
    return [(item.first, item.value) for item in intervals]


def _flows(
    events: TraceEvents,
    control: str,
    commands: Sequence[Lifetime],
    found: Sequence[Wait],
    places: dict[int, tuple[str, str]],
    last: int,
) -> None:
    """Arrows from the sequencer to the unit, and from what ends a wait to the wait."""
    for command in commands:
        if command.number in places and command.started is not None:
            start = (control, "issue", command.started)
            events.flow("start", start, (*places[command.number], command.started))
    for wait in found:
        for blocker in wait.blockers[:1]:
            if blocker.number in places:
                end = last if blocker.done is None else blocker.done
                cause = (*places[blocker.number], min(end, wait.last))
                events.flow("wait", cause, (control, "waits", wait.last))
