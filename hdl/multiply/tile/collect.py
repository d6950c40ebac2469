"""Third stage of the tile multiplier: gathers results to register words and writes them."""

from dataclasses import dataclass
from itertools import cycle

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.dot_product.operands import DotProductResult
from hdl.multiply.tile.addition import RoundedAddition
from hdl.multiply.tile.chains import has_chains, has_conversion, most_passes
from hdl.multiply.tile.fetch import ADDED_PASSES, ResultTile
from hdl.multiply.tile.request import last_block
from hdl.multiply.tile.tile_steps import Steps, fields
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import (
    LANE_BITS,
    address_bits,
    register_write_signature,
    tile_word_bits,
    word_address,
)
from hdl.stream.distributed_memory import distributed_memory
from hdl.stream.pipeline import delay, register


def tiles_in_flight(config: CoreConfig) -> int:
    """Tiles that may be between their first word and their last result: with 64 units, one each 2 cycles."""
    return 16 * config.word_registers


_HALF = LANE_BITS // 2

_PAIRS = 16
"""Pairs of register words that may be gathered or wait to be written."""


@dataclass(frozen=True, kw_only=True)
class _Results:
    """Results of a step on their way to the memories: where they belong, and whether their pair is whole."""

    enable: Value
    step: Value
    place: Value
    complete: Value
    is_f16: Value
    data: Value


class TileCollect(Component):
    """Takes the results of a step when all of them are there.

    Results of a pass that is not the last are handed on to be carried. The others go to memories, one for
    each step of a pair of register words, at the place of their pair; when that is complete, both words of it
    are read there, an f16 pair packed to one word, and written. Results wait, in the units, only if all
    places are taken. D may lie on registers of C that are still to be read, so nothing is written of a tile
    before all of it has been fetched.

    The final results of a tile of fp8 that became f16 have C added to them on their way to those memories, by
    an addition unit for each dot-product unit. Other final results wait until all additions have ended; so
    that the memories need no second write port and nothing else is any later.

    Throughput: a step per cycle as long as, over some time, no more words come than are written. Latency: 3
    cycles from the last result of a pair to its first write, 13 with additions.
    Critical path expected: the units' valid to the write enables of the memories.
    Testbench: cocotb_tests/multiply/test_tile.py, through `TileMultiplier`.

    Members
    -------
    tile : In(stream.Signature(ResultTile))
        Taken with its last results.
    fetched : In(1)
        High for one cycle for each tile, in order, when all its registers have been read.
    result : In(stream.Signature(DotProductResult)).array(units)
        Ready depends on the valid of all of them, and not on the write port.
    carry_enable : Out(1)
        The results of a step of a pass that is not the last are on `carry_data` in this cycle.
    carry_step : Out(bits of a step)
    carry_data : Out(32 * units)
    addend_step : Out(bits of a step)
        The step whose results are taken in this cycle, if any are.
    addend : In(32 * units)
        Elements of C of the step of the cycle before.
    write : Out(register_write_signature(config, registers=word_registers))
    done : Out(1)
        High for one cycle after the last word of a tile has been written.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        units = config.dot_product_units
        members = {
            "tile": In(stream.Signature(ResultTile)),
            "fetched": In(1),
            "result": In(stream.Signature(DotProductResult)).array(units),
            "carry_enable": Out(1),
            "carry_step": Out(Steps(config).bits),
            "carry_data": Out(LANE_BITS * units),
            "addend_step": Out(Steps(config).bits),
            "addend": In(LANE_BITS * units),
            "write": Out(register_write_signature(config, registers=config.word_registers)),
            "done": Out(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        steps = Steps(self._config)
        tile = self.tile.payload
        ports = self.result
        step = Signal(steps.bits)
        number = Signal(range(max(2, most_passes(self._config))))
        arrived = Signal()
        is_final = Signal()
        is_last = Signal()
        full = Signal()
        complete = Signal()
        adding = Signal()
        adds = tile.passes == ADDED_PASSES if has_conversion(self._config) else Const(0, 1)
        last_pass = Mux(adds, 1, tile.passes)
        waits = adding & is_final & ~adds
        m.d.comb += [
            arrived.eq(Cat(port.valid for port in ports).all() & self.tile.valid & ~full & ~waits),
            is_final.eq(number == last_pass if has_chains(self._config) else 1),
            is_last.eq(steps.is_last(step, last_block(tile.tile_shape))),
            complete.eq(arrived & is_final & steps.completes_words(step)),
            self.tile.ready.eq(arrived & is_last & is_final),
            self.carry_enable.eq(arrived & ~is_final),
            self.carry_step.eq(step),
            self.carry_data.eq(Cat(port.payload.d for port in ports)),
            self.addend_step.eq(step),
            *(port.ready.eq(arrived) for port in ports),
        ]
        with m.If(arrived):
            m.d.sync += step.eq(step + 1)
            with m.If(is_last):
                m.d.sync += [step.eq(0), number.eq(Mux(is_final, 0, number + 1))]

        newest = Signal(range(_PAIRS))
        oldest = Signal(range(_PAIRS))
        results = _Results(
            enable=arrived,
            step=step[: steps.low_bits],
            place=newest,
            complete=complete,
            is_f16=tile.d_is_f16,
            data=self.carry_data,
        )
        # The pairs before this one are whole.
        written: Value = newest
        if has_conversion(self._config):
            results, written = self._add(m, results, is_final & adds, adding)
        following = Signal.like(oldest)
        words = self._gather(m, results, following)
        shape = fields(address=address_bits(self._config), is_f16=1, ends=1)
        pair_write, (pair_read,) = distributed_memory(m, "pairs", shape, write=newest, reads=[oldest])
        block = steps.block(step)
        register = tile.d + Mux(tile.d_is_f16, block, Cat(0, block))
        m.d.comb += [
            pair_write.en.eq(complete),
            pair_write.data.address.eq(word_address(self._config, register, steps.word_number(step))),
            pair_write.data.is_f16.eq(tile.d_is_f16),
            pair_write.data.ends.eq(is_last),
        ]
        # Tiles that have been fetched and not been written: some on their way, some as pairs that wait.
        fetched = Signal(range(tiles_in_flight(self._config) + _PAIRS))
        is_whole = Signal()
        m.d.sync += is_whole.eq(written != following)
        leave = self._write(m, fetched.any() & is_whole, pair_read.data, words)
        ended = leave & pair_read.data.ends
        with m.If(self.fetched & ~ended):
            m.d.sync += fetched.eq(fetched + 1)
        with m.Elif(ended & ~self.fetched):
            m.d.sync += fetched.eq(fetched - 1)
        # The place after the newest is where the next pair will be gathered.
        is_next, is_second = ((newest + places)[: len(newest)] == oldest for places in (1, 2))
        m.d.sync += full.eq(Mux(complete, is_second, is_next))
        with m.If(complete):
            m.d.sync += newest.eq(newest + 1)
        m.d.comb += following.eq(oldest + leave)
        m.d.sync += oldest.eq(following)

    def _add(self, m: Module, results: "_Results", adds: Value, adding: Signal) -> tuple["_Results", Value]:
        """Add C to the results of some steps; returns those to be kept now, and the pairs that are whole."""
        units = self._config.dot_product_units
        cycles = 1 + RoundedAddition.latency
        begins = results.enable & adds
        narrow = register(m, results.is_f16, "narrow")
        data = register(m, results.data, "to_add")
        sums = []
        for unit in range(units):
            m.submodules[f"addition_{unit}"] = addition = RoundedAddition.shared()
            m.d.comb += [
                addition.input.x.eq(self.addend.word_select(unit, LANE_BITS)),
                addition.input.y.eq(data.word_select(unit, LANE_BITS)),
                addition.input.is_f16.eq(narrow),
            ]
            sums.append(addition.output.d)
        under_way = Signal(cycles)
        m.d.sync += [under_way.eq(Cat(begins, under_way)), adding.eq(Cat(begins, under_way[:-1]).any())]
        of_step = Cat(results.is_f16, results.place, results.step)
        late = delay(m, Cat(results.complete, of_step), cycles, "late")
        ends = under_way[-1]
        # As one value, since a step may have no bits.
        chosen = Mux(ends, late, Cat(results.complete & ~adds, of_step))
        before_step = 2 + len(results.place)
        kept = _Results(
            enable=ends | (results.enable & ~adds),
            step=chosen[before_step:],
            place=chosen[2:before_step],
            complete=chosen[0],
            is_f16=chosen[1],
            data=Mux(ends, Cat(sums), results.data),
        )
        written = Signal(range(_PAIRS))
        with m.If(kept.complete):
            m.d.sync += written.eq(written + 1)
        return kept, written

    def _gather(self, m: Module, results: "_Results", asked: Signal) -> tuple[Value, Value]:
        """Keep results at the place of their pair, an f16 twice; return the words of a place a cycle late."""
        steps = Steps(self._config)
        halves = [results.data.word_select(half, _HALF) for half in range(2 * steps.units)]
        data = Cat(
            Cat(low, Mux(results.is_f16, low, high))
            for low, high in zip(halves[::2], halves[1::2], strict=True)
        )
        lanes = 4 * self._config.word_quads
        words: tuple[dict[int, Value], dict[int, Value]] = ({}, {})
        for low in range(1 << steps.low_bits):
            memory = collision_free_memory(LANE_BITS * steps.units, _PAIRS, style=self._config.memory_style)
            m.submodules[f"results_{low}"] = memory
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                read.addr.eq(asked),
                write.addr.eq(results.place),
                # Of every pass: the next one comes to the same places.
                write.en.eq(results.enable & (results.step == low)),
                write.data.eq(data),
            ]
            for unit in range(steps.units):
                lane, register = steps.lane(low, unit)
                words[register][lane] = read.data.word_select(unit, LANE_BITS)
        low_word, high_word = (Cat(word[lane] for lane in range(lanes)) for word in words)
        return low_word, high_word

    def _write(self, m: Module, waiting: Value, pair: data.View, words: tuple[Value, Value]) -> Signal:
        """Write the pair that waits; returns whether it does not have to any more."""
        config = self._config
        low_word, high_word = words
        writing = Signal()
        is_high = Signal()
        # Two f16 are packed as the lower half of the one and the upper half of the other.
        halves = zip(range(8 * config.word_quads), cycle((is_high, is_high | pair.is_f16)))
        chosen = Cat(
            Mux(high, high_word.word_select(half, _HALF), low_word.word_select(half, _HALF))
            for half, high in halves
        )
        ends = Signal()
        granted = Signal()
        begin = Signal()
        leave = Signal()
        address = Signal.like(self.write.address, reset_less=True)
        word = Signal(tile_word_bits(config), reset_less=True)
        lanes = Signal.like(self.write.lanes, reset_less=True)
        both = config.word_registers > 1
        m.d.comb += [
            self.write.enable.eq(writing),
            self.write.address.eq(address),
            self.write.data.eq(word),
            self.write.lanes.eq(lanes),
            granted.eq(writing & self.write.ready),
            begin.eq(waiting & (~writing | granted)),
            leave.eq(begin & (pair.is_f16 | is_high | both)),
        ]
        m.d.sync += self.done.eq(granted & ends)
        with m.If(granted):
            m.d.sync += writing.eq(0)
        with m.If(begin):
            m.d.sync += [
                writing.eq(1),
                is_high.eq(~leave),
                address.eq(pair.address + Mux(is_high, Steps(config).words_per_register, 0)),
                word.eq(Cat(chosen, high_word)),
                lanes.eq(Mux(pair.is_f16, (1 << 4 * config.word_quads) - 1, ~0)),
                ends.eq(pair.ends & leave),
            ]
        return leave
