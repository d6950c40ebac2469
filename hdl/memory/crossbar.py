"""The fragment crossbar: between the order of memory and the order of lanes and registers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.memory.bank_places import bank_places
from hdl.memory.geometry import (
    CHUNK_BYTES,
    FragmentGeometry,
    Pattern,
    block_indices,
    fragment_geometry,
    legal_fragments,
    log2_exact,
)
from hdl.registers.register_file import QUADS, WORD_BITS

__all__ = ["Chunk", "CrossbarRequest", "FragmentCrossbar"]

DEPTH = 64
"""Chunks of the largest fragment."""


class CrossbarRequest(data.Struct):
    """One fragment to be moved.

    Members
    -------
    geometry : FragmentGeometry
    store : unsigned(1)
        From words to chunks; otherwise from chunks to words.
    """

    geometry: FragmentGeometry
    store: unsigned(1)


class Chunk(data.Struct):
    """Sixteen bytes of memory on their way to a fragment.

    Members
    -------
    data : unsigned(128)
        The byte of the lowest address in the low bits.
    error : unsigned(1)
        The memory could not deliver them.
    """

    data: unsigned(WORD_BITS)
    error: unsigned(1)


class _State(enum.Enum, shape=2):
    IDLE = 0
    FILL = 1
    DRAIN = 2


class FragmentCrossbar(wiring.Component):
    """Transposing without a crossbar: a memory of skewed banks.

    The fragment is written into sixteen byte-wide banks in the order in which it comes and read in the order
    in which it is wanted. Both a chunk (consecutive bytes of a line) and a register word (elements of up to
    sixteen different lines) must touch every bank once; so byte e of a chunk goes to bank
    ``(e + skew) % 16`` and byte q of a word comes from bank ``(q + rotation) % 16``, with the skews and
    rotations of `hdl.memory.bank_places`. A bank's own index q then tells which line and chunk its byte of
    the word lies in. This takes one rotator on either side where a full crossbar would take a multiplexer for every
    bit. Banks are as wide as the smallest element that is ever transposed: where no 8-bit format is built
    there are eight of two bytes.

    Throughput: one chunk or word per cycle; first all of the fragment goes in (64 cycles at most), then all
    comes out, so that a load whose memory reports an error leaves the registers alone. Latency from
    the last input to the first output: 2 cycles.
    Critical path expected: word counter, block order, bank address (two 3-bit additions), memory.

    Parameters
    ----------
    config : CoreConfig

    Members
    -------
    request : In(stream.Signature(CrossbarRequest))
        Taken when idle; its fragment is moved before the next one is taken.
    chunks_in : In(stream.Signature(Chunk))
        Loads: the fragment in memory order, line after line.
    words_out : Out(stream.Signature(128))
        Loads: the fragment in register order, quad after quad; nothing if any chunk had an error.
    words_in : In(stream.Signature(128))
        Stores: the fragment in register order.
    chunks_out : Out(stream.Signature(128))
        Stores: the fragment in memory order.
    """

    request: In(stream.Signature(CrossbarRequest))
    chunks_in: In(stream.Signature(Chunk))
    words_out: Out(stream.Signature(WORD_BITS))
    words_in: In(stream.Signature(WORD_BITS))
    chunks_out: Out(stream.Signature(WORD_BITS))

    def __init__(self, config: CoreConfig) -> None:
        self._patterns = {fragment_geometry(*row)["pattern"] for row in legal_fragments(config)}
        self._bank_bytes = 4
        for pattern, step in ((Pattern.TRANSPOSED_16, 2), (Pattern.TRANSPOSED_8, 1)):
            if pattern in self._patterns:
                self._bank_bytes = step
        self._banks = CHUNK_BYTES // self._bank_bytes
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        state = Signal(_State)
        geometry = Signal(FragmentGeometry)
        store = Signal()
        failed = Signal()

        # Where the fill or the drain has got to: of chunks by line and chunk, of words by register and quad.
        chunk = Signal(3)
        line = Signal(5)
        quad = Signal(3)
        register = Signal(3)
        in_chunks = Signal()
        m.d.comb += in_chunks.eq((state == _State.FILL) ^ store)
        last = Signal()
        last_chunk = Signal()
        last_word = Signal()
        last_of_line = Signal()
        chunk_bits = log2_exact(CHUNK_BYTES)
        last_index = Signal(3)
        last_line = Signal(5)
        m.d.comb += [
            last_index.eq(((1 << geometry.line_log2) - 1) >> chunk_bits),
            last_line.eq((1 << geometry.lines_log2) - 1),
            last_of_line.eq(chunk == last_index),
            last_chunk.eq(last_of_line & (line == last_line)),
            last_word.eq((quad == QUADS - 1) & (register == (geometry.registers - 1)[:3])),
            last.eq(Mux(in_chunks, last_chunk, last_word)),
        ]

        mapping = self._mapping(m, geometry, in_chunks, line, chunk, register, quad)
        rotation, swap, addresses = mapping

        fill = Signal()
        fill_data = Signal(WORD_BITS)
        drain = Signal()
        m.d.comb += [
            self.chunks_in.ready.eq((state == _State.FILL) & ~store),
            self.words_in.ready.eq((state == _State.FILL) & store),
            fill.eq(
                (self.chunks_in.valid & self.chunks_in.ready) | (self.words_in.valid & self.words_in.ready)
            ),
            fill_data.eq(Mux(store, self.words_in.payload, self.chunks_in.payload.data)),
        ]

        skewed = _rotate_left(_swap_lanes(fill_data, swap & store), rotation, self._bank_bytes)
        unskewed = Signal(WORD_BITS)
        read_data = []
        for bank in range(self._banks):
            memory = Memory(shape=unsigned(8 * self._bank_bytes), depth=DEPTH, init=[])
            m.submodules[f"bank_{bank}"] = memory
            write_port = memory.write_port()
            read_port = memory.read_port()
            m.d.comb += [
                write_port.en.eq(fill),
                write_port.addr.eq(addresses[bank]),
                write_port.data.eq(skewed.word_select(bank, 8 * self._bank_bytes)),
                read_port.en.eq(drain),
                read_port.addr.eq(addresses[bank]),
            ]
            read_data.append(read_port.data)

        # The read stage: a word or chunk is in the banks' output registers while `reading` is set.
        reading = Signal()
        read_rotation = Signal(4)
        read_swap = Signal()
        exhausted = Signal()
        taken = Signal()
        output = Signal(WORD_BITS)
        m.d.comb += [
            taken.eq(Mux(store, self.chunks_out.ready, self.words_out.ready)),
            drain.eq((state == _State.DRAIN) & ~exhausted & (~reading | taken)),
            unskewed.eq(_rotate_right(Cat(*read_data), read_rotation, self._bank_bytes)),
            output.eq(_swap_lanes(unskewed, read_swap)),
            self.words_out.payload.eq(output),
            self.chunks_out.payload.eq(output),
            self.words_out.valid.eq(reading & ~store),
            self.chunks_out.valid.eq(reading & store),
        ]
        with m.If(drain):
            m.d.sync += [reading.eq(1), read_rotation.eq(rotation), read_swap.eq(swap & ~store)]
        with m.Elif(taken):
            m.d.sync += reading.eq(0)

        with m.If(fill | drain):
            with m.If(in_chunks):
                m.d.sync += chunk.eq(chunk + 1)
                with m.If(last_of_line):
                    m.d.sync += [chunk.eq(0), line.eq(line + 1)]
            with m.Else():
                m.d.sync += quad.eq(quad + 1)
                with m.If(quad == QUADS - 1):
                    m.d.sync += register.eq(register + 1)
            with m.If(last):
                m.d.sync += [chunk.eq(0), line.eq(0), quad.eq(0), register.eq(0)]

        m.d.comb += self.request.ready.eq(state == _State.IDLE)
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.request.valid):
                    m.d.sync += [
                        geometry.eq(self.request.payload.geometry),
                        store.eq(self.request.payload.store),
                        failed.eq(0),
                        exhausted.eq(0),
                        state.eq(_State.FILL),
                    ]
            with m.Case(_State.FILL):
                error = self.chunks_in.valid & self.chunks_in.payload.error & ~store
                with m.If(fill):
                    m.d.sync += failed.eq(failed | error)
                    with m.If(last):
                        m.d.sync += state.eq(Mux(failed | error, _State.IDLE, _State.DRAIN))
            with m.Case(_State.DRAIN):
                with m.If(drain & last):
                    m.d.sync += exhausted.eq(1)
                with m.If(exhausted & reading & taken):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _mapping(
        self,
        m: Module,
        geometry: FragmentGeometry,
        in_chunks: Signal,
        line: Signal,
        chunk: Signal,
        register: Signal,
        quad: Signal,
    ) -> tuple[Signal, Signal, list[Signal]]:
        """The rotation, the lane swap and each bank's address of the current chunk or word."""
        pattern = geometry.pattern
        pairs = Signal(2)
        block = Signal(3)
        with m.Switch(pattern):
            with m.Case(Pattern.SPLIT, Pattern.SPLIT_TRANSPOSED, Pattern.DOUBLE_TRANSPOSED):
                m.d.comb += [pairs.eq(register[0]), block.eq(register >> 1)]
            with m.Case(Pattern.WIDE, Pattern.WIDE_TRANSPOSED):
                m.d.comb += [pairs.eq(register), block.eq(register >> 2)]
            with m.Default():
                m.d.comb += block.eq(register)
        x_block, y_block = block_indices(m, geometry.order, block)

        # Both in bytes.
        skew = Signal(4)
        word_rotation = Signal(4)
        with m.Switch(pattern):
            for choice, places in bank_places(line, chunk, quad, x_block, y_block, pairs).items():
                if choice in self._patterns:
                    with m.Case(choice):
                        m.d.comb += [skew.eq(places.skew), word_rotation.eq(places.rotation)]
        rotation = Signal(4)
        swap = Signal()
        m.d.comb += [
            rotation.eq(Mux(in_chunks, skew, word_rotation)),
            swap.eq((pattern == Pattern.SPLIT) & ~in_chunks),
        ]

        addresses = []
        for bank in range(self._banks):
            position = Signal(4, name=f"position_{bank}")
            word_line = Signal(5, name=f"word_line_{bank}")
            word_chunk = Signal(3, name=f"word_chunk_{bank}")
            address = Signal(6, name=f"address_{bank}")
            m.d.comb += position.eq(bank * self._bank_bytes - word_rotation)
            with m.Switch(pattern):
                for choice, places in bank_places(line, chunk, quad, x_block, y_block, pairs).items():
                    if choice in self._patterns:
                        with m.Case(choice):
                            m.d.comb += [
                                word_line.eq(places.line(position)),
                                word_chunk.eq(places.chunk(position)),
                            ]
            m.d.comb += address.eq(Mux(in_chunks, _address(line, chunk), _address(word_line, word_chunk)))
            addresses.append(address)
        return rotation, swap, addresses


def _address(line: Signal, chunk: Signal) -> Signal:
    """A bank address without a shift: lines fill it from below, chunks from above; they never meet."""
    return Cat(line, Const(0, 1)) | Cat(Const(0, 3), chunk[2], chunk[1], chunk[0])


def _swap_lanes(word: Signal, swap: Signal) -> Signal:
    """Exchange lanes 1 and 2 of a word, if asked."""
    lanes = [word.word_select(lane, 32) for lane in range(4)]
    return Cat(lanes[0], Mux(swap, lanes[2], lanes[1]), Mux(swap, lanes[1], lanes[2]), lanes[3])


def _rotate_left(word: Signal, amount: Signal, step: int) -> Signal:
    """Rotate by `amount` bytes, a multiple of `step`: bank ``q + amount`` gets what was at q."""
    for bit in range(log2_exact(step), 4):
        word = Mux(amount[bit], word.rotate_left(8 << bit), word)
    return word


def _rotate_right(word: Signal, amount: Signal, step: int) -> Signal:
    """Undo `_rotate_left`."""
    for bit in range(log2_exact(step), 4):
        word = Mux(amount[bit], word.rotate_right(8 << bit), word)
    return word
