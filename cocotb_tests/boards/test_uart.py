"""The serial line's receiver and transmitter, side by side, against bits made and read in time."""

import random
from typing import Any

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from boards.gateware.uart import UartReceiver, UartTransmitter
from cocotb_tests.boards.serial_line import CLOCK_PS, SerialLine
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, reset, start
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

TOLERANCE = 0.02


class Uart(wiring.Component):
    """Both units, not connected."""

    def __init__(self, divider: int) -> None:
        self._divider = divider
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1),
                "incoming": Out(stream.Signature(8)),
                "outgoing": In(stream.Signature(8)),
                "framing_error": Out(1),
                "overrun": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self._divider)
        m.submodules.transmitter = transmitter = UartTransmitter(self._divider)
        connect(m, receiver.bytes, flipped(self.incoming))
        connect(m, flipped(self.outgoing), transmitter.bytes)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            self.tx.eq(transmitter.tx),
            self.framing_error.eq(receiver.framing_error),
            self.overrun.eq(receiver.overrun),
        ]
        return m


class Bench:
    """The line, the streams, and counts of the errors reported."""

    def __init__(self, dut: Any, share: float = 0) -> None:
        self.dut = dut
        self.divider: int = parameters()["divider"]
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.line = SerialLine(dut, self.divider)
        self.sink = StreamSink(dut, "incoming", pauses(self.rng, share) if share else never())
        self.source = StreamSource(dut, "outgoing", pauses(self.rng, share) if share else never())
        self.framing_errors = 0
        self.overruns = 0
        cocotb.start_soon(self._count())

    async def begin(self) -> None:
        """Start the clock, and wait until the receiver has seen the line high."""
        await start(self.dut)
        await self.line.idle(2)

    async def received(self) -> list[int]:
        """All that has come, a while after the last byte."""
        await self.line.idle(12)
        taken, self.sink.received[:] = list(self.sink.received), []
        return taken

    def data(self, count: int) -> list[int]:
        """Bytes at random, many of them with long runs or none."""
        return [self.rng.choice([0, 0xFF, 0x55, 0xAA, self.rng.randrange(256)]) for _ in range(count)]

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.aclk)
            await ReadOnly()
            self.framing_errors += int(self.dut.framing_error.value)
            self.overruns += int(self.dut.overrun.value)


@cocotb.test
async def bytes_in(dut: Any) -> None:
    """Bytes of a sender that is slower or faster, at any phase of the clock, with and without pauses."""
    bench = Bench(dut, 0.3 if parameters()["divider"] > 4 else 0)
    await bench.begin()
    for scale in (1 - TOLERANCE, 1 - TOLERANCE / 2, 1, 1 + TOLERANCE / 2, 1 + TOLERANCE):
        for share in (0, 0.5):
            await Timer(bench.rng.randrange(1, CLOCK_PS), "ps")
            sent = bench.data(60)
            for byte in sent:
                await bench.line.byte(byte, scale=scale)
                if bench.rng.random() < share:
                    await bench.line.idle(2 * bench.rng.random())
            assert await bench.received() == sent, scale
    assert (bench.framing_errors, bench.overruns) == (0, 0)


@cocotb.test
async def byte_in_time(dut: Any) -> None:
    """A byte is offered 9.5 bits and up to 4 clocks after the beginning of its start bit."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(20):
        await RisingEdge(dut.aclk)
        cocotb.start_soon(bench.line.byte(bench.rng.randrange(256)))
        clocks = 0
        while not dut.incoming_valid.value:
            await RisingEdge(dut.aclk)
            clocks += 1
        assert 9.5 * bench.divider < clocks <= 9.5 * bench.divider + 5, clocks
        await bench.line.idle(0.5 * bench.divider + bench.rng.random())


@cocotb.test
async def glitches(dut: Any) -> None:
    """A low shorter than a third of a bit begins no byte; one wrong clock within a bit does no harm."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(40):
        await bench.line.level(0, bench.rng.uniform(0.05, 0.3))
        await bench.line.idle(bench.rng.uniform(1, 3))
    assert not await bench.received()
    sent = bench.data(60)
    glitch = 0.9 / bench.divider
    for byte in sent:
        await bench.line.level(0, 1)
        for place in range(8):
            bit = byte >> place & 1
            # At each of the three samples.
            before = (1 - glitch) / 2 + bench.rng.choice((-1, 0, 1)) / bench.divider
            await bench.line.level(bit, before)
            await bench.line.level(1 - bit, glitch)
            await bench.line.level(bit, 1 - before - glitch)
        await bench.line.idle(1)
    assert await bench.received() == sent
    assert bench.framing_errors == 0


@cocotb.test
async def framing_errors(dut: Any) -> None:
    """A byte without a stop bit is reported and not offered, a long low once; the next byte is received."""
    bench = Bench(dut)
    await bench.begin()
    for round_number in range(1, 31):
        await bench.line.byte(bench.rng.randrange(256), stop=0)
        await bench.line.level(0, bench.rng.choice([0.05, 1, 30]))
        await bench.line.idle(bench.rng.uniform(2, 4))
        sent = bench.data(3)
        await bench.line.send(bytes(sent))
        assert await bench.received() == sent
        assert bench.framing_errors == round_number


@cocotb.test
async def high_glitches_end_no_break(dut: Any) -> None:
    """A low that is high for less than two clocks now and then is one long low, reported once."""
    bench = Bench(dut)
    await bench.begin()
    for round_number in range(1, 11):
        await bench.line.byte(0, stop=0)
        for _ in range(3):
            await bench.line.level(0, bench.rng.uniform(1, 12))
            await bench.line.level(1, bench.rng.choice([0.9, 1.8]) / bench.divider)
        await bench.line.level(0, 12)
        await bench.line.idle(2)
        sent = bench.data(2)
        await bench.line.send(bytes(sent))
        assert await bench.received() == sent
        assert bench.framing_errors == round_number


@cocotb.test
async def overruns(dut: Any) -> None:
    """While nobody takes them, the first of some bytes is kept, and each of the others reported."""
    bench = Bench(dut)
    await bench.begin()
    for round_number in range(1, 21):
        bench.sink.stop()
        first, *lost = bench.data(3)
        await bench.line.send(bytes([first, *lost]))
        await bench.line.idle(2)
        assert bench.overruns == round_number * len(lost)
        bench.sink = StreamSink(dut, "incoming")
        assert await bench.received() == [first]
    assert bench.framing_errors == 0


@cocotb.test
async def bytes_out(dut: Any) -> None:
    """Bytes that come now and then."""
    bench = Bench(dut, 0.5)
    await bench.begin()
    for _ in range(20):
        sent = bench.data(bench.rng.randrange(1, 10))
        await bench.source.send(*sent)
        assert await bench.line.take(len(sent), 30) == bytes(sent)
        await bench.line.idle(bench.rng.uniform(0, 15))
    assert not bench.line.received


@cocotb.test
async def back_to_back(dut: Any) -> None:
    """Bytes that are always there go out without a pause: ten bits each, to the clock."""
    bench = Bench(dut)
    await bench.begin()
    sent = bench.data(50)
    bench.source.put(*sent)
    assert await bench.line.take(len(sent), 11 * len(sent)) == bytes(sent)
    steps = {after - before for before, after in zip(bench.line.starts, bench.line.starts[1:], strict=False)}
    assert steps == {10 * bench.divider * CLOCK_PS}


@cocotb.test
async def resets(dut: Any) -> None:
    """Reset in the middle of bytes both ways: the line is high at once, and later bytes pass."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(15):
        bench.source.put(0, 0)
        cocotb.start_soon(bench.line.byte(0))
        await bench.line.idle(0)
        await Timer(round(bench.rng.uniform(2, 9) * bench.line.bit_ps), "ps")
        bench.source.drop()
        dut.aresetn.value = 0
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        await ReadOnly()
        assert dut.tx.value
        await RisingEdge(dut.aclk)
        await reset(dut)
        await bench.line.idle(12)
        bench.sink.received.clear()
        bench.line.received.clear()
        sent = bench.data(4)
        bench.source.put(*sent)
        await bench.line.send(bytes(sent))
        assert await bench.received() == sent
        assert await bench.line.take(len(sent), 20) == bytes(sent)


@pytest.mark.parametrize("divider", [4, 5, 16])
def test_uart(simulate: Simulate, divider: int) -> None:
    simulate(unit_design(f"uart_{divider}", Uart(divider)), __name__, values={"divider": divider})
