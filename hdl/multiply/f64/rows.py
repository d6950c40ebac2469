"""The row memories of the f64 tile multiplier: fragments of two tiles, as its steps want them."""

from amaranth.hdl import Cat, Const, Module, Value, unsigned
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.multiply.f64.f64_steps import BUFFERS, K_BITS, Steps
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS

_LANES = 4


class Use(enum.Enum, shape=2):
    """The fragment that a quad is of."""

    A = 0
    B = 1
    C = 2


class QuadPlace(data.Struct):
    """Where a quad goes."""

    quad: unsigned(3)
    register: unsigned(4)
    """Of its fragment. Bit 0 tells high halves of 64 bits from low ones. Above it is, of A, the block of
    rows and then the block of k; of B, the block of k; of C, the pair and then the block of rows."""
    use: Use
    buffer: unsigned(1)


class QuadWrite(data.Struct):
    """A quad on its way to the row memories."""

    enable: unsigned(1)
    place: QuadPlace
    data: unsigned(QUAD_BITS)


class F64Rows(Component):
    """Memories that are written a quad at a time and read an element at a time.

    A quad is four elements' halves: of A a row, of B a column, of C half of what a row has in a pair of
    registers. A step needs one element of A, and of B and C one for each unit. Where memories end, nothing
    has to choose from a row; what is read of low halves and of high halves are two memories.

    Latency: read data in the cycle after `enable`, and until the next one. Each of the two buffers is written
    by one stage while the other one reads the other buffer; nothing here keeps them apart.
    Critical path expected: step, memory, choice of one of four lanes.

    Members
    -------
    write : In(QuadWrite)
    enable : In(1), buffer : In(1), step : In(Steps.bits), k : In(K_BITS)
        Read what a step needs for its product k.
    a : Out(64), b, c : Out(64).array(f64_units)
        The elements, of B and C one for each unit.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._steps = steps = Steps(config)
        members = {
            "write": In(QuadWrite),
            "enable": In(1),
            "buffer": In(1),
            "step": In(steps.bits),
            "k": In(K_BITS),
            "a": Out(64),
            "b": Out(64).array(steps.units),
            "c": Out(64).array(steps.units),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        steps, place = self._steps, self.write.place
        register = place.register
        quad, pair, block = (field(self.step) for field in (steps.quad, steps.pair, steps.block))
        of_a = Cat(register[2:], place.quad, register[1])
        self._memory(m, "a", self.a, Use.A, of_a, Cat(self.k, quad, block))
        for unit in range(steps.units):
            lane = steps.lane(self.step, unit)
            of_b, of_c = Cat(register[1:3], place.quad), Cat(place.quad, register[1:3])
            self._memory(m, f"b_{unit}", self.b[unit], Use.B, of_b, Cat(self.k, pair, lane))
            self._memory(m, f"c_{unit}", self.c[unit], Use.C, of_c, Cat(lane, quad, pair, block))

    def _memory(self, m: Module, name: str, output: Value, use: Use, row: Value, read_address: Value) -> None:
        """Make the memories of both halves; `row` is above the lane in the address to write."""
        write = self.write
        chosen = write.place.use == use
        elements = []
        for high, half in enumerate(("low", "high")):
            memory = collision_free_memory(unsigned(LANE_BITS), BUFFERS * _LANES << len(row))
            m.submodules[f"{name}_{half}_memory"] = memory
            # Ports whose addresses differ in constant low bits are one wide port to synthesis.
            for lane in range(_LANES):
                write_port = memory.write_port()
                m.d.comb += [
                    write_port.en.eq(write.enable & chosen & (write.place.register[0] == high)),
                    write_port.addr.eq(Cat(Const(lane, 2), row, write.place.buffer)),
                    write_port.data.eq(write.data.word_select(lane, LANE_BITS)),
                ]
            read_port = memory.read_port()
            m.d.comb += [
                read_port.en.eq(self.enable),
                read_port.addr.eq(Cat(read_address, self.buffer)),
            ]
            elements.append(read_port.data)
        m.d.comb += output.eq(Cat(elements))
