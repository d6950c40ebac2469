"""Second stage of the tile multiplier: hands rows and elements to the dot-product units."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.dot_product.operands import GROUPS, Multiplicand, Operation, Result
from hdl.multiply.tile.chains import (
    SIXTEEN_BITS,
    has_chains,
    has_conversion,
    has_half_chains,
    has_integer_chains,
    most_passes,
    splits_words,
)
from hdl.multiply.tile.conversion import RowConversion, half_of_row
from hdl.multiply.tile.fetch import fetched_tile
from hdl.multiply.tile.metadata import CODES_OF_WORD
from hdl.multiply.tile.request import TileShape, has_scales, last_block
from hdl.multiply.tile.rows import row_read_layout, row_widths
from hdl.multiply.tile.scales import ONE, SCALES, scale_bits, unit_operands
from hdl.multiply.tile.side_operands import side_members
from hdl.multiply.tile.sparse import SparseSelection, selected_units
from hdl.multiply.tile.tile_steps import Steps
from hdl.omma.widths import SCALE
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS


class _ReadStep(data.Struct):
    """What is known of the step whose rows have been read."""

    operation: Operation
    is_later: unsigned(1)
    whole_rows: unsigned(1)
    upper_half: unsigned(1)
    converted: unsigned(1)


class TileIssue(Component):
    """Reads what a step needs from the row memories and offers it to all units at once.

    The steps of a tile follow each other without a gap, and so do tiles if the rows of the next one are
    there. A chained tile is walked once for each of its passes; a step of a later pass waits until the
    results of the same step of the one before have come back.

    What a row has beyond the part that takes part in a dot product is zero: floating-point products of zeros
    do not count in the sum, and integers take nothing from there.

    Two registers lie between the step counter and the units: the read registers of the memories, and the
    operands themselves, since block RAM is slow to give what it has read. They move together, whenever no
    unit still has to take the operands it is offered. Operands stay where no step follows: what a unit gets
    does not toggle while it is idle.

    Where fp8 can become f16 there is a third register, in front of the conversion. Such a tile is walked
    twice; its elements of C are given away to be added in the end.

    Throughput: a step per cycle. Latency: 2 cycles; 3 where fp8 can become f16.
    Critical path expected: the units' ready to the enables of memories and operands, with one unit; with
    64 of them, the step counter's last value to the tile's end.
    Testbench: cocotb_tests/multiply/test_tile.py, through `TileMultiplier`.

    Members
    -------
    tile : In(stream.Signature(fetched_tile(config)))
        Taken when its last step's rows are read.
    read_enable : Out(1)
    read : Out(row_read_layout(config))
    x_low, x_high, y_low, y_high, c_0, c_1, carry : In(...)
        As `hdl.multiply.tile.rows.RowMemories` gives them.
    carried : In(1)
        In this cycle the results of one more step of a pass that is not the last are written.
    operands : Out(stream.Signature(unit_operands(config))).array(units)
    addend_enable : Out(1)
        In this cycle `addend_data` are elements of C that are to be added to the results of a step.
    addend_step : Out(bits of a step)
    addend_data : Out(32 * units)
    busy_units : Out(range(units + 1))
        Units that accepted operands two cycles ago.
    low_codes, high_codes, scale_a, scale_b : In(...)
        If multiplies may have side operands, what `hdl.multiply.tile.side_operands.SideOperandReader` gives
        for these rows.
    released : Out(1)
        In this cycle the last rows of a tile with side operands are read.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        units = config.dot_product_units
        members = {
            "tile": In(stream.Signature(fetched_tile(config))),
            "read_enable": Out(1),
            "read": Out(row_read_layout(config)),
            **{name: In(bits) for name, bits in row_widths(config).items()},
            "carry": In(LANE_BITS * units),
            "carried": In(1),
            "operands": Out(stream.Signature(unit_operands(config))).array(units),
            "addend_enable": Out(1),
            "addend_step": Out(Steps(config).bits),
            "addend_data": Out(LANE_BITS * units),
            "busy_units": Out(range(units + 1)),
        }
        if config.has_side_operands:
            members |= {**side_members(config), "released": Out(1)}
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        advance = Signal()
        step, number, go = self._step(m, advance)

        # The read registers of the memories, and what was known of their step.
        read = Signal(_ReadStep, reset_less=True)
        read_step = Signal.like(step)
        read_valid = Signal()
        tile = self.tile.payload
        with m.If(advance):
            m.d.sync += [
                read_valid.eq(go),
                read_step.eq(step),
                read.is_later.eq(number != 0),
                read.whole_rows.eq(tile.whole_rows),
                read.upper_half.eq(number[0]),
                read.converted.eq(tile.converted),
                read.operation.eq(tile.operation),
            ]
            with m.If(number != tile.passes):
                m.d.sync += read.operation.saturate.eq(0)
            if has_half_chains(self._config):
                # What is carried is an f32 unless both C and D are f16.
                result = tile.operation.result
                with m.If((number != tile.passes) & (result == Result.F16_FROM_F32)):
                    m.d.sync += read.operation.result.eq(Result.F32)
                with m.If((number != 0) & (result != Result.F16)):
                    m.d.sync += read.operation.c_is_f16.eq(0)
        is_sparse: Value = Const(0, 1)
        if self._config.sparse:
            is_sparse = Signal(name="read_sparse", reset_less=True)
            with m.If(advance):
                m.d.sync += is_sparse.eq(tile.sparse)
        if self._config.has_side_operands:
            of_sparse = tile.sparse if self._config.sparse else 0
            m.d.comb += self.released.eq(self.tile.ready & (of_sparse | has_scales(self._config, tile)))
        self._operands(m, advance, read_valid, read_step, read, is_sparse)

    def _step(self, m: Module, advance: Signal) -> tuple[Signal, Signal, Signal]:
        """Count; returns the step, the number of its pass, and whether it is read now."""
        steps = Steps(self._config)
        tile = self.tile.payload
        step = Signal(steps.bits)
        number = Signal(range(max(2, most_passes(self._config))))
        go = Signal()
        is_last = Signal()
        is_later = number != 0
        is_final = number == tile.passes if has_chains(self._config) else Const(1)
        # Results of the pass before that are there and have not been used; at most a whole tile.
        carried = Signal(range((1 << steps.bits) + 1))
        m.d.comb += [
            go.eq(self.tile.valid & (~is_later | carried.any())),
            is_last.eq(steps.is_last(step, last_block(tile.tile_shape))),
            self.read_enable.eq(advance),
            self.tile.ready.eq(advance & go & is_last & is_final),
        ]
        used = advance & go & is_later
        with m.If(self.carried & ~used):
            m.d.sync += carried.eq(carried + 1)
        with m.Elif(used & ~self.carried):
            m.d.sync += carried.eq(carried - 1)
        with m.If(advance & go):
            m.d.sync += step.eq(step + 1)
            with m.If(is_last):
                m.d.sync += [step.eq(0), number.eq(Mux(is_final, 0, number + 1))]

        block = steps.block(step)
        is_square = tile.tile_shape == TileShape.SQUARE_16
        second = number[0]
        if splits_words(self._config):
            second = number[1]
            if not self._config.dot_product.formats <= SIXTEEN_BITS:
                second = Mux(_is_half(tile.operation), number[1], number[0])
        if has_conversion(self._config):
            second = second & ~tile.converted  # every pass takes bytes of the whole row
        m.d.comb += [
            self.read.buffer.eq(tile.buffer),
            self.read.second.eq(second),
            self.read.x.eq(Cat(steps.x_part(step), steps.word_number(step), block[0], block[1] & ~is_square)),
            self.read.y.eq(Cat(steps.y_part(step), block[1] & is_square)),
            self.read.c.eq(Cat(steps.c_part(step), steps.word_number(step), block)),
            self.read.step.eq(step),
        ]
        return step, number, go

    def _operands(
        self, m: Module, advance: Signal, valid: Signal, step: Signal, read: data.View, is_sparse: Value
    ) -> None:
        """Offer rows and elements until every unit has taken its own."""
        steps = Steps(self._config)
        rows = {"x": self._rows(read, "x", steps.x_rows), "y": self._rows(read, "y", steps.y_rows)}
        elements = _Elements(words=self._words_of_c(step), carry=self.carry, step=step, read=read)
        choice = self._choice(read, is_sparse)
        if has_conversion(self._config):
            m.d.sync += self.addend_enable.eq(advance & valid & read.converted & read.is_later)
            valid, elements = self._convert(m, advance, valid, rows, elements)
            c = [self._element_of_c(unit, elements) for unit in range(steps.units)]
            m.d.comb += [self.addend_step.eq(elements.step), self.addend_data.eq(Cat(c))]
            choice = {
                name: [_held(m, advance, item, f"late_{name}_{number}") for number, item in enumerate(some)]
                for name, some in choice.items()
            }

        pending = Signal(steps.units)
        accepted = Signal(steps.units)
        m.d.comb += [
            accepted.eq(pending & Cat(port.ready for port in self.operands)),
            advance.eq(pending == accepted),
        ]
        m.d.sync += pending.eq(Mux(advance, valid.replicate(steps.units), pending & ~accepted))
        taken = advance & valid
        if self._config.sparse:
            rows["y"] = self._choose(m, read, rows["y"], choice)
        held = {
            name: [_held(m, taken, row, f"{name}_row_{number}") for number, row in enumerate(some)]
            for name, some in rows.items()
        }
        scales = self._scales(m, taken, read)
        for unit, port in enumerate(self.operands):
            x_number, y_number = divmod(unit, steps.y_rows)
            # A register for each unit. All are loaded in the same cycles, but synthesis, which would make one
            # of equal registers and let it drive all units, cannot tell from these enables.
            own = taken & (pending[unit] == accepted[unit])
            offered = _held(m, own, Value.cast(elements.read.operation), f"operation_{unit}")
            c = _held(m, taken, self._element(unit, elements), f"c_{unit}")
            m.d.comb += [
                port.valid.eq(pending[unit]),
                port.payload.a.eq(held["x"][x_number]),
                port.payload.b.eq(held["y"][unit if self._config.sparse else y_number]),
                Cat(port.payload.c, port.payload.c_beyond).eq(c),
                port.payload.operation.eq(offered),
            ]
            if self._config.mxf4:
                is_group = Value.cast(elements.read.operation.multiplicand) == GROUPS
                m.d.comb += port.payload.is_group.eq(_held(m, own, is_group, f"is_group_{unit}"))
            for name, number in zip(
                SCALES, (x_number, y_number) if self._config.scales else (), strict=False
            ):
                m.d.comb += port.payload[name].eq(scales[name][number])

        counted = Signal(steps.units)
        m.d.sync += [
            counted.eq(accepted),
            self.busy_units.eq(sum((counted[unit] for unit in range(steps.units)), Const(0, 1))),
        ]

    def _convert(
        self,
        m: Module,
        advance: Signal,
        valid: Signal,
        rows: dict[str, list[Value]],
        elements: "_Elements",
    ) -> tuple[Signal, "_Elements"]:
        """Put a register and the conversion behind rows and elements; returns valid and elements, late."""
        read = elements.read
        late_valid = Signal()
        late = Signal(_ReadStep, reset_less=True, name="late_read")
        with m.If(advance):
            m.d.sync += [late.eq(read), late_valid.eq(valid)]
        held = _Elements(
            words=[_held(m, advance, word, f"late_c_{unit}") for unit, word in enumerate(elements.words)],
            carry=_held(m, advance, elements.carry, "late_carry"),
            step=_held(m, advance, elements.step, "late_step"),
            read=late,
        )
        for name, is_e5m2 in (("x", read.operation.a_e5m2), ("y", read.operation.b_e5m2)):
            is_e4m3 = _held(m, advance, read.converted & ~is_e5m2, f"late_{name}_is_e4m3")
            for number, given in enumerate(rows[name]):
                half = half_of_row(given, read.converted, read.upper_half)
                m.submodules[f"convert_{name}_{number}"] = conversion = RowConversion()
                m.d.comb += [
                    conversion.row.eq(_held(m, advance, half, f"late_{name}_row_{number}")),
                    conversion.is_e4m3.eq(is_e4m3),
                ]
                rows[name][number] = conversion.converted
        return late_valid, held

    def _scales(self, m: Module, taken: Value, read: data.View) -> dict[str, list[Signal]]:
        """The scales of the rows of X and Y, in a register as these are."""
        if not self._config.scales:
            return {}
        bits, steps = scale_bits(self._config), Steps(self._config)
        held = {}
        for name, rows in zip(SCALES, (steps.x_rows, steps.y_rows), strict=True):
            found = [getattr(self, name).word_select(row, bits) for row in range(rows)]
            if self._config.dot_product.block_scale:
                scaled = has_scales(self._config, read)
                found = [Cat(Mux(scaled, scale[:SCALE], ONE), scale[SCALE:]) for scale in found]
            held[name] = [_held(m, taken, scale, f"{name}_{row}") for row, scale in enumerate(found)]
        return held

    def _choice(self, read: data.View, is_sparse: Value) -> dict[str, list[Value]]:
        """Odd lanes of the rows of Y, and for each row of X the codes that choose from even and odd ones."""
        if not self._config.sparse:
            return {}
        steps = Steps(self._config)
        odd = [
            Cat(low.word_select(row, QUAD_BITS) for low in (self.y_low_odd, self.y_high_odd))
            for row in range(steps.y_rows)
        ]
        codes = [
            Cat(
                Mux(is_sparse, self.low_codes.word_select(row, CODES_OF_WORD), 0),
                Mux(is_sparse & read.whole_rows, self.high_codes.word_select(row, CODES_OF_WORD), 0),
            )
            for row in range(steps.x_rows)
        ]
        return {"odd": odd, "codes": codes}

    def _choose(
        self, m: Module, read: data.View, even: list[Value], choice: dict[str, list[Value]]
    ) -> list[Value]:
        """What each unit multiplies with its row of X."""
        steps = Steps(self._config)
        chosen: list[Value] = []
        for unit in range(steps.units):
            x_number, y_number = divmod(unit, steps.y_rows)
            m.submodules[f"selection_{unit}"] = selection = SparseSelection(selected_units(self._config))
            m.d.comb += [
                selection.even.eq(even[y_number]),
                selection.odd.eq(choice["odd"][y_number]),
                selection.codes.eq(choice["codes"][x_number]),
            ]
            row: Value = selection.chosen
            if splits_words(self._config):
                row = Cat(self._half(read, row[:QUAD_BITS]), row[QUAD_BITS:])
            chosen.append(row)
        return chosen

    def _half(self, read: data.View, low: Value) -> Value:
        """The half of a word that a pass takes, where it takes no more."""
        upper = read.upper_half & _is_half(read.operation)
        return Mux(upper, low[QUAD_BITS // 2 :], low)

    def _rows(self, read: data.View, name: str, count: int) -> list[Value]:
        """The rows of a step, k ascending from the low bits on; of Y that may be sparse, even lanes."""
        rows: list[Value] = []
        for number in range(count):
            low, high = (
                getattr(self, f"{name}_{half}").word_select(number, QUAD_BITS) for half in ("low", "high")
            )
            if splits_words(self._config) and not (name == "y" and self._config.sparse):
                low = self._half(read, low)
            rows.append(Cat(low, Mux(read.whole_rows, high, 0)))
        return rows

    def _words_of_c(self, step: Signal) -> list[Value]:
        """For each unit the word of C with its element; with one unit, the step has the pair."""
        units = Steps(self._config).units
        pairs = [
            [word.word_select(index, LANE_BITS) for word in (self.c_0, self.c_1)]
            for index in range((units + 1) // 2)
        ]
        if units == 1:
            return [Mux(step[0], pairs[0][1], pairs[0][0])]
        return [word for pair in pairs for word in pair]

    def _element_of_c(self, unit: int, given: "_Elements") -> Value:
        """The element of C for a unit."""
        word = given.words[unit]
        odd = given.step[0] if Steps(self._config).units == 1 else Const(unit % 2, 1)
        half = LANE_BITS // 2
        is_f16 = given.read.operation.c_is_f16
        low = Mux(is_f16 & odd, word[half:], word[:half])
        return Cat(low, Mux(is_f16, 0, word[half:]))

    def _element(self, unit: int, given: "_Elements") -> Value:
        """C for a unit: its element, or the result of the pass before; and above it, `c_beyond`."""
        c, read = self._element_of_c(unit, given), given.read
        if not has_chains(self._config):
            return Cat(c, Const(0, 1))
        carry = given.carry.word_select(unit, LANE_BITS)
        beyond: Value = Const(0, 1)
        if has_integer_chains(self._config):
            # The products of a pass are less than 2**30, so only an element beyond that can leave the range,
            # and it does so on its own side.
            beyond = read.is_later & (c[-1] ^ c[-2]) & (c[-1] ^ carry[-1])
        if has_conversion(self._config):
            c = Mux(read.converted, 0, c)
        return Cat(Mux(read.is_later, carry, c), beyond)


@dataclass(frozen=True, kw_only=True)
class _Elements:
    """What C of the units is made of.

    Block RAM gives it late, so the register in front of the conversion stands before all other choices.
    """

    words: Sequence[Value]
    """Of C, one for each unit."""
    carry: Value
    """The results of the pass before."""
    step: Value
    read: data.View


def _held(m: Module, advance: Signal, value: Value, name: str) -> Signal:
    """A register that takes a new value whenever the steps move."""
    held = Signal(len(value), name=name, reset_less=True)
    with m.If(advance):
        m.d.sync += held.eq(value)
    return held


def _is_half(operation: data.View) -> Value:
    """Whether multiplicands have 16 bits."""
    multiplicand = operation.multiplicand
    return (multiplicand == Multiplicand.F16) | (multiplicand == Multiplicand.BF16)
