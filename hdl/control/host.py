"""The host interface: AXI4-Lite registers, the command queue, and the window onto the fragment registers."""

from types import MappingProxyType
from typing import Final

from amaranth.hdl import Array, Cat, Const, Module, ResetInserter, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hdl.axi import HOST_ADDRESS_BITS, Axi4LiteSignature, Response
from hdl.command import COMMAND_BITS, COMMAND_WORDS
from hdl.config import CoreConfig
from hdl.dot_product.interface import Multiplicand
from hdl.memory.load_store import CAUSE_BITS
from hdl.registers.register_file import register_read_signature, register_write_signature

__all__ = ["IDENTITY", "REGISTERS", "VERSION", "WINDOW", "HostInterface"]

IDENTITY: Final = 0x4F574D4D
"""What the IDENTITY register reads: ``OWMM``."""

VERSION: Final = 0x0000_0100
"""Major, minor and patch number of the register map, a byte each."""

WINDOW: Final = 0x8000
"""First byte of the fragment window: register r of lane l at ``WINDOW + 128 r + 4 l``."""

REGISTERS: Final = MappingProxyType(
    {
        "IDENTITY": 0x000,
        "VERSION": 0x004,
        "FORMATS": 0x008,
        "CONFIGURATION": 0x00C,
        "CONTROL": 0x010,
        "STATUS": 0x014,
        "FAULT_CAUSE": 0x018,
        "FAULT_INDEX": 0x01C,
        "FAULT_PROGRESS": 0x020,
        "INTERRUPT_ENABLE": 0x024,
        "INSTRUCTIONS": 0x030,
        "CYCLES": 0x038,
        "DOT_PRODUCT_CYCLES": 0x040,
        "READ_BEATS": 0x048,
        "WRITE_BEATS": 0x050,
        "COMMAND": 0x060,
    }
)
"""Byte addresses of the host registers.

IDENTITY, VERSION
    Constants.
FORMATS
    One bit for each `Multiplicand` that the dot-product units compute.
CONFIGURATION
    Registers per lane in bits 15..0, dot-product units in 23..16, queue depth less one in 31..24.
CONTROL
    Writing 1 drops the queued commands and clears the fault; reads 0.
STATUS
    Bit 0: a command is in progress or queued; bit 1: a fault; bits 16..8: free places in the queue.
FAULT_CAUSE, FAULT_INDEX, FAULT_PROGRESS
    A `golden.faults.Cause` or 0; the index of the command at fault; of a failed store, the bursts that the
    memory took before the first it refused.
INTERRUPT_ENABLE
    Bit 0: raise the interrupt while idle; bit 1: raise it while there is a fault.
INSTRUCTIONS, CYCLES, DOT_PRODUCT_CYCLES, READ_BEATS, WRITE_BEATS
    64-bit counters, low word first: see `golden.machine.Counters`. Read the low word first: it latches the
    high one.
COMMAND
    Five words. Writing word 0, the last one to be written, queues the command; on a full queue it is
    refused with SLVERR, and nothing is queued.
"""


class _State(enum.Enum, shape=3):
    IDLE = 0
    WRITE = 1
    WRITE_ANSWER = 2
    READ = 3
    READ_WINDOW = 4
    READ_ANSWER = 5


class HostInterface(wiring.Component):
    """Serves one AXI4-Lite access at a time.

    An address without a register, a partial write (strobes not all set) and the window while the core is at
    work are answered with SLVERR and change nothing.

    Latency: a write is answered two cycles after both its address and data came, a read two
    cycles after its address, three in the window.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    axi : In(Axi4LiteSignature())
    commands : Out(stream.Signature(160))
    busy : In(1)
        The sequencer has a command in progress.
    cause : In(4)
    executed : In(64)
    progress : In(16)
    read_beat, write_beat : In(1)
        A beat was transferred in this cycle.
    busy_units : In(range(units + 1))
    clear : Out(1)
    irq : Out(1)
    write : Out(register_write_signature(config))
    read : Out(register_read_signature(config))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "axi": In(Axi4LiteSignature()),
                "commands": Out(stream.Signature(COMMAND_BITS)),
                "busy": In(1),
                "cause": In(CAUSE_BITS),
                "executed": In(64),
                "progress": In(16),
                "read_beat": In(1),
                "write_beat": In(1),
                "busy_units": In(range(config.dot_product_units + 1)),
                "clear": Out(1),
                "irq": Out(1),
                "write": Out(register_write_signature(config)),
                "read": Out(register_read_signature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        state = Signal(_State)
        address = Signal(HOST_ADDRESS_BITS)
        value = Signal(32)
        whole = Signal()
        response = Signal(Response)
        answer = Signal(32)
        clear = Signal()
        enables = Signal(2)
        words = [Signal(32, name=f"word_{index}") for index in range(1, COMMAND_WORDS)]

        queue = SyncFIFOBuffered(width=COMMAND_BITS, depth=self._config.queue_depth)
        m.submodules.queue = ResetInserter(clear)(queue)
        waiting = queue.r_rdy & (self.cause == 0)
        idle = Signal()
        in_window = Signal()
        m.d.comb += [
            self.commands.payload.eq(queue.r_data),
            self.commands.valid.eq(waiting),
            queue.r_en.eq(waiting & self.commands.ready),
            queue.w_data.eq(Cat(value, *words)),
            idle.eq(~self.busy & ~waiting),
            self.clear.eq(clear),
            self.irq.eq((enables[0] & idle) | (enables[1] & (self.cause != 0))),
            in_window.eq(address[-1] & idle & (address[7:15] < self._config.registers) & (address[:2] == 0)),
            self.write.address.eq(address[4:15]),
            self.write.data.eq(value.replicate(4)),
            self.write.lanes.eq(1 << address[2:4]),
            self.read.address.eq(address[4:15]),
            self.axi.b.payload.eq(response),
            self.axi.b.valid.eq(state == _State.WRITE_ANSWER),
            self.axi.r.payload.data.eq(answer),
            self.axi.r.payload.resp.eq(response),
            self.axi.r.valid.eq(state == _State.READ_ANSWER),
        ]
        read_value, readable, read_low = self._readable(m, address, queue.level, idle, enables)

        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += [response.eq(Response.OKAY), answer.eq(0)]
                with m.If(self.axi.aw.valid & self.axi.w.valid):
                    m.d.comb += [self.axi.aw.ready.eq(1), self.axi.w.ready.eq(1)]
                    m.d.sync += [
                        address.eq(self.axi.aw.payload),
                        value.eq(self.axi.w.payload.data),
                        whole.eq(self.axi.w.payload.strb.all()),
                        state.eq(_State.WRITE),
                    ]
                with m.Elif(self.axi.ar.valid):
                    m.d.comb += self.axi.ar.ready.eq(1)
                    m.d.sync += [address.eq(self.axi.ar.payload), state.eq(_State.READ)]
            with m.Case(_State.WRITE):
                m.d.sync += state.eq(_State.WRITE_ANSWER)
                refused = Signal()
                with m.If(~whole):
                    m.d.comb += refused.eq(1)
                with m.Elif(address[-1]):
                    m.d.comb += [self.write.enable.eq(in_window), refused.eq(~in_window)]
                with m.Else():
                    with m.Switch(address):
                        with m.Case(REGISTERS["CONTROL"]):
                            m.d.comb += clear.eq(value[0])
                        with m.Case(REGISTERS["INTERRUPT_ENABLE"]):
                            m.d.sync += enables.eq(value)
                        with m.Case(REGISTERS["COMMAND"]):
                            m.d.comb += [queue.w_en.eq(1), refused.eq(~queue.w_rdy)]
                        for index, word in enumerate(words, start=1):
                            with m.Case(REGISTERS["COMMAND"] + 4 * index):
                                m.d.sync += word.eq(value)
                        with m.Default():
                            m.d.comb += refused.eq(1)
                with m.If(refused):
                    m.d.sync += response.eq(Response.SLVERR)
            with m.Case(_State.WRITE_ANSWER):
                with m.If(self.axi.b.ready):
                    m.d.sync += state.eq(_State.IDLE)
            with m.Case(_State.READ):
                m.d.comb += self.read.enable.eq(in_window)
                m.d.sync += state.eq(_State.READ_ANSWER)
                with m.If(in_window):
                    m.d.sync += state.eq(_State.READ_WINDOW)
                with m.Elif(readable):
                    m.d.comb += read_low.eq(1)
                    m.d.sync += answer.eq(read_value)
                with m.Else():
                    m.d.sync += response.eq(Response.SLVERR)
            with m.Case(_State.READ_WINDOW):
                lane = address[2:4]
                m.d.sync += [answer.eq(Array(self.read.data)[lane]), state.eq(_State.READ_ANSWER)]
            with m.Case(_State.READ_ANSWER):
                with m.If(self.axi.r.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _readable(
        self, m: Module, address: Signal, level: Signal, idle: Signal, enables: Signal
    ) -> tuple[Signal, Signal, Signal]:
        """What a register reads, whether it exists, and the strobe that latches a high word."""
        config = self._config
        value = Signal(32)
        readable = Signal()
        taken = Signal()
        high = Signal(32)
        free = Signal(range(config.queue_depth + 1))
        formats = sum(
            1 << item.value for item in Multiplicand if item.name.lower() in config.dot_product.formats
        )
        sizes = config.registers | config.dot_product_units << 16 | (config.queue_depth - 1) << 24
        m.d.comb += [readable.eq(1), free.eq(config.queue_depth - level)]
        with m.Switch(address):
            for name, read in {
                "IDENTITY": Const(IDENTITY, 32),
                "VERSION": Const(VERSION, 32),
                "FORMATS": Const(formats, 32),
                "CONFIGURATION": Const(sizes, 32),
                "CONTROL": Const(0, 32),
                "STATUS": Cat(~idle, self.cause != 0, Const(0, 6), free),
                "FAULT_CAUSE": self.cause,
                "FAULT_INDEX": self.executed[:32],
                "FAULT_PROGRESS": self.progress,
                "INTERRUPT_ENABLE": enables,
            }.items():
                with m.Case(REGISTERS[name]):
                    m.d.comb += value.eq(read)
            for name, counter in self._counters(m).items():
                with m.Case(REGISTERS[name]):
                    m.d.comb += value.eq(counter[:32])
                    with m.If(taken):
                        m.d.sync += high.eq(counter[32:])
                with m.Case(REGISTERS[name] + 4):
                    m.d.comb += value.eq(high)
            with m.Default():
                m.d.comb += readable.eq(0)
        return value, readable, taken

    def _counters(self, m: Module) -> dict[str, Signal]:
        increments = {
            "CYCLES": self.busy,
            "DOT_PRODUCT_CYCLES": self.busy_units,
            "READ_BEATS": self.read_beat,
            "WRITE_BEATS": self.write_beat,
        }
        counters = {"INSTRUCTIONS": self.executed}
        for name, increment in increments.items():
            counters[name] = Signal(64, name=name.lower())
            m.d.sync += counters[name].eq(counters[name] + increment)
        return counters
