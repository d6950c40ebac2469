"""The host interface of a serial core: the register map of every core, on AXI4-Lite."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from boards.serial_core.queue import INDEX_BITS
from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.signatures import register_read_signature, register_write_signature, word_address_bits
from hdl.command import COMMAND_WORDS
from hdl.control.host.register_map import COUNTERS, MAP_ADDRESS_BITS, REGISTERS, WINDOW
from hdl.control.host.register_views import fields_of, readable_words, word_index
from hdl.memory.axi import HOST_ADDRESS_BITS, Axi4LiteSignature, Response
from hdl.memory.beats import CAUSE_BITS

__all__ = ["COUNTED", "SerialHost"]

COUNTED = ("INSTRUCTIONS", "CYCLES")
"""The counters that count; the others read 0."""

_WIDTH = 8 * WORD_BYTES
_COUNTER_BITS = 64
_WINDOW_BITS = WINDOW.bit_length() - 1


class _State(enum.Enum, shape=3):
    IDLE = 0
    WRITE = 1
    WRITE_ANSWER = 2
    READ = 3
    LANE_READ = 4
    READ_ANSWER = 5


class SerialHost(wiring.Component):
    """Serves one AXI4-Lite access at a time.

    What is served and what is refused is as in `hdl.control.host.host_interface.HostInterface`, with two
    exceptions. All five words of a command have to be written for each, as it keeps none from the one before.
    MODE.serial reads 1, and writing 0 is refused, as commands never overlap. The counters
    count what their inputs said one cycle ago, so that nothing but a register is in front of their addition.

    Latency: a write is answered two cycles after both its address and data came, a read two cycles after its
    address, three in the window. Critical path expected: the choice among the registers. About 400 look-up
    tables, 130 of them the counters.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    axi : In(Axi4LiteSignature())
    queue_write, queue_push, queue_clear : Out(1)
    queue_index : Out(3)
    value : Out(32)
        What is written, to the queue.
    queue_room : In(range(depth + 1))
    read : Out(register_read_signature(config))
        Only while the core is idle, as is `write`.
    write : Out(register_write_signature(config))
    busy, ended : In(1)
        Of the sequencer, as are `cause` and `progress`.
    cause : In(4)
    progress : In(9)
    irq : Out(1)

    Testbench
    ---------
    cocotb_tests/boards/serial_core/test_serial_host.py, through `SerialCore`.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__(
            {
                "axi": In(Axi4LiteSignature()),
                "queue_write": Out(1),
                "queue_push": Out(1),
                "queue_clear": Out(1),
                "queue_index": Out(INDEX_BITS),
                "value": Out(_WIDTH),
                "queue_room": In(range(config.queue_depth + 1)),
                "read": Out(register_read_signature(config)),
                "write": Out(register_write_signature(config)),
                "busy": In(1),
                "ended": In(1),
                "cause": In(CAUSE_BITS),
                "progress": In(9),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config, axi = self._config, self.axi
        state = Signal(_State)
        address = Signal(HOST_ADDRESS_BITS)
        whole, refused = Signal(), Signal()
        answer = Signal(_WIDTH)
        enables = Signal(2)
        idle, in_map, in_lanes = Signal(), Signal(), Signal()
        fault = self.cause != 0
        lane_address = address[2 : 2 + word_address_bits(config)]
        response = Mux(refused, Response.SLVERR.value, Response.OKAY.value)
        m.d.comb += [
            idle.eq(~self.busy & ((self.queue_room == config.queue_depth) | fault)),
            in_map.eq(address[MAP_ADDRESS_BITS:] == 0),
            in_lanes.eq(
                idle
                & (address[:2] == 0)
                & (address[2 + len(lane_address) :] == WINDOW >> 2 + len(lane_address))
            ),
            self.irq.eq((enables[0] & idle) | (enables[1] & fault)),
            self.queue_index.eq((address - REGISTERS["COMMAND"])[2:]),
            self.read.address.eq(lane_address),
            self.write.address.eq(lane_address),
            self.write.data.eq(self.value),
            axi.b.payload.eq(response),
            axi.b.valid.eq(state == _State.WRITE_ANSWER),
            axi.r.payload.data.eq(Mux(refused, 0, answer)),
            axi.r.payload.resp.eq(response),
            axi.r.valid.eq(state == _State.READ_ANSWER),
        ]
        value, exists = self._look_up(m, address, state == _State.READ, enables, idle)

        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(axi.aw.valid & axi.w.valid):
                    m.d.comb += [axi.aw.ready.eq(1), axi.w.ready.eq(1)]
                    m.d.sync += [
                        address.eq(axi.aw.payload),
                        self.value.eq(axi.w.payload.data),
                        whole.eq(axi.w.payload.strb.all()),
                        state.eq(_State.WRITE),
                    ]
                with m.Elif(axi.ar.valid):
                    m.d.comb += axi.ar.ready.eq(1)
                    m.d.sync += [address.eq(axi.ar.payload), state.eq(_State.READ)]
            with m.Case(_State.WRITE):
                m.d.sync += [refused.eq(1), state.eq(_State.WRITE_ANSWER)]
                with m.If(whole & in_lanes):
                    m.d.comb += self.write.bytes.eq(~0)
                    m.d.sync += refused.eq(0)
                with m.If(whole & in_map & (address[:2] == 0)):
                    self._set(m, address, refused, enables, idle)
            with m.Case(_State.WRITE_ANSWER):
                with m.If(axi.b.ready):
                    m.d.sync += state.eq(_State.IDLE)
            with m.Case(_State.READ):
                m.d.comb += self.read.enable.eq(in_lanes)
                m.d.sync += [
                    answer.eq(value),
                    refused.eq(~in_lanes & ~(in_map & exists)),
                    state.eq(Mux(in_lanes, _State.LANE_READ, _State.READ_ANSWER)),
                ]
            with m.Case(_State.LANE_READ):
                m.d.sync += [answer.eq(self.read.data), state.eq(_State.READ_ANSWER)]
            with m.Case(_State.READ_ANSWER):
                with m.If(axi.r.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _set(self, m: Module, address: Signal, refused: Signal, enables: Signal, idle: Signal) -> None:
        """Write a register."""
        with m.Switch(address[2:MAP_ADDRESS_BITS]):
            with m.Case(word_index("CONTROL")):
                m.d.comb += self.queue_clear.eq(fields_of("CONTROL", self.value).clear)
                m.d.sync += refused.eq(0)
            with m.Case(word_index("INTERRUPT_ENABLE")):
                enabled = fields_of("INTERRUPT_ENABLE", self.value)
                m.d.sync += [enables.eq(Cat(enabled.idle, enabled.fault)), refused.eq(0)]
            with m.Case(word_index("MODE")):
                m.d.sync += refused.eq(~(idle & fields_of("MODE", self.value).serial))
            with m.Case(word_index("WARP")):
                m.d.sync += refused.eq(fields_of("WARP", self.value).warp != 0)
            with m.Case(word_index("COMMAND")):
                m.d.comb += [self.queue_write.eq(1), self.queue_push.eq(self.queue_room != 0)]
                m.d.sync += refused.eq(self.queue_room == 0)
            with m.Case(*(word_index("COMMAND", word) for word in range(1, COMMAND_WORDS))):
                m.d.comb += self.queue_write.eq(1)
                m.d.sync += refused.eq(0)

    def _look_up(
        self, m: Module, address: Signal, read: Value, enables: Signal, idle: Signal
    ) -> tuple[Signal, Signal]:
        """What a register reads, and whether it exists."""
        counters = {name: Signal(_COUNTER_BITS, name=name.lower()) for name in COUNTED}
        for counter, increment in zip(counters.values(), (self.ended, self.busy), strict=True):
            happened = Signal(name=f"{counter.name}_now")
            m.d.sync += [happened.eq(increment), counter.eq(counter + happened)]
        sources = readable_words(
            self._config,
            {
                "CONTROL": {},
                "STATUS": {"busy": ~idle, "fault": self.cause != 0, "free": self.queue_room},
                "FAULT_CAUSE": {"cause": self.cause},
                "FAULT_INDEX": {"index": counters["INSTRUCTIONS"][:_WIDTH]},
                "FAULT_PROGRESS": {"bursts": self.progress},
                "INTERRUPT_ENABLE": {"idle": enables[0], "fault": enables[1]},
                "MODE": {"serial": Const(1)},
                "WARP": {"warp": Const(0, 4)},
                "FAULTS": {"warps": self.cause != 0},
            },
        )
        value, exists = Signal(_WIDTH), Signal()
        high = Signal(_COUNTER_BITS - _WIDTH)
        with m.If(address[:2] == 0):
            m.d.comb += exists.eq(1)
            with m.Switch(address[2:MAP_ADDRESS_BITS]):
                for name, source in sources.items():
                    with m.Case(word_index(name)):
                        m.d.comb += value.eq(source)
                for name in COUNTERS:
                    counter = counters.get(name, Const(0, _COUNTER_BITS))
                    with m.Case(word_index(name)):
                        m.d.comb += value.eq(counter[:_WIDTH])
                        with m.If(read):
                            m.d.sync += high.eq(counter[_WIDTH:])
                    with m.Case(word_index(name, 1)):
                        m.d.comb += value.eq(high)
                with m.Default():
                    m.d.comb += exists.eq(0)
        return value, exists
