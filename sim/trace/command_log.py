"""What a host handed over to a core, and where in the program each command stands."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from golden.tables.commands import Command

__all__ = ["CommandLog", "LoggedCommand"]


@dataclass(frozen=True)
class LoggedCommand:
    """A command, and what names its place in the program: a `SourceLine`, a text, or None."""

    command: Command
    place: object


class CommandLog:
    """Keeps the commands in the order in which the core gets them.

    A fault drops what has been handed over and not been executed. `parts` are the commands between those
    moments; of all but the last, commands at the end may not have reached the core.

    Attributes
    ----------
    parts : list of list of LoggedCommand
    """

    def __init__(self) -> None:
        self.parts: list[list[LoggedCommand]] = [[]]
        self._places: deque[object] = deque()
        self._current: object = None

    def stay(self, place: object) -> None:
        """Tell the place of all commands from now on that are given no place of their own."""
        self._current = place

    def place(self, place: object) -> None:
        """Tell the place of the next command that has none; to be called before the core gets it."""
        self._places.append(place)

    def hand_over(self, commands: Iterable[Command]) -> None:
        """Add commands, in order."""
        places = self._places
        self.parts[-1].extend(
            LoggedCommand(command, places.popleft() if places else self._current) for command in commands
        )

    def drop(self) -> None:
        """Begin anew after a fault."""
        self.parts.append([])
        self._places.clear()
