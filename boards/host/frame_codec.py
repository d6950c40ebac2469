"""Requests to bytes, and bytes to answers: the host's side of `boards.gateware.frames`."""

import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from boards.gateware.frames import ANSWER_START, MOST_WORDS, REQUEST_START, Kind, Status

__all__ = ["MOST_SKIPPED", "AnswerFrame", "checksum", "encode_request", "read_answer"]

MOST_SKIPPED: Final = 4096
"""Bytes that are no answer, after which we stop looking for one."""

_WORD_BYTES: Final = 4
_HEADER_BYTES: Final = 3
_CHECKSUM_BYTES: Final = 2
_INITIAL: Final = 0xFFFF


@dataclass(frozen=True, kw_only=True)
class AnswerFrame:
    """An answer that came undamaged.

    Parameters
    ----------
    sequence : int
        Of the request that it answers.
    status : Status
    payload : bytes
    """

    sequence: int
    status: Status
    payload: bytes


def checksum(content: bytes) -> bytes:
    """The two bytes that follow a frame's content, which is all of it but the start byte."""
    return binascii.crc_hqx(content, _INITIAL).to_bytes(_CHECKSUM_BYTES, "big")


def encode_request(sequence: int, kind: Kind, address: int, words: int, payload: bytes = b"") -> bytes:
    """Encode a request.

    Parameters
    ----------
    sequence : int
        0 to 255.
    kind : Kind
    address : int
        Of the first byte; 32 bits.
    words : int
        0 to 64.
    payload : bytes
        Of a writing kind: `words` words, low byte first.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        For more words than a frame has, or a payload of another size.
    OverflowError
        For a sequence number or an address that has no place in its bytes.
    """
    if not 0 <= words <= MOST_WORDS:
        raise ValueError(f"words of a frame must be from 0 to {MOST_WORDS}, not {words}")
    expected = _WORD_BYTES * words if kind.value & 1 else 0
    if len(payload) != expected:
        raise ValueError(
            f"payload of {kind.name} of {words} words must have {expected} bytes, not {len(payload)}"
        )
    content = b"".join(
        (
            sequence.to_bytes(1, "little"),
            kind.value.to_bytes(1, "little"),
            address.to_bytes(4, "little"),
            words.to_bytes(1, "little"),
            payload,
        )
    )
    return bytes([REQUEST_START]) + content + checksum(content)


def read_answer(read: Callable[[int], bytes], sequence: int) -> AnswerFrame | None:
    """Read the answer to a request, past whatever is before it.

    Parameters
    ----------
    read : callable
        Returns the next bytes, as many as it is asked for, or fewer when no more come for a while.
    sequence : int
        Answers with another number belong to requests that have been given up, and are skipped.

    Returns
    -------
    AnswerFrame or None
        None when it did not come, or came damaged.
    """
    skipped = 0
    while skipped < MOST_SKIPPED:
        start = read(1)
        if not start:
            return None
        if start[0] != ANSWER_START:
            skipped += 1
            continue
        header = read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES or header[2] > MOST_WORDS:
            return None
        count = _WORD_BYTES * header[2]
        rest = read(count + _CHECKSUM_BYTES)
        if len(rest) < count + _CHECKSUM_BYTES or checksum(header + rest[:count]) != rest[count:]:
            return None
        if header[1] not in {status.value for status in Status}:
            return None
        if header[0] == sequence:
            return AnswerFrame(sequence=sequence, status=Status(header[1]), payload=rest[:count])
        skipped += 1 + _HEADER_BYTES + len(rest)
    return None
