"""What a host handed over to a core, and where in the program each command stands."""

from collections import defaultdict, deque
from dataclasses import dataclass

from golden.tables.commands import Command


@dataclass(frozen=True)
class LoggedCommand:
    """A command, and what names its place in the program: a `SourceLine`, a text, or None."""

    command: Command
    place: object


class CommandLog:
    """Keeps the commands of each warp in the order in which the core gets them.

    A fault drops what has been handed over to its warp and not been executed. The parts of a warp are the
    commands between those moments; of all but the last, commands at the end may not have reached the core.
    """

    def __init__(self) -> None:
        self._parts: defaultdict[int, list[list[LoggedCommand]]] = defaultdict(lambda: [[]])
        self._places: deque[object] = deque()

    def place(self, place: object) -> None:
        """Tell the place of the next command that has none; to be called before the core gets it."""
        self._places.append(place)

    def parts(self, warp: int = 0) -> list[list[LoggedCommand]]:
        """The parts of a warp."""
        return self._parts[warp]

    def hand_over(self, command: Command, warp: int) -> None:
        """Add a command to those that a warp gets."""
        place = self._places.popleft() if self._places else None
        self._parts[warp][-1].append(LoggedCommand(command, place))

    def drop(self, warp: int) -> None:
        """Begin anew after a fault of a warp."""
        self._parts[warp].append([])
        self._places.clear()
