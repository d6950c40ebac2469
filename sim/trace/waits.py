"""Why a command waited: for which registers or bytes, and for which earlier command."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hdl.control.scoreboard import Unit
from sim.trace.lifetimes import Lifetime, RegisterRange
from sim.trace.recording import Interval, Recording

_SCOREBOARD: Final = "sequencer.scoreboard"
_WRITERS: Final = frozenset({Unit.LOAD, Unit.TILE, Unit.F64, Unit.MOVE, Unit.WGMMA})


@dataclass(frozen=True)
class Wait:
    """Cycles in which the sequencer could not go on with a command."""

    command: Lifetime | None
    """Which waited; None where there was none in the queue."""
    first: int
    last: int
    """Cycles, both included."""
    reason: str
    """In a few words."""
    detail: str
    """In a sentence."""
    blockers: tuple[Lifetime, ...] = ()
    """Commands in flight that it waited for, the last one to end first."""


def register_conflicts(
    command: Lifetime, operand: RegisterRange, is_write: bool, before: Sequence[Lifetime], cycle: int
) -> list[tuple[Lifetime, str]]:
    """The commands that use registers of an operand in a cycle, each with the kind of hazard.

    The rules are as in `hdl.control.scoreboard.Scoreboard`: an operand that is read waits for writers, one
    that is written for readers and writers in other units. `command` asks; `before` are the commands
    allocated before.
    """
    found = []
    for other in before:
        foreign = other.unit is not command.unit
        writes = other.write is not None and other.write.overlaps(operand) and other.unit in _WRITERS
        if writes and other.is_in_flight(cycle) and (foreign or not is_write):
            found.append((other, "write after write" if is_write else "read after write"))
        elif (
            is_write
            and foreign
            and other.is_reading(cycle)
            and any(item.overlaps(operand) for item in other.reads)
        ):
            found.append((other, "write after read"))
    return found


def memory_conflicts(command: Lifetime, before: Sequence[Lifetime], cycle: int) -> list[Lifetime]:
    """The loads or stores in flight that may touch bytes of a store or load; none for other commands."""
    opposite = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(command.unit) if command.unit else None
    if command.span is None:
        return []
    first, last = command.span
    return [
        other
        for other in before
        if other.unit is opposite
        and other.span is not None
        and other.is_in_flight(cycle)
        and other.span[0] <= last
        and first <= other.span[1]
    ]


_Cause = tuple[str, str, tuple[Lifetime, ...]]
"""Reason, detail and blockers of a `Wait`."""


def waits(recording: Recording, commands: Sequence[Lifetime]) -> list[Wait]:
    """Every wait of a warp's sequencer, in order, with its cause."""
    found: list[Wait] = []
    causes: dict[str, Callable[[Recording, int, Lifetime, Sequence[Lifetime]], _Cause]] = {
        "sequencer.stall_registers": _registers,
        "sequencer.stall_memory": _memory,
        "sequencer.stall_unit": _unit,
    }
    earlier = _unfinished(commands)
    for name, cause_of in causes.items():
        for interval in recording.high(name):
            for command, first, last in _commands_in(commands, interval):
                cause = cause_of(recording, first, command, earlier[command.number - commands[0].number])
                found.append(Wait(command, first, last, *cause))
    empty = "queue empty", "commands are in flight, but the host has queued no more"
    found += [Wait(None, item.first, item.last, *empty) for item in recording.high("sequencer.queue_empty")]
    return sorted(found, key=lambda wait: wait.first)


def _unfinished(commands: Sequence[Lifetime]) -> list[list[Lifetime]]:
    """Of each command, those before it that had not ended when the sequencer took it."""
    found: list[list[Lifetime]] = []
    in_flight: list[Lifetime] = []
    for command in commands:
        in_flight = [other for other in in_flight if other.done is None or command.accepted <= other.done]
        found.append(in_flight.copy())
        in_flight.append(command)
    return found


def _commands_in(commands: Sequence[Lifetime], interval: Interval) -> Iterator[tuple[Lifetime, int, int]]:
    """Those whose turn it was in some cycle of an interval: the oldest one that has not been started."""
    at = bisect_left(commands, interval.first, key=lambda command: command.ended)
    first = interval.first
    while at < len(commands) and first <= interval.last:
        last = min(interval.last, commands[at].ended)
        yield commands[at], first, last
        first, at = last + 1, at + 1


def _by_end(commands: Sequence[Lifetime]) -> tuple[Lifetime, ...]:
    """The last one to end first."""
    return tuple(
        sorted(
            commands,
            key=lambda command: (command.done is None, command.done or 0, command.number),
            reverse=True,
        )
    )


def _named(commands: Sequence[Lifetime]) -> str:
    return ", ".join(f"#{command.number}" for command in commands)


def _registers(_recording: Recording, cycle: int, command: Lifetime, before: Sequence[Lifetime]) -> _Cause:
    operands = [(operand, False) for operand in command.reads]
    operands += [(command.write, True)] if command.write is not None else []
    found = [
        (operand, "to write" if is_write else "to read", conflicts)
        for operand, is_write in operands
        if (conflicts := register_conflicts(command, operand, is_write, before, cycle))
    ]
    details = []
    for operand, use, conflicts in found:
        users = _named(_by_end([other for other, _ in conflicts]))
        hazards = " and ".join(dict.fromkeys(hazard for _, hazard in conflicts))
        details.append(f"{use} {operand}, which {users} still uses: {hazards}")
    blockers = _by_end(list({other.number: other for *_, pairs in found for other, _ in pairs}.values()))
    registers = ", ".join(dict.fromkeys(str(operand) for operand, *_ in found))
    return f"registers {registers} of {_named(blockers)}", "; ".join(details), blockers


def _memory(_recording: Recording, cycle: int, command: Lifetime, before: Sequence[Lifetime]) -> _Cause:
    blockers = _by_end(memory_conflicts(command, before, cycle))
    first, last = command.span or (0, 0)
    return (
        f"memory of {_named(blockers)}",
        f"for bytes {first:#x} to {last:#x}, which {_named(blockers)} may touch",
        blockers,
    )


def _unit(recording: Recording, cycle: int, command: Lifetime, before: Sequence[Lifetime]) -> _Cause:
    in_flight = [other for other in before if other.is_in_flight(cycle)]
    unit = command.unit or Unit(recording.value(f"{_SCOREBOARD}.unit", cycle))
    name = unit.name.lower()
    mine = tuple(other for other in in_flight if other.unit is unit)
    if command.allocated is None or cycle <= command.allocated:
        return (
            f"unit {name} full, {_named(mine[:1])}",
            f"for a slot of unit {name}, which has {len(mine)} commands; the oldest is {_named(mine[:1])}",
            mine[:1],
        )
    reads = recording.pulses("sequencer.rows_start")
    at = bisect_left(reads, command.allocated)
    if at < len(reads) and reads[at] <= command.ended:
        return "row addresses", "until the addresses of its rows have been read from their register", ()
    if recording.value("sequencer.serial", cycle) and in_flight:
        blockers = _by_end(in_flight)
        return (
            f"serial mode, {_named(blockers)}",
            f"until {_named(blockers)} has ended: the core is in serial mode",
            blockers,
        )
    return (
        f"unit {name} busy",
        f"until unit {name} takes a request; its oldest command is {_named(mine[:1]) or 'none'}",
        mine[:1],
    )
