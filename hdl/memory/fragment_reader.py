"""From the registers to the crossbar: reads one fragment after the other, quads of a beat at a time."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import QUADS, CoreConfig
from hdl.memory.bank_mapping import ADDRESS_BITS, BUFFERS
from hdl.memory.beats import access_layout
from hdl.memory.fragment_geometry import log2_exact
from hdl.memory.store_crossbar import StoredQuad
from hdl.registers.register_ports import QUAD_BITS, READ_LATENCY, quad_read_signature
from hdl.stream.pipeline import delay

_QUADS_LOG2 = log2_exact(QUADS)
_REGISTER_BITS = ADDRESS_BITS - _QUADS_LOG2


class FragmentReader(Component):
    """Reads the quads of fragments; begins with one only when the crossbar has a buffer for all of it.

    Throughput: `beat_quads` quads per cycle, from one fragment to the next without a gap. Latency: 1 cycle
    from the access to the first read. `read.ready` ends at registers.
    Expected critical path: quad counter, register port.
    Testbench: cocotb_tests/memory/test_store_engine.py, through `StoreEngine`.

    Members
    -------
    access : In(stream.Signature(access_layout(config)))
        Taken before its first read.
    fetched : Out(1)
        High for one cycle when the last register of a fragment has been read.
    read : Out(quad_read_signature(config, quads=config.beat_quads))
    quad : Out(StoredQuad)
        One cycle before its `data`.
    data : Out(128 * beat_quads)
    freed : In(1)
        The crossbar has read out a fragment.
    hold : In(1)
        Do not read.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._quads = config.beat_quads
        members = {
            "access": In(stream.Signature(access_layout(config))),
            "fetched": Out(1),
            "read": Out(quad_read_signature(config, quads=config.beat_quads)),
            "quad": Out(StoredQuad),
            "data": Out(QUAD_BITS * config.beat_quads),
            "freed": In(1),
            "hold": In(1),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        access = self.access.payload
        registers = access.geometry.registers
        quad_bits = log2_exact(self._quads)
        free = Signal(range(BUFFERS + 1), init=BUFFERS)
        active = Signal()
        now = Signal(StoredQuad)
        fragment = Signal(StoredQuad, reset_less=True)  # whose quads are being read, and the next one
        last_register = Signal(_REGISTER_BITS, reset_less=True)
        final = Signal()
        m.d.comb += [
            self.read.enable.eq(active & ~self.hold),
            now.eq(fragment),
            now.valid.eq(self.read.enable & self.read.ready),
            now.last.eq(fragment.word[quad_bits:] == Cat(~Const(0, _QUADS_LOG2 - quad_bits), last_register)),
            final.eq(now.valid & now.last),
            self.access.ready.eq((free != 0) & (~active | final)),
            self.quad.eq(delay(m, now, READ_LATENCY - 1, "quad")),
            self.quad.valid.eq(delay(m, now.valid, READ_LATENCY - 1, "valid", reset_less=False)),
            self.data.eq(self.read.data),
        ]
        begins = self.access.valid & self.access.ready
        m.d.sync += [self.fetched.eq(final), free.eq(free + self.freed - begins)]
        with m.If(now.valid):
            m.d.sync += [
                fragment.word.eq(fragment.word + self._quads),
                self.read.address.eq(self.read.address + self._quads),
            ]
        with m.If(final):
            m.d.sync += active.eq(0)
        with m.If(begins):
            m.d.sync += [
                active.eq(1),
                fragment.pattern.eq(access.geometry.pattern),
                fragment.order.eq(access.geometry.order),
                fragment.word.eq(0),
                last_register.eq(registers - 1),
                self.read.address.eq(access.register * QUADS),
            ]
