"""The frame receiver on lines with damaged frames, against a parser in Python."""

import random
from collections.abc import Iterator
from typing import Any, Final

import cocotb
from cocotb.triggers import RisingEdge

from boards.gateware.frame_receiver import FrameReceiver
from boards.gateware.frames import MOST_WORDS, REQUEST_START
from boards.host.frame_codec import checksum
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start
from sim.testbench.unit import unit_design

GAP: Final = 9
SILENCE: Final = -1
"""In the place of a byte: so many cycles without one that a frame is given up."""

BROKEN: Final = -2
"""In the place of a byte: one was lost."""

_HEADER: Final = 7


def frame(sequence: int, kind: int, address: int, words: list[int], count: int) -> list[int]:
    """The bytes of a request; only an odd kind has the words with it."""
    content = bytes([sequence, kind]) + address.to_bytes(4, "little") + bytes([count])
    if kind & 1:
        content += b"".join(word.to_bytes(4, "little") for word in words)
    return [REQUEST_START, *content, *checksum(content)]


def parse(line: list[int]) -> tuple[list[int] | None, int, int]:
    """Read a line until the end of its first request.

    Returns
    -------
    content : list of int or None
        Header and payload of the request; None if the line has none.
    dropped : int
        Frames that were given up before.
    used : int
        How much of the line was read.
    """
    dropped = position = 0
    while position < len(line):
        position += 1
        if line[position - 1] != REQUEST_START:
            continue
        content: list[int] = []
        wanted = _HEADER
        while len(content) < wanted:
            if position == len(line):
                return None, dropped, position
            item = line[position]
            position += 1
            if item < 0:
                break
            content.append(item)
            if len(content) == _HEADER:
                if item > MOST_WORDS:
                    break
                wanted = _HEADER + (4 * item if content[1] & 1 else 0) + 2
        else:
            if bytes(content[-2:]) == checksum(bytes(content[:-2])):
                return content[:-2], dropped, position
        dropped += 1
    return None, dropped, position


class Bench:
    """The unit, the bytes it is given and the frames it has given up."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.dropped = 0
        dut.bytes_valid.value = dut.broken.value = dut.request_ready.value = dut.address.value = 0
        cocotb.start_soon(self._count())

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.aclk)
            if self.dut.aresetn.value:
                self.dropped += int(self.dut.dropped.value)

    async def idle(self, cycles: int) -> None:
        """Wait."""
        for _ in range(cycles):
            await RisingEdge(self.dut.aclk)

    async def send(self, line: list[int], longest: int = GAP - 1) -> None:
        """Send bytes, silences and losses, with up to `longest` cycles between bytes."""
        dut = self.dut
        for item in line:
            if item == SILENCE:
                await self.idle(GAP + 1 + self.rng.randrange(4))
                continue
            if item == BROKEN:
                dut.broken.value = 1
                await RisingEdge(dut.aclk)
                dut.broken.value = 0
                continue
            dut.bytes_payload.value, dut.bytes_valid.value = item, 1
            await RisingEdge(dut.aclk)
            while not dut.bytes_ready.value:
                await RisingEdge(dut.aclk)
            dut.bytes_valid.value = 0
            dut.bytes_payload.value = self.rng.getrandbits(8)
            # The cycle in which the byte is withdrawn is one without a byte only if no other follows at once.
            await self.idle(self.rng.choice((0, 0, 0, self.rng.randrange(longest + 1), longest)))

    async def take(self, content: list[int]) -> None:
        """Compare the request on offer and its words, then take it."""
        dut = self.dut
        await self.idle(3)
        assert dut.request_valid.value
        assert int(dut.request_payload.value) == int.from_bytes(bytes(content[:_HEADER]), "little")
        await self.send([self.rng.choice((REQUEST_START, 0, 255)) for _ in range(self.rng.randrange(12))])
        payload = bytes(content[_HEADER:])
        for index in range(len(payload) // 4):
            dut.address.value = index
            await self.idle(2)
            assert int(dut.word.value) == int.from_bytes(payload[4 * index : 4 * index + 4], "little")
        assert dut.request_valid.value
        dut.request_ready.value = 1
        await RisingEdge(dut.aclk)
        dut.request_ready.value = 0
        await self.idle(2)
        assert not dut.request_valid.value


def random_frame(rng: random.Random, count: int) -> list[int]:
    kind = rng.choice((0, 2, 3, 4, 5, 7, 0xFF))
    words = [rng.getrandbits(32) for _ in range(count)]
    return frame(rng.getrandbits(8), kind, rng.getrandbits(32), words, count)


def damaged(rng: random.Random) -> Iterator[int]:
    """A frame that is cut off, disturbed, or too long, or no frame at all."""
    line = random_frame(rng, rng.choice((0, 1, 3)))
    how = rng.randrange(6)
    at = rng.randrange(1, len(line))
    if how == 0:
        line[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        line[at:] = [SILENCE]
    elif how == 2:
        line.insert(at, SILENCE)
    elif how == 3:
        line.insert(at, BROKEN)
    elif how == 4:
        line[_HEADER] = rng.randrange(MOST_WORDS + 1, 256)
    else:
        line = [rng.getrandbits(8) for _ in range(rng.randrange(20))]
    yield from line
    if rng.getrandbits(1):
        yield SILENCE


@cocotb.test
async def requests(dut: Any) -> None:
    """Frames of all lengths, alone and behind damaged ones."""
    bench = Bench(dut)
    await start(dut)
    counts = [0, 1, MOST_WORDS, *(bench.rng.randrange(6) for _ in range(60))]
    found = dropped = 0
    for count in counts:
        line = [item for _ in range(bench.rng.randrange(3)) for item in damaged(bench.rng)]
        line += [SILENCE, *random_frame(bench.rng, count)]
        content, given_up, used = parse(line)
        await bench.send(line[:used])
        dropped += given_up
        assert content is not None, "a silence makes sure of the frame behind it"
        await bench.take(content)
        assert bench.dropped == dropped
        found += 1
    assert found == len(counts)
    assert dropped > 20, "the line is to have damaged frames"


@cocotb.test
async def every_bit_counts(dut: Any) -> None:
    """A frame with any one of its bits wrong is no request."""
    bench = Bench(dut)
    await start(dut)
    line = frame(0x3C, 3, 0x1234_5678, [0xDEAD_BEEF], 1)
    for bit in range(8, 8 * len(line)):
        wrong = list(line)
        wrong[bit // 8] ^= 1 << bit % 8
        await bench.send([*wrong, SILENCE], longest=0)
        assert not dut.request_valid.value, bit
    await bench.send(line)
    await bench.take(line[1:-2])


@cocotb.test
async def gap(dut: Any) -> None:
    """`gap_cycles` without a byte end a frame, one cycle less does not."""
    bench = Bench(dut)
    await start(dut)
    line = frame(1, 2, 4, [], 0)
    for at in range(1, len(line)):
        for cycles, is_given_up in ((GAP - 1, False), (GAP, True)):
            before = bench.dropped
            await bench.send(line[:at], longest=0)
            await bench.idle(cycles)
            await bench.send(line[at:], longest=0)
            if is_given_up:
                await bench.idle(GAP + 4)
                assert not dut.request_valid.value
                assert bench.dropped == before + 1
            else:
                await bench.take(line[1:-2])
                assert bench.dropped == before


def test_frame_receiver(simulate: Simulate) -> None:
    simulate(unit_design("frame_receiver", FrameReceiver(GAP)), __name__)
