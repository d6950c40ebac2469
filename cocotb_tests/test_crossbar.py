"""The crossbar against the golden fragments: every legal fragment, both ways."""

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.configurations import ALL_FORMATS
from cocotb_tests.conftest import Simulate
from cocotb_tests.register_model import word_of
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from cocotb_tests.unit import unit_design
from golden.arguments import dtype_of
from golden.formats import FORMATS, IntegerFormat
from golden.fragments import distribute
from golden.instruction_set import LoadInstruction, StoreInstruction
from golden.lines import matrix_to_lines
from hdl.memory.crossbar import Chunk, CrossbarRequest, FragmentCrossbar
from hdl.memory.geometry import fragment_geometry, legal_fragments

CONFIG = ALL_FORMATS
FRAGMENTS = list(legal_fragments(CONFIG))
QUADS = 8


def random_fragment(rng: random.Random, fragment: tuple[Any, ...]) -> tuple[list[int], list[int]]:
    """A random matrix as the chunks of its lines in memory, and as its register words."""
    use, name, shape, layout = fragment
    bits = np.random.default_rng(rng.getrandbits(64))
    form = FORMATS[name]
    least, most = (form.minimum, form.maximum) if isinstance(form, IntegerFormat) else (0, 2**form.bits - 1)
    width = np.int64 if isinstance(form, IntegerFormat) else np.uint64
    matrix: NDArray[Any] = bits.integers(least, most, shape.extent(use), dtype=width, endpoint=True).astype(
        dtype_of(form)
    )
    if use == "d":
        lines = matrix_to_lines(matrix, StoreInstruction(layout=layout, shape=shape, type=name))
    else:
        lines = matrix_to_lines(matrix, LoadInstruction(use=use, layout=layout, shape=shape, type=name))
    # A line of eight bytes is half a chunk; what lies in the other half does not matter.
    lines = np.pad(lines, ((0, 0), (0, -lines.shape[1] % 16)), constant_values=0x5A)
    chunks = [int.from_bytes(chunk.tobytes(), "little") for chunk in lines.reshape(-1, 16)]
    registers = distribute(matrix, use, name, shape)
    return chunks, [word_of(register, quad) for register in registers for quad in range(QUADS)]


def request_payload(fragment: tuple[Any, ...], store: bool) -> int:
    fields = {"geometry": fragment_geometry(*fragment), "store": store}
    return CrossbarRequest.const(fields).as_bits()


def chunk_payload(chunk: int, error: bool = False) -> int:
    return Chunk.const({"data": chunk, "error": error}).as_bits()


class Bench:
    """The crossbar's five streams."""

    def __init__(self, dut: Any, rng: random.Random, share: float) -> None:
        self.request = StreamSource(dut, "request", pauses(rng, share))
        self.chunks_in = StreamSource(dut, "chunks_in", pauses(rng, share))
        self.words_in = StreamSource(dut, "words_in", pauses(rng, share))
        self.words_out = StreamSink(dut, "words_out", pauses(rng, share))
        self.chunks_out = StreamSink(dut, "chunks_out", pauses(rng, share))

    async def move(self, rng: random.Random, fragment: tuple[Any, ...]) -> None:
        """Move a random fragment in the direction of its use, and compare."""
        store = fragment[0] == "d"
        chunks, words = random_fragment(rng, fragment)
        self.request.put(request_payload(fragment, store))
        if store:
            self.words_in.put(*words)
            assert await self.chunks_out.take(len(chunks)) == chunks, fragment
        else:
            self.chunks_in.put(*map(chunk_payload, chunks))
            assert await self.words_out.take(len(words)) == words, fragment


@cocotb.test
async def every_fragment(dut: Any) -> None:
    """Every legal fragment twice, in random order, with random backpressure."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    bench = Bench(dut, rng, 0.25)
    order = FRAGMENTS * 2
    rng.shuffle(order)
    assert len(order) == 2 * 114, "as many as there are captured layouts"
    for fragment in order:
        await bench.move(rng, fragment)
    assert not bench.words_out.received
    assert not bench.chunks_out.received


@cocotb.test
async def errors_leave_the_registers_alone(dut: Any) -> None:
    """One chunk with an error, wherever it stands: no word comes out, and the next fragment is right."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    bench = Bench(dut, rng, 0.2)
    loads = [fragment for fragment in FRAGMENTS if fragment[0] != "d"]
    for fragment in loads:
        chunks, _ = random_fragment(rng, fragment)
        bad = rng.choice([0, len(chunks) - 1, rng.randrange(len(chunks))])
        bench.request.put(request_payload(fragment, False))
        await bench.chunks_in.send(*(chunk_payload(chunk, at == bad) for at, chunk in enumerate(chunks)))
        for _ in range(6):
            await RisingEdge(dut.aclk)
        assert not dut.words_out_valid.value, (fragment, bad)
        assert dut.request_ready.value
        await bench.move(rng, rng.choice(FRAGMENTS))
    assert not bench.words_out.received


@cocotb.test
async def latency(dut: Any) -> None:
    """Two cycles from the last chunk to the first word, then one word per cycle."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut)
    bench = Bench(dut, rng, 0)
    fragment = FRAGMENTS[0]
    chunks, words = random_fragment(rng, fragment)
    await bench.request.send(request_payload(fragment, False))
    bench.chunks_in.put(*map(chunk_payload, chunks))
    left = len(chunks)
    while left:
        await RisingEdge(dut.aclk)
        left -= bool(dut.chunks_in_valid.value and dut.chunks_in_ready.value)
    await RisingEdge(dut.aclk)
    for _ in words:
        await RisingEdge(dut.aclk)
        assert dut.words_out_valid.value
    assert await bench.words_out.take(len(words)) == words


def test_crossbar(simulate: Simulate) -> None:
    simulate(unit_design("crossbar", FragmentCrossbar(CONFIG)), __name__)
