"""When each command was queued, decoded, started, fetched and done, from a recording."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hdl.control.scoreboard import Unit
from sim.trace.command_log import LoggedCommand
from sim.trace.probes import FOOTPRINT_RANGES
from sim.trace.recording import Recording

READING_UNITS: Final = frozenset({Unit.STORE, Unit.TILE, Unit.F64, Unit.MOVE, Unit.WGMMA})
"""Units that tell when a command has read its registers; loads read none."""

_QUEUE: Final = "host.registers.queue"

_EVENTS: Final = {
    "accepted": ("sequencer.commands__valid", "sequencer.commands__ready"),
    "decoded": ("sequencer.decode",),
    "allocated": ("sequencer.scoreboard.allocate",),
    "started": ("sequencer.start",),
    "dropped": ("sequencer.halt",),
}
"""Signals that are 1 together when something happens to the command in a stage of the sequencer."""


@dataclass(frozen=True)
class RegisterRange:
    """Registers `first` to `last`, both included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"r{self.first}" if self.first == self.last else f"r{self.first}-r{self.last}"

    def overlaps(self, other: "RegisterRange") -> bool:
        """Whether a register is in both."""
        return self.first <= other.last and other.first <= self.last


@dataclass(kw_only=True)
class Lifetime:
    """A command that the sequencer took, and the cycles in which something happened to it.

    A cycle is when the pulse or handshake was. None is what did not happen before the recording ended.
    """

    number: int
    """Counts the commands that the sequencers took, warp after warp, from 0."""
    logged: LoggedCommand | None
    """None for one that the host wrote without telling."""
    queued: int | None
    """Put into the queue."""
    accepted: int
    """Taken from the queue."""
    ended: int
    """The sequencer was through with it: it was started, or dropped at a fault."""
    decoded: int | None = None
    allocated: int | None = None
    """Compared with all commands in flight; from then on the scoreboard protects its registers."""
    unit: Unit | None = None
    """That works on it."""
    started: int | None = None
    """Nothing held it back: its unit is given it in the next cycle."""
    fetched: int | None = None
    """Its registers had been read."""
    done: int | None = None
    """Its last effect was there."""
    reads: list[RegisterRange] = field(default_factory=list)
    write: RegisterRange | None = None
    span: tuple[int, int] | None = None
    """First and last byte address of a load or store."""

    def is_reading(self, cycle: int) -> bool:
        """Whether the scoreboard protects the registers that the command reads."""
        return self._is_between(cycle, self.fetched) and self.unit in READING_UNITS

    def is_in_flight(self, cycle: int) -> bool:
        """Whether the scoreboard protects what the command writes."""
        return self._is_between(cycle, self.done)

    def _is_between(self, cycle: int, end: int | None) -> bool:
        if self.started is None:
            end = self.ended
        return self.allocated is not None and self.allocated < cycle and (end is None or cycle <= end)

    @property
    def stages(self) -> list[tuple[str, int, int]]:
        """The stages of the sequencer that it passed: name, first and last cycle."""
        ends = [self.accepted, self.decoded, self.allocated, self.started]
        found = []
        for name, begin, end in zip(("decode", "compare", "issue"), ends[:-1], ends[1:], strict=True):
            last = self.ended if end is None else end
            if begin is not None and begin < last:
                found.append((name, begin + 1, last))
        return found


def register_range(value: int) -> RegisterRange | None:
    """A `hdl.control.scoreboard.Range` from its bits."""
    return RegisterRange(value >> 1 & 0xFF, value >> 9 & 0xFF) if value & 1 else None


def lifetimes(
    recording: Recording, parts: Sequence[Sequence[LoggedCommand]], first: int = 0
) -> list[Lifetime]:
    """Follow every command that the sequencer of a warp took; the first has number `first`.

    The recording has a look at this warp; `parts` are its commands as in `sim.trace.command_log.CommandLog`.
    """
    found = _accepted(recording, first)
    _add_origins(found, recording, parts)
    by_unit: dict[Unit, list[Lifetime]] = defaultdict(list)
    for lifetime in found:
        if lifetime.allocated is not None:
            _add_operands(lifetime, recording, lifetime.allocated)
        if lifetime.started is not None and lifetime.unit is not None:
            by_unit[lifetime.unit].append(lifetime)
    for unit, commands in by_unit.items():
        for event in ("done", "fetched") if unit in READING_UNITS else ("done",):
            pulses = recording.bit_pulses(f"sequencer.scoreboard.{event}", unit.value)
            for command, cycle in zip(commands, pulses, strict=False):
                setattr(command, event, cycle)
    return found


def _accepted(recording: Recording, first: int) -> list[Lifetime]:
    """The commands that the sequencer took, and when they passed its stages.

    A fault drops those that have not been started.
    """
    events = [
        (cycle, order, name)
        for order, name in enumerate(("started", "allocated", "decoded", "accepted", "dropped"))
        for cycle in recording.pulses(*_EVENTS[name])
    ]
    found: list[Lifetime] = []
    in_stage: dict[str, deque[Lifetime]] = {name: deque() for name in ("accepted", "decoded", "allocated")}
    before = {"started": "allocated", "allocated": "decoded", "decoded": "accepted"}
    for cycle, _, name in sorted(events):
        if name == "dropped":
            for waiting in in_stage.values():
                for lifetime in waiting:
                    lifetime.ended = cycle
                waiting.clear()
            continue
        if name == "accepted":
            lifetime = Lifetime(
                number=first + len(found),
                logged=None,
                queued=None,
                accepted=cycle,
                ended=recording.cycles - 1,
            )
            found.append(lifetime)
        else:
            lifetime = in_stage[before[name]].popleft()
            setattr(lifetime, name, cycle)
        if name == "started":
            lifetime.ended = cycle
        else:
            in_stage[name].append(lifetime)
    return found


def _add_origins(
    found: Sequence[Lifetime], recording: Recording, parts: Sequence[Sequence[LoggedCommand]]
) -> None:
    """Tell when the commands were queued, and which they were; a cleared queue drops the others."""
    events: list[tuple[int, int, Lifetime | None]] = [(lifetime.accepted, 0, lifetime) for lifetime in found]
    events += [(cycle, 1, None) for cycle in recording.pulses(f"{_QUEUE}.clear")]
    pushes = recording.pulses(f"{_QUEUE}.input__valid", f"{_QUEUE}.input__ready")
    events += [(cycle, 2, None) for cycle in pushes]
    queued: deque[int] = deque()
    remaining = iter(parts)
    commands = iter(next(remaining, ()))
    for cycle, _, lifetime in sorted(events, key=lambda event: event[:2]):
        if lifetime is not None:
            lifetime.queued = queued.popleft() if queued else None
            lifetime.logged = next(commands, None)
        elif recording.value(f"{_QUEUE}.clear", cycle):
            queued.clear()
            commands = iter(next(remaining, ()))
        else:
            queued.append(cycle)


def _add_operands(lifetime: Lifetime, recording: Recording, cycle: int) -> None:
    unit = Unit(recording.value("sequencer.scoreboard.unit", cycle))
    lifetime.unit = unit
    ranges = [
        register_range(recording.value(f"sequencer.scoreboard.footprint.{name}", cycle))
        for name in FOOTPRINT_RANGES
    ]
    *reads, lifetime.write = ranges
    lifetime.reads = [item for item in reads if item is not None]
    if unit in (Unit.LOAD, Unit.STORE):
        first, last = (recording.value(f"sequencer.check.checked.{end}", cycle) for end in ("first", "last"))
        lifetime.span = first, last
