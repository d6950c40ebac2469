"""From the pins of a serial line to the core's host interface and the board's memory."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import WordAnswer, WordRequest
from boards.gateware.bridge import Bridge
from boards.gateware.frame_receiver import FrameReceiver
from boards.gateware.frame_sender import FrameSender
from boards.gateware.uart import UartReceiver, UartTransmitter
from hdl.memory.axi import Axi4LiteSignature

__all__ = ["UartBridge"]


class UartBridge(wiring.Component):
    """The host's way in: serial line, frames, and what executes them.

    Throughput, at best: 256 bytes written in 266 bytes of request, the time of 64 accesses, and 6 bytes of
    answer.

    Parameters
    ----------
    config : BoardConfig
    drops_from : int
        What the count of lost frames starts with after reset; a testbench starts it near its limit.

    Members
    -------
    rx : In(1)
    tx : Out(1)
    host : Out(Axi4LiteSignature())
    memory : Out(stream of WordRequest)
    memory_answer : In(stream of WordAnswer)
    served : Out(1)
        Pulses when a request has been answered.
    dropped : Out(1)
        Pulses when a frame was given up.
    """

    def __init__(self, config: BoardConfig, *, drops_from: int = 0) -> None:
        self._config = config
        self._drops_from = drops_from
        super().__init__(
            {
                "rx": In(1),
                "tx": Out(1, init=1),
                "host": Out(Axi4LiteSignature()),
                "memory": Out(stream.Signature(WordRequest)),
                "memory_answer": In(stream.Signature(WordAnswer)),
                "served": Out(1),
                "dropped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        m.submodules.receiver = receiver = UartReceiver(config.divider)
        m.submodules.transmitter = transmitter = UartTransmitter(config.divider)
        m.submodules.frame_receiver = frame_receiver = FrameReceiver(config.gap_cycles)
        m.submodules.frame_sender = frame_sender = FrameSender()
        m.submodules.bridge = bridge = Bridge(config, drops_from=self._drops_from)
        connect(m, receiver.bytes, frame_receiver.bytes)
        connect(m, frame_receiver.request, bridge.request)
        connect(m, bridge.answer, frame_sender.answer)
        connect(m, frame_sender.bytes, transmitter.bytes)
        connect(m, bridge.host, flipped(self.host))
        connect(m, bridge.memory, flipped(self.memory))
        connect(m, flipped(self.memory_answer), bridge.memory_answer)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            self.tx.eq(transmitter.tx),
            frame_receiver.broken.eq(receiver.framing_error | receiver.overrun),
            frame_receiver.address.eq(bridge.fetch_address),
            bridge.fetched.eq(frame_receiver.word),
            bridge.dropped.eq(frame_receiver.dropped),
            frame_sender.write.eq(bridge.store),
            frame_sender.address.eq(bridge.store_address),
            frame_sender.word.eq(bridge.stored),
            self.served.eq(bridge.answer.valid & bridge.answer.ready),
            self.dropped.eq(frame_receiver.dropped),
        ]
        return m
