"""Where in a PTX file something stands, and the error that says so."""

from dataclasses import dataclass

__all__ = ["Location", "PtxError", "Source", "SourceLine"]


class PtxError(Exception):
    """A PTX module that cannot be parsed, is illegal, or asks for what is not supported.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    line, column : int
        Where, both from 1.
    message : str
        What is wrong, and what is allowed.
    """

    def __init__(self, file: str, line: int, column: int, message: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        super().__init__(f"{file}:{line}:{column}: {message}")


@dataclass(frozen=True)
class Location:
    """A place in a source text; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceLine:
    """The line of a module that a command came from.

    Parameters
    ----------
    file : str
    line, column : int
        Where the statement begins, both from 1.
    text : str
        The line itself, without surrounding white space.
    """

    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class Source:
    """The text of one PTX file.

    Parameters
    ----------
    text : str
        The whole file.
    file : str
        Its name, for messages.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._lines = text.split("\n")

    def error(self, location: Location, message: str) -> PtxError:
        """The error to raise about something at `location`."""
        return PtxError(self.file, location.line, location.column, message)

    def line(self, location: Location) -> SourceLine:
        """The line around `location`."""
        text = self._lines[location.line - 1].strip()
        return SourceLine(self.file, location.line, location.column, text)
