"""``printf`` and failed assertions, which PTX calls as the functions ``vprintf`` and ``__assertfail``.

A call passes addresses of texts; ``vprintf`` also the address of the values, each at a multiple of its size.
"""

import ctypes
import re
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.limits import TEXT_BYTES
from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Instruction
from golden.simt.arrays import Access, Addresses, Threads
from golden.simt.code import Writer

PRINT: Final = "call vprintf"
FAIL: Final = "call __assertfail"
_FAIL_BITS: Final = (64, 64, 32, 64)
PARAMETERS: Final = {
    "vprintf": (PRINT, (64, 64)),
    **dict.fromkeys(("__assertfail", "__assert_fail"), (FAIL, _FAIL_BITS)),
}
"""Of a function its instruction and the bits of its operands, behind which others do not count."""

_CONVERSION: Final = re.compile(
    rb"%[-+ #0]*(\*|\d*)(?:\.(\*|\d*))?(?:(hh|h|ll|l|j|z|t|)([diouxX])|l?([eEfFgGaA])|([csp])|%)"
)
_LONG: Final = (b"ll", b"l", b"j", b"z", b"t")
"""Sizes of integers of 64 bits, here and in CUDA."""


@cache
def _c() -> Any:
    """C's library, which formats as the host does in CUDA."""
    return ctypes.CDLL(None)


def _print(block: Any, threads: Threads, index: int, formats: Addresses, values: Addresses) -> NDArray[Any]:
    """Print in each thread, one after the other; the number of values, which the function returns."""
    texts, counts = [b""] * threads.size, np.zeros(threads.size, np.uint32)
    room = ctypes.create_string_buffer(TEXT_BYTES + 1)
    for address in np.unique(formats):
        where = np.flatnonzero(formats == address)
        template = block.text(Access(threads, formats, index).one(where[0]))
        template, columns = _values(block, Access(threads[where], values[where], index), template)
        counts[where] = len(columns)
        for row, position in enumerate(where):
            length = _c().snprintf(room, len(room), template, *(column[row] for column in columns))
            if not 0 <= length <= TEXT_BYTES:
                block.fault(index, threads, f"printf of more than {TEXT_BYTES} bytes", int(position))
            texts[position] = room.raw[:length]
    block.launch.print(b"".join(texts).decode(errors="replace"))
    return counts


def _values(block: Any, access: Access, template: bytes) -> tuple[bytes, list[list[Any]]]:
    """The template with conversions of C alone, and for each of its values the value in each thread."""
    safe, offset, place = b"", 0, 0
    columns: list[list[Any]] = []

    def value(type_: Any) -> None:
        nonlocal offset
        size = ctypes.sizeof(type_)
        offset += -offset % size
        bits = block.load("generic", access._replace(addresses=access.addresses + np.uint64(offset)), size, 1)
        columns.append([type_.from_buffer_copy(bits[row : row + 1]) for row in range(bits.size)])
        offset += size

    for found in _CONVERSION.finditer(template):
        width, precision, size, integer, number, other = found.groups(default=b"")
        safe += template[place : found.start()].replace(b"%", b"%%") + found[0]
        for _ in range((width + precision).count(b"*")):
            value(ctypes.c_int32)
        if integer:
            value(ctypes.c_int64 if size in _LONG else ctypes.c_int32)
        elif number:
            value(ctypes.c_double)
        elif other:
            value(ctypes.c_int32 if other == b"c" else ctypes.c_uint64)
        if other == b"s":
            addresses = np.array([item.value for item in columns[-1]], np.uint64)
            texts = access._replace(addresses=addresses)
            columns[-1] = [ctypes.c_char_p(block.text(texts.one(row))) for row in range(addresses.size)]
        place = found.end()
    return safe + template[place:].replace(b"%", b"%%"), columns


def _fail(block: Any, threads: Threads, index: int, *operands: NDArray[Any]) -> None:
    """The fault of the first thread whose assertion failed."""
    message, file, function = (
        block.text(Access(threads, operands[place], index).one(0)).decode(errors="replace")
        for place in (0, 1, 3)
    )
    block.fault(index, threads, f"{file}:{operands[2][0]}: {function}: assertion `{message}` failed")


def _decode_print(context: Context, instruction: Instruction, index: int) -> Step:
    count, *sources = instruction.operands

    def write_code(writer: Writer) -> None:
        texts = ", ".join(writer.array(source, 64) for source in sources)
        value = writer.name()
        writer.line(f"{value} = {writer.bind(_print)}(B, {writer.threads}, {index}, {texts})")
        writer.write(count, value, 32)

    return context.step(instruction, index, sources, (count,), write_code, select=False)


def _decode_fail(context: Context, instruction: Instruction, index: int) -> Step:
    sources = tuple(zip(instruction.operands, _FAIL_BITS, strict=True))

    def write_code(writer: Writer) -> None:
        texts = ", ".join(writer.array(*source) for source in sources)
        writer.line(f"{writer.bind(_fail)}(B, {writer.threads}, {index}, {texts})")

    return context.step(instruction, index, instruction.operands, (), write_code, select=False)


DECODERS: Final = {PRINT: _decode_print, FAIL: _decode_fail}
