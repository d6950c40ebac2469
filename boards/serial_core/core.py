"""The serial core: all units, wired."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from boards.serial_core.host import SerialHost
from boards.serial_core.queue import CommandQueue
from boards.serial_core.registers import SerialRegisters
from boards.serial_core.sequencer import SerialSequencer
from boards.serial_core.serial_config import SerialConfig
from boards.serial_core.signatures import memory_signature
from hdl.memory.axi import Axi4LiteSignature

__all__ = ["SerialCore"]


class SerialCore(wiring.Component):
    """A tensor core for one warp that is small: one command at a time, one element at a time.

    It takes the commands of `hdl.core.Core`, has the same host registers, and does the same with registers
    and memory, faults included; only the time differs. MODE.serial reads 1 and cannot be cleared, as the core
    executes one command at a time.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    host : In(Axi4LiteSignature())
    memory : Out(memory_signature(config))
    irq : Out(1)

    Testbench
    ---------
    cocotb_tests/boards/serial_core/test_serial_core.py, through `SerialCore`.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__(
            {
                "host": In(Axi4LiteSignature()),
                "memory": Out(memory_signature(config)),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        m.submodules.host = host = SerialHost(config)
        m.submodules.queue = queue = CommandQueue(config)
        m.submodules.sequencer = sequencer = SerialSequencer(config)
        m.submodules.registers = registers = SerialRegisters(config)
        connect(m, flipped(self.host), host.axi)
        connect(m, sequencer.memory, flipped(self.memory))
        m.d.comb += [
            self.irq.eq(host.irq),
            queue.write.eq(host.queue_write),
            queue.write_index.eq(host.queue_index),
            queue.value.eq(host.value),
            queue.push.eq(host.queue_push),
            queue.clear.eq(host.queue_clear),
            queue.pop.eq(sequencer.pop),
            queue.index.eq(sequencer.index),
            host.queue_room.eq(queue.room),
            host.busy.eq(sequencer.busy),
            host.ended.eq(sequencer.ended),
            host.cause.eq(sequencer.cause),
            host.progress.eq(sequencer.progress),
            sequencer.waiting.eq(queue.waiting & ~host.queue_clear),
            sequencer.word.eq(queue.word),
            sequencer.clear.eq(host.queue_clear),
        ]
        # The host is served only while the sequencer does nothing.
        for shared, own, others in (
            (registers.read, sequencer.registers_read, host.read),
            (registers.write, sequencer.registers_write, host.write),
        ):
            m.d.comb += shared.address.eq(Mux(sequencer.busy, own.address, others.address))
        read, write = registers.read, registers.write
        m.d.comb += [
            read.enable.eq(sequencer.registers_read.enable | host.read.enable),
            write.bytes.eq(sequencer.registers_write.bytes | host.write.bytes),
            write.data.eq(Mux(sequencer.busy, sequencer.registers_write.data, host.write.data)),
            sequencer.registers_read.data.eq(read.data),
            host.read.data.eq(read.data),
        ]
        return m
