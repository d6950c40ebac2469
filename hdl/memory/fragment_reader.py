"""From the registers to quad words: reads whole words of the register file and takes them apart."""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.elastic import CreditQueue
from hdl.memory.bank_mapping import ADDRESS_BITS, BUFFERS
from hdl.memory.geometry import FragmentGeometry, log2_exact
from hdl.memory.store_crossbar import PlacedWord
from hdl.pipeline import delay
from hdl.registers.ports import QUAD_BITS, READ_LATENCY, register_read_signature, word_bits

__all__ = ["FragmentReader", "ReadRequest"]


class ReadRequest(data.Struct):
    """A fragment to be read.

    Members
    -------
    geometry : FragmentGeometry
    register : unsigned(8)
        Its first register.
    """

    geometry: FragmentGeometry
    register: unsigned(8)


class FragmentReader(wiring.Component):
    """Reads the words of one fragment after the other, as many ahead as there are places for.

    Throughput: a word of the register file or a quad word per cycle, whichever take longer; from one fragment
    to the next without a gap in the quad words where words are wider than a quad, and with one cycle between
    otherwise. Latency: 5 cycles from the request to the first quad word.
    `read.ready` ends at registers. Expected critical path: word counter, register port.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(ReadRequest))
    fetched : Out(1)
        High for one cycle when the last register of a fragment has been read.
    read : Out(register_read_signature(config))
    words : Out(stream.Signature(PlacedWord))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(stream.Signature(ReadRequest)),
                "fetched": Out(1),
                "read": Out(register_read_signature(config)),
                "words": Out(stream.Signature(PlacedWord)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        quad_bits = log2_exact(config.word_quads)
        m.submodules.places = places = CreditQueue(unsigned(word_bits(config)), depth=4)
        m.submodules.geometries = geometries = SyncFIFO(width=FragmentGeometry.as_shape().size, depth=BUFFERS)

        active = Signal()
        groups_left = Signal(ADDRESS_BITS)
        group_bits = 3 - quad_bits
        position = Signal(8 + group_bits)  # of a word: register, then group
        read = Signal()
        final = Signal()
        request = self.request.payload
        m.d.comb += [
            self.read.enable.eq(active & places.ready),
            self.read.address.eq(position << quad_bits),
            read.eq(self.read.enable & self.read.ready),
            final.eq(groups_left == 0),
            places.enter.eq(read),
            places.push.eq(delay(m, read, READ_LATENCY, "read_arrives", reset_less=False)),
            places.payload.eq(self.read.data),
            self.request.ready.eq(~active & geometries.w_rdy),
            geometries.w_data.eq(request.geometry.as_value()),
            geometries.w_en.eq(self.request.valid & self.request.ready),
        ]
        m.d.sync += self.fetched.eq(read & final)
        with m.If(read):
            m.d.sync += [
                groups_left.eq(groups_left - 1),
                position.eq(position + 1),
                active.eq(~final),
            ]
        with m.Elif(self.request.valid & self.request.ready):
            m.d.sync += [
                active.eq(1),
                position.eq(request.register << group_bits),
                groups_left.eq(((request.geometry.registers << 3) >> quad_bits) - 1),
            ]

        geometry = Signal(FragmentGeometry)
        working = Signal()
        word = Signal(ADDRESS_BITS)
        last = Signal()
        taken = Signal()
        m.d.comb += [
            last.eq(word == Mux(geometry.registers[3], ~0, (geometry.registers << 3) - 1)[:ADDRESS_BITS]),
            taken.eq(self.words.valid & self.words.ready),
            self.words.valid.eq(working & places.output.valid),
            self.words.payload.geometry.eq(geometry),
            self.words.payload.word.eq(word),
            self.words.payload.last.eq(last),
            self.words.payload.data.eq(places.output.payload.word_select(word[:quad_bits], QUAD_BITS)),
            places.output.ready.eq(taken & _all_ones(word[:quad_bits])),
            geometries.r_en.eq(~working | (taken & last)),
        ]
        with m.If(taken):
            m.d.sync += word.eq(word + 1)
        with m.If(geometries.r_en):
            m.d.sync += [geometry.eq(geometries.r_data), working.eq(geometries.r_rdy), word.eq(0)]
        return m


def _all_ones(bits: Value) -> Value:
    """Whether a counter is at its end; one of no bits always is (in Verilog, nothing reduces to no value)."""
    return bits.all() if len(bits) else Const(1)
