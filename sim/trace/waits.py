"""Why a command waited: for which registers or bytes, and for which earlier command."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hdl.control.scoreboard import SLOTS, Unit
from hdl.control.sequencer import State
from sim.trace.lifetimes import Lifetime, RegisterRange, register_range
from sim.trace.recording import Interval, Recording

__all__ = ["Wait", "memory_conflicts", "register_conflicts", "waits"]

_SCOREBOARD: Final = "sequencer.scoreboard"
_WRITERS: Final = frozenset({Unit.LOAD, Unit.TILE, Unit.F64, Unit.MOVE})


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Cycles in which the sequencer could not go on with a command.

    Parameters
    ----------
    command : Lifetime or None
        Which waited; None where there was none in the queue.
    first, last : int
        Cycles, both included.
    reason : str
        In a few words.
    detail : str
        In a sentence.
    blockers : tuple of Lifetime
        Commands under way that it waited for, the last one to end first.
    """

    command: Lifetime | None
    first: int
    last: int
    reason: str
    detail: str
    blockers: tuple[Lifetime, ...] = ()


def register_conflicts(
    command: Lifetime, operand: RegisterRange, is_write: bool, before: Sequence[Lifetime], cycle: int
) -> list[tuple[Lifetime, str]]:
    """The commands that use registers of an operand in a cycle, each with the kind of hazard.

    The rules are those of `hdl.control.scoreboard.Scoreboard`: an operand that is read waits for writers,
    one that is written for readers and writers in other units.

    Parameters
    ----------
    command : Lifetime
        The one that asks.
    operand : RegisterRange
    is_write : bool
        Whether it writes the operand.
    before : sequence of Lifetime
        Commands started before.
    cycle : int
    """
    found = []
    for other in before:
        foreign = other.unit is not command.unit
        writes = other.write is not None and other.write.overlaps(operand) and other.unit in _WRITERS
        if writes and other.is_under_way(cycle) and (foreign or not is_write):
            found.append((other, "write after write" if is_write else "read after write"))
        elif (
            is_write
            and foreign
            and other.is_reading(cycle)
            and any(item.overlaps(operand) for item in other.reads)
        ):
            found.append((other, "write after read"))
    return found


def memory_conflicts(
    unit: Unit, span: tuple[int, int], before: Sequence[Lifetime], cycle: int
) -> list[Lifetime]:
    """The loads or stores under way that may touch bytes of a store or load."""
    opposite = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(unit)
    return [
        other
        for other in before
        if other.unit is opposite
        and other.span is not None
        and other.is_under_way(cycle)
        and other.span[0] <= span[1]
        and span[0] <= other.span[1]
    ]


def waits(recording: Recording, commands: Sequence[Lifetime]) -> list[Wait]:
    """Every wait of the sequencer, in order, with its cause."""
    found: list[Wait] = []
    reasons: dict[str, Callable[[Recording, Interval, Lifetime, Sequence[Lifetime]], Wait]] = {
        "sequencer.stall_registers": _for_registers,
        "sequencer.stall_memory": _for_memory,
        "sequencer.stall_unit": _for_unit,
    }
    for name, explain in reasons.items():
        for interval in recording.high(name):
            for command in _commands_in(commands, interval):
                part = Interval(max(interval.first, command.accepted), min(interval.last, command.ended), 1)
                found.append(explain(recording, part, command, commands[: command.number]))
    found += [
        Wait(
            command=None,
            first=item.first,
            last=item.last,
            reason="queue empty",
            detail="commands are under way, but the host has queued no more",
        )
        for item in recording.high("sequencer.stall_empty")
    ]
    return sorted(found, key=lambda wait: wait.first)


def _commands_in(commands: Sequence[Lifetime], interval: Interval) -> list[Lifetime]:
    """Those that the sequencer had in some cycle of an interval."""
    low, high = 0, len(commands)
    while low < high:
        middle = (low + high) // 2
        if commands[middle].ended < interval.first:
            low = middle + 1
        else:
            high = middle
    found = []
    while low < len(commands) and commands[low].accepted <= interval.last:
        found.append(commands[low])
        low += 1
    return found


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


def _for_registers(
    recording: Recording, interval: Interval, command: Lifetime, before: Sequence[Lifetime]
) -> Wait:
    operand = register_range(recording.value(f"{_SCOREBOARD}.operand", interval.first))
    is_write = bool(recording.value(f"{_SCOREBOARD}.is_write", interval.first))
    conflicts: list[tuple[Lifetime, str]] = []
    if operand is not None:
        conflicts = register_conflicts(command, operand, is_write, before[-16:], interval.first)
    blockers = _by_end([other for other, _ in conflicts])
    hazards = " and ".join(dict.fromkeys(hazard for _, hazard in conflicts))
    use = "to write" if is_write else "to read"
    return Wait(
        command=command,
        first=interval.first,
        last=interval.last,
        reason=f"registers {operand} of {_named(blockers)}",
        detail=f"{use} {operand}, which {_named(blockers)} still uses: {hazards}",
        blockers=blockers,
    )


def _for_memory(
    recording: Recording, interval: Interval, command: Lifetime, before: Sequence[Lifetime]
) -> Wait:
    span = (
        recording.value(f"{_SCOREBOARD}.span.first", interval.first),
        recording.value(f"{_SCOREBOARD}.span.last", interval.first),
    )
    unit = Unit(recording.value(f"{_SCOREBOARD}.unit", interval.first))
    blockers = _by_end(memory_conflicts(unit, span, before[-16:], interval.first))
    return Wait(
        command=command,
        first=interval.first,
        last=interval.last,
        reason=f"memory of {_named(blockers)}",
        detail=f"for bytes {span[0]:#x} to {span[1]:#x}, which {_named(blockers)} may touch",
        blockers=blockers,
    )


def _for_unit(
    recording: Recording, interval: Interval, command: Lifetime, before: Sequence[Lifetime]
) -> Wait:
    unit = Unit(recording.value(f"{_SCOREBOARD}.unit", interval.first))
    name = unit.name.lower()
    under_way = [other for other in before[-16:] if other.is_under_way(interval.first)]
    blockers: tuple[Lifetime, ...] = ()
    if recording.value("sequencer.state", interval.first) == State.ROWS.value:
        reason, detail = "row addresses", "until the addresses of its rows have been read from their register"
    elif recording.value("sequencer.serial", interval.first) and under_way:
        blockers = _by_end(under_way)
        reason = f"serial mode, {_named(blockers)}"
        detail = f"until {_named(blockers)} has ended: the core is in serial mode"
    elif recording.value(f"{_SCOREBOARD}.full", interval.first):
        blockers = tuple(other for other in under_way if other.unit is unit)[:1]
        reason = f"unit {name} full, {_named(blockers)}"
        detail = (
            f"for a place in unit {name}, which has {SLOTS[unit]} commands; the oldest is {_named(blockers)}"
        )
    else:
        blockers = tuple(other for other in under_way if other.unit is unit)[:1]
        reason = f"unit {name} busy"
        detail = f"until unit {name} takes a request; its oldest command is {_named(blockers) or 'none'}"
    return Wait(
        command=command,
        first=interval.first,
        last=interval.last,
        reason=reason,
        detail=detail,
        blockers=blockers,
    )
