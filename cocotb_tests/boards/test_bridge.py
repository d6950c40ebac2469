"""The bridge at its pins: the host's own software, and frames broken in every way."""

import random
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge as in_thread
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from boards.gateware.board_config import BoardConfig
from boards.gateware.frames import ANSWER_START, IDENTITY, MOST_WORDS, PROTOCOL, REQUEST_START, Kind, Status
from boards.gateware.uart_bridge import UartBridge
from boards.host.frame_codec import AnswerFrame, checksum, encode_request, read_answer
from boards.host.link import BoardRefusal, BoardTimeout, Link, LinkError
from cocotb_tests.boards.board_models import HostModel, MemoryModel, plain_design
from cocotb_tests.boards.serial_line import CLOCK_PS, PinTransport, SerialLine, byte_errors
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import reset, start
from hdl.config import CoreConfig
from hdl.memory.axi import HOST_ADDRESS_BITS

CONFIG = BoardConfig(
    core=CoreConfig(),
    memory_bytes=1 << 16,
    memory_base=0xE5A5_0000,
    clock_hz=50_000_000,
    baud=12_500_000,
    access_cycles=3000,
    gap_microseconds=8,
)
BASE, SIZE = CONFIG.memory_base, CONFIG.memory_bytes
GAP_BITS = CONFIG.gap_cycles / CONFIG.divider
TIMEOUT_BITS = 1200
SLVERR, DECERR = 2, 3
DROPS_FROM = (1 << 31) - 2
"""The count of lost frames starts with this, so that a carry passes through all its bits."""


class Bench:
    """The line, and what is behind the bridge."""

    def __init__(self, dut: Any, share: float = 0.2) -> None:
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.line = SerialLine(dut, CONFIG.divider)
        self.host = HostModel(dut, self.rng, share)
        self.memory = MemoryModel(dut, self.rng, share, BASE, SIZE)
        self.dropped = 0
        self.sequence = 0
        cocotb.start_soon(self._count())

    async def begin(self) -> None:
        """Start the clock."""
        await start(self.dut)
        await self.line.idle(2)

    async def with_link(self, work: Callable[[Link], None], *, tries: int = 6) -> Link:
        """Run the host's software until its work is done."""
        link = Link(PinTransport(self.line, TIMEOUT_BITS), tries=tries)
        await in_thread(work)(link)
        return link

    def words(self, count: int) -> list[int]:
        """Words at random, some with start bytes in them."""
        starts = int.from_bytes([REQUEST_START, ANSWER_START] * 2, "little")
        return [self.rng.choice([self.rng.getrandbits(32), starts]) for _ in range(count)]

    def next_sequence(self) -> int:
        """Another sequence number than the last one."""
        self.sequence = (self.sequence + 1) % 256
        return self.sequence

    async def send(self, frame: bytes) -> None:
        """Send bytes."""
        await self.line.send(frame)

    async def answer(self) -> AnswerFrame | None:
        """The next answer; None when there is none for a while, or it is damaged."""
        received = await self.line.take(1, TIMEOUT_BITS)
        if not received:
            return None
        received += await self.line.take(3, 35)
        received += await self.line.take(4 * received[3] + 2, 11 * (4 * received[3] + 2))
        answer = read_answer(BytesIO(received).read, received[1])
        assert answer is not None, f"a damaged answer: {received.hex()}"
        return answer

    async def silent(self) -> None:
        """Check that nothing comes, for longer than the gap."""
        await self.line.idle(2 * GAP_BITS)
        assert not self.line.received

    async def check_alive(self) -> None:
        """A write and a read at once, without another try."""
        address = BASE + 4 * self.rng.randrange(SIZE // 4)
        value = self.rng.getrandbits(32)
        payload = value.to_bytes(4, "little")
        writes = len(self.memory.writes)
        sequence = self.next_sequence()
        await self.send(encode_request(sequence, Kind.WRITE_MEMORY, address, 1, payload))
        assert await self.answer() == AnswerFrame(sequence=sequence, status=Status.DONE, payload=b"")
        assert self.memory.writes[writes:] == [(address, value)]
        sequence = self.next_sequence()
        await self.send(encode_request(sequence, Kind.READ_MEMORY, address, 1))
        assert await self.answer() == AnswerFrame(sequence=sequence, status=Status.DONE, payload=payload)

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.dropped)
            self.dropped += 1


def successive(address: int, values: Iterable[int]) -> list[tuple[int, int]]:
    return [(address + 4 * index, value) for index, value in enumerate(values)]


@cocotb.test
async def reads_and_writes(dut: Any) -> None:
    """Ranges of any length through the host's software: each word once, in order, at its address."""
    bench = Bench(dut)
    await bench.begin()

    def work(link: Link) -> None:
        identity = link.identify()
        assert (identity.memory_base, identity.memory_bytes) == (BASE, SIZE)
        assert (identity.clock_hz, identity.dropped) == (CONFIG.clock_hz, DROPS_FROM)
        for count in (1, 2, MOST_WORDS - 1, MOST_WORDS, MOST_WORDS + 1, 150):
            for model, write, read, base, end in (
                (bench.memory, link.write_memory, link.read_memory, BASE, BASE + SIZE),
                (bench.host, link.write_host, link.read_host, 0, 1 << HOST_ADDRESS_BITS),
            ):
                for address in (base, end - 4 * count, base + 4 * bench.rng.randrange(1000)):
                    model.writes.clear()
                    values = bench.words(count)
                    write(address, np.array(values, dtype=np.uint32))
                    assert model.writes == successive(address, values)
                    assert read(address, count).tolist() == values

    link = await bench.with_link(work)
    assert link.repeated == 0
    assert bench.dropped == 0


@cocotb.test
async def commands_queued(dut: Any) -> None:
    """Of each command word 0 is written last, at any number of commands."""
    bench = Bench(dut)
    await bench.begin()

    def work(link: Link) -> None:
        link.identify()
        for count in (1, 2, 12, 13, 25):
            commands = np.array([bench.words(5) for _ in range(count)], dtype=np.uint32)
            bench.host.writes.clear()
            link.queue_commands(0x60, commands)
            expected = [
                (0x60 + 4 * word, int(command[word])) for command in commands for word in (1, 2, 3, 4, 0)
            ]
            assert bench.host.writes == expected

    await bench.with_link(work)


@cocotb.test
async def refusals(dut: Any) -> None:
    """A word that is refused ends a request; the host learns which one, and nothing behind it is tried."""
    bench = Bench(dut)
    await bench.begin()

    def refused(kind: Kind, address: int, done: int, access: Callable[[], object]) -> None:
        with pytest.raises(BoardRefusal) as caught:
            access()
        refusal = caught.value
        assert (refusal.kind, refusal.address, refusal.done) == (kind, address, done)

    def work(link: Link) -> None:
        link.identify()
        for done in (0, 1, 5, 19):
            values = np.array(bench.words(20), dtype=np.uint32)
            for response in (SLVERR, DECERR):
                bench.host.refusals = {0x100 + 4 * done: response}
                bench.host.writes.clear()
                bench.host.reads.clear()
                refused(Kind.WRITE_HOST, 0x100, done, lambda v=values: link.write_host(0x100, v))
                refused(Kind.READ_HOST, 0x100, done, lambda: link.read_host(0x100, 20))
                assert len(bench.host.writes) == len(bench.host.reads) == done + 1
            end = (1 << HOST_ADDRESS_BITS) - 4 * done
            bench.host.refusals = {}
            bench.host.writes.clear()
            refused(Kind.WRITE_HOST, end, done, lambda e=end, v=values: link.write_host(e, v))
            refused(Kind.READ_HOST, end, done, lambda e=end: link.read_host(e, 20))
            assert len(bench.host.writes) == done
            end = BASE + SIZE - 4 * done
            refused(Kind.WRITE_MEMORY, end, done, lambda e=end, v=values: link.write_memory(e, v))
            refused(Kind.READ_MEMORY, end, done, lambda e=end: link.read_memory(e, 20))
        bench.host.refusals = {0x60 + 4: SLVERR}
        bench.host.writes.clear()
        commands = np.array([bench.words(5)] * 2, dtype=np.uint32)
        refused(Kind.QUEUE_COMMANDS, 0x60, 0, lambda: link.queue_commands(0x60, commands))
        assert len(bench.host.writes) == 1
        bench.host.refusals = {0x60: SLVERR}
        refused(Kind.QUEUE_COMMANDS, 0x60, 4, lambda: link.queue_commands(0x60, commands))

    await bench.with_link(work)
    await bench.check_alive()


@cocotb.test
async def addresses_of_nothing(dut: Any) -> None:
    """Addresses far from everything are refused; the memory is asked with all their bits."""
    bench = Bench(dut)
    await bench.begin()
    asked = []
    for kind in [Kind.READ_HOST, Kind.WRITE_HOST, Kind.READ_MEMORY, Kind.WRITE_MEMORY] * 6:
        address = bench.rng.randrange(1 << 20, 1 << 32, 4)
        value = bench.rng.getrandbits(32)
        payload = value.to_bytes(4, "little") if kind in (Kind.WRITE_HOST, Kind.WRITE_MEMORY) else b""
        sequence = bench.next_sequence()
        await bench.send(encode_request(sequence, kind, address, 1, payload))
        assert await bench.answer() == AnswerFrame(
            sequence=sequence, status=Status.REFUSED, payload=bytes(4)
        ), (kind, address)
        if kind is Kind.WRITE_MEMORY:
            asked.append((address, value))
    assert bench.host.writes == bench.host.reads == []
    assert bench.memory.writes == asked
    await bench.check_alive()


def raw_frame(sequence: int, kind: int, address: int, words: int, payload: bytes = b"") -> bytes:
    content = bytes([sequence, kind]) + address.to_bytes(4, "little") + bytes([words]) + payload
    return bytes([REQUEST_START]) + content + checksum(content)


@cocotb.test
async def malformed_requests(dut: Any) -> None:
    """Unknown kinds, odd addresses and empty requests are answered, and nothing is done."""
    bench = Bench(dut)
    await bench.begin()
    kinds = {kind.value for kind in Kind}
    unknown = [kind for kind in range(256) if kind not in kinds]
    cases = [(kind, BASE, 1) for kind in [*unknown[:12], *bench.rng.sample(unknown[12:], 30)]]
    cases += [(kind, BASE + odd, 2) for kind in kinds - {0} for odd in (1, 2, 3)]
    cases += [(kind, BASE, 0) for kind in kinds - {0}]
    for kind, address, words in cases:
        sequence = bench.next_sequence()
        await bench.send(raw_frame(sequence, kind, address, words, bytes(4 * words if kind & 1 else 0)))
        expected = AnswerFrame(sequence=sequence, status=Status.MALFORMED, payload=b"")
        assert await bench.answer() == expected, (kind, address, words)
    assert bench.host.writes == bench.host.reads == bench.memory.writes == []
    await bench.check_alive()
    assert bench.dropped == 0


@cocotb.test
async def broken_frames(dut: Any) -> None:
    """A byte changed, lost, doubled or without stop bit, at each place: nothing is done, then all is well."""
    bench = Bench(dut)
    await bench.begin()
    for breakage in ("change", "lose", "double", "stop"):
        for place in range(18):
            values = bench.words(2)
            payload = np.array(values, dtype="<u4").tobytes()
            sequence = bench.next_sequence()
            frame = encode_request(sequence, Kind.WRITE_HOST, 0x200, 2, payload)
            if breakage == "change":
                await bench.send(
                    frame[:place] + bytes([frame[place] ^ 1 << bench.rng.randrange(8)]) + frame[place + 1 :]
                )
            elif breakage == "lose":
                await bench.send(frame[:place] + frame[place + 1 :])
            elif breakage == "double" and frame[place] not in frame[place + 1 :] and 0 < place < 17:
                await bench.send(frame[: place + 1] + frame[place:])
            elif breakage == "stop":
                await bench.send(frame[:place])
                await bench.line.byte(frame[place], stop=0)
                await bench.line.idle(1)
                await bench.send(frame[place + 1 :])
            await bench.silent()
            assert not bench.host.writes, (breakage, place)
            await bench.check_alive()
    assert bench.dropped > 50


@cocotb.test
async def back_in_step(dut: Any) -> None:
    """Behind a wrong checksum, length or stop bit a frame is understood at once; behind a part, later."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(10):
        payload = bench.rng.randbytes(8)
        frame = encode_request(bench.next_sequence(), Kind.WRITE_HOST, 0x200, 2, payload)
        await bench.send(frame[:-1] + bytes([frame[-1] ^ 0x10]))
        await bench.check_alive()
        words = bench.rng.choice([MOST_WORDS + 1, 128, 255])
        await bench.send(raw_frame(bench.next_sequence(), Kind.WRITE_HOST.value, 0x200, words)[:-2])
        await bench.check_alive()
        await bench.send(frame[: bench.rng.randrange(1, len(frame))])
        await bench.line.byte(bench.rng.randrange(256), stop=0)
        await bench.line.idle(2)
        await bench.check_alive()
        await bench.send(frame[: bench.rng.randrange(1, len(frame))])
        await bench.line.idle(GAP_BITS + 2)
        await bench.check_alive()
        # Silence that is just shorter belongs to the frame.
        frame = encode_request(sequence := bench.next_sequence(), Kind.READ_HOST, 0x200, 1)
        middle = bench.rng.randrange(1, len(frame))
        await bench.send(frame[:middle])
        await bench.line.idle(GAP_BITS - 13)
        await bench.send(frame[middle:])
        answer = await bench.answer()
        assert answer == AnswerFrame(sequence=sequence, status=Status.DONE, payload=bytes(4))
    assert not bench.host.writes
    assert bench.dropped == 40


@cocotb.test
async def garbage(dut: Any) -> None:
    """Bytes and levels without sense do nothing, and after the gap all is well."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(12):
        for _ in range(150):
            match bench.rng.randrange(4):
                case 0:
                    await bench.line.level(bench.rng.randrange(2), bench.rng.uniform(0.05, 3))
                case 1:
                    await bench.line.byte(REQUEST_START)
                case _:
                    await bench.line.byte(bench.rng.randrange(256))
        await bench.silent()
        assert bench.host.writes == bench.host.reads == []
        await bench.check_alive()


@cocotb.test
async def repetitions(dut: Any) -> None:
    """A frame that comes again is answered as before and not executed again, whatever came in between."""
    bench = Bench(dut)
    await bench.begin()
    for round_number in range(12):
        values = bench.words(3)
        bench.host.words.update(successive(0x300, values))
        bench.host.refusals = {0x308: SLVERR} if round_number % 3 == 2 else {}
        reads, writes = len(bench.host.reads), len(bench.host.writes)
        kind = bench.rng.choice([Kind.READ_HOST, Kind.WRITE_HOST])
        payload = bytes(12) if kind is Kind.WRITE_HOST else b""
        frame = encode_request(bench.next_sequence(), kind, 0x300, 3, payload)
        await bench.send(frame)
        first = await bench.answer()
        assert first is not None
        accesses = len(bench.host.reads) - reads, len(bench.host.writes) - writes
        assert sum(accesses) == 3
        bench.host.words.update(successive(0x300, bench.words(3)))
        bench.host.refusals = {}
        for _ in range(3):
            match bench.rng.randrange(3):
                case 0:
                    await bench.send(frame[: bench.rng.randrange(1, len(frame))])
                    await bench.line.idle(2 * GAP_BITS)
                case 1:
                    other = encode_request(99, Kind.WRITE_HOST, 0x300, 3, bench.rng.randbytes(12))
                    await bench.send(other[:-1] + bytes([other[-1] ^ 1]))
            await bench.send(frame)
            assert await bench.answer() == first
        assert (len(bench.host.reads) - reads, len(bench.host.writes) - writes) == accesses
    await bench.check_alive()


@cocotb.test
async def sessions(dut: Any) -> None:
    """IDENTIFY is executed whatever its number is, and then that number counts as used."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(3):
        await bench.send(encode_request(7, Kind.READ_HOST, 0x300, 1))
        assert await bench.answer() == AnswerFrame(sequence=7, status=Status.DONE, payload=bytes(4))
        await bench.send(bytes([REQUEST_START, 1, 2]))
        await bench.line.idle(2 * GAP_BITS)
        for _ in range(2):
            await bench.send(encode_request(7, Kind.IDENTIFY, 0, 0))
            answer = await bench.answer()
            assert answer is not None
            found = np.frombuffer(answer.payload, dtype="<u4").tolist()
            assert found == [
                IDENTITY,
                PROTOCOL,
                BASE,
                SIZE,
                CONFIG.clock_hz,
                DROPS_FROM + bench.dropped,
                CONFIG.access_cycles,
            ]
        reads = len(bench.host.reads)
        await bench.send(encode_request(7, Kind.READ_HOST, 0x300, 1))
        assert await bench.answer() == answer
        assert len(bench.host.reads) == reads
        await bench.check_alive()
    assert bench.dropped == 3


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def noisy_line(dut: Any) -> None:
    """Bytes lost, changed, doubled and made up both ways: each access once, each answer right."""
    bench = Bench(dut)
    await bench.begin()
    noise = random.Random(cocotb.RANDOM_SEED + 1)
    bench.line.to_unit = bench.line.from_unit = byte_errors(noise, 2000, adds=True)

    def work(link: Link) -> None:
        link.identify()
        for _ in range(40):
            count = bench.rng.choice([1, 3, 40, 100])
            values = bench.words(count)
            address = BASE + 4 * bench.rng.randrange(1000)
            bench.memory.writes.clear()
            link.write_memory(address, np.array(values, dtype=np.uint32))
            assert bench.memory.writes == successive(address, values)
            assert link.read_memory(address, count).tolist() == values

    link = await bench.with_link(work, tries=12)
    assert link.repeated > 10, link.repeated
    assert bench.dropped > 5


@cocotb.test
async def nobody_there(dut: Any) -> None:
    """A line that is dead, or talks without end, ends in an error after the tries, not in a hang."""
    bench = Bench(dut)
    await bench.begin()
    sent = 0

    def lose(byte: int) -> Iterable[int]:
        nonlocal sent
        sent += 1
        return ()

    bench.line.to_unit = lose

    def work(link: Link) -> None:
        with pytest.raises(LinkError, match="no good answer to READ_HOST at 0x0 in 3 tries"):
            link.read_host(0, 1)

    await bench.with_link(work, tries=3)
    assert sent == 3 * 10


@cocotb.test
async def impatient_host(dut: Any) -> None:
    """Frames that come while a request is executed are lost; its answer comes, and then all is well."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(5):
        bench.memory.running.clear()
        sequence = bench.next_sequence()
        frame = encode_request(sequence, Kind.WRITE_MEMORY, BASE, 2, bytes(8))
        writes = len(bench.memory.writes)
        for _ in range(3):
            await bench.send(frame)
            await bench.line.idle(bench.rng.uniform(0, 30))
        await bench.send(frame[: bench.rng.randrange(1, len(frame))])
        bench.memory.running.set()
        assert await bench.answer() == AnswerFrame(sequence=sequence, status=Status.DONE, payload=b"")
        await bench.silent()
        assert len(bench.memory.writes) == writes + 2
        await bench.check_alive()


@cocotb.test
async def both_ways_at_once(dut: Any) -> None:
    """A request that comes while an answer is still sent waits, and leaves that answer whole."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(4):
        first, second = bench.words(MOST_WORDS), bench.words(MOST_WORDS)
        bench.memory.words.update(successive(BASE, first))
        bench.memory.words.update(successive(BASE + 256, second))
        numbers = [bench.next_sequence() for _ in range(2)]
        await bench.send(encode_request(numbers[0], Kind.READ_MEMORY, BASE, MOST_WORDS))
        while not bench.line.received:
            await bench.line.idle(1)
        await bench.send(encode_request(numbers[1], Kind.READ_MEMORY, BASE + 256, MOST_WORDS))
        for sequence, values in zip(numbers, (first, second), strict=True):
            payload = np.array(values, dtype="<u4").tobytes()
            assert await bench.answer() == AnswerFrame(sequence=sequence, status=Status.DONE, payload=payload)


HANGS = [
    *((Kind.READ_HOST, name) for name in ("ar", "r")),
    *((Kind.WRITE_HOST, name) for name in ("aw", "w", "b")),
    *((Kind.QUEUE_COMMANDS, name) for name in ("aw", "w", "b")),
    *((kind, name) for kind in (Kind.READ_MEMORY, Kind.WRITE_MEMORY) for name in ("memory", "memory_answer")),
]
"""Requests, and the stream that waits for ever."""


@cocotb.test
async def unanswered_accesses(dut: Any) -> None:
    """An access that nobody answers ends in time; until its late answer came, nothing else is begun."""
    bench = Bench(dut)
    await bench.begin()
    channels = bench.host.channels | bench.memory.channels
    for kind, name in HANGS:
        base = BASE + 0x500 if "MEMORY" in kind.name else 0x60
        payload = bench.rng.randbytes(20) if kind.value & 1 else b""
        channels[name].held = True
        frame = encode_request(sequence := bench.next_sequence(), kind, base, 5, payload)
        bench.host.writes.clear()
        bench.memory.writes.clear()
        bench.line.starts.clear()
        await bench.send(frame)
        sent = int(get_sim_time("ps"))
        timed_out = AnswerFrame(sequence=sequence, status=Status.TIMED_OUT, payload=bytes(4))
        assert await bench.answer() == timed_out, (kind, name)
        waited = (bench.line.starts[0] - sent) / CLOCK_PS
        assert CONFIG.access_cycles - 10 < waited < CONFIG.access_cycles + 30, (kind, name, waited)
        reads = len(bench.host.reads)
        await bench.send(frame)
        assert await bench.answer() == timed_out, "a repetition"
        for other in (Kind.READ_HOST, Kind.WRITE_HOST, Kind.READ_MEMORY, Kind.WRITE_MEMORY):
            sequence = bench.next_sequence()
            sent_words = bench.rng.randbytes(4) if other.value & 1 else b""
            await bench.send(
                encode_request(sequence, other, BASE if "MEMORY" in other.name else 4, 1, sent_words)
            )
            assert await bench.answer() == AnswerFrame(
                sequence=sequence, status=Status.TIMED_OUT, payload=bytes(4)
            ), (kind, name, other)
        await bench.send(encode_request(sequence := bench.next_sequence(), Kind.IDENTIFY, 0, 0))
        answer = await bench.answer()
        assert answer is not None
        found = np.frombuffer(answer.payload, dtype="<u4").tolist()
        constants = [IDENTITY, PROTOCOL, BASE, SIZE, CONFIG.clock_hz]
        assert found == [*constants, DROPS_FROM + bench.dropped, CONFIG.access_cycles]
        await bench.send(raw_frame(sequence := bench.next_sequence(), 0x42, 0, 1))
        assert await bench.answer() == AnswerFrame(sequence=sequence, status=Status.MALFORMED, payload=b"")
        channels[name].held = False
        await bench.line.idle(10)
        # What was offered has been taken unchanged, once, and nothing else.
        first = base + 4 * (kind is Kind.QUEUE_COMMANDS)
        word = int.from_bytes(payload[:4], "little")
        late = [(first, word)] if payload else []
        in_memory = kind is Kind.WRITE_MEMORY
        assert bench.memory.writes == (late if in_memory else []), (kind, name)
        assert bench.host.writes == ([] if in_memory else late), (kind, name)
        assert len(bench.host.reads) - reads == (name == "ar")
        await bench.check_alive()
        value = bench.rng.getrandbits(32)
        bench.host.words[0x204] = value
        await bench.send(encode_request(sequence := bench.next_sequence(), Kind.READ_HOST, 0x204, 1))
        assert await bench.answer() == AnswerFrame(
            sequence=sequence, status=Status.DONE, payload=value.to_bytes(4, "little")
        )


@cocotb.test
async def late_answers(dut: Any) -> None:
    """An answer about when the time is over, or while another request comes, is only of its own access."""
    bench = Bench(dut, 0)
    await bench.begin()
    limit = CONFIG.access_cycles
    releases = [
        *range(limit - 12, limit + 24, 2),
        *(limit + bench.rng.randrange(200, 1100) for _ in range(30)),
    ]
    outcomes = set()
    for release in releases:
        words = bench.words(2)
        bench.host.words.update({0x300: words[0], 0x304: words[1]})
        bench.host.channels["r"].held = True
        await bench.send(encode_request(first := bench.next_sequence(), Kind.READ_HOST, 0x300, 1))

        async def let_go(cycles: int) -> None:
            await Timer(cycles * CLOCK_PS, "ps")
            bench.host.channels["r"].held = False

        cocotb.start_soon(let_go(release))
        answer = await bench.answer()
        assert answer is not None
        assert answer.sequence == first
        done = answer.status is Status.DONE
        assert done or answer.status is Status.TIMED_OUT
        assert answer.payload == (words[0] if done else 0).to_bytes(4, "little")
        outcomes.add(("first", answer.status))
        await bench.send(encode_request(second := bench.next_sequence(), Kind.READ_HOST, 0x304, 1))
        answer = await bench.answer()
        assert answer is not None
        assert answer.sequence == second
        done = answer.status is Status.DONE
        assert done or answer.status is Status.TIMED_OUT
        assert answer.payload == (words[1] if done else 0).to_bytes(4, "little")
        outcomes.add(("second", answer.status))
        while bench.host.channels["r"].held:
            await bench.line.idle(1)
        await bench.line.idle(5)
        await bench.check_alive()
    assert len(outcomes) == 4, "before and after the limit, and before and after the next request"


@cocotb.test
async def timeouts_are_reported(dut: Any) -> None:
    """The host's software names the word that was not answered, and the time."""
    bench = Bench(dut)
    await bench.begin()
    bench.host.hangs = {0x10C, 0x60}

    def work(link: Link) -> None:
        link.identify()
        accesses: list[tuple[str, int, Callable[[], object]]] = [
            ("read host", 0x10C, lambda: link.read_host(0x100, 20)),
            ("write host", 0x10C, lambda: link.write_host(0x100, np.zeros(20, dtype=np.uint32))),
            ("queue commands", 0x60, lambda: link.queue_commands(0x60, np.zeros((2, 5), dtype=np.uint32))),
        ]
        for name, address, access in accesses:
            with pytest.raises(BoardTimeout) as caught:
                access()
            assert caught.value.address == address
            assert str(caught.value) == (
                f"nothing answered the board's try to {name} at {address:#x} within 3000 cycles of its clock "
                "(60 us); reset the board"
            )
            for channel in bench.host.channels.values():
                channel.held = False
            link.identify()

    link = await bench.with_link(work)
    assert link.repeated == 0


@cocotb.test
async def block_in_time(dut: Any) -> None:
    """256 bytes take the time of their frames on the line and at most ten cycles a word."""
    bench = Bench(dut, 0)
    await bench.begin()
    payload = bench.rng.randbytes(4 * MOST_WORDS)
    bits = 10 * CONFIG.divider * CLOCK_PS
    for kind, sent in ((Kind.WRITE_MEMORY, payload), (Kind.READ_MEMORY, b"")):
        frame = encode_request(bench.next_sequence(), kind, BASE, MOST_WORDS, sent)
        bench.line.starts.clear()
        begun = int(get_sim_time("ps"))
        await bench.send(frame)
        answer = await bench.answer()
        assert answer is not None
        assert answer.payload == (b"" if sent else payload)
        ended = bench.line.starts[-1] + bits
        answered = len(bench.line.starts)
        assert answered == 6 + len(answer.payload)
        assert ended - begun <= bits * (len(frame) + answered) + (10 * MOST_WORDS + 20) * CLOCK_PS
        steps = [later - at for at, later in zip(bench.line.starts, bench.line.starts[1:], strict=False)]
        assert set(steps) == {bits}, "the answer has no gaps"


@cocotb.test
async def resets(dut: Any) -> None:
    """Reset in the middle of a frame, of its execution and of its answer: a number used before is new."""
    bench = Bench(dut)
    await bench.begin()
    for round_number in range(24):
        kind = bench.rng.choice([Kind.READ_MEMORY, Kind.READ_HOST, Kind.WRITE_HOST])
        payload = bench.rng.randbytes(80) if kind is Kind.WRITE_HOST else b""
        frame = encode_request(5, kind, BASE, 20, payload)
        if round_number % 3 == 1:
            bench.memory.running.clear()
        sending = cocotb.start_soon(bench.send(frame))
        if round_number % 3:
            await sending
        await Timer(round(bench.line.bit_ps * bench.rng.uniform(2, 80)), "ps")
        sending.cancel()
        dut.aresetn.value = 0
        dut.rx.value = 1
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        await ReadOnly()
        assert dut.tx.value
        for name in ("host_aw", "host_w", "host_ar", "memory"):
            assert not getattr(dut, f"{name}_valid").value, name
        await RisingEdge(dut.aclk)
        bench.memory.running.set()
        await reset(dut)
        await bench.line.idle(15)
        bench.line.received.clear()
        # The number of the frame in front means nothing any more.
        reads = len(bench.host.reads)
        await bench.send(encode_request(5, Kind.READ_HOST, 0x400, 1))
        answer = await bench.answer()
        assert answer == AnswerFrame(sequence=5, status=Status.DONE, payload=bytes(4))
        assert bench.host.reads[reads:] == [0x400]
        bench.sequence = 5
        await bench.check_alive()


def test_bridge(simulate: Simulate) -> None:
    simulate(plain_design("uart_bridge", UartBridge(CONFIG, drops_from=DROPS_FROM)), __name__)
