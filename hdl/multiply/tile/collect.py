"""Third stage of the tile multiplier: gathers results to register words and writes them."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.dot_product.interface import DotProductResult
from hdl.multiply.tile.fetch import ResultTile
from hdl.multiply.tile.geometry import Steps
from hdl.multiply.tile.request import TileShape
from hdl.registers.ports import LANE_BITS, register_write_signature, word_address, word_bits

__all__ = ["TileCollect"]


class TileCollect(wiring.Component):
    """Takes the results of a step when all of them are there.

    Results of a first pass are handed on to be carried. The others are gathered until a pair of register
    words is complete; the pair then moves on to be written, an f16 pair packed to one word, and the next one
    is gathered meanwhile. Only if that is complete too before the first is written do results wait, in the
    units.

    Throughput: a step per cycle as long as words are written before the next pair is complete; a step that
    makes a pair by itself (64 units) takes one cycle more than its words. Latency: 2 cycles from the last
    result of a pair to its first write.
    Critical path expected: the units' valid to the enables of the gathered lanes.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    tile : In(stream.Signature(ResultTile))
        Taken with its last results.
    result_0, ... : In(stream.Signature(DotProductResult))
        Ready depends on the valid of all of them, and not on that of the write port.
    carry_enable : Out(1)
        The results of a step of a first pass are on `carry_data` in this cycle.
    carry_step : Out(bits of a step)
    carry_data : Out(32 * units)
    write : Out(register_write_signature(config))
    done : Out(1)
        High for one cycle after the last word of a tile has been written.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        units = config.dot_product_units
        super().__init__(
            {
                "tile": In(stream.Signature(ResultTile)),
                **{f"result_{unit}": In(stream.Signature(DotProductResult)) for unit in range(units)},
                "carry_enable": Out(1),
                "carry_step": Out(Steps(config).bits),
                "carry_data": Out(LANE_BITS * units),
                "write": Out(register_write_signature(config)),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        steps = Steps(self._config)
        tile = self.tile.payload
        ports = [getattr(self, f"result_{unit}") for unit in range(steps.units)]
        step = Signal(steps.bits)
        second = Signal()
        arrived = Signal()
        is_final = Signal()
        is_last = Signal()
        complete = Signal()
        writing = Signal(2)
        m.d.comb += [
            arrived.eq(Cat(port.valid for port in ports).all() & self.tile.valid & ~(complete & writing[0])),
            is_final.eq(second | ~tile.chained),
            is_last.eq(steps.is_last(step, is_small=tile.tile_shape == TileShape.SQUARE_8)),
            self.tile.ready.eq(arrived & is_last & is_final),
            self.carry_enable.eq(arrived & ~is_final),
            self.carry_step.eq(step),
            self.carry_data.eq(Cat(port.payload.d for port in ports)),
            *(port.ready.eq(arrived) for port in ports),
        ]
        with m.If(arrived):
            m.d.sync += step.eq(step + 1)
            with m.If(is_last):
                m.d.sync += [step.eq(0), second.eq(~is_final)]

        pair = self._gather(m, arrived, step, ports)
        self._write(m, arrived & is_final, step, is_last, pair, complete, writing)
        return m

    def _gather(self, m: Module, arrived: Signal, step: Signal, ports: list[Value]) -> tuple[Value, Value]:
        """Keep every result in its lane; returns the two words."""
        steps = Steps(self._config)
        words: tuple[list[Signal], list[Signal]] = ([], [])
        for lane in range(4 * self._config.word_quads):
            quad, row = divmod(lane, 4)
            place, x_number = divmod(quad, steps.x_rows)
            for pair in range(2):
                turn, y_number = divmod(2 * row + pair, steps.y_rows)
                port = ports[x_number * steps.y_rows + y_number]
                result = Signal(LANE_BITS, name=f"result_{pair}_{lane}", reset_less=True)
                with m.If(arrived & (step[: steps.low_bits] == place * steps.turns + turn)):
                    m.d.sync += result.eq(port.payload.d)
                words[pair].append(result)
        return Cat(words[0]), Cat(words[1])

    def _write(
        self,
        m: Module,
        arrived: Value,
        step: Signal,
        is_last: Signal,
        pair: tuple[Value, Value],
        complete: Signal,
        writing: Signal,
    ) -> None:
        """Write complete pairs.

        `writing` counts the words yet to be written in ones from the low end.
        """
        config = self._config
        steps = Steps(config)
        tile = self.tile.payload
        address = Signal.like(self.write.address, reset_less=True)
        is_f16 = Signal()
        ends = Signal()
        with m.If(arrived & steps.completes_words(step)):
            block = steps.block(step)
            register = tile.d + Mux(tile.d_is_f16, block, Cat(0, block))
            m.d.sync += [
                complete.eq(1),
                address.eq(word_address(config, register, steps.group(step))),
                is_f16.eq(tile.d_is_f16),
                ends.eq(is_last),
            ]

        data = Signal(word_bits(config), reset_less=True)
        next_data = Signal(word_bits(config), reset_less=True)
        write_address = Signal.like(self.write.address, reset_less=True)
        write_ends = Signal()
        granted = Signal()
        m.d.comb += [
            self.write.enable.eq(writing[0]),
            self.write.address.eq(write_address),
            self.write.data.eq(data),
            self.write.lanes.eq(~0),
            granted.eq(writing[0] & self.write.ready),
        ]
        m.d.sync += self.done.eq(granted & ~writing[1] & write_ends)
        with m.If(granted):
            m.d.sync += [
                writing.eq(writing[1:]),
                data.eq(next_data),
                write_address.eq(write_address + steps.groups),
            ]
        with m.If(complete & (~writing[0] | (granted & ~writing[1]))):
            half = LANE_BITS // 2
            lanes = range(4 * config.word_quads)
            packed = Cat(word.word_select(lane, LANE_BITS)[:half] for lane in lanes for word in pair)
            m.d.sync += [
                data.eq(Mux(is_f16, packed, pair[0])),
                next_data.eq(pair[1]),
                write_address.eq(address),
                write_ends.eq(ends),
                writing.eq(Cat(1, ~is_f16)),
            ]
            with m.If(~(arrived & steps.completes_words(step))):
                m.d.sync += complete.eq(0)
