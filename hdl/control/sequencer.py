"""The sequencer: takes commands in order, hands each to its unit, counts, and stops at a fault."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.command import COMMAND_BITS, Opcode
from hdl.config import CoreConfig
from hdl.control.decoder import Decoded, Decoder
from hdl.memory.load_store import CAUSE_BITS, LoadStoreRequest
from hdl.multiply.double_multiplier import DoubleRequest
from hdl.multiply.tile_request import TileRequest
from hdl.registers.register_mover import MoveRequest

__all__ = ["Sequencer"]


class _State(enum.Enum, shape=3):
    IDLE = 0
    DECODE = 1
    DISPATCH = 2
    EXECUTE = 3
    FAULT = 4


class Sequencer(wiring.Component):
    """Executes commands one after the other.

    Latency: three cycles from the queue to the unit, one from its end to the next command.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    commands : In(stream.Signature(160))
    memory, tile, double, move : Out(stream.Signature(...))
        Requests to the load/store unit, the tile multipliers and the register mover.
    memory_done, tile_done, double_done, move_done : In(1)
    memory_cause : In(4)
    clear : In(1)
        Leave the fault state.
    busy : Out(1)
        A command is in progress.
    cause : Out(4)
        Zero, or why the core stands still.
    executed : Out(64)
        Commands executed to their end; at a fault, the index of the one at fault.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "commands": In(stream.Signature(COMMAND_BITS)),
                "memory": Out(stream.Signature(LoadStoreRequest)),
                "tile": Out(stream.Signature(TileRequest)),
                "double": Out(stream.Signature(DoubleRequest)),
                "move": Out(stream.Signature(MoveRequest)),
                "memory_done": In(1),
                "memory_cause": In(CAUSE_BITS),
                "tile_done": In(1),
                "double_done": In(1),
                "move_done": In(1),
                "clear": In(1),
                "busy": Out(1),
                "cause": Out(CAUSE_BITS),
                "executed": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.submodules.decoder = decoder = Decoder(self._config)
        state = Signal(_State)
        command = Signal(COMMAND_BITS)
        decoded = Signal(Decoded)
        dispatched = Signal()
        done = Signal()
        m.d.comb += [
            decoder.command.eq(command),
            self.commands.ready.eq(state == _State.IDLE),
            self.busy.eq((state != _State.IDLE) & (state != _State.FAULT)),
            self.memory.payload.eq(decoded.memory),
            self.tile.payload.eq(decoded.tile),
            self.double.payload.eq(decoded.double),
            self.move.payload.eq(decoded.move),
            done.eq(self.memory_done | self.tile_done | self.double_done | self.move_done),
        ]
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.commands.valid):
                    m.d.sync += [command.eq(self.commands.payload), state.eq(_State.DECODE)]
            with m.Case(_State.DECODE):
                m.d.sync += [decoded.eq(decoder.decoded), state.eq(_State.DISPATCH)]
            with m.Case(_State.DISPATCH):
                with m.If(decoded.cause != 0):
                    m.d.sync += [self.cause.eq(decoded.cause), state.eq(_State.FAULT)]
                with m.Else():
                    with m.Switch(decoded.opcode):
                        with m.Case(Opcode.LOAD, Opcode.STORE):
                            m.d.comb += [self.memory.valid.eq(1), dispatched.eq(self.memory.ready)]
                        with m.Case(Opcode.MMA):
                            m.d.comb += [
                                self.double.valid.eq(decoded.is_double),
                                self.tile.valid.eq(~decoded.is_double),
                                dispatched.eq(Mux(decoded.is_double, self.double.ready, self.tile.ready)),
                            ]
                        with m.Default():
                            m.d.comb += [self.move.valid.eq(1), dispatched.eq(self.move.ready)]
                with m.If(dispatched):
                    m.d.sync += state.eq(_State.EXECUTE)
            with m.Case(_State.EXECUTE):
                with m.If(done):
                    m.d.sync += [self.executed.eq(self.executed + 1), state.eq(_State.IDLE)]
                    with m.If(self.memory_done & (self.memory_cause != 0)):
                        m.d.sync += [
                            self.cause.eq(self.memory_cause),
                            self.executed.eq(self.executed),
                            state.eq(_State.FAULT),
                        ]
            with m.Case(_State.FAULT):
                with m.If(self.clear):
                    m.d.sync += [self.cause.eq(0), state.eq(_State.IDLE)]
        return m
