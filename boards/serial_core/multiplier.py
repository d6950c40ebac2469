"""The multiplier of a serial core: one result after the other."""

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from boards.serial_core.dot_product import HALF_BITS, HalfDotProduct
from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.signatures import register_read_signature
from boards.serial_core.walk_geometry import (
    DOT_WORDS,
    LANE_BITS,
    PRODUCT_ORDERS,
    REGISTER_BITS,
    WORD_BITS,
    ProductGeometry,
)

__all__ = ["ProductRequest", "SerialMultiplier"]

_WIDTH: Final = 8 * WORD_BYTES
_ACCUMULATOR_BITS: Final = _WIDTH + 1
_FRAGMENT_BITS: Final = LANE_BITS + REGISTER_BITS
_STEP_BITS: Final = 4
_FETCH_C: Final = 15
_FETCHES: Final = 2 * DOT_WORDS
_LAST_STEP: Final = _FETCHES + 3


class ProductRequest(data.Struct):
    """One multiply; its register ranges have been checked.

    Members
    -------
    geometry : ProductGeometry
    a, b, c : unsigned(8)
        First registers.
    saturate, bitwise_and : unsigned(1)
        As in `hdl.dot_product.operands.Operation`.
    """

    geometry: ProductGeometry
    a: unsigned(8)
    b: unsigned(8)
    c: unsigned(8)
    saturate: unsigned(1)
    bitwise_and: unsigned(1)


class SerialMultiplier(wiring.Component):
    """D = A B + C into a memory of its own: D may overlap A, B and C in any way.

    For each result the words of a row of A and of a column of B are read by turns, C before all; the halves
    of a pair of words are multiplied while the next pair is read:

    ======= ===== ===== ===== ===== ===== ===== === ===== ===== ===== =====
    step    15    0     1     2     3     4     ... 8     9     10    11
    ======= ===== ===== ===== ===== ===== ===== === ===== ===== ===== =====
    reads   C     A 0   B 0   A 1   B 1   A 2
    halves                    0 low 0 hi  1 low ... 3 low 3 hi
    adds          C                 0 low 0 hi  ... 2 hi  3 low 3 hi
    writes                                                            D
    ======= ===== ===== ===== ===== ===== ===== === ===== ===== ===== =====

    The sum is exact in 33 bits: C has 32, and the products of a dot product add up to less than 2**20 in
    magnitude (16 * 255 * 255, 32 * 15 * 15 or 128). So it is clamped or wrapped once, at its end.

    Throughput: a result in 13 cycles, m16n16k16 in 3328. Latency: 1 cycle more. Critical path expected: that
    of `boards.serial_core.dot_product`, or the accumulator, a carry chain of 33. About 700 look-up tables,
    those of that unit among them, and 2 block RAMs.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    request : In(ProductRequest)
        During the whole multiply.
    active : In(1)
        Multiply, from the first result on after a cycle without it.
    done : Out(1)
        The last result is written in this cycle.
    registers : Out(register_read_signature(config))
    result_address : In(8)
        Lane in the low bits, and register within the fragment.
    result : Out(32)
        One cycle later.

    Testbench
    ---------
    cocotb_tests/boards/serial_core/test_serial_core.py, through `SerialCore`.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(ProductRequest),
                "active": In(1),
                "done": Out(1),
                "registers": Out(register_read_signature(config)),
                "result_address": In(_FRAGMENT_BITS),
                "result": Out(_WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.results = results = Memory(shape=unsigned(_WIDTH), depth=1 << _FRAGMENT_BITS, init=[])
        m.submodules.halves = halves = HalfDotProduct(self._config)
        write_port, read_port = results.write_port(), results.read_port()
        request, geometry = self.request, self.request.geometry
        step = Signal(_STEP_BITS, init=_FETCH_C)
        place = Signal(_FRAGMENT_BITS)
        a_word = Signal(_WIDTH)
        b_high = Signal(HALF_BITS)
        sum_ = Signal(signed(_ACCUMULATOR_BITS))
        is_high = step[0]
        word = self.registers.data
        m.d.comb += [
            halves.multiplicand.eq(geometry.multiplicand),
            halves.a_signed.eq(geometry.a_signed),
            halves.b_signed.eq(geometry.b_signed),
            halves.bitwise_and.eq(request.bitwise_and),
            halves.a.eq(Mux(is_high, a_word[HALF_BITS:], a_word[:HALF_BITS])),
            halves.b.eq(Mux(is_high, b_high, word[:HALF_BITS])),
            self.registers.enable.eq(self.active & ((step < _FETCHES) | (step == _FETCH_C))),
            write_port.addr.eq(place),
            write_port.data.eq(_result(sum_, request.saturate)),
            read_port.addr.eq(self.result_address),
            self.result.eq(read_port.data),
        ]
        self._address(m, step, place)

        with m.If(is_high):
            m.d.sync += a_word.eq(word)
        with m.Else():
            m.d.sync += b_high.eq(word[HALF_BITS:])
        with m.If(step == 0):
            m.d.sync += sum_.eq(word.as_signed())
        with m.Elif((step > 2) & (step < _LAST_STEP)):
            m.d.sync += sum_.eq(sum_ + halves.sum)

        with m.If(~self.active):
            m.d.sync += [step.eq(_FETCH_C), place.eq(0)]
        with m.Elif(step == _LAST_STEP):
            m.d.comb += [
                write_port.en.eq(1),
                self.done.eq(place[:LANE_BITS].all() & (place[LANE_BITS:] + 1 == geometry.c_registers)),
            ]
            m.d.sync += [step.eq(_FETCH_C), place.eq(place + 1)]
        with m.Else():
            m.d.sync += step.eq(step + 1)
        return m

    def _address(self, m: Module, step: Signal, place: Signal) -> None:
        """Point the read port at the word of C, A or B that a step fetches."""
        request = self.request
        source = Cat(step[1 : 1 + WORD_BITS], place)
        found = PRODUCT_ORDERS.arrange(m, request.geometry.order, source, "found")
        lane, register, first = Signal(LANE_BITS), Signal(REGISTER_BITS), Signal(8)
        with m.If(step == _FETCH_C):
            m.d.comb += [Cat(lane, register).eq(place), first.eq(request.c)]
        with m.Elif(step[0]):
            m.d.comb += [Cat(lane, register).eq(found[_FRAGMENT_BITS:]), first.eq(request.b)]
        with m.Else():
            m.d.comb += [Cat(lane, register).eq(found[:_FRAGMENT_BITS]), first.eq(request.a)]
        m.d.comb += self.registers.address.eq(Cat(lane, first + register))


def _result(sum_: Signal, saturate: Signal) -> Value:
    """The sum in 32 bits: the low ones, or the nearest value there is."""
    beyond = sum_[-1] ^ sum_[-2]
    nearest = Cat((~sum_[-1]).replicate(_WIDTH - 1), sum_[-1])
    return Mux(saturate & beyond, nearest, sum_[:_WIDTH])
