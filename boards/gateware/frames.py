"""The frames on the serial line: what the board and the host's software agree on.

A request is ``REQUEST_START``, sequence number, kind, address (four bytes, low byte first), number of words,
payload, checksum. An answer is ``ANSWER_START``, sequence number, status, number of words, payload, checksum.
Words are of 32 bits, low byte first. The checksum is of all bytes but the start, high byte first.
"""

from typing import Final

from amaranth.hdl import unsigned
from amaranth.lib import data, enum
from amaranth.lib.crc import Algorithm

__all__ = [
    "ANSWER_START",
    "CHECKSUM",
    "IDENTITY",
    "MOST_WORDS",
    "PROTOCOL",
    "REQUEST_START",
    "WORDS_BITS",
    "WORD_BITS",
    "Answer",
    "Kind",
    "Request",
    "Status",
]

REQUEST_START: Final = 0xA5
"""First byte of a request."""

ANSWER_START: Final = 0x5A
"""First byte of an answer: another one, so that an echo is no answer."""

CHECKSUM: Final = Algorithm(
    crc_width=16,
    polynomial=0x1021,
    initial_crc=0xFFFF,
    reflect_input=False,
    reflect_output=False,
    xor_output=0,
)
"""CRC-16 with the polynomial x**16 + x**12 + x**5 + 1 (CRC-16/IBM-3740): finds every error burst of up to
16 bits in the frames we have, and every odd number of wrong bits. A checksum over a frame with its checksum
is 0."""

WORD_BITS: Final = 32

MOST_WORDS: Final = 64
"""Words in one frame: 256 bytes."""

WORDS_BITS: Final = MOST_WORDS.bit_length()
"""Width of a number of words, 0 to 64."""

IDENTITY: Final = 0x4F574D42
"""The first word of what IDENTIFY answers: ``OWMB``."""

PROTOCOL: Final = 2
"""The second word: the version of these frames."""


class Kind(enum.Enum, shape=8):
    """What a request asks for; the lowest bit says that a payload comes with it.

    IDENTIFY
        Begins a session: answers with `IDENTITY`, `PROTOCOL`, the memory's base, its bytes, the clock in Hz
        and the number of frames that the board has given up. Always executed; address and words are 0.
    READ_HOST, WRITE_HOST
        Successive words of the core's host interface.
    READ_MEMORY, WRITE_MEMORY
        Successive words of the board's memory, at the addresses that the core sees.
    QUEUE_COMMANDS
        Commands of five words for the registers at the address: each word 0 last, on the line and into its
        register, so that a command is queued when it is complete.
    """

    IDENTIFY = 0x00
    READ_HOST = 0x02
    WRITE_HOST = 0x03
    READ_MEMORY = 0x04
    WRITE_MEMORY = 0x05
    QUEUE_COMMANDS = 0x07


class Status(enum.Enum, shape=8):
    """How a request ended.

    DONE
        As asked for; of a reading kind with the words read.
    REFUSED
        A word was refused, or nothing has its address; the payload is the number of words before
        it, which have been read or written. Nothing behind it has been tried.
    MALFORMED
        An unknown kind, an address that is no multiple of 4, or no words; nothing has been done.
    TIMED_OUT
        A word was not answered in time, or an earlier request ended so and its word is still not answered;
        the payload is the number of words before it, which have been read or written. Whether a word that
        was to be written has been, or will be, is not known. Nothing behind it has been tried.
    """

    DONE = 0
    REFUSED = 1
    MALFORMED = 2
    TIMED_OUT = 3


class Request(data.Struct):
    """A request without its payload; `kind` may be none of `Kind`."""

    sequence: unsigned(8)
    kind: unsigned(8)
    address: unsigned(32)
    words: unsigned(WORDS_BITS)


class Answer(data.Struct):
    """An answer without its payload."""

    sequence: unsigned(8)
    status: Status
    words: unsigned(WORDS_BITS)
