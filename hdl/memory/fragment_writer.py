"""From the crossbar's words to the registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import QUADS, REGISTER_BITS, CoreConfig
from hdl.memory.beats import CAUSE_BITS, access_layout
from hdl.memory.fragment_geometry import log2_exact
from hdl.memory.load_crossbar import loaded_layout
from hdl.registers.register_ports import register_write_signature, word_address
from hdl.stream.queue import Queue


class _Target(data.Struct):
    """Where the words of a load go: so many registers differ, and are written `last_copy` times more."""

    register: unsigned(REGISTER_BITS)
    different_log2: unsigned(2)
    last_copy: unsigned(2)
    is_single: unsigned(1)


class FragmentWriter(Component):
    """Writes words to their registers, and to the registers that repeat them, one after the other.

    With more than 16 dot-product units, two registers are written at once, if the fragment has two.

    Throughput: a write per cycle. Latency: none to the write, one cycle from the last one to `done`.
    `words.ready` depends on `write.ready`. Expected critical path: the port's ready, what has been written.
    Testbench: cocotb_tests/memory/test_load_engine.py, through `LoadEngine`.

    Parameters
    ----------
    config : CoreConfig
    depth : int
        Loads whose words may be still to come.

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
        Whose words will come, three cycles later at the earliest. It is ready until there are `depth`.
    words : In(stream.Signature(loaded_layout(config)))
    write : Out(register_write_signature(config, registers=config.word_registers))
    done : Out(1)
        High for one cycle when the last word has been written, or in its place for a load that failed.
    cause : Out(4)
        With `done`: zero, or why nothing has been written.
    """

    def __init__(self, config: CoreConfig, depth: int) -> None:
        self._config = config
        self._depth = depth
        members = {
            "access": In(stream.Signature(access_layout(config))),
            "words": In(stream.Signature(loaded_layout(config))),
            "write": Out(register_write_signature(config, registers=config.word_registers)),
            "done": Out(1),
            "cause": Out(CAUSE_BITS),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        m.submodules.targets = targets = Queue(_Target, self._depth, buffered=True)
        access, target, tag = self.access.payload, targets.output.payload, self.words.payload.tag
        geometry = access.geometry
        words_log2 = log2_exact(QUADS // config.word_quads)
        at_once_log2 = log2_exact(config.word_registers)
        word = Signal(words_log2 + 3 - at_once_log2)
        number, index = word[:words_log2], Cat(Const(0, at_once_log2), word[words_log2:])
        lanes: Value = Const((1 << len(self.write.lanes)) - 1)
        if config.word_registers > 1:
            lanes = Mux(target.is_single, (1 << 4 * config.word_quads) - 1, lanes)
        copy = Signal(2)
        leaves = Signal()
        # What is written at once is a multiple of as many registers.
        behind = (index | (copy << target.different_log2))[at_once_log2:3] << at_once_log2
        m.d.comb += [
            targets.input.payload.register.eq(access.register),
            targets.input.payload.different_log2.eq(geometry.different_log2),
            targets.input.payload.last_copy.eq((geometry.registers >> geometry.different_log2) - 1),
            targets.input.payload.is_single.eq(geometry.registers == 1),
            targets.input.valid.eq(self.access.valid),
            self.access.ready.eq(targets.input.ready),
            self.write.enable.eq(self.words.valid & ~tag.failed),
            self.write.address.eq(word_address(config, target.register + behind, number)),
            self.write.data.eq(self.words.payload.data),
            self.write.lanes.eq(lanes),
            leaves.eq(self.words.valid & (tag.failed | (self.write.ready & (copy == target.last_copy)))),
            self.words.ready.eq(leaves),
            targets.output.ready.eq(leaves & tag.last),
        ]
        with m.If(self.write.enable & self.write.ready):
            m.d.sync += copy.eq(copy + 1)
        with m.If(leaves):
            m.d.sync += [word.eq(word + 1), copy.eq(0)]
        with m.If(targets.output.ready):
            m.d.sync += word.eq(0)
        m.d.sync += [self.done.eq(targets.output.ready), self.cause.eq(tag.cause)]
