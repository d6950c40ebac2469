"""The host interface: AXI4-Lite in front, registers and the windows onto the core's memories behind."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from golden.tables.layouts import LANES
from hdl.config import CoreConfig
from hdl.control.host.register_map import MAP_ADDRESS_BITS, SHARED_WINDOW, WINDOW
from hdl.control.host.registers import HostRegisters, core_members
from hdl.memory.axi import HOST_ADDRESS_BITS, Axi4LiteSignature, Response
from hdl.memory.shared_memory import WORD_READ_LATENCY, shared_word_signature
from hdl.registers.register_ports import (
    LANE_BITS,
    READ_LATENCY,
    quad_read_signature,
    register_write_signature,
    word_address,
)
from hdl.stream.pipeline import delay

__all__ = ["HostInterface"]

_LANE_ADDRESS_BITS = (LANES - 1).bit_length() + 2
_WINDOW_BITS = WINDOW.bit_length() - 1
_SHARED_BITS = SHARED_WINDOW.bit_length() - 1


class _State(enum.Enum, shape=4):
    IDLE = 0
    WRITE = 1
    WRITE_LANE = 2
    WRITE_SHARED = 3
    WRITE_ANSWER = 4
    READ = 5
    READ_LANE = 6
    LANE_READ = 7
    READ_SHARED = 8
    SHARED_READ = 9
    READ_ANSWER = 10


class HostInterface(wiring.Component):
    """Serves one AXI4-Lite access at a time.

    An address without a register, a partial write (strobes not all set) and the windows while the core is at
    work are answered with SLVERR and change nothing; so is the window beyond the last register or beyond the
    end of the on-chip memory.

    Latency: a write is answered two cycles after both its address and data came, three in a window, a read
    two cycles after its address, five in a window; longer while another has the port. Critical path expected:
    the choice of the lane from a quad of the register file.

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
    shared : Out(shared_word_signature())
        Not used without on-chip memory.
    ...
        And those of `hdl.control.host.registers.core_members`.
    """

    def __init__(self, config: CoreConfig, *, count_from: int = 0) -> None:
        self._config = config
        self._count_from = count_from
        self._core_members = core_members(config)
        super().__init__(
            {
                "axi": In(Axi4LiteSignature()),
                **self._core_members,
                "write": Out(register_write_signature(config)),
                "read": Out(quad_read_signature(config)),
                "shared": Out(shared_word_signature()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.registers = registers = HostRegisters(self._config, count_from=self._count_from)
        for name, member in self._core_members.items():
            inner, outer = getattr(registers, name), getattr(self, name)
            if member.is_signature:
                wiring.connect(m, inner, wiring.flipped(outer))
            else:
                m.d.comb += outer.eq(inner) if member.flow == Out else inner.eq(outer)

        state = Signal(_State)
        address = Signal(HOST_ADDRESS_BITS)
        value = Signal(LANE_BITS)
        whole = Signal()
        response = Signal(Response)
        answer = Signal(LANE_BITS)
        in_map, in_lanes, in_shared = self._regions(m, address, registers.idle)
        m.d.comb += [
            registers.address.eq(address),
            registers.value.eq(value),
            self.axi.b.payload.eq(response),
            self.axi.b.valid.eq(state == _State.WRITE_ANSWER),
            self.axi.r.payload.data.eq(Mux(response == Response.OKAY, answer, 0)),
            self.axi.r.payload.resp.eq(response),
            self.axi.r.valid.eq(state == _State.READ_ANSWER),
            self.write.enable.eq(state == _State.WRITE_LANE),
            self.read.enable.eq(state == _State.READ_LANE),
            self.shared.enable.eq((state == _State.WRITE_SHARED) | (state == _State.READ_SHARED)),
            self.shared.is_write.eq(state == _State.WRITE_SHARED),
            self.shared.address.eq(address[2:_SHARED_BITS]),
            self.shared.write_data.eq(value),
        ]
        self._address_lanes(m, address, value)
        granted = self.read.enable & self.read.ready
        lane_arrives = delay(m, granted, READ_LATENCY, "lane_arrives", reset_less=False)
        word_granted = self.shared.enable & self.shared.ready
        word_arrives = delay(m, word_granted, WORD_READ_LATENCY, "word_arrives", reset_less=False)

        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += response.eq(Response.OKAY)
                with m.If(self.axi.aw.valid & self.axi.w.valid):
                    m.d.comb += [self.axi.aw.ready.eq(1), self.axi.w.ready.eq(1)]
                    m.d.sync += [
                        address.eq(self.axi.aw.payload),
                        value.eq(self.axi.w.payload.data),
                        whole.eq(self.axi.w.payload.strb.all()),
                        state.eq(_State.WRITE),
                    ]
                with m.Elif(self.axi.ar.valid):
                    m.d.comb += self.axi.ar.ready.eq(1)
                    m.d.sync += [address.eq(self.axi.ar.payload), state.eq(_State.READ)]
            with m.Case(_State.WRITE):
                m.d.comb += registers.write.eq(whole & in_map)
                m.d.sync += state.eq(_State.WRITE_ANSWER)
                with m.If(whole & in_lanes):
                    m.d.sync += state.eq(_State.WRITE_LANE)
                with m.If(whole & in_shared):
                    m.d.sync += state.eq(_State.WRITE_SHARED)
                with m.If(~whole | ~(in_lanes | in_shared | in_map) | registers.refused):
                    m.d.sync += response.eq(Response.SLVERR)
            with m.Case(_State.WRITE_LANE):
                with m.If(self.write.ready):
                    m.d.sync += state.eq(_State.WRITE_ANSWER)
            with m.Case(_State.WRITE_SHARED):
                with m.If(self.shared.ready):
                    m.d.sync += state.eq(_State.WRITE_ANSWER)
            with m.Case(_State.WRITE_ANSWER):
                with m.If(self.axi.b.ready):
                    m.d.sync += state.eq(_State.IDLE)
            with m.Case(_State.READ):
                m.d.comb += registers.read.eq(in_map)
                m.d.sync += [answer.eq(registers.answer), state.eq(_State.READ_ANSWER)]
                with m.If(in_lanes):
                    m.d.sync += state.eq(_State.READ_LANE)
                with m.If(in_shared):
                    m.d.sync += state.eq(_State.READ_SHARED)
                with m.If(~(in_lanes | in_shared | in_map) | registers.refused):
                    m.d.sync += response.eq(Response.SLVERR)
            with m.Case(_State.READ_LANE):
                with m.If(self.read.ready):
                    m.d.sync += state.eq(_State.LANE_READ)
            with m.Case(_State.LANE_READ):
                m.d.sync += answer.eq(self.read.data.word_select(address[2:4], LANE_BITS))
                with m.If(lane_arrives):
                    m.d.sync += state.eq(_State.READ_ANSWER)
            with m.Case(_State.READ_SHARED):
                with m.If(self.shared.ready):
                    m.d.sync += state.eq(_State.SHARED_READ)
            with m.Case(_State.SHARED_READ):
                m.d.sync += answer.eq(self.shared.read_data)
                with m.If(word_arrives):
                    m.d.sync += state.eq(_State.READ_ANSWER)
            with m.Case(_State.READ_ANSWER):
                with m.If(self.axi.r.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _regions(self, m: Module, address: Signal, idle: Signal) -> tuple[Signal, Signal, Signal]:
        """Whether an address is of a host register, of a lane of a register, of a word on chip."""
        in_map = Signal()
        in_lanes = Signal()
        in_shared = Signal()
        open_window = Signal()
        register = address[_LANE_ADDRESS_BITS:_WINDOW_BITS]
        m.d.comb += [
            open_window.eq(idle & (address[:2] == 0)),
            in_map.eq(address[MAP_ADDRESS_BITS:] == 0),
            in_lanes.eq(open_window & (address[_WINDOW_BITS:] == 1) & (register < self._config.registers)),
        ]
        if self._config.shared_bytes:
            in_chip = address[2:_SHARED_BITS] < self._config.shared_bytes // 4
            m.d.comb += in_shared.eq(open_window & (address[_SHARED_BITS:] == 1) & in_chip)
        return in_map, in_lanes, in_shared

    def _address_lanes(self, m: Module, address: Signal, value: Signal) -> None:
        """Point the register ports at the lane that an address means."""
        lanes = 4 * self._config.word_quads
        group_at = 2 + lanes.bit_length() - 1
        lane = Signal(range(lanes))
        place = word_address(
            self._config,
            address[_LANE_ADDRESS_BITS:_WINDOW_BITS],
            address[group_at:_LANE_ADDRESS_BITS],
        )
        m.d.comb += [
            lane.eq(address[2:group_at]),
            self.write.address.eq(place),
            self.write.data.eq(value.replicate(lanes)),
            self.write.lanes.eq(1 << lane),
            self.read.address.eq(address[4:_WINDOW_BITS]),
        ]
