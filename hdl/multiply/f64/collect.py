"""Last stage of the f64 tile multiplier: finished elements to quads, and those to registers."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import QUADS, REGISTER_BITS, CoreConfig
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Result
from hdl.multiply.f64.f64_steps import K_BITS, Steps, last_k
from hdl.multiply.f64.request import F64Tile
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS, register_write_signature, word_address
from hdl.stream.queue import Queue

_PLACES = 16
"""For complete quads, low and high half, that wait for the write port: all of m8n8k4."""


class F64Destination(data.Struct):
    """Where the results of a tile go."""

    d: unsigned(REGISTER_BITS)
    """First register."""
    two_blocks: unsigned(1)
    """As in `F64Tile`."""


class F64Collect(Component):
    """Takes the results of all units together; results of the last k become quads of D.

    Each quad is written by itself, to its lanes of a word: the units take longer for a tile than its 32
    writes, and nothing as wide as a word has to be put together. Results wait in their units if quads wait
    for the write port; nothing passes from the port's ready to the units'.

    Throughput: a result of each unit per cycle, a tile in 32 granted writes, 64 if it has 16 rows.
    Latency: 3 cycles from the last result of a quad to its first write.
    Critical path expected: valid of all units to their ready, and on to the counters of their queues.
    Testbench: cocotb_tests/multiply/test_f64_multiplier.py, through `F64Multiplier`.

    Members
    -------
    tile : In(stream.Signature(F64Tile))
        Each tile, in order; taken with its last results.
    destination : In(stream.Signature(F64Destination))
        Likewise; taken with the last write.
    result : In(stream.Signature(FusedMultiplyAdd64Result)).array(f64_units)
    returned : Out(1), returned_step : Out(Steps.bits), sums : Out(64).array(f64_units)
        As in `F64Issue`.
    write : Out(register_write_signature(config))
    done : Out(1)
        High for one cycle after the last write of a tile.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._steps = steps = Steps(config)
        members = {
            "tile": In(stream.Signature(F64Tile)),
            "destination": In(stream.Signature(F64Destination)),
            "result": In(stream.Signature(FusedMultiplyAdd64Result)).array(steps.units),
            "returned": Out(1),
            "returned_step": Out(steps.bits),
            "sums": Out(64).array(steps.units),
            "write": Out(register_write_signature(config)),
            "done": Out(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        steps = self._steps
        m.submodules.quads = quads = Queue(
            unsigned(2 * QUAD_BITS), _PLACES, buffered=True, style=self._config.memory_style
        )
        step = Signal(steps.bits)
        k = Signal(K_BITS)
        final = k == last_k(self.tile.payload.k_blocks_log2)
        ends_round = steps.is_last(step, self.tile.payload.two_blocks)
        part = steps.lane_part(step)
        complete = final & (part.all() if steps.lane_part_bits else 1)
        finished = Signal()
        m.d.comb += [
            self.returned.eq(
                Cat(result.valid for result in self.result).all() & ~(final & finished & ~quads.input.ready)
            ),
            self.returned_step.eq(step),
            self.tile.ready.eq(self.returned & final & ends_round),
            *(result.ready.eq(self.returned) for result in self.result),
            *(sum_.eq(result.payload.d) for sum_, result in zip(self.sums, self.result, strict=True)),
        ]
        with m.If(self.returned):
            m.d.sync += step.eq(step + 1)
            with m.If(ends_round):
                m.d.sync += [step.eq(0), k.eq(Mux(final, 0, k + 1))]

        # A finished quad stays until the queue takes it; results of the next one wait for that.
        lanes = data.ArrayLayout(data.ArrayLayout(LANE_BITS, steps.units), 1 << steps.lane_part_bits)
        low = Signal(lanes, reset_less=True)
        high = Signal(lanes, reset_less=True)
        with m.If(self.returned & final):
            m.d.sync += [
                low[part].eq(Cat(result.payload.d[:32] for result in self.result)),
                high[part].eq(Cat(result.payload.d[32:] for result in self.result)),
            ]
        with m.If(self.returned & complete):
            m.d.sync += finished.eq(1)
        with m.Elif(quads.input.ready):
            m.d.sync += finished.eq(0)
        m.d.comb += [quads.input.valid.eq(finished), quads.input.payload.eq(Cat(low, high))]
        self._write(m, quads)

    def _write(self, m: Module, quads: Queue) -> None:
        """Two writes for each quad, the low halves first."""
        config = self._config
        word_quads = config.word_quads
        half = Signal()
        count = Signal(5)
        quad, pair, block = count[:3], count[3], count[4]
        destination = self.destination.payload
        register = destination.d + Cat(half, pair, block)
        inner = QUADS.bit_length() - 1 - self._steps.word_number_bits
        accepted = self.write.enable & self.write.ready
        last = count[:4].all() & (block | ~destination.two_blocks) & half
        m.d.comb += [
            self.write.enable.eq(quads.output.valid & self.destination.valid),
            self.write.address.eq(word_address(config, register, quad[inner:])),
            self.write.data.eq(quads.output.payload.word_select(half, QUAD_BITS).replicate(word_quads)),
            self.write.lanes.eq(0b1111 << Cat(0, 0, quad[:inner])),
            quads.output.ready.eq(accepted & half),
            self.destination.ready.eq(accepted & last),
        ]
        m.d.sync += self.done.eq(accepted & last)
        with m.If(accepted):
            m.d.sync += half.eq(~half)
            with m.If(half):
                m.d.sync += count.eq(Mux(last, 0, count + 1))
