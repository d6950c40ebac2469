"""The row memories of the f64 tile multiplier: fragments of two tiles, as its steps want them."""

from amaranth.hdl import Cat, Const, Module, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import QUADS, CoreConfig
from hdl.multiply.f64.f64_steps import BUFFERS, PAIRS, K, Steps
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS

__all__ = ["F64Rows", "QuadPlace", "QuadWrite"]


class QuadPlace(data.Struct):
    """Where a quad goes; as a number it counts them in the order of A, B and C in the registers.

    Members
    -------
    quad : unsigned(3)
    high : unsigned(1)
        It is of the high halves of 64 bits.
    pair : unsigned(1)
        Of C the second pair of registers; of a multiplicand, B.
    is_c : unsigned(1)
    buffer : unsigned(1)
    """

    quad: unsigned(3)
    high: unsigned(1)
    pair: unsigned(1)
    is_c: unsigned(1)
    buffer: unsigned(1)


class QuadWrite(data.Struct):
    """A quad on its way to the row memories.

    Members
    -------
    enable : unsigned(1)
    place : QuadPlace
    data : unsigned(128)
    """

    enable: unsigned(1)
    place: QuadPlace
    data: unsigned(QUAD_BITS)


class F64Rows(wiring.Component):
    """Memories that are written a quad at a time and read an element at a time.

    A quad is four elements' halves: of A a row, of B a column, of C half of what a row has in a pair of
    registers. A step needs one element of A, and of B and C one for each unit. Where memories end, nothing
    has to choose from a row; what is read of low halves and of high halves are two memories.

    Latency: read data in the cycle after `enable`, and until the next one. Each of the two buffers is written
    by one stage while the other one reads the other buffer; nothing here keeps them apart.
    Critical path expected: step, memory, choice of one of four lanes.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    write : In(QuadWrite)
    enable : In(1), buffer : In(1), step : In(Steps.bits), k : In(2)
        Read what a step needs for its product k.
    a, b_0, c_0, ... : Out(64)
        The elements, those of B and C for each unit.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._steps = steps = Steps(config)
        super().__init__(
            {
                "write": In(QuadWrite),
                "enable": In(1),
                "buffer": In(1),
                "step": In(steps.bits),
                "k": In(range(K)),
                "a": Out(64),
                **{f"{use}_{unit}": Out(64) for use in "bc" for unit in range(steps.units)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        steps, place = self._steps, self.write.place
        quad, pair = steps.quad(self.step), steps.pair(self.step)
        of_a, of_b = ~place.is_c & ~place.pair, ~place.is_c & place.pair
        self._memory(m, "a", of_a, Const(0, 0), Cat(self.k, quad))
        for unit in range(steps.units):
            lane = steps.lane(self.step, unit)
            self._memory(m, f"b_{unit}", of_b, Const(0, 0), Cat(self.k, pair, lane))
            self._memory(m, f"c_{unit}", place.is_c, place.pair, Cat(lane, quad, pair))
        return m

    def _memory(self, m: Module, name: str, chosen: Value, pair: Value, read_address: Value) -> None:
        """Make the memories of both halves; `pair` is above the quad in the address."""
        write = self.write
        elements = []
        for high, half in enumerate(("low", "high")):
            rows = BUFFERS * QUADS * (PAIRS if len(pair) else 1)
            memory = collision_free_memory(unsigned(LANE_BITS), rows * K)
            m.submodules[f"{name}_{half}_memory"] = memory
            # Ports whose addresses differ in constant low bits are one wide port to synthesis.
            for lane in range(K):
                write_port = memory.write_port()
                m.d.comb += [
                    write_port.en.eq(write.enable & chosen & (write.place.high == high)),
                    write_port.addr.eq(Cat(Const(lane, 2), write.place.quad, pair, write.place.buffer)),
                    write_port.data.eq(write.data.word_select(lane, LANE_BITS)),
                ]
            read_port = memory.read_port()
            m.d.comb += [
                read_port.en.eq(self.enable),
                read_port.addr.eq(Cat(read_address, self.buffer)),
            ]
            elements.append(read_port.data)
        m.d.comb += getattr(self, name).eq(Cat(elements))
