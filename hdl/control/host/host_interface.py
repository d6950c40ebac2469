"""The host interface: AXI4-Lite in front, registers and the windows onto the core's memories behind."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.tables.layouts import LANES
from hdl.component import Component
from hdl.config import CoreConfig
from hdl.control.host.register_map import MAP_ADDRESS_BITS, SHARED_WINDOW, WINDOW
from hdl.control.host.registers import HostRegisters, core_members
from hdl.memory.axi import HOST_ADDRESS_BITS, Axi4LiteSignature, Response
from hdl.memory.fragment_geometry import log2_exact
from hdl.memory.shared_memory import WORD_READ_LATENCY, shared_word_signature
from hdl.registers.register_ports import (
    LANE_BITS,
    READ_LATENCY,
    quad_read_signature,
    register_write_signature,
    word_address,
)
from hdl.stream.elastic import CreditQueue
from hdl.stream.pipeline import delay
from hdl.stream.stream_buffer import StreamBuffer

_LANE_ADDRESS_BITS = (LANES - 1).bit_length() + 2
_WINDOW_BITS = WINDOW.bit_length() - 1
_SHARED_BITS = SHARED_WINDOW.bit_length() - 1


_ANSWERS = 8
"""Reads in flight: what one per cycle takes."""


class _Access(data.Struct):
    """An access of the host, and whether its address is of a host register, of a lane, of a word on chip.

    `whole` says that all bytes of a word are written.
    """

    address: unsigned(HOST_ADDRESS_BITS)
    in_map: unsigned(1)
    in_lanes: unsigned(1)
    in_shared: unsigned(1)
    value: unsigned(LANE_BITS)
    is_write: unsigned(1)
    whole: unsigned(1)


class _Answer(data.Struct):
    """What a read is answered."""

    data: unsigned(LANE_BITS)
    resp: Response


class _Found(data.Struct):
    """What is known of a read when it is served; its word comes later if it is of a window."""

    is_lane: unsigned(1)
    is_shared: unsigned(1)
    lane: unsigned(2)
    resp: Response


class HostInterface(Component):
    """Serves an AXI4-Lite access per cycle, in order; a write comes before a read that is offered with it.

    An address without a register, a partial write (strobes not all set) and the windows while the core is at
    work are answered with SLVERR and change nothing; so is the window beyond the last register or beyond the
    end of the on-chip memory.

    Throughput: an access per cycle. Latency: a write is answered two cycles after both its address and data
    came, a read five cycles after its address; longer while the on-chip memory is not ready. The ready of
    every channel comes from registers and the valid of the others. Critical path expected: the choice of the
    lane from a quad of the register file.

    Parameters
    ----------
    config : CoreConfig
    count_from : int
        What the counters count from after reset; a testbench starts them near their limit.

    Members
    -------
    axi : In(Axi4LiteSignature())
    write : Out(register_write_signature(config))
    read : Out(quad_read_signature(config))
        Must be ready: while the core is idle, these ports have no other user.
    shared : Out(shared_word_signature())
        Not used without on-chip memory.
    ...
        And the members `hdl.control.host.registers.core_members`.
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        self._count_from = count_from
        self._core_members = core_members(config)
        members = {
            "axi": In(Axi4LiteSignature()),
            **self._core_members,
            "write": Out(register_write_signature(config)),
            "read": Out(quad_read_signature(config)),
            "shared": Out(shared_word_signature()),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        m.submodules.registers = registers = HostRegisters(self._config, count_from=self._count_from)
        for name, member in self._core_members.items():
            inner, outer = getattr(registers, name), getattr(self, name)
            if member.is_signature:
                for stream_in, stream_out in zip(inner, outer, strict=True):
                    wiring.connect(m, stream_in, wiring.flipped(stream_out))
            else:
                m.d.comb += outer.eq(inner) if member.flow == Out else inner.eq(outer)

        m.submodules.requests = requests = StreamBuffer(_Access)
        m.submodules.written = written = StreamBuffer(Response)
        m.submodules.answers = answers = CreditQueue(_Answer, depth=_ANSWERS)
        wiring.connect(m, written.output, wiring.flipped(self.axi.b))
        wiring.connect(m, answers.output, wiring.flipped(self.axi.r))
        offered = requests.input
        is_write = self.axi.aw.valid & self.axi.w.valid
        self._regions(m, offered.payload)
        m.d.comb += [
            offered.valid.eq(is_write | self.axi.ar.valid),
            offered.payload.address.eq(Mux(is_write, self.axi.aw.payload, self.axi.ar.payload)),
            offered.payload.value.eq(self.axi.w.payload.data),
            offered.payload.is_write.eq(is_write),
            offered.payload.whole.eq(self.axi.w.payload.strb.all()),
            self.axi.aw.ready.eq(offered.ready & is_write),
            self.axi.w.ready.eq(offered.ready & is_write),
            self.axi.ar.ready.eq(offered.ready & ~is_write),
        ]

        access = Signal(_Access)
        has_access = Signal()
        registers_idle = Signal()
        writes = Signal()
        reads = Signal()
        served = Signal()
        response = Signal(Response)
        # Registers and memory are open to the host while no command is executed.
        in_map = access.in_map
        in_lanes, in_shared = access.in_lanes & registers_idle, access.in_shared & registers_idle
        # Independent of whether the access takes place in this cycle.
        possible = Mux(access.is_write, registers.writable, registers.readable)
        refused = ~(in_lanes | in_shared | (in_map & possible)) | (access.is_write & ~access.whole)
        m.d.comb += [
            access.eq(requests.output.payload),
            has_access.eq(requests.output.valid),
            registers_idle.eq(registers.idle),
            writes.eq(has_access & access.is_write & written.input.ready),
            reads.eq(has_access & ~access.is_write & answers.ready),
            served.eq(writes | reads),
            requests.output.ready.eq(served),
            response.eq(Mux(refused, Response.SLVERR, Response.OKAY)),
            registers.address.eq(access.address),
            registers.value.eq(access.value),
            registers.write.eq(writes & access.whole & in_map),
            registers.read.eq(reads & in_map),
            self.write.enable.eq(writes & access.whole & in_lanes),
            self.read.enable.eq(reads & in_lanes),
            self.shared.enable.eq((reads | (writes & access.whole)) & in_shared),
            self.shared.is_write.eq(access.is_write),
            self.shared.address.eq(access.address[2:_SHARED_BITS]),
            self.shared.write_data.eq(access.value),
            written.input.valid.eq(served & access.is_write),
            written.input.payload.eq(response),
        ]
        with m.If(self.shared.enable & ~self.shared.ready):
            m.d.comb += served.eq(0)
        self._address_lanes(m, access.address, access.value, registers.warp)

        found = Signal(_Found)
        m.d.comb += [
            found.is_lane.eq(in_lanes),
            found.is_shared.eq(in_shared),
            found.lane.eq(access.address[2:4]),
            found.resp.eq(response),
            answers.enter.eq(served & ~access.is_write),
        ]
        if WORD_READ_LATENCY != READ_LATENCY:
            raise ValueError(
                f"Words on chip must take {READ_LATENCY} cycles as registers do, not {WORD_READ_LATENCY}"
            )
        late = data.View(_Found, delay(m, found.as_value(), READ_LATENCY, "found"))
        answer = delay(m, registers.answer, READ_LATENCY - 1, "answer")
        word = Mux(late.is_lane, self.read.data.word_select(late.lane, LANE_BITS), answer)
        word = Mux(late.is_shared, self.shared.read_data, word)
        m.d.comb += [
            answers.push.eq(delay(m, answers.enter, READ_LATENCY, "entered", reset_less=False)),
            answers.payload.data.eq(Mux(late.resp == Response.OKAY, word, 0)),
            answers.payload.resp.eq(late.resp),
        ]

    def _regions(self, m: Module, access: data.View) -> None:
        """Tell by its address what an access is to."""
        address = access.address
        aligned = address[:2] == 0
        register = address[_LANE_ADDRESS_BITS:_WINDOW_BITS]
        m.d.comb += [
            access.in_map.eq(address[MAP_ADDRESS_BITS:] == 0),
            access.in_lanes.eq(aligned & (address[_WINDOW_BITS:] == 1) & (register < self._config.registers)),
        ]
        if self._config.shared_bytes:
            in_chip = address[2:_SHARED_BITS] < self._config.shared_bytes // 4
            m.d.comb += access.in_shared.eq(aligned & (address[_SHARED_BITS:] == 1) & in_chip)

    def _address_lanes(self, m: Module, address: Value, value: Value, warp: Value) -> None:
        """Point the register ports at the lane that an address means, of the selected warp."""
        lanes = 4 * self._config.word_quads
        group_at = 2 + lanes.bit_length() - 1
        lane = Signal(range(lanes))
        register = Cat(address[_LANE_ADDRESS_BITS:][: log2_exact(self._config.registers)], warp)
        place = word_address(self._config, register, address[group_at:_LANE_ADDRESS_BITS])
        m.d.comb += [
            lane.eq(address[2:group_at]),
            self.write.address.eq(place),
            self.write.data.eq(value.replicate(lanes)),
            self.write.lanes.eq(1 << lane),
            self.read.address.eq(Cat(address[4:_LANE_ADDRESS_BITS], register)),
        ]
