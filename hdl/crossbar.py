"""The fragment crossbar: between the order of memory and the order of lanes and registers."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hdl.geometry import FragmentGeometry, Pattern, block_indices
from hdl.register_file import QUADS, WORD_BITS

__all__ = ["Chunk", "CrossbarRequest", "FragmentCrossbar"]

BANKS = 8
BANK_BITS = WORD_BITS // BANKS
DEPTH = 64


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

    The fragment is written into eight 16-bit banks in the order in which it comes and read in the order in
    which it is wanted. Both a chunk (consecutive bytes of a line) and a register word (elements of up to
    eight different lines) must touch every bank once; so halfword e of a chunk goes to bank
    ``(e + skew) % 8`` and halfword q of a word comes from bank ``(q + rotation) % 8``, with

    ================== ============================ ======================================
    pattern            skew of chunk c of line l    rotation of the word of quad g, pair j
    ================== ============================ ======================================
    PACKED             0                            0
    PACKED_TRANSPOSED  l                            g
    SPLIT              2 c                          2 j, lanes 1 and 2 swapped
    SPLIT_TRANSPOSED   2 (l // 2)                   2 g
    ================== ============================ ======================================

    A bank's own index q then tells which line and chunk its halfword of the word lies in. This
    takes one rotator on either side where a full crossbar would take a multiplexer for every bit.

    Throughput: one chunk or word per cycle; first all of the fragment goes in (64 cycles at most), then all
    comes out, so that a load whose memory reports an error leaves the registers alone. Latency from
    the last input to the first output: 2 cycles.
    Critical path expected: word counter, block order, bank address (two 3-bit additions), memory.

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
        one = Const(1, 6)
        m.d.comb += [
            last_chunk.eq(
                (chunk == ((one << geometry.chunks_log2) - 1)[:3])
                & (line == ((one << geometry.lines_log2) - 1)[:5])
            ),
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

        skewed = _rotate_left(_swap_lanes(fill_data, swap & store), rotation)
        unskewed = Signal(WORD_BITS)
        read_data = []
        for bank in range(BANKS):
            memory = Memory(shape=unsigned(BANK_BITS), depth=DEPTH, init=[])
            m.submodules[f"bank_{bank}"] = memory
            write_port = memory.write_port()
            read_port = memory.read_port()
            m.d.comb += [
                write_port.en.eq(fill),
                write_port.addr.eq(addresses[bank]),
                write_port.data.eq(skewed.word_select(bank, BANK_BITS)),
                read_port.en.eq(drain),
                read_port.addr.eq(addresses[bank]),
            ]
            read_data.append(read_port.data)

        # The read stage: a word or chunk is in the banks' output registers while `reading` is set.
        reading = Signal()
        read_rotation = Signal(3)
        read_swap = Signal()
        exhausted = Signal()
        taken = Signal()
        output = Signal(WORD_BITS)
        m.d.comb += [
            taken.eq(Mux(store, self.chunks_out.ready, self.words_out.ready)),
            drain.eq((state == _State.DRAIN) & ~exhausted & (~reading | taken)),
            unskewed.eq(_rotate_right(Cat(*read_data), read_rotation)),
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
                with m.If(chunk == ((one << geometry.chunks_log2) - 1)[:3]):
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
        split = Signal()
        pair = Signal()
        block = Signal(3)
        m.d.comb += [
            split.eq((pattern == Pattern.SPLIT) | (pattern == Pattern.SPLIT_TRANSPOSED)),
            pair.eq(register[0] & split),
            block.eq(Mux(split, register >> 1, register)),
        ]
        x_block, y_block = block_indices(m, geometry.order, block)

        skew = Signal(3)
        word_rotation = Signal(3)
        with m.Switch(pattern):
            with m.Case(Pattern.PACKED_TRANSPOSED):
                m.d.comb += [skew.eq(line), word_rotation.eq(quad)]
            with m.Case(Pattern.SPLIT):
                m.d.comb += [skew.eq(chunk[0] << 1), word_rotation.eq(pair << 1)]
            with m.Case(Pattern.SPLIT_TRANSPOSED):
                m.d.comb += [skew.eq(line[1:3] << 1), word_rotation.eq(quad[:2] << 1)]
        rotation = Signal(3)
        swap = Signal()
        m.d.comb += [
            rotation.eq(Mux(in_chunks, skew, word_rotation)),
            swap.eq((pattern == Pattern.SPLIT) & ~in_chunks),
        ]

        addresses = []
        for bank in range(BANKS):
            position = Signal(3, name=f"position_{bank}")
            word_line = Signal(5, name=f"word_line_{bank}")
            word_chunk = Signal(3, name=f"word_chunk_{bank}")
            address = Signal(6, name=f"address_{bank}")
            m.d.comb += position.eq(bank - word_rotation)
            by_pattern = Array(
                [
                    Cat(quad, x_block, y_block, Const(0, 1)),
                    Cat(position, y_block, x_block, Const(0, 1)),
                    Cat(quad, x_block, position[1], y_block),
                    Cat(pair, position[1:3], y_block, quad[2], x_block),
                ]
            )
            m.d.comb += [
                Cat(word_line, word_chunk).eq(by_pattern[pattern.as_value()]),
                address.eq(Mux(in_chunks, _address(line, chunk), _address(word_line, word_chunk))),
            ]
            addresses.append(address)
        return rotation, swap, addresses


def _address(line: Signal, chunk: Signal) -> Signal:
    """A bank address without a shift: lines fill it from below, chunks from above; they never meet."""
    return Cat(line, Const(0, 1)) | Cat(Const(0, 3), chunk[2], chunk[1], chunk[0])


def _swap_lanes(word: Signal, swap: Signal) -> Signal:
    """Exchange lanes 1 and 2 of a word, if asked."""
    lanes = [word.word_select(lane, 32) for lane in range(4)]
    return Cat(lanes[0], Mux(swap, lanes[2], lanes[1]), Mux(swap, lanes[1], lanes[2]), lanes[3])


def _rotate_left(word: Signal, amount: Signal) -> Signal:
    """Rotate by `amount` banks: bank ``(q + amount) % 8`` gets halfword q."""
    for bit in range(3):
        word = Mux(amount[bit], word.rotate_left(BANK_BITS << bit), word)
    return word


def _rotate_right(word: Signal, amount: Signal) -> Signal:
    """Undo `_rotate_left`."""
    for bit in range(3):
        word = Mux(amount[bit], word.rotate_right(BANK_BITS << bit), word)
    return word
