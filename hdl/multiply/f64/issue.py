"""Second stage of the f64 tile multiplier: operands of every element, once for each k."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.fma64.fma64_operands import FusedMultiplyAdd64Operands
from hdl.multiply.f64.f64_steps import BUFFERS, K_BITS, Steps, last_k
from hdl.multiply.f64.request import F64Tile
from hdl.registers.collision_free_memory import collision_free_memory


class F64Issue(Component):
    """Walks the steps of a tile, k after k, and hands operands to all units at the same time.

    An element is a chain of 4, 8 or 16 multiply-adds, each waiting for the one before. The elements stand
    side by side: an accumulator goes into a memory when it comes back, and its next turn is one round later.
    The first round of a tile needs nothing that comes back, and begins while the last results of the tile
    before are in flight.

    Throughput: a step per cycle, if the units' latency and 3 are not above the steps of a round; otherwise a
    round takes that long.
    Latency: 2 cycles from a complete tile to the first operands.
    Critical path expected: ready of the units to the enables of operand registers and row memories.
    Testbench: cocotb_tests/multiply/test_f64_multiplier.py, through `F64Multiplier`.

    Members
    -------
    tiles : In(range(3)), oldest : In(F64Tile), release : Out(1)
        As in `F64Fetch`.
    enable, step, k, a, b, c
        As in `F64Rows`.
    returned : In(1)
        A result has come from each unit, for `returned_step`.
    returned_step : In(Steps.bits)
    sums : In(64).array(f64_units)
        The results.
    operands : Out(stream.Signature(FusedMultiplyAdd64Operands)).array(f64_units)
    busy_units : Out(range(units + 1))
        Units that accepted operands in the cycle before.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._steps = steps = Steps(config)
        members = {
            "tiles": In(range(BUFFERS + 1)),
            "oldest": In(F64Tile),
            "release": Out(1),
            "enable": Out(1),
            "step": Out(steps.bits),
            "k": Out(K_BITS),
            "a": In(64),
            "b": In(64).array(steps.units),
            "c": In(64).array(steps.units),
            "returned": In(1),
            "returned_step": In(steps.bits),
            "sums": In(64).array(steps.units),
            "operands": Out(stream.Signature(FusedMultiplyAdd64Operands)).array(steps.units),
            "busy_units": Out(range(steps.units + 1)),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        steps = self._steps
        two_blocks = self.oldest.two_blocks
        ends_round = Signal()
        is_last_k = Signal()
        # Before its turn comes, an element's result of the round before must have come back, so less than a
        # round may be in flight. The first round needs none; twice as many is then just what is counted.
        under_way = Signal(steps.bits + 2)
        less_than_round = (under_way[steps.bits :] == 0) & (two_blocks | ~under_way[steps.bits - 1])
        room = less_than_round | ((self.k == 0) & ~under_way[-1])
        waiting = Signal()
        advance = Signal()
        m.d.comb += [
            ends_round.eq(steps.is_last(self.step, two_blocks)),
            is_last_k.eq(self.k == last_k(self.oldest.k_blocks_log2)),
            self.enable.eq((self.tiles != 0) & room & (~waiting | advance)),
            self.release.eq(self.enable & ends_round & is_last_k),
        ]
        with m.If(self.enable):
            m.d.sync += [self.step.eq(self.step + 1), waiting.eq(1)]
            with m.If(ends_round):
                m.d.sync += [self.step.eq(0), self.k.eq(Mux(is_last_k, 0, self.k + 1))]
        with m.Elif(advance):
            m.d.sync += waiting.eq(0)
        with m.If(self.enable != self.returned):
            m.d.sync += under_way.eq(Mux(self.enable, under_way + 1, under_way - 1))
        self._operands(m, waiting, advance)

    def _operands(self, m: Module, waiting: Signal, advance: Signal) -> None:
        """From the rows to registers, one for each unit, which empty when the unit takes them."""
        steps = self._steps
        is_first = Signal(reset_less=True)
        rounding = Signal(2, reset_less=True)
        with m.If(self.enable):
            m.d.sync += [is_first.eq(self.k == 0), rounding.eq(self.oldest.rounding)]
        offered, taken = [], []
        for unit, operands in enumerate(self.operands):
            carry_memory = collision_free_memory(unsigned(64), steps.count)
            m.submodules[f"carry_memory_{unit}"] = carry_memory
            write, read = carry_memory.write_port(), carry_memory.read_port()
            m.d.comb += [
                write.en.eq(self.returned),
                write.addr.eq(self.returned_step),
                write.data.eq(self.sums[unit]),
                read.en.eq(self.enable),
                read.addr.eq(self.step),
            ]
            valid = Signal(name=f"valid_{unit}")
            payload = Signal(FusedMultiplyAdd64Operands, reset_less=True, name=f"payload_{unit}")
            with m.If(advance):
                m.d.sync += [
                    valid.eq(waiting),
                    payload.a.eq(self.a),
                    payload.b.eq(self.b[unit]),
                    payload.c.eq(Mux(is_first, self.c[unit], read.data)),
                    payload.rounding.eq(rounding),
                ]
            with m.Elif(operands.ready):
                m.d.sync += valid.eq(0)
            m.d.comb += [operands.valid.eq(valid), operands.payload.eq(payload)]
            offered.append(valid & ~operands.ready)
            taken.append(valid & operands.ready)
        m.d.comb += advance.eq(~Cat(*offered).any())
        m.d.sync += self.busy_units.eq(sum(taken, Const(0, 1)))
