"""The host registers: constants, status, counters, and the command queue."""

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.command import COMMAND_BITS, COMMAND_WORDS
from hdl.config import CoreConfig
from hdl.control.host.register_map import COUNTERS, MAP_ADDRESS_BITS
from hdl.control.host.register_views import fields_of, readable_words, word_index
from hdl.memory.beats import CAUSE_BITS
from hdl.stream.queue import Queue

__all__ = ["STALLS", "HostRegisters", "core_members"]

STALLS = ("registers", "memory", "unit", "empty")
"""Why no command was dispatched in a cycle, as in the names of the counters."""


def core_members(config: CoreConfig) -> dict[str, wiring.Member]:
    """What passes between the host's registers and the rest of the core.

    Members
    -------
    commands : Out(stream.Signature(160))
        Valid stays until the command is taken or the queue is cleared; nobody takes one during a fault.
    busy : In(1)
        A command that has left the queue is not finished.
    cause : In(4)
    executed : In(64)
    progress : In(16)
    read_beat, write_beat : In(1)
        A beat was transferred in this cycle.
    busy_units : In(range(units + 1))
    stall_registers, stall_memory, stall_unit, stall_empty : In(1)
        No command was dispatched in this cycle, for this reason.
    clear : Out(1)
    irq : Out(1)
    serial : Out(1)
        Execute one command at a time.
    """
    return {
        "commands": Out(stream.Signature(COMMAND_BITS)),
        "busy": In(1),
        "cause": In(CAUSE_BITS),
        "executed": In(64),
        "progress": In(16),
        "read_beat": In(1),
        "write_beat": In(1),
        "busy_units": In(range(config.dot_product_units + 1)),
        **{f"stall_{name}": In(1) for name in STALLS},
        "clear": Out(1),
        "irq": Out(1),
        "serial": Out(1),
    }


class HostRegisters(wiring.Component):
    """Reads and writes one register in the cycle of `read` or `write`.

    The counters count what their inputs said one cycle ago, so that nothing but a register is in front of
    their 64-bit addition, which is the critical path expected; in 2 ** 64 cycles none of them overflows.

    Parameters
    ----------
    config : CoreConfig
    count_from : int
        What the counters count from after reset; a testbench starts them near their limit.

    Members
    -------
    address : In(8)
    read, write : In(1)
    value : In(32)
        To be written.
    answer : Out(32)
        Of a read, in its cycle.
    refused : Out(1)
        In the cycle of a read or write: it is not possible, and changes nothing.
    idle : Out(1)
        No command is in progress, and none about to be.
    ...
        And those of `core_members`.

    Testbench
    ---------
    cocotb_tests/control/test_host.py, through `HostInterface`.
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        self._count_from = count_from
        super().__init__(
            {
                "address": In(MAP_ADDRESS_BITS),
                "read": In(1),
                "write": In(1),
                "value": In(32),
                "answer": Out(32),
                "refused": Out(1),
                "idle": Out(1),
                **core_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        depth = self._config.queue_depth
        words = [Signal(32, name=f"word_{index}") for index in range(1, COMMAND_WORDS)]
        enables = Signal(2)
        writable = Signal()
        readable = Signal()
        clear = Signal()
        free = Signal(range(depth + 1))

        queue = Queue(unsigned(COMMAND_BITS), depth, buffered=True)
        m.submodules.queue = ResetInserter(clear)(queue)
        fault = self.cause != 0
        m.d.comb += [
            queue.input.payload.eq(Cat(self.value, *words)),
            queue.output.ready.eq(self.commands.valid & self.commands.ready),
            self.commands.payload.eq(queue.output.payload),
            self.commands.valid.eq(queue.output.valid & ~clear),
            free.eq(depth - queue.level),
            self.idle.eq(~self.busy & ((queue.level == 0) | fault)),
            self.irq.eq((enables[0] & self.idle) | (enables[1] & fault)),
            self.clear.eq(clear),
            self.refused.eq((self.write & ~writable) | (self.read & ~readable)),
        ]
        place = self.address[2:]
        with m.If(self.write & (self.address[:2] == 0)):
            with m.Switch(place):
                with m.Case(word_index("CONTROL")):
                    m.d.comb += [clear.eq(fields_of("CONTROL", self.value).clear), writable.eq(1)]
                with m.Case(word_index("INTERRUPT_ENABLE")):
                    enabled = fields_of("INTERRUPT_ENABLE", self.value)
                    m.d.sync += enables.eq(Cat(enabled.idle, enabled.fault))
                    m.d.comb += writable.eq(1)
                with m.Case(word_index("MODE")):
                    m.d.comb += writable.eq(self.idle)
                    with m.If(self.idle):
                        m.d.sync += self.serial.eq(fields_of("MODE", self.value).serial)
                with m.Case(word_index("COMMAND")):
                    m.d.comb += [queue.input.valid.eq(1), writable.eq(queue.input.ready)]
                for index, word in enumerate(words, start=1):
                    with m.Case(word_index("COMMAND", index)):
                        m.d.sync += word.eq(self.value)
                        m.d.comb += writable.eq(1)

        sources = readable_words(
            self._config,
            {
                "CONTROL": {},
                "STATUS": {"busy": ~self.idle, "fault": fault, "free": free},
                "FAULT_CAUSE": {"cause": self.cause},
                "FAULT_INDEX": {"index": self.executed[:32]},
                "FAULT_PROGRESS": {"bursts": self.progress},
                "INTERRUPT_ENABLE": {"idle": enables[0], "fault": enables[1]},
                "MODE": {"serial": self.serial},
            },
        )
        high = Signal(32)
        counters = self._counters(m)
        with m.If(self.address[:2] == 0):
            m.d.comb += readable.eq(1)
            with m.Switch(place):
                for name, source in sources.items():
                    with m.Case(word_index(name)):
                        m.d.comb += self.answer.eq(source)
                for name, counter in counters.items():
                    with m.Case(word_index(name)):
                        m.d.comb += self.answer.eq(counter[:32])
                        with m.If(self.read):
                            m.d.sync += high.eq(counter[32:])
                    with m.Case(word_index(name, 1)):
                        m.d.comb += self.answer.eq(high)
                with m.Default():
                    m.d.comb += readable.eq(0)
        return m

    def _counters(self, m: Module) -> dict[str, Value]:
        counters: dict[str, Value] = {"INSTRUCTIONS": self.executed}
        increments = (
            *(self.busy, self.busy_units, self.read_beat, self.write_beat),
            *(getattr(self, f"stall_{name}") for name in STALLS),
        )
        for name, increment in zip(COUNTERS[1:], increments, strict=True):
            happened = Signal(len(increment), name=f"{name.lower()}_now")
            counter = Signal(64, name=name.lower(), init=self._count_from)
            m.d.sync += [happened.eq(increment), counter.eq(counter + happened)]
            counters[name] = counter
        return counters
