"""The command queue of a serial core: words in block RAM."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from hdl.command import COMMAND_WORDS

__all__ = ["INDEX_BITS", "CommandQueue"]

INDEX_BITS = (COMMAND_WORDS - 1).bit_length()
"""Bits of the number of a word of a command."""


class CommandQueue(wiring.Component):
    """Keeps commands where the host wrote them, until they have been executed.

    There are twice as many slots as the queue is deep: the command that is being executed and the one that
    is being written lie in slots that no queued command has. So the words of a command need no registers
    on their way, and a command that is being executed is read again word by word.

    Throughput: a word written and one read per cycle. Latency: 1 cycle. 8 words a slot: with a depth of 16,
    2 block RAMs of an iCE40; about 40 look-up tables.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    write : In(1)
        Set word `write_index` of the next command to `value`.
    write_index : In(3)
    value : In(32)
    push : In(1)
        Queue it, with what is written in this cycle; only while `room` is not zero.
    room : Out(range(depth + 1))
        Free places.
    waiting : Out(1)
        There is a command.
    pop : In(1)
        Take the first one out.
    clear : In(1)
        Drop all.
    index : In(3)
        Which word to read: 0 of the first command in the queue, any other of the one taken out last.
    word : Out(32)
        One cycle later.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._depth = config.queue_depth
        super().__init__(
            {
                "write": In(1),
                "write_index": In(INDEX_BITS),
                "value": In(8 * WORD_BYTES),
                "push": In(1),
                "room": Out(range(config.queue_depth + 1)),
                "waiting": Out(1),
                "pop": In(1),
                "clear": In(1),
                "index": In(INDEX_BITS),
                "word": Out(8 * WORD_BYTES),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        slots = range(2 * self._depth)
        m.submodules.words = words = Memory(
            shape=unsigned(8 * WORD_BYTES), depth=len(slots) << INDEX_BITS, init=[]
        )
        write_port, read_port = words.write_port(), words.read_port()
        first, current, last = Signal(slots), Signal(slots), Signal(slots)
        level = Signal(slots)
        m.d.comb += [
            level.eq(last - first),
            self.room.eq(self._depth - level),
            self.waiting.eq(first != last),
            write_port.en.eq(self.write),
            write_port.addr.eq(Cat(self.write_index, last)),
            write_port.data.eq(self.value),
            read_port.addr.eq(Cat(self.index, Mux(self.index == 0, first, current))),
            self.word.eq(read_port.data),
        ]
        with m.If(self.push):
            m.d.sync += last.eq(last + 1)
        with m.If(self.pop):
            m.d.sync += [current.eq(first), first.eq(first + 1)]
        with m.If(self.clear):
            m.d.sync += first.eq(last)
        return m
