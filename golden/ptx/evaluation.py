"""The state of one evaluation of an entry: scalar values, and the commands its statements give rise to."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from golden.ptx.allocation import Allocation
from golden.ptx.lane_values import LaneValue, by_lane, difference
from golden.ptx.provenance import Provenance
from golden.ptx.source import Source, SourceLine
from golden.ptx.syntax import Instruction, Register
from golden.tables.commands import Command, Elementwise, Fill, HostWork, Move, SetLanes, Uniform

__all__ = ["Action", "Evaluation", "Step", "Work", "merged", "run"]

Work = Command | HostWork
"""What a kernel gives rise to: commands for the core, and what the host does between them."""


class Evaluation:
    """One run of an entry.

    Parameters
    ----------
    source : Source
        For messages.
    arguments : mapping of str to int
        Bit patterns of the parameters.
    allocation : Allocation
        Where the fragment registers are.
    addresses : mapping of str to int
        Of the variables, by key; in ``.shared`` from zero on.
    shared_base : int
        Generic address of the first byte of shared memory.
    checked : bool
        Whether a multiply or store is refused fragments that are not its own.

    Attributes
    ----------
    provenance : Provenance
        What the fragment registers hold.
    commands : list of Command or HostWork
        What the statement under evaluation has given rise to.
    """

    def __init__(
        self,
        source: Source,
        arguments: Mapping[str, int],
        allocation: Allocation,
        addresses: Mapping[str, int],
        shared_base: int,
        *,
        checked: bool = True,
    ) -> None:
        self.source = source
        self.arguments = arguments
        self.allocation = allocation
        self.addresses = addresses
        self.shared_base = shared_base
        self.provenance = Provenance(source, checked=checked)
        self.commands: list[Work] = []
        self._values: dict[str, LaneValue] = {}

    def read(self, register: Register) -> LaneValue:
        """The bit pattern in a scalar register."""
        value = self._values.get(register.key)
        if value is None:
            raise self.source.error(register.location, f"{register.name} is read before it is written")
        return value

    def write(self, register: Register, pattern: LaneValue) -> None:
        """Put a bit pattern into a register, for all lanes or for each."""
        pattern = by_lane(register.type.wrap, pattern)
        position = self.allocation.position.get(register.key)
        if position is None:
            self._values[register.key] = pattern
            return
        self.provenance.fill(register)
        for word in range(register.type.bits // 32):
            self.set_lanes(position + word, by_lane(partial(_word, word), pattern))

    def set_lanes(self, place: int, values: LaneValue) -> None:
        """Set a register of the machine: a fill where all lanes get the same, else work of the host."""
        self.commands.append(SetLanes(place, values) if isinstance(values, tuple) else Fill(place, 1, values))

    def move(self, destination: Register, source: Register) -> None:
        """Copy one fragment register to another."""
        self.provenance.move(destination, source)
        position = self.allocation.position
        self.commands.append(
            Move(position[destination.key], position[source.key], destination.type.bits // 32)
        )


Action = Callable[[Evaluation], int | None]
"""What a statement does to an evaluation; it returns the index of the next statement if not in sequence."""


@dataclass(frozen=True)
class Step:
    """A statement that is ready to be evaluated."""

    statement: Instruction
    action: Action


def run(evaluation: Evaluation, steps: tuple[Step, ...], limit: int) -> Iterator[tuple[Work, SourceLine]]:
    """Evaluate statements from the first one on, and yield their commands as they come.

    Raises
    ------
    PtxError
        For what a statement cannot do, and after `limit` statements.
    """
    source = evaluation.source
    index = evaluated = 0
    while index < len(steps):
        statement = steps[index].statement
        evaluated += 1
        if evaluated > limit:
            raise source.error(
                statement.location, f"still running after {limit} instructions; is this an endless loop?"
            )
        guard = statement.guard
        if guard is not None and _guard(evaluation, guard.register) == guard.negated:
            index += 1
            continue
        following = steps[index].action(evaluation)
        if evaluation.commands:
            line = source.line(statement.location)
            yield from ((command, line) for command in evaluation.commands)
            evaluation.commands.clear()
        index = index + 1 if following is None else following


def _word(index: int, pattern: int) -> int:
    return pattern >> 32 * index & 0xFFFFFFFF


def _guard(evaluation: Evaluation, register: Register) -> int:
    value = evaluation.read(register)
    if isinstance(value, tuple):
        raise evaluation.source.error(
            register.location,
            f"{register.name} {difference(value)}; one warp without --block takes the same way in all lanes",
        )
    return value


def _joined(first: Work, second: Work) -> Work | None:
    """One command that does what two in a row do, if there is one."""
    if (
        isinstance(first, Fill)
        and isinstance(second, Fill)
        and second.register == first.register + first.count
        and second.value == first.value
    ):
        return Fill(first.register, first.count + second.count, first.value)
    if (
        isinstance(first, Move)
        and isinstance(second, Move)
        and second.destination == first.destination + first.count
        and second.source == first.source + first.count
    ):
        return Move(first.destination, first.source, first.count + second.count)
    if (
        isinstance(first, Elementwise)
        and isinstance(second, Elementwise)
        and replace(
            first,
            destination=first.destination + first.count,
            sources=tuple(
                source if isinstance(source, Uniform) else source + first.count for source in first.sources
            ),
            count=second.count,
        )
        == second
    ):
        return replace(first, count=first.count + second.count)
    return None


def merged(commands: Iterator[tuple[Work, SourceLine]]) -> Iterator[tuple[Work, SourceLine]]:
    """The same commands, but the same fill, move or arithmetic of successive registers as one."""
    waiting: tuple[Work, SourceLine] | None = None
    for command, line in commands:
        if waiting is not None:
            joined = _joined(waiting[0], command)
            if joined is not None:
                waiting = (joined, waiting[1])
                continue
            yield waiting
        waiting = (command, line)
    if waiting is not None:
        yield waiting
