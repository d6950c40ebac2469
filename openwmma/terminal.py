"""Text from outside on the terminal: names and paths as they are, never as markup, controls escaped."""

import io
import sys
from typing import TYPE_CHECKING, TextIO

from golden.message_text import printable, sentence

if TYPE_CHECKING:
    from rich.text import Text


def plain(text: object) -> "Text":
    """Text from outside for a table or a progress line: rich reads no markup in it."""
    from rich.text import Text  # noqa: PLC0415  most commands print lines alone

    return Text(sentence(str(text)))


def tell(text: object, *, error: bool = False, lines: bool = False) -> None:
    """Print a line with text from outside; what has `lines`, such as a compiler's output, stays in full."""
    shown = printable(str(text), "\t\n") if lines else sentence(str(text))
    print(shown, file=sys.stderr if error else sys.stdout, flush=True)


def encodable(stream: TextIO) -> None:
    """Escape what the encoding of a stream does not have."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
