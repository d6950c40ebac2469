"""Text from outside in messages, tables and reports: in one line, of bounded length, for any terminal."""

import re

from golden.limits import LINE_CHARACTERS, MESSAGE_CHARACTERS, WORD_CHARACTERS

_LONG_WORD = re.compile(rf"\S{{{WORD_CHARACTERS + 1},}}")


def printable(text: str, keep: str = "\t") -> str:
    """Text with every character escaped that moves the cursor, ends a line, or reorders what is around it.

    It may hold control characters, of which those in `keep` stay, escape sequences, marks of writing
    direction, and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in keep
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def without_middle(text: str, most: int) -> str:
    """Text of at most so many characters, with three dots for what is left out of the middle."""
    if len(text) <= most:
        return text
    tail = (most - 3) // 3
    return f"{text[: most - 3 - tail]}...{text[len(text) - tail :]}"


def excerpt(line: str) -> str:
    """A line of source text for a message."""
    return printable(without_middle(line, LINE_CHARACTERS))


def sentence(message: str) -> str:
    """A message, with names and numbers of any length, in one line that does not fill the screen."""
    words = _LONG_WORD.sub(lambda match: without_middle(match[0], WORD_CHARACTERS), message)
    return printable(without_middle(words, MESSAGE_CHARACTERS))
