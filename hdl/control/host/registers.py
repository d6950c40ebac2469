"""The host registers: constants, status, counters, and the command queues."""

from collections.abc import Mapping
from typing import Final

from amaranth.hdl import Array, Cat, Const, Module, ResetInserter, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.command import COMMAND_BITS, COMMAND_WORDS, MemoryCommand
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.control.host.counters import COUNTER_BITS, Counters
from hdl.control.host.register_map import COUNTERS, MAP_ADDRESS_BITS, REGISTERS
from hdl.control.host.register_views import fields_of, readable_words, word_index
from hdl.control.warps import STALLS
from hdl.memory.beats import CAUSE_BITS
from hdl.stream.queue import Queue

_DECODED_BITS: Final = 28
"""The bits of a command that are looked up as it leaves its queue: its first word, without the warp."""


def core_members(config: CoreConfig) -> dict[str, wiring.Member]:
    """What passes between the host's registers and the rest of the core.

    Members
    -------
    commands : Out(stream.Signature(160)).array(warps)
        Valid stays until the command is taken or the queue is cleared; nobody takes one during a fault.
    busy : In(warps)
        A command that has left the queue is not finished.
    cause : In(ArrayLayout(4, warps))
    executed : In(ArrayLayout(64, warps))
    progress : In(ArrayLayout(16, warps))
    read_beat, write_beat : In(1)
        A beat was transferred in this cycle.
    busy_units : In(range(units + 1))
    stall_registers, stall_memory, stall_unit, queue_empty : In(warps)
        The warp dispatched no command in this cycle, for this reason.
    clear : Out(warps)
    irq : Out(1)
    serial : Out(1)
        Execute one command of a warp at a time.
    bank_conflict : In(1)
        As `hdl.memory.chunk_banks.ChunkBanks.conflict`. Only where there is `wgmma`.
    """
    warps = config.warps
    conflict = {"bank_conflict": In(1)} if config.wgmma else {}
    return {
        "commands": Out(stream.Signature(COMMAND_BITS)).array(warps),
        "busy": In(warps),
        "cause": In(data.ArrayLayout(CAUSE_BITS, warps)),
        "executed": In(data.ArrayLayout(64, warps)),
        "progress": In(data.ArrayLayout(16, warps)),
        "read_beat": In(1),
        "write_beat": In(1),
        "busy_units": In(range(config.dot_product_units + 1)),
        **{name: In(warps) for name in STALLS},
        "clear": Out(warps),
        "irq": Out(1),
        "serial": Out(1),
        **conflict,
    }


class HostRegisters(Component):
    """Reads and writes one register in the cycle of `read` or `write`.

    Expected critical path: a counter (`hdl.control.host.counters.Counters`) and the choice of the answer.
    Testbench: cocotb_tests/control/test_host.py, through `HostInterface`.

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
        Of a read, a cycle later.
    readable, writable : Out(1)
        Whether a read or write of `address` is possible, in any cycle; if not, it changes nothing.
    idle : Out(1)
        No command is in progress, and none about to be; from a register, so one cycle later than it could be.
    warp : Out(range(max(warps, 2)))
        The one that the host has selected.
    ...
        And the members `core_members`.
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        self._count_from = count_from
        members = {
            "address": In(MAP_ADDRESS_BITS),
            "read": In(1),
            "write": In(1),
            "value": In(32),
            "answer": Out(32),
            "readable": Out(1),
            "writable": Out(1),
            "idle": Out(1),
            "warp": Out(range(max(config.warps, 2))),
            **core_members(config),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        warps = range(self._config.warps)
        selected = self.warp if len(warps) > 1 else 0
        words = [Signal(32, name=f"word_{index}", reset_less=True) for index in range(1, COMMAND_WORDS)]
        enables = Signal(2)
        clear = Signal()
        faults = Signal(len(warps))
        free = Signal(range(self._config.queue_depth + 1))
        push = Signal()
        idle_now = Signal()
        command = Cat(self.value, *words)
        owner = Signal(len(warps))
        queues = [self._queue(m, warp, command, push & owner[warp]) for warp in warps]
        with m.Switch(MemoryCommand(command).warp):
            for warp in warps[1:]:
                with m.Case(warp):
                    m.d.comb += owner.eq(1 << warp)
            with m.Default():
                m.d.comb += owner.eq(1)
        m.d.comb += [
            faults.eq(Cat(self.cause[warp] != 0 for warp in warps)),
            free.eq(self._config.queue_depth - Array(queue.level for queue in queues)[selected]),
            idle_now.eq(~self.busy.any() & (Cat(queue.level == 0 for queue in queues) | faults).all()),
            self.irq.eq((enables[0] & idle_now) | (enables[1] & faults.any())),
            self.clear.eq(clear << selected),
        ]
        # Without a command that comes, the core is idle in the next cycle too.
        m.d.sync += self.idle.eq(idle_now & ~push)
        place = self.address[2:]
        with m.If(self.address[:2] == 0):
            with m.Switch(place):
                with m.Case(word_index("CONTROL")):
                    m.d.comb += self.writable.eq(1)
                    m.d.comb += clear.eq(self.write & fields_of("CONTROL", self.value).clear)
                with m.Case(word_index("INTERRUPT_ENABLE")):
                    enabled = fields_of("INTERRUPT_ENABLE", self.value)
                    m.d.comb += self.writable.eq(1)
                    with m.If(self.write):
                        m.d.sync += enables.eq(Cat(enabled.idle, enabled.fault))
                with m.Case(word_index("MODE")):
                    m.d.comb += self.writable.eq(self.idle)
                    with m.If(self.write & self.idle):
                        m.d.sync += self.serial.eq(fields_of("MODE", self.value).serial)
                with m.Case(word_index("WARP")):
                    warp = fields_of("WARP", self.value).warp
                    m.d.comb += self.writable.eq(warp < len(warps))
                    if len(warps) > 1:
                        with m.If(self.write & self.writable):
                            m.d.sync += self.warp.eq(warp)
                with m.Case(word_index("COMMAND")):
                    m.d.comb += [
                        self.writable.eq((owner & Cat(queue.input.ready for queue in queues)).any()),
                        push.eq(self.write),
                    ]
                for index, word in enumerate(words, start=1):
                    with m.Case(word_index("COMMAND", index)):
                        m.d.comb += self.writable.eq(1)
                        with m.If(self.write):
                            m.d.sync += word.eq(self.value)

        sources = readable_words(
            self._config,
            {
                "CONTROL": {},
                "STATUS": {"busy": ~idle_now, "fault": faults.any(), "free": free},
                "FAULT_CAUSE": {"cause": self.cause[selected]},
                "FAULT_INDEX": {"index": self.executed[selected][:32]},
                "FAULT_PROGRESS": {"bursts": self.progress[selected]},
                "INTERRUPT_ENABLE": {"idle": enables[0], "fault": enables[1]},
                "MODE": {"serial": self.serial},
                "WARP": {"warp": self.warp},
                "FAULTS": {"warps": faults},
                **self._conflicts(m),
            },
        )
        readable_places = {word_index(name) for name in sources}
        readable_places |= {word_index(name, half) for name in COUNTERS for half in range(2)}
        m.d.comb += self.readable.eq((self.address[:2] == 0) & place.matches(*sorted(readable_places)))
        self._answer(m, place, sources, self.executed[selected])

    def _answer(self, m: Module, place: Value, sources: Mapping[str, Value], executed: Value) -> None:
        """Answer a read in the cycle after it, and keep the upper half of a counter for the next one."""
        late_place, was_read = Signal.like(place), Signal()
        m.d.sync += [late_place.eq(place), was_read.eq(self.read)]
        counters = self._counters(m)
        counter, high = Signal(COUNTER_BITS), Signal(32, reset_less=True)
        m.d.comb += [counter.eq(counters.value), counters.index.eq(_counter_index(self.address))]
        with m.Switch(late_place):
            for name, source in sources.items():
                with m.Case(word_index(name)):
                    m.d.comb += self.answer.eq(source)
            for name in COUNTERS:
                with m.Case(word_index(name)):
                    m.d.comb += self.answer.eq(counter[:32])
                    if name == COUNTERS[0]:
                        m.d.comb += counter.eq(executed)
                    with m.If(was_read):
                        m.d.sync += high.eq(counter[32:])
                with m.Case(word_index(name, 1)):
                    m.d.comb += self.answer.eq(high)

    def _queue(self, m: Module, warp: int, command: Value, push: Value) -> Queue:
        """The queue of a warp between the host and the core."""
        queue = Queue(
            unsigned(COMMAND_BITS),
            self._config.queue_depth,
            buffered=True,
            style=self._config.memory_style,
            early=_DECODED_BITS,
        )
        clear = Signal()
        m.submodules[f"queue_{warp}"] = ResetInserter(clear)(queue)
        m.d.comb += [
            clear.eq(self.clear[warp]),
            queue.input.payload.eq(command),
            queue.input.valid.eq(push),
        ]
        connect(m, queue.output, flipped(self.commands[warp]))
        return queue

    def _conflicts(self, m: Module) -> dict[str, dict[str, Signal]]:
        """The count of bank conflicts."""
        if not self._config.wgmma:
            return {}
        count = Signal(32)
        m.d.sync += count.eq(count + self.bank_conflict)
        return {"BANK_CONFLICTS": {"cycles": count}}

    def _counters(self, m: Module) -> Counters:
        """The counters of the whole core: all but INSTRUCTIONS, of which each warp has one."""
        stalls = (getattr(self, name) for name in STALLS)
        units, warps = self._config.dot_product_units, self._config.warps
        increments = (
            *((self.busy.any(), 1), (self.busy_units, units), (self.read_beat, 1), (self.write_beat, 1)),
            *((sum(stalled, Const(0, 0)), warps) for stalled in stalls),
        )
        named = dict(zip(COUNTERS[1:], increments, strict=True))
        ordered = {
            Const.cast(_counter_index(Const(REGISTERS[name], MAP_ADDRESS_BITS))).value: name for name in named
        }
        m.submodules.counters = counters = Counters(
            {ordered[index].lower(): named[ordered[index]][1] for index in range(len(named))},
            count_from=self._count_from,
            style=self._config.memory_style,
        )
        m.d.comb += [counters.increments[name.lower()].eq(event) for name, (event, _) in named.items()]
        return counters


def _counter_index(address: Value) -> Value:
    """Bits of an address that tell the counters apart, so that nothing is looked up before a word is read."""
    return Cat(address[3:5], address[7])
