"""Second stage of the tile multiplier: hands rows and elements to the dot-product units."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.dot_product.operands import DotProductOperands, Operation
from hdl.multiply.tile.fetch import FetchedTile
from hdl.multiply.tile.request import TileShape
from hdl.multiply.tile.rows import row_read_layout, row_widths
from hdl.multiply.tile.tile_steps import Steps
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS

__all__ = ["TileIssue"]


class TileIssue(wiring.Component):
    """Reads what a step needs from the row memories and offers it to all units at once.

    The steps of a tile follow each other without a gap, and so do tiles if the rows of the next one are
    there. A chained tile is walked twice; a step of the second pass waits until the results of the same step
    of the first have come back.

    Two registers lie between the step counter and the units: the read registers of the memories, and the
    operands themselves, since block RAM is slow to give what it has read. They move together, whenever no
    unit still has to take the operands it is offered.

    Throughput: a step per cycle. Latency: 2 cycles.
    Critical path expected: the units' ready to the enables of memories and operands, with one unit; with
    64 of them, the step counter's last value to the tile's end.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    tile : In(stream.Signature(FetchedTile))
        Taken when its last step's rows are read.
    read_enable : Out(1)
    read : Out(row_read_layout(config))
    x_low, x_high, y_low, y_high, c_0, c_1, carry : In(...)
        As `hdl.multiply.tile.rows.RowMemories` gives them.
    carried : In(1)
        In this cycle the results of one more step of a first pass are written.
    operands_0, ... : Out(stream.Signature(DotProductOperands))
    busy_units : Out(range(units + 1))
        Units that accepted operands two cycles ago.

    Testbench
    ---------
    cocotb_tests/multiply/test_tile.py, through `TileMultiplier`.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        units = config.dot_product_units
        super().__init__(
            {
                "tile": In(stream.Signature(FetchedTile)),
                "read_enable": Out(1),
                "read": Out(row_read_layout(config)),
                **{name: In(bits) for name, bits in row_widths(config).items()},
                "carry": In(LANE_BITS * units),
                "carried": In(1),
                **{f"operands_{unit}": Out(stream.Signature(DotProductOperands)) for unit in range(units)},
                "busy_units": Out(range(units + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        advance = Signal()
        step, second, go = self._step(m, advance)

        # The read registers of the memories, and what was known of their step.
        read_step = Signal.like(step)
        read_second = Signal()
        read_valid = Signal()
        operation = Signal(Operation, reset_less=True)
        with m.If(advance):
            m.d.sync += [
                read_valid.eq(go),
                read_step.eq(step),
                read_second.eq(second),
                operation.eq(self.tile.payload.operation),
            ]
            with m.If(self.tile.payload.chained & ~second):
                m.d.sync += operation.saturate.eq(0)
        self._operands(m, advance, read_valid, read_step, read_second, operation)
        return m

    def _step(self, m: Module, advance: Signal) -> tuple[Signal, Signal, Signal]:
        """Count; returns the step, whether it is of a second pass, and whether it is read now."""
        steps = Steps(self._config)
        tile = self.tile.payload
        step = Signal(steps.bits)
        second = Signal()
        go = Signal()
        is_last = Signal()
        # Results of a first pass that are there and have not been used; at most those of a whole tile.
        carried = Signal(range((1 << steps.bits) + 1))
        m.d.comb += [
            go.eq(self.tile.valid & (~second | carried.any())),
            is_last.eq(steps.is_last(step, is_small=tile.tile_shape == TileShape.SQUARE_8)),
            self.read_enable.eq(advance),
            self.tile.ready.eq(advance & go & is_last & (second | ~tile.chained)),
        ]
        used = advance & go & second
        with m.If(self.carried & ~used):
            m.d.sync += carried.eq(carried + 1)
        with m.Elif(used & ~self.carried):
            m.d.sync += carried.eq(carried - 1)
        with m.If(advance & go):
            m.d.sync += step.eq(step + 1)
            with m.If(is_last):
                m.d.sync += [step.eq(0), second.eq(tile.chained & ~second)]

        block = steps.block(step)
        is_wide = tile.tile_shape == TileShape.WIDE_32
        m.d.comb += [
            self.read.buffer.eq(tile.buffer),
            self.read.second.eq(second),
            self.read.x.eq(Cat(steps.place(step), steps.group(step), block[0], block[1] & is_wide)),
            self.read.y.eq(Cat(steps.turn(step), block[1] & ~is_wide)),
            self.read.c.eq(Cat(steps.c_part(step), steps.group(step), block)),
            self.read.step.eq(step),
        ]
        return step, second, go

    def _operands(
        self, m: Module, advance: Signal, valid: Signal, step: Signal, second: Signal, operation: Signal
    ) -> None:
        """Offer rows and elements until every unit has taken its own."""
        steps = Steps(self._config)
        ports = [getattr(self, f"operands_{unit}") for unit in range(steps.units)]
        pending = Signal(steps.units)
        accepted = Signal(steps.units)
        offered = Signal(Operation, reset_less=True)
        m.d.comb += [
            accepted.eq(pending & Cat(port.ready for port in ports)),
            advance.eq(pending == accepted),
        ]
        m.d.sync += pending.eq(Mux(advance, valid.replicate(steps.units), pending & ~accepted))
        with m.If(advance):
            m.d.sync += offered.eq(operation)

        x_rows = self._rows(m, advance, "x", steps.x_rows)
        y_rows = self._rows(m, advance, "y", steps.y_rows)
        for unit, port in enumerate(ports):
            x_number, y_number = divmod(unit, steps.y_rows)
            c = Signal(LANE_BITS, name=f"c_{unit}", reset_less=True)
            with m.If(advance):
                m.d.sync += c.eq(self._element(unit, step, second, operation))
            m.d.comb += [
                port.valid.eq(pending[unit]),
                port.payload.a.eq(x_rows[x_number]),
                port.payload.b.eq(y_rows[y_number]),
                port.payload.c.eq(c),
                port.payload.operation.eq(offered),
            ]

        counted = Signal(steps.units)
        m.d.sync += [
            counted.eq(accepted),
            self.busy_units.eq(sum((counted[unit] for unit in range(steps.units)), Const(0, 1))),
        ]

    def _rows(self, m: Module, advance: Signal, name: str, count: int) -> list[Signal]:
        """The rows of a step, k ascending from the low bits on."""
        low, high = getattr(self, f"{name}_low"), getattr(self, f"{name}_high")
        rows = []
        for number in range(count):
            row = Signal(2 * QUAD_BITS, name=f"{name}_row_{number}", reset_less=True)
            with m.If(advance):
                m.d.sync += row.eq(Cat(half.word_select(number, QUAD_BITS) for half in (low, high)))
            rows.append(row)
        return rows

    def _element(self, unit: int, step: Signal, second: Signal, operation: Signal) -> Value:
        """The element of C, or of the first pass's results, for a unit."""
        steps = Steps(self._config)
        # With one unit, the pair is that of the step.
        index, of_pair = divmod(unit, 2)
        pairs = [word.word_select(index, LANE_BITS) for word in (self.c_0, self.c_1)]
        odd = step[0] if steps.units == 1 else Const(of_pair, 1)
        element = Mux(odd, pairs[1], pairs[0])
        half = LANE_BITS // 2
        low = Mux(operation.c_is_f16 & odd, element[half:], element[:half])
        c = Cat(low, Mux(operation.c_is_f16, 0, element[half:]))
        return Mux(second, self.carry.word_select(unit, LANE_BITS), c)
