"""From the crossbar's words to the registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.memory.beats import CAUSE_BITS, access_layout
from hdl.memory.fragment_geometry import log2_exact
from hdl.memory.load_crossbar import loaded_layout
from hdl.registers.register_ports import LANE_BITS, register_write_signature, word_address

__all__ = ["FragmentWriter"]

_REGISTER_BYTES_LOG2 = log2_exact(32 * LANE_BITS // 8)


class FragmentWriter(wiring.Component):
    """Writes words to their registers, and to the registers that repeat them, one after the other.

    With more than 16 dot-product units, two registers are written at once, if the fragment has two.

    Throughput: a write per cycle. Latency: none to the write, one cycle from the last one to `done`.
    `words.ready` depends on `write.ready`. Expected critical path: the port's ready, what has been written.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
        Whose words come; taken with the last of them, and there before the first.
    words : In(stream.Signature(loaded_layout(config)))
    write : Out(register_write_signature(config, registers=config.word_registers))
    done : Out(1)
        High for one cycle when the last word has been written, or in its place for a load that failed.
    cause : Out(4)
        With `done`: zero, or why nothing has been written.

    Testbench
    ---------
    cocotb_tests/memory/test_load_engine.py, through `LoadEngine`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "access": In(stream.Signature(access_layout(config))),
                "words": In(stream.Signature(loaded_layout(config))),
                "write": Out(register_write_signature(config, registers=config.word_registers)),
                "done": Out(1),
                "cause": Out(CAUSE_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        access, tag = self.access.payload, self.words.payload.tag
        geometry = access.geometry
        words_log2 = log2_exact(QUADS // config.word_quads)
        at_once_log2 = log2_exact(config.word_registers)
        word = Signal(words_log2 + 3 - at_once_log2)
        number, index = word[:words_log2], Cat(Const(0, at_once_log2), word[words_log2:])
        lanes: Value = Const((1 << len(self.write.lanes)) - 1)
        if config.word_registers > 1:
            lanes = Mux(geometry.registers == 1, (1 << 4 * config.word_quads) - 1, lanes)
        copy = Signal(2)
        # The bytes in memory tell how many registers differ; the ones behind them repeat these.
        different_log2 = Signal(2)
        last_copy = Signal()
        failed = Signal()
        leaves = Signal()
        m.d.comb += [
            different_log2.eq(geometry.lines_log2 + geometry.line_log2 - _REGISTER_BYTES_LOG2),
            last_copy.eq(copy == ((geometry.registers >> different_log2) - 1)[:2]),
            failed.eq(tag.cause != 0),
            self.write.enable.eq(self.words.valid & ~failed),
            self.write.address.eq(
                word_address(config, access.register + (index | (copy << different_log2)), number)
            ),
            self.write.data.eq(self.words.payload.data),
            self.write.lanes.eq(lanes),
            leaves.eq(self.words.valid & (failed | (self.write.ready & last_copy))),
            self.words.ready.eq(leaves),
            self.access.ready.eq(leaves & tag.last),
        ]
        with m.If(self.write.enable & self.write.ready):
            m.d.sync += copy.eq(copy + 1)
        with m.If(leaves):
            m.d.sync += [word.eq(word + 1), copy.eq(0)]
        with m.If(self.access.ready):
            m.d.sync += word.eq(0)
        m.d.sync += [self.done.eq(self.access.ready), self.cause.eq(tag.cause)]
        return m
