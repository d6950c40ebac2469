"""Last stage of the f64 tile multiplier: finished elements to register words, and those to registers."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.fma64.interface import FusedMultiplyAdd64Result
from hdl.multiply.double.steps import PAIRS, Steps
from hdl.registers.ports import LANE_BITS, register_write_signature, word_address, word_bits

__all__ = ["DoubleCollect"]

_WORDS = 2
"""Places for complete words, low and high half, that wait for the write port."""


class DoubleCollect(wiring.Component):
    """Takes the results of all units together; those of the last k become words of D.

    Results wait in their units if words wait for the write port; nothing passes from the port's ready to
    the units'.

    Throughput: a result of each unit per cycle, but two writes for every ``4 * word_quads / units`` results
    of the last round.
    Latency: 3 cycles from the last result of a word to its first write.
    Critical path expected: valid of all units to their ready, and on to the counters of their queues.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    d : In(stream.Signature(8))
        First register of D of each tile, in order; taken with the last write.
    result_0, ... : In(stream.Signature(FusedMultiplyAdd64Result))
    returned : Out(1), returned_step : Out(Steps.bits), returned_0, ... : Out(64)
        As in `DoubleIssue`.
    write : Out(register_write_signature(config))
    done : Out(1)
        High for one cycle after the last write of a tile.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._steps = steps = Steps(config)
        members = {
            "d": In(stream.Signature(8)),
            "returned": Out(1),
            "returned_step": Out(steps.bits),
            "write": Out(register_write_signature(config)),
            "done": Out(1),
        }
        for unit in range(steps.units):
            members[f"result_{unit}"] = In(stream.Signature(FusedMultiplyAdd64Result))
            members[f"returned_{unit}"] = Out(64)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        steps, config = self._steps, self._config
        results = [getattr(self, f"result_{unit}") for unit in range(steps.units)]
        bits = word_bits(config)
        m.submodules.words = words = SyncFIFOBuffered(width=2 * bits, depth=_WORDS + 1)
        position = Signal(steps.bits + 2)
        final = position[steps.bits :].all()
        # Steps of a word: turns, and the quads in it.
        inner = steps.turn_bits + 3 - steps.group_bits
        complete = final & (position[:inner].all() if inner else 1)
        finished = Signal()
        m.d.comb += [
            self.returned.eq(
                Cat(result.valid for result in results).all() & ~(final & finished & ~words.w_rdy)
            ),
            self.returned_step.eq(position[: steps.bits]),
            *(result.ready.eq(self.returned) for result in results),
            *(getattr(self, f"returned_{unit}").eq(result.payload.d) for unit, result in enumerate(results)),
        ]
        with m.If(self.returned):
            m.d.sync += position.eq(position + 1)

        # A finished word stays until the queue takes it; results of the next word wait for that.
        element = data.ArrayLayout(LANE_BITS, steps.units)
        low = Signal(data.ArrayLayout(element, 1 << inner), reset_less=True)
        high = Signal(data.ArrayLayout(element, 1 << inner), reset_less=True)
        with m.If(self.returned & final):
            place = position[:inner]
            m.d.sync += [
                low[place].eq(Cat(result.payload.d[:32] for result in results)),
                high[place].eq(Cat(result.payload.d[32:] for result in results)),
            ]
        with m.If(self.returned & complete):
            m.d.sync += finished.eq(1)
        with m.Elif(words.w_rdy):
            m.d.sync += finished.eq(0)
        m.d.comb += [words.w_en.eq(finished), words.w_data.eq(Cat(low, high))]
        self._write(m, words, bits)
        return m

    def _write(self, m: Module, words: SyncFIFOBuffered, bits: int) -> None:
        """Two writes for each word, the low halves first."""
        steps, config = self._steps, self._config
        group_bits = steps.group_bits
        groups = QUADS // config.word_quads
        half = Signal()
        count = Signal(range(PAIRS * groups))
        register = self.d.payload + Cat(half, count[group_bits])
        accepted = self.write.enable & self.write.ready
        last = count.all() & half
        m.d.comb += [
            self.write.enable.eq(words.r_rdy & self.d.valid),
            self.write.address.eq(word_address(config, register, count[:group_bits])),
            self.write.data.eq(Mux(half, words.r_data[bits:], words.r_data[:bits])),
            self.write.lanes.eq(~0),
            words.r_en.eq(accepted & half),
            self.d.ready.eq(accepted & last),
        ]
        m.d.sync += self.done.eq(accepted & last)
        with m.If(accepted):
            m.d.sync += half.eq(~half)
            with m.If(half):
                m.d.sync += count.eq(count + 1)
