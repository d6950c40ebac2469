"""The host's side of a board's serial line: frames, storage, and the port itself."""

import os
import pty
import random
import tty
from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pytest

from boards.gateware.frames import ANSWER_START, MOST_WORDS, Kind, Status
from boards.host.board_machine import open_board
from boards.host.frame_codec import MOST_SKIPPED, AnswerFrame, checksum, encode_request, read_answer
from boards.host.link import Link, LinkError, SerialPort
from hdl.config import PRESETS
from sim.word_storage import WordStorage

POLYNOMIAL = 0x1021


def expected_checksum(content: bytes) -> int:
    """Long division, bit by bit."""
    register = 0xFFFF
    for byte in content:
        for place in reversed(range(8)):
            top = register >> 15 ^ byte >> place & 1
            register = (register << 1 & 0xFFFF) ^ (POLYNOMIAL if top else 0)
    return register


def answer_bytes(sequence: int, status: int, payload: bytes) -> bytes:
    content = bytes([sequence, status, len(payload) // 4]) + payload
    return bytes([ANSWER_START]) + content + expected_checksum(content).to_bytes(2, "big")


def test_checksum() -> None:
    assert expected_checksum(b"123456789") == 0x29B1, "the check value of CRC-16/IBM-3740"
    rng = random.Random(1)
    for count in (0, 1, 2, 9, 262):
        content = rng.randbytes(count)
        assert checksum(content) == expected_checksum(content).to_bytes(2, "big")


def test_request() -> None:
    frame = encode_request(0x12, Kind.WRITE_MEMORY, 0x789A_BCDE, 2, bytes(range(8)))
    content = bytes([0x12, 0x05, 0xDE, 0xBC, 0x9A, 0x78, 2, *range(8)])
    assert frame == b"\xa5" + content + expected_checksum(content).to_bytes(2, "big")


@pytest.mark.parametrize(
    ("kind", "words", "payload", "message"),
    [
        (Kind.READ_HOST, MOST_WORDS + 1, b"", "must be from 0 to 64, not 65"),
        (Kind.READ_HOST, 2, bytes(8), "payload of READ_HOST of 2 words must have 0 bytes, not 8"),
        (Kind.WRITE_HOST, 2, bytes(7), "payload of WRITE_HOST of 2 words must have 8 bytes, not 7"),
    ],
)
def test_requests_refused(kind: Kind, words: int, payload: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_request(0, kind, 0, words, payload)


def test_answer_behind_other_things() -> None:
    payload = bytes(range(12))
    stale = answer_bytes(6, 0, bytes([ANSWER_START] * 8))
    content = b"\x00\x01\xa5" + stale + answer_bytes(7, 1, payload) + b"rest"
    stream = BytesIO(content)
    assert read_answer(stream.read, 7) == AnswerFrame(sequence=7, status=Status.REFUSED, payload=payload)
    assert stream.read() == b"rest"


def test_damaged_answers() -> None:
    good = answer_bytes(7, 0, bytes(range(8)))
    assert read_answer(BytesIO(good).read, 7) is not None
    for place in range(8 * len(good)):
        damaged = bytearray(good)
        damaged[place // 8] ^= 1 << place % 8
        assert read_answer(BytesIO(bytes(damaged)).read, 7) is None, place
    for end in range(len(good)):
        assert read_answer(BytesIO(good[:end]).read, 7) is None, end
    assert read_answer(BytesIO(answer_bytes(7, 4, b"")).read, 7) is None, "an unknown status"


def test_endless_talk() -> None:
    reads = 0

    def read(count: int) -> bytes:
        nonlocal reads
        reads += 1
        return bytes(count)

    assert read_answer(read, 7) is None
    assert reads == MOST_SKIPPED


def test_storage() -> None:
    base, size = 0x1000, 64
    words = np.arange(size // 4, dtype=np.uint32) * 0x0101_0101
    expected = words.view(np.uint8).copy()
    accesses: list[tuple[int, int]] = []

    def read_words(offset: int, count: int) -> np.ndarray:
        accesses.append((offset, count))
        return words[offset // 4 : offset // 4 + count].copy()

    def write_words(offset: int, values: np.ndarray) -> None:
        accesses.append((offset, len(values)))
        words[offset // 4 : offset // 4 + len(values)] = values

    storage = WordStorage(base, size, read_words, write_words)
    rng = random.Random(2)
    for first in range(size + 1):
        for count in range(size - first + 1):
            np.testing.assert_array_equal(storage.read(base + first, count), expected[first : first + count])
            values = np.frombuffer(rng.randbytes(count), dtype=np.uint8)
            storage.write(base + first, values)
            expected[first : first + count] = values
            np.testing.assert_array_equal(words.view(np.uint8), expected)
    assert all(offset >= 0 and offset + 4 * count <= size for offset, count in accesses)
    accesses.clear()
    storage.write(base + 4, np.zeros(8, dtype=np.uint8))
    assert accesses == [(4, 2)], "whole words need no reading"
    accesses.clear()
    for address, count in ((base - 1, 1), (base + size, 1), (base + size - 1, 2)):
        with pytest.raises(IndexError, match=r"outside the memory 0x1000 \.\. 0x1040"):
            storage.read(address, count)
        with pytest.raises(IndexError, match=r"outside the memory 0x1000 \.\. 0x1040"):
            storage.write(address, np.zeros(count, dtype=np.uint8))
    assert not accesses


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """The far end of a serial port, and the near one's name."""
    far, near = pty.openpty()
    tty.setraw(near)
    yield far, os.ttyname(near)
    os.close(near)
    os.close(far)


def test_port(terminal: tuple[int, str]) -> None:
    far, name = terminal
    port = SerialPort(name, 1_000_000)
    data = bytes(range(256))
    port.write(data)
    received = b""
    while len(received) < len(data):
        received += os.read(far, 512)
    assert received == data
    os.write(far, data)
    assert port.read(200) == data[:200]
    assert port.read(200) == data[200:], "and then the time is up"
    port.close()


def test_dead_line(terminal: tuple[int, str]) -> None:
    _, name = terminal
    port = SerialPort(name, 1_000_000)
    with pytest.raises(LinkError, match="no good answer to IDENTIFY at 0x0 in 2 tries"):
        Link(port, tries=2).identify()
    port.close()


class ScriptedLine:
    """Answers every request with the same words; with none it is silent."""

    def __init__(self, *words: int) -> None:
        self._payload = np.array(words, dtype="<u4").tobytes()
        self._answer = BytesIO()

    def write(self, data: bytes) -> None:
        if self._payload:
            self._answer = BytesIO(answer_bytes(data[1], 0, self._payload))

    def read(self, count: int) -> bytes:
        return self._answer.read(count)

    def close(self) -> None:
        self._payload = b""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((1, 2, 3, 4, 5, 6), r"identity 0x4f574d42, not \[1\]"),
        ((0x4F574D42, 9, 3, 4, 5, 6), "version 2, not 9"),
        ((0x4F574D42, 2, 3, 4, 5, 6), "identity must have 7 words, not 6"),
        ((), "no good answer to IDENTIFY at 0x0 in 6 tries"),
    ],
)
def test_another_device(words: tuple[int, ...], message: str) -> None:
    with pytest.raises(LinkError, match=message):
        Link(ScriptedLine(*words)).identify()


def test_identity() -> None:
    identity = Link(ScriptedLine(0x4F574D42, 2, 0x1000, 0x4000, 50_000_000, 3, 900)).identify()
    assert (identity.memory_base, identity.memory_bytes) == (0x1000, 0x4000)
    assert (identity.clock_hz, identity.dropped, identity.access_cycles) == (50_000_000, 3, 900)


def test_no_port() -> None:
    with pytest.raises(LinkError, match="cannot open the serial port /dev/openwmma-none"):
        open_board("/dev/openwmma-none", PRESETS["tiny"], 1_000_000)


def test_tries() -> None:
    with pytest.raises(ValueError, match="tries must be at least 1, not 0"):
        Link(ScriptedLine(), tries=0)
