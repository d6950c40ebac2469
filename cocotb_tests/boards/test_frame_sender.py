"""The frame sender: the bytes of each answer, against frames encoded in Python."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from boards.gateware.frame_sender import FrameSender
from boards.gateware.frames import ANSWER_START, MOST_WORDS, Status
from boards.host.frame_codec import checksum
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, start
from sim.testbench.unit import unit_design


def frame(sequence: int, status: int, words: list[int]) -> list[int]:
    """The bytes of an answer."""
    content = bytes([sequence, status, len(words)]) + b"".join(word.to_bytes(4, "little") for word in words)
    return [ANSWER_START, *content, *checksum(content)]


class Bench:
    """The unit with a payload that is written before an answer is sent."""

    def __init__(self, dut: Any, share: float) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.answers = StreamSource(dut, "answer")
        pause = pauses(random.Random(self.rng.random()), share) if share else never()
        self.bytes = StreamSink(dut, "bytes", pause)
        self.payload = [0] * MOST_WORDS
        dut.write.value = 0

    async def write(self, address: int, word: int) -> None:
        """Set one word of the payload."""
        self.dut.write.value, self.dut.address.value, self.dut.word.value = 1, address, word
        self.payload[address] = word
        await RisingEdge(self.dut.aclk)
        self.dut.write.value = 0

    async def send(self, words: int) -> None:
        """Send an answer with the first words of the payload and compare all its bytes."""
        sequence, status = self.rng.getrandbits(8), self.rng.choice(list(Status)).value
        await self.answers.send(sequence | status << 8 | words << 16)
        expected = frame(sequence, status, self.payload[:words])
        received = await self.bytes.take(len(expected))
        assert received == expected
        while not self.dut.answer_ready.value:
            await RisingEdge(self.dut.aclk)
        assert not self.bytes.received, "more bytes than the frame has"


@cocotb.test
@cocotb.parametrize(share=[0, 0.5])
async def answers(dut: Any, share: float) -> None:
    """No words, one, the most, and any number; words not written again are those of the answer before."""
    bench = Bench(dut, share)
    await start(dut)
    for address in range(MOST_WORDS):
        await bench.write(address, bench.rng.getrandbits(32))
    for words in (0, 1, MOST_WORDS, MOST_WORDS, *(bench.rng.randrange(MOST_WORDS + 1) for _ in range(12))):
        for _ in range(bench.rng.choice((0, 1, 5))):
            await bench.write(bench.rng.randrange(MOST_WORDS), bench.rng.getrandbits(32))
        await bench.send(words)


@cocotb.test
async def cycles(dut: Any) -> None:
    """A byte in each cycle, but one cycle for each word and one for the checksum."""
    bench = Bench(dut, 0)
    await start(dut)
    for words in (0, 1, 7):
        await bench.answers.send(words << 16)
        count = 0
        while len(bench.bytes.received) < len(frame(0, 0, [0] * words)):
            await RisingEdge(dut.aclk)
            count += 1
        bench.bytes.received.clear()
        assert count <= 4 + 5 * words + 1 + 2 + 2
        while not dut.answer_ready.value:
            await RisingEdge(dut.aclk)


def test_frame_sender(simulate: Simulate) -> None:
    simulate(unit_design("frame_sender", FrameSender()), __name__)
