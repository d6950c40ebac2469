"""The sequencer of a serial core: takes one command after the other and has it executed."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from boards.serial_core.decoder import SerialDecoder
from boards.serial_core.mover import Transfer, WordMover
from boards.serial_core.multiplier import SerialMultiplier
from boards.serial_core.queue import INDEX_BITS
from boards.serial_core.serial_config import WORD_BYTES, SerialConfig
from boards.serial_core.signatures import memory_signature, register_read_signature, register_write_signature
from boards.serial_core.walk import FragmentWalk, Step
from golden.tables.faults import Cause
from hdl.command import MemoryCommand, MmaCommand, Opcode, RegisterCommand
from hdl.memory.beats import CAUSE_BITS

__all__ = ["SerialSequencer"]

_WIDTH = 8 * WORD_BYTES


class _State(enum.Enum, shape=4):
    IDLE = 0
    HEAD = 1
    OPERANDS = 2
    DECODE = 3
    RANGE = 4
    DECODED = 5
    ADDRESS = 6
    ADDRESS_HIGH = 7
    STRIDE = 8
    FIRST = 9
    LINES = 10
    JUDGE = 11
    MULTIPLY = 12
    MOVE = 13
    FAULT = 14


class SerialSequencer(wiring.Component):
    """Reads a command word by word, checks it, and runs the unit that executes it to its end.

    A load or store passes its first byte and the last place of each line before it moves anything, so that
    one that is refused has changed nothing. Global memory is one range, so all of an access exists if
    its first byte and its last one do. A store goes on where a part is missing: it writes the rest.

    Throughput: one command at a time. Latency: 6 cycles from the queue to the unit of a multiply, fill or
    move; 11 and one for each line to that of a load or store. Critical path expected: the decoder's.

    Parameters
    ----------
    config : SerialConfig

    Members
    -------
    waiting : In(1)
        There is a command in the queue.
    pop : Out(1)
    index : Out(3)
        The word of the command that is wanted.
    word : In(32)
        One cycle later.
    registers_read : Out(register_read_signature(config))
    registers_write : Out(register_write_signature(config))
    memory : Out(memory_signature(config))
    clear : In(1)
        Leave the fault state.
    busy : Out(1)
        A command is in progress.
    ended : Out(1)
        A command has been executed to its end.
    cause : Out(4)
        Zero, or why the core stands still.
    progress : Out(9)
        Words of a store at fault that the memory took before the first that was missing.

    Testbench
    ---------
    cocotb_tests/boards/serial_core/test_serial_core.py, through `SerialCore`.
    """

    def __init__(self, config: SerialConfig) -> None:
        self._config = config
        super().__init__(
            {
                "waiting": In(1),
                "pop": Out(1),
                "index": Out(INDEX_BITS),
                "word": In(_WIDTH),
                "registers_read": Out(register_read_signature(config)),
                "registers_write": Out(register_write_signature(config)),
                "memory": Out(memory_signature(config)),
                "clear": In(1),
                "busy": Out(1),
                "ended": Out(1),
                "cause": Out(CAUSE_BITS),
                "progress": Out(9),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        config = self._config
        m.submodules.decoder = decoder = SerialDecoder(config)
        m.submodules.fragment_walk = walk = FragmentWalk(config)
        m.submodules.mover = mover = WordMover(config)
        m.submodules.multiplier = multiplier = SerialMultiplier(config)
        state = Signal(_State)
        command = Signal(MemoryCommand)
        head, operands = command.as_value()[:_WIDTH], command.as_value()[_WIDTH : 2 * _WIDTH]
        mma, registers = MmaCommand(command.as_value()), RegisterCommand(command.as_value())
        opcode = command.opcode
        missing = Signal()
        is_load, is_mma = opcode == Opcode.LOAD, opcode == Opcode.MMA
        m.d.comb += [
            decoder.head.eq(head),
            decoder.operands.eq(operands),
            walk.geometry.eq(decoder.walk),
            walk.word.eq(self.word),
            walk.has_stride.eq(command.has_stride),
            multiplier.request.geometry.eq(decoder.product),
            multiplier.request.a.eq(mma.a),
            multiplier.request.b.eq(mma.b),
            multiplier.request.c.eq(mma.c),
            multiplier.request.saturate.eq(mma.saturate),
            multiplier.request.bitwise_and.eq(mma.bitwise_and),
            multiplier.active.eq(state == _State.MULTIPLY),
            multiplier.result_address.eq(mover.result_address),
            mover.result.eq(multiplier.result),
            mover.active.eq(state == _State.MOVE),
            mover.clear.eq(state == _State.DECODE),
            mover.destination.eq(registers.destination),
            mover.source.eq(registers.source),
            mover.last_register.eq(Mux(is_mma, decoder.product.c_registers, registers.count) - 1),
            mover.value.eq(self.word),
            mover.bytewise.eq(is_load & decoder.walk.bytewise),
            mover.address.eq(walk.address),
            mover.byte.eq(walk.byte),
            mover.lane.eq(walk.lane),
            mover.register_offset.eq(walk.register_offset),
            mover.is_last.eq(walk.is_last),
            self.progress.eq(mover.progress),
            self.busy.eq((state != _State.IDLE) & (state != _State.FAULT)),
        ]
        connect(m, mover.memory, flipped(self.memory))
        connect(m, mover.registers_write, flipped(self.registers_write))
        read = self.registers_read
        m.d.comb += [
            read.enable.eq(mover.registers_read.enable | multiplier.registers.enable),
            read.address.eq(
                Mux(multiplier.active, multiplier.registers.address, mover.registers_read.address)
            ),
            mover.registers_read.data.eq(read.data),
            multiplier.registers.data.eq(read.data),
        ]
        self._transfer(m, mover, opcode)

        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.waiting):
                    m.d.comb += self.pop.eq(1)
                    m.d.sync += state.eq(_State.HEAD)
            with m.Case(_State.HEAD):
                m.d.comb += self.index.eq(1)
                m.d.sync += [head.eq(self.word), state.eq(_State.OPERANDS)]
            with m.Case(_State.OPERANDS):
                m.d.comb += self.index.eq(2)
                m.d.sync += [operands.eq(self.word), state.eq(_State.DECODE)]
            with m.Case(_State.DECODE):
                m.d.comb += self.index.eq(2)
                m.d.sync += state.eq(_State.RANGE)
            with m.Case(_State.RANGE):
                m.d.comb += self.index.eq(2)
                m.d.sync += state.eq(_State.DECODED)
            with m.Case(_State.DECODED):
                m.d.comb += self.index.eq(2)
                with m.If(decoder.cause != 0):
                    self._stop(m, state, decoder.cause)
                with m.Elif(is_mma):
                    m.d.sync += state.eq(_State.MULTIPLY)
                with m.Elif(is_load | (opcode == Opcode.STORE)):
                    m.d.sync += state.eq(_State.ADDRESS)
                with m.Elif(registers.count == 0):
                    self._end(m, state)
                with m.Else():
                    m.d.sync += state.eq(_State.MOVE)
            with m.Case(_State.ADDRESS):
                m.d.comb += [self.index.eq(3), walk.step.eq(Step.ADDRESS)]
                m.d.sync += state.eq(_State.ADDRESS_HIGH)
            with m.Case(_State.ADDRESS_HIGH):
                m.d.comb += [self.index.eq(4), walk.step.eq(Step.ADDRESS_HIGH)]
                self._check(m, state, walk.cause, _State.STRIDE)
            with m.Case(_State.STRIDE):
                m.d.comb += walk.step.eq(Step.STRIDE)
                m.d.sync += state.eq(_State.FIRST)
            with m.Case(_State.FIRST):
                m.d.comb += walk.step.eq(Step.LINE_END)
                m.d.sync += missing.eq(self.memory.missing)
                self._check(m, state, walk.cause, _State.LINES)
            with m.Case(_State.LINES):
                with m.If(walk.is_last):
                    m.d.comb += walk.step.eq(Step.REWIND)
                    m.d.sync += [missing.eq(missing | self.memory.missing), state.eq(_State.JUDGE)]
                with m.Else():
                    m.d.comb += walk.step.eq(Step.NEXT_LINE)
            with m.Case(_State.JUDGE):
                with m.If(walk.beyond):
                    self._stop(m, state, Cause.ADDRESS_RANGE)
                with m.Elif(is_load & missing):
                    self._stop(m, state, Cause.READ_DECODE_ERROR)
                with m.Else():
                    m.d.sync += state.eq(_State.MOVE)
            with m.Case(_State.MULTIPLY):
                with m.If(multiplier.done):
                    m.d.sync += state.eq(_State.MOVE)
            with m.Case(_State.MOVE):
                m.d.comb += self.index.eq(2)
                with m.If(mover.next):
                    m.d.comb += walk.step.eq(Step.NEXT)
                with m.If(mover.done):
                    with m.If((opcode == Opcode.STORE) & missing):
                        self._stop(m, state, Cause.WRITE_DECODE_ERROR)
                    with m.Else():
                        self._end(m, state)
            with m.Case(_State.FAULT):
                with m.If(self.clear):
                    m.d.sync += [self.cause.eq(0), state.eq(_State.IDLE)]
        return m

    def _transfer(self, m: Module, mover: WordMover, opcode: Signal) -> None:
        """Tell the mover what the command moves."""
        with m.Switch(opcode):
            for code, transfer in (
                (Opcode.LOAD, Transfer.LOAD),
                (Opcode.STORE, Transfer.STORE),
                (Opcode.MMA, Transfer.RESULT),
                (Opcode.FILL, Transfer.FILL),
                (Opcode.MOVE, Transfer.MOVE),
            ):
                with m.Case(code):
                    m.d.comb += mover.transfer.eq(transfer)

    def _check(self, m: Module, state: Signal, cause: Signal, following: _State) -> None:
        with m.If(cause != 0):
            self._stop(m, state, cause)
        with m.Else():
            m.d.sync += state.eq(following)

    def _stop(self, m: Module, state: Signal, cause: Signal | Cause) -> None:
        m.d.sync += [self.cause.eq(cause), state.eq(_State.FAULT)]

    def _end(self, m: Module, state: Signal) -> None:
        m.d.comb += self.ended.eq(1)
        m.d.sync += state.eq(_State.IDLE)
