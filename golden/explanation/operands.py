"""Operands of one result as a caller gives them: raw bits or values, in lists, tuples or arrays."""

import math
import struct
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Protocol

from golden.arithmetic.number import F64, Number, decoded, float_value
from golden.arithmetic.scales import SCALE_BITS, SCALE_TYPES, decode_scale
from golden.explanation.steps import convert
from golden.integers import shortened
from golden.invalid_argument import InvalidArgument
from golden.tables.formats import FORMATS, FloatFormat, Format
from golden.tables.instruction_set import SCALES
from golden.tables.matrix_instructions import MmaInstruction

_TIMES = ("m", "M")
"""Kinds of dtypes for dates and spans of time."""


class Array(Protocol):
    """What numpy's arrays and scalars have, and other arrays too."""

    def tolist(self) -> Any:
        """Nested lists of Python numbers, or one number."""


Elements = Sequence[Any] | Array

Scales = Sequence[tuple[Number, ...]]
"""The scales of A and B, for each part of k that has its own."""


def checked_elements(
    argument: str, given: object, type: str, length: int | None
) -> tuple[list[int], list[str]]:
    """Raw bit patterns or integers of an operand of `golden.explain`, which says what is allowed.

    The elements have a type of `FORMATS`; the length of a single number is None. Returned are the elements,
    and a note for each value that the format does not hold exactly. What does not fit is an InvalidArgument.
    """
    format = FORMATS[type]
    given = _plain(given)
    extent = () if length is None else (length,)
    shape = _shape(given)
    if shape != extent:
        wanted = f"({length},)" if extent else "()"
        raise InvalidArgument(argument, f"shape {shape}", f"shape {wanted}")
    numbers: list[Any] = [_plain(item) for item in given] if isinstance(given, list | tuple) else [given]
    names = [argument] if length is None else [f"{argument}[{index}]" for index in range(len(numbers))]
    for name, number in zip(names, numbers, strict=True):
        _check(name, number, format)
    raw = [isinstance(number, Integral) for number in numbers]
    if isinstance(format, FloatFormat) and any(raw) and not all(raw):
        at = raw.index(True)
        mixed = f"the integer {shortened(numbers[at])} beside floating-point values"
        allowed = "only raw bit patterns (integers), or only values (floating-point numbers)"
        raise InvalidArgument(names[at], mixed, allowed)
    if not isinstance(format, FloatFormat) or any(raw):
        return [int(number) for number in numbers], []
    rounded = [_rounded(name, float(number), format) for name, number in zip(names, numbers, strict=True)]
    return [bits for bits, _ in rounded], [note for _, note in rounded if note is not None]


def checked_places(instruction: MmaInstruction, metadata: object) -> Sequence[int]:
    """The k of each element of A: every k, or those that the nibbles of the row say are stored."""
    if not instruction.is_sparse:
        if metadata is not None:
            raise InvalidArgument("metadata", "a sequence", f"None for {instruction}, which is not sparse")
        return range(instruction.shape.k)
    sparsity = instruction.sparsity
    nibbles = _small("metadata", metadata, sparsity.groups, "nibbles")
    for group, nibble in enumerate(nibbles):
        if nibble not in sparsity.nibbles:
            allowed = ", ".join(f"{each:04b}" for each in sparsity.nibbles)
            raise InvalidArgument("metadata", f"{nibble:04b} in group {group}", allowed)
    return [
        group * sparsity.group + place
        for group, nibble in enumerate(nibbles)
        for place in sparsity.places(nibble)
    ]


def checked_scales(instruction: MmaInstruction, scale_a: object, scale_b: object) -> Scales:
    """Both scales of each part of k as numbers; nothing without block scales."""
    if not instruction.scales:
        for name, given in zip(SCALES, (scale_a, scale_b), strict=True):
            if given is not None:
                raise InvalidArgument(name, "a sequence", f"None for {instruction}")
        return []
    kind = SCALE_TYPES.index(instruction.scale_type)
    sides = []
    for name, given in zip(SCALES, (scale_a, scale_b), strict=True):
        side = []
        for part, bits in enumerate(_small(name, given, instruction.scales, "bytes")):
            significand, exponent, nan = decode_scale(bits, kind)
            side.append(
                Number(
                    name=f"{name}[{part}]",
                    format=instruction.scale_type,
                    bits=bits,
                    kind="nan" if nan else "normal" if significand else "zero",
                    negative=False,
                    exponent=exponent,
                    significand=significand,
                    fraction_bits=SCALE_BITS,
                )
            )
        sides.append(side)
    return list(zip(*sides, strict=True))


def _small(name: str, given: object, count: int, what: str) -> list[int]:
    """So many integers below 256."""
    numbers = _plain(given)
    if not isinstance(numbers, list | tuple) or len(numbers) != count:
        got = f"{len(numbers)} {what}" if isinstance(numbers, list | tuple) else shortened(repr(given))
        raise InvalidArgument(name, got, f"{count} {what}")
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 8:
            raise InvalidArgument(name, shortened(repr(number)), "integers from 0 to 255")
    return list(numbers)


def _plain(given: object) -> Any:
    """Without numpy: the lists or the number that an array or one of its scalars stands for."""
    if getattr(getattr(given, "dtype", None), "kind", "") in _TIMES:  # integers for numpy, and for tolist
        return given.astype(str).tolist()  # type: ignore[attr-defined]
    if hasattr(given, "tolist"):
        return given.tolist()
    if hasattr(given, "__array__"):
        return given.__array__().tolist()
    if hasattr(given, "__dlpack__"):
        from golden.host_arrays import host_array  # noqa: PLC0415  needs numpy, as such an object does

        return host_array(given).tolist()
    return given


def _shape(given: object) -> tuple[int, ...]:
    """Lengths of nested lists, along their first elements."""
    given = _plain(given)
    if not isinstance(given, list | tuple):
        return ()
    return (len(given), *(_shape(given[0]) if given else ()))


def _check(name: str, number: object, format: Format) -> None:
    """Refuse what is no element of the format."""
    if isinstance(format, FloatFormat):
        least, greatest = 0, (1 << format.bits) - 1
        allowed = f"raw bit patterns of {format.name} from 0 to {greatest}, or floating-point values"
    else:
        least, greatest = format.minimum, format.maximum
        allowed = f"integers from {least} to {greatest} (values of {format.name})"
    if isinstance(number, bool):
        if format.name != "b1":
            raise InvalidArgument(name, f"the truth value {number}", allowed)
    elif isinstance(number, Integral):
        if not least <= int(number) <= greatest:
            raise InvalidArgument(name, f"the value {shortened(number)}", allowed)
    elif not isinstance(number, Real):
        raise InvalidArgument(name, f"{shortened(repr(number))} of type {number.__class__.__name__}", allowed)
    elif not isinstance(format, FloatFormat):
        raise InvalidArgument(name, f"the floating-point value {number}", allowed)
    elif not _is_f64(number):
        raise InvalidArgument(name, f"the value {number!r}, which f64 does not hold exactly", allowed)


def _is_f64(number: Real) -> bool:
    """Whether a value can be rounded to a format in one step, from f64."""
    try:
        value = float(number)
    except OverflowError:
        return False
    return math.isnan(value) or value == number


def _rounded(name: str, value: float, format: FloatFormat) -> tuple[int, str | None]:
    """The bit pattern nearest to a value, and what to say if it is another value."""
    number = decoded(name, int.from_bytes(struct.pack("<d", value), "little"), F64)
    if format == F64:
        return number.bits, None
    bits = convert(number, format).result
    held = float_value(bits, format)
    if math.isnan(value) or held == value:
        return bits, None
    return bits, f"{name}: {value!r} is rounded to {held!r}, {format.name} {bits:#x}"
