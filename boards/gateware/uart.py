"""Receiver and transmitter of an asynchronous serial line: eight bits, no parity, one stop bit."""

from typing import Final

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["LEAST_DIVIDER", "UartReceiver", "UartTransmitter"]

LEAST_DIVIDER: Final = 4
"""Clocks of a bit, at least: three samples in its middle, and one to tell it from the next."""

_BITS: Final = 8
_VOTES: Final = 3


class _State(enum.Enum, shape=2):
    BREAK = 0
    IDLE = 1
    START = 2
    DATA = 3


class UartReceiver(wiring.Component):
    """Bytes from a serial line.

    The line is brought into the clock domain, and each bit is the majority of three samples, one clock apart,
    in its middle; but the stop bit is one sample, so that there is time to see the next start bit of a faster
    sender. A start bit that is gone by its middle was none. After a stop bit that is low nothing is received
    until the line was high for three clocks.

    Throughput: back-to-back bytes, from a sender up to 2 % faster or slower. Latency: a byte is offered in
    the middle of its stop bit, 9.5 bits and 4 clocks after its start. Critical path expected: majority and
    state, 3 tables.

    Parameters
    ----------
    divider : int
        Clocks of a bit, at least 4, as `BoardConfig` makes sure. The counter holds 0 to divider - 1.

    Members
    -------
    rx : In(1)
        The line, high when idle; not synchronous to the clock.
    bytes : Out(stream of 8 bits)
    framing_error : Out(1)
        Pulses for a byte whose stop bit was low; it is not offered.
    overrun : Out(1)
        Pulses for a byte that came while the one before had not been taken; it is lost.

    Testbench
    ---------
    cocotb_tests/boards/test_uart.py.
    """

    def __init__(self, divider: int) -> None:
        self._divider = divider
        super().__init__(
            {
                "rx": In(1),
                "bytes": Out(stream.Signature(_BITS)),
                "framing_error": Out(1),
                "overrun": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=1)
        samples = Signal(_VOTES - 1, init=(1 << _VOTES - 1) - 1)
        majority = Signal()
        a, b, c = samples[0], samples[1], line
        m.d.comb += majority.eq((a & b) | (c & (a | b)))
        m.d.sync += samples.eq(Cat(line, samples))

        state = Signal(_State)
        clocks = Signal(range(self._divider))
        received = Signal(_BITS)
        # A one that moves down with each bit; when it falls out, the eight data bits are in.
        shift = Signal(_BITS + 1)
        # Counting begins with the first low sample; the middle of the bit is half a bit later, and the
        # majority is complete one clock after its middle sample.
        middle = self._divider // 2 + 1
        m.d.sync += clocks.eq(clocks - 1)
        with m.If(self.bytes.ready):
            m.d.sync += self.bytes.valid.eq(0)
        m.d.comb += self.bytes.payload.eq(received)
        with m.Switch(state):
            with m.Case(_State.BREAK):
                with m.If(line & samples.all()):
                    m.d.sync += state.eq(_State.IDLE)
            with m.Case(_State.IDLE):
                m.d.sync += clocks.eq(middle - 1)
                with m.If(~line):
                    m.d.sync += state.eq(_State.START)
            with m.Case(_State.START):
                with m.If(clocks == 0):
                    m.d.sync += [
                        clocks.eq(self._divider - 1),
                        shift.eq(1 << _BITS),
                        state.eq(_State.DATA),
                    ]
                    with m.If(majority):
                        m.d.sync += state.eq(_State.IDLE)
            with m.Case(_State.DATA):
                with m.If(shift[0] & (clocks == 1)):
                    with m.If(~line):
                        m.d.comb += self.framing_error.eq(1)
                        m.d.sync += state.eq(_State.BREAK)
                    with m.Else():
                        m.d.sync += state.eq(_State.IDLE)
                        with m.If(self.bytes.valid & ~self.bytes.ready):
                            m.d.comb += self.overrun.eq(1)
                        with m.Else():
                            m.d.sync += [self.bytes.valid.eq(1), received.eq(shift[1:])]
                with m.Elif(clocks == 0):
                    m.d.sync += [clocks.eq(self._divider - 1), shift.eq(Cat(shift[1:], majority))]
        return m


class UartTransmitter(wiring.Component):
    """Bytes to a serial line.

    Throughput: a byte in 10 bits, back to back. Latency: the start bit begins one clock after the byte is
    taken. Critical path expected: `bytes.ready`, 2 tables from two registers.

    Parameters
    ----------
    divider : int
        Clocks of a bit, at least 4, as `BoardConfig` makes sure. The counter holds 0 to divider - 1.

    Members
    -------
    bytes : In(stream of 8 bits)
    tx : Out(1)
        The line, high when idle; from a register.

    Testbench
    ---------
    cocotb_tests/boards/test_uart.py.
    """

    def __init__(self, divider: int) -> None:
        self._divider = divider
        super().__init__({"bytes": In(stream.Signature(_BITS)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        clocks = Signal(range(self._divider))
        # The bits still to be sent, under a one that marks their end: the stop bit that the line then keeps.
        shift = Signal(_BITS + 1)
        ends = Signal()
        m.d.comb += [ends.eq(clocks == 0), self.bytes.ready.eq(ends & (shift == 0))]
        with m.If(~ends):
            m.d.sync += clocks.eq(clocks - 1)
        with m.Elif(shift != 0):
            m.d.sync += [
                clocks.eq(self._divider - 1),
                self.tx.eq(shift[0]),
                shift.eq(shift[1:]),
            ]
        with m.Elif(self.bytes.valid):
            m.d.sync += [
                clocks.eq(self._divider - 1),
                self.tx.eq(0),
                shift.eq(Cat(self.bytes.payload, Const(1, 1))),
            ]
        return m
