"""Counters of 64 bits that share a memory."""

from collections.abc import Mapping

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.stream.distributed_memory import distributed_memory

COUNTER_BITS = 64


class Counters(Component):
    """Counts events in a memory, of which one word is brought up to date in each cycle.

    A counter is its word and the events since its last turn, a few bits in flip-flops. So it is
    exact in every cycle but the first ones after a reset, in which the words are cleared; in 2 ** 64 cycles
    none overflows.

    Throughput: all counters count in every cycle. Latency: 3 cycles from `increments` to `value`, 1 from
    `index`. Expected critical path: a sum of 64 bits.
    Testbench: cocotb_tests/control/test_host.py, through `HostInterface`.

    Parameters
    ----------
    most : mapping of str to int
        By how much each counter is incremented in a cycle at most; of a power of two of counters.
    count_from : int
        What they count from after reset.
    style : str
        Of the memory of the words that are brought up to date, as `CoreConfig.memory_style`.

    Members
    -------
    increments : In(StructLayout({name: range(most + 1)}))
    index : In(range(len(most)))
        In the order of `most`.
    value : Out(64)
    """

    def __init__(self, most: Mapping[str, int], *, count_from: int = 0, style: str = "") -> None:
        self._most = most
        self._style = style
        self._count_from = count_from
        members = {
            "increments": In(data.StructLayout({name: range(some + 1) for name, some in most.items()})),
            "index": In(range(len(most))),
            "value": Out(COUNTER_BITS),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        count = len(self._most)
        turn = Signal(range(count))
        started = Signal()  # all words have been written since the reset
        next_turn = Signal.like(turn)
        asked_write, (asked,) = distributed_memory(
            m, "asked_words", COUNTER_BITS, write=turn, reads=[self.index]
        )
        m.submodules.words = words = collision_free_memory(COUNTER_BITS, count, style=self._style)
        write, mine = words.write_port(), words.read_port()
        recent = []
        for number, (name, most) in enumerate(self._most.items()):
            happened = Signal(range(most + 1), name=f"{name}_now")
            before = Signal(range(most + 1), name=f"{name}_before")
            # The last counter's first turn ends the second round; nothing has happened in its first cycle.
            since_turn = Signal(range((2 * count - 2) * most + 1), name=f"{name}_since_turn")
            m.d.sync += [
                happened.eq(self.increments[name]),
                before.eq(happened),
                since_turn.eq(Mux(started & (turn == number), before, since_turn) + happened),
            ]
            recent.append(since_turn)
        word = Signal(COUNTER_BITS, reset_less=True)
        asked_word = Signal(COUNTER_BITS, reset_less=True)
        events, asked_events = (
            Signal(max(len(count) for count in recent), name=name) for name in ("events", "asked_events")
        )
        m.d.comb += [
            next_turn.eq(turn + 1),
            mine.addr.eq(turn + 2),  # a word of block RAM comes too late in its cycle for the sum
            write.addr.eq(turn),
            write.data.eq(Mux(started, word + events, self._count_from)),
            asked_write.data.eq(write.data),
            *(port.en.eq(1) for port in (mine, write, asked_write)),
            self.value.eq(asked_word + asked_events),
        ]
        m.d.sync += [
            turn.eq(next_turn),
            started.eq(started | turn.all()),
            word.eq(mine.data),
            events.eq(Array(recent)[next_turn]),
            asked_word.eq(Mux(started, asked.data, self._count_from)),
            asked_events.eq(Mux(started, Array(recent)[self.index], 0)),
        ]
