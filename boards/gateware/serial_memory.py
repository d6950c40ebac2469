"""The single-port RAM of an iCE40UP as a serial core's global memory, and a way into it for the host."""

from typing import Final

from amaranth.hdl import Array, Cat, ClockSignal, Const, Instance, Module, Mux, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from boards.gateware.board_config import BoardConfig
from boards.gateware.board_memory import WordAnswer, WordRequest
from boards.serial_core.serial_config import WORD_BYTES
from boards.serial_core.signatures import memory_signature
from hdl.config import PAGE_BYTES

__all__ = ["BANK_BYTES", "SerialMemory"]

_WIDTH: Final = 8 * WORD_BYTES
_BLOCK_BITS: Final = 16
_BLOCK_ADDRESS_BITS: Final = 14
_BYTE_BITS: Final = WORD_BYTES.bit_length() - 1
_BANK_SHIFT: Final = _BLOCK_ADDRESS_BITS + _BYTE_BITS
_PAGE_SHIFT: Final = PAGE_BYTES.bit_length() - 1

BANK_BYTES: Final = 1 << _BANK_SHIFT
"""Bytes of two SB_SPRAM256KA side by side, 32 bits wide."""


class _State(enum.Enum, shape=2):
    IDLE = 0
    ACCESS = 1
    RESULT = 2
    ANSWER = 3


class SerialMemory(wiring.Component):
    """Words of 32 bits; the core has them whenever it wants one, the host in between.

    The core accesses memory in every second cycle at most, so a word of the host never waits for long. What
    is in the memory after power-on is not known.

    Throughput: one word per cycle. Latency: 1 cycle; of the host's words 3, and 1 more if the core is in the
    way.
    Critical path expected: from the address through its comparison with two constants to the write enable.
    About 200 look-up tables; of SB_SPRAM256KA as many as the size takes, at least two.

    Parameters
    ----------
    config : BoardConfig
        Of a board with a serial core.

    Members
    -------
    core : In(memory_signature(config.core))
    request : In(stream of WordRequest)
    answer : Out(stream of WordAnswer)
        One for each request.
    """

    def __init__(self, config: BoardConfig) -> None:
        self._config = config
        super().__init__(
            {
                "core": In(memory_signature(config.core)),
                "request": In(stream.Signature(WordRequest)),
                "answer": Out(stream.Signature(WordAnswer)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        core = self.core
        state = Signal(_State)
        word = Signal(WordRequest)
        word_missing = Signal()
        turn = Signal()
        m.d.comb += [
            core.missing.eq(~self._contains(core.address)),
            turn.eq((state == _State.ACCESS) & ~core.enable),
        ]
        read_data = self._banks(
            m,
            address=Mux(core.enable, core.address, word.address),
            enable=(core.enable & ~core.missing) | (turn & ~word_missing),
            write=Mux(core.enable, core.write, word.write),
            data=Mux(core.enable, core.data, word.data),
        )
        m.d.comb += core.read_data.eq(read_data)

        answer = self.answer.payload
        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.comb += self.request.ready.eq(1)
                m.d.sync += [
                    word.eq(self.request.payload),
                    word_missing.eq(~self._contains(self.request.payload.address)),
                ]
                with m.If(self.request.valid):
                    m.d.sync += state.eq(_State.ACCESS)
            with m.Case(_State.ACCESS):
                m.d.sync += answer.missing.eq(word_missing)
                with m.If(turn):
                    m.d.sync += state.eq(_State.RESULT)
            with m.Case(_State.RESULT):
                m.d.sync += [answer.data.eq(read_data), state.eq(_State.ANSWER)]
            with m.Case(_State.ANSWER):
                m.d.comb += self.answer.valid.eq(1)
                with m.If(self.answer.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _banks(self, m: Module, *, address: Value, enable: Value, write: Value, data: Value) -> Value:
        """The RAM; returns what is read, one cycle later."""
        size_bits = self._config.memory_bytes.bit_length() - 1
        block_address = Signal(_BLOCK_ADDRESS_BITS)
        bank = Signal(max(1, size_bits - _BANK_SHIFT))
        chosen = Signal.like(bank)
        used = min(size_bits, _BANK_SHIFT)
        m.d.comb += [block_address.eq(address[_BYTE_BITS:used]), bank.eq(address[used:size_bits])]
        m.d.sync += chosen.eq(bank)
        outputs = []
        for number in range(max(1, self._config.memory_bytes // BANK_BYTES)):
            halves = [
                Signal(_BLOCK_BITS, name=f"bank_{number}_{half}") for half in range(_WIDTH // _BLOCK_BITS)
            ]
            for half, output in enumerate(halves):
                m.submodules[f"bank_{number}_{half}"] = Instance(
                    "SB_SPRAM256KA",
                    i_CLOCK=ClockSignal(),
                    i_ADDRESS=block_address,
                    i_CHIPSELECT=enable & (bank == number),
                    i_WREN=write,
                    i_MASKWREN=Const(-1, 4),
                    i_DATAIN=data.word_select(half, _BLOCK_BITS),
                    i_STANDBY=Const(0, 1),
                    i_SLEEP=Const(0, 1),
                    i_POWEROFF=Const(1, 1),
                    o_DATAOUT=output,
                )
            outputs.append(Cat(*halves))
        return Array(outputs)[chosen]

    def _contains(self, address: Value) -> Value:
        """Whether the page of a byte address exists."""
        first = self._config.memory_base // PAGE_BYTES
        page = address[_PAGE_SHIFT:]
        return (page >= first) & (page < first + self._config.memory_bytes // PAGE_BYTES)
