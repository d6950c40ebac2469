"""Elements as the command line writes them: decimal, hexadecimal raw bits, inf and nan."""

import math

from golden.explanation.operands import checked_elements
from golden.integers import parsed_integer, shortened
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat
from openwmma.usage_error import UsageError


def parse_elements(option: str, text: str, type: str, count: int) -> tuple[list[int], list[str]]:
    """Parse ``1,2.5,0x3c00,inf``: raw bit patterns of floating point, values of integers, and notes.

    A hexadecimal number is a raw bit pattern. A decimal number is a value, which is rounded to the
    nearest number of the format. Zeros follow where fewer than `count` are given. There is a note for
    each value that was rounded, and one if zeros were added. UsageError for too many elements, and for
    one that is not of the format.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) > count:
        raise UsageError(
            f"{option}: expected at most {count} values, the k of the instruction, not {len(words)}"
        )
    parsed = [_element(f"{option}[{index}]", word, type) for index, word in enumerate(words)]
    notes = [note for _, note in parsed if note]
    if len(words) < count:
        notes.append(f"{option} has {len(words)} of {count} values; the others are 0")
    return [bits for bits, _ in parsed] + [0] * (count - len(words)), notes


def parse_scalar(option: str, text: str, type: str) -> tuple[int, list[str]]:
    """Parse one element, as `parse_elements` does; UsageError for several."""
    if "," in text:
        raise UsageError(f"{option} {text}: expected one value, not {text.count(',') + 1}")
    bits, note = _element(option, text.strip(), type)
    return bits, [note] if note else []


def parse_integers(option: str, text: str, *, binary: bool = False) -> list[int]:
    """Parse bytes as in ``0x7f,128``, or nibbles of four binary digits; UsageError for others."""
    numbers = []
    for word in text.split(","):
        number = parsed_integer(f"0b{word.strip()}" if binary else word.strip())
        if number is None:
            expected = "nibbles as in 0100,1101" if binary else "bytes as in 0x7f,128"
            raise UsageError(f"{option} {shortened(text)}: expected {expected}")
        numbers.append(number)
    return numbers


def _element(name: str, word: str, type: str) -> tuple[int, str]:
    """One element and a note, which is empty unless the value was rounded."""
    format = FORMATS[type]
    is_raw = word.lower().startswith("0x")
    number: int | float
    shown = shortened(word)
    try:
        number = int(word, 16) if is_raw else float(word) if isinstance(format, FloatFormat) else int(word)
    except ValueError:
        decimal = "a decimal number, inf, nan" if isinstance(format, FloatFormat) else "an integer"
        raise UsageError(
            f"{name} {shown or 'is empty'}: expected {decimal} or raw bits in hexadecimal (0x...) of {type}"
        ) from None
    if is_raw:
        return _raw(name, int(number), type), ""
    if isinstance(number, float) and math.isinf(number) and "inf" not in word.lower():
        raise UsageError(f"{name} {shown}: expected a value that f64 can hold, or inf")
    try:
        (bits,), notes = checked_elements(name, number, type, None)
    except InvalidArgument as error:
        raise UsageError(f"{name} {shown}: expected {error.allowed}") from None
    return bits, notes[0] if notes else ""


def _raw(name: str, bits: int, type: str) -> int:
    """A raw bit pattern; of an integer format the value that it stands for."""
    format = FORMATS[type]
    if bits >> format.bits:
        raise UsageError(f"{name} {shortened(hex(bits))}: expected at most {format.bits} bits, as {type} has")
    if isinstance(format, FloatFormat) or not format.signed:
        return bits
    return bits - (bits >> format.bits - 1 << format.bits)
