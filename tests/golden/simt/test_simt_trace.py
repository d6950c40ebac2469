"""Traces: the mirror against a plain copy of memory, and files that are none."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from captured import cases, module, prepare
from hypothesis import given, settings
from hypothesis import strategies as st
from short_kernels import kernel

from golden.simt import LaunchError
from golden.simt.address_map import SHARED
from golden.simt.trace_file import MAGIC, Head, Kind, TraceReader, TraceWriter
from golden.simt.trace_recorder import TraceRecorder


class Recorder(TraceRecorder):
    """Compares, at each load, the bytes that it reads with a memory that only the trace has written."""

    def __init__(self, file):
        super().__init__(file, "hopper")
        self.copies = {}
        self.compared = 0

    def reads(self, block, places, size):
        super().reads(block, places, size)
        self._writer.flush()
        for record in self.new_writes():
            self.copy(*record)
        for address in np.unique(places).tolist():
            found = block.shared if address < 1 << 36 else block.device.find(address)
            at = address - (found.address or SHARED)
            assert self.at(found, address)[:size].tobytes() == found.bytes[at : at + size].tobytes()
            self.compared += 1

    def writes(self, block, places, size):
        super().writes(block, places, size)
        for address in np.unique(places).tolist():
            found = block.shared if address < 1 << 36 else block.device.find(address)
            at = address - (found.address or SHARED)
            self.at(found, address)[:size] = found.bytes[at : at + size]

    def at(self, allocation, address):
        copy = self.copies.setdefault(allocation.address, np.zeros(allocation.nbytes + 64, np.uint8))
        return copy[address - (allocation.address or SHARED) :]

    def new_writes(self):
        data = io.BytesIO(self._writer.file.getvalue())
        end = TraceWriter(io.BytesIO())
        end.end([])
        data.seek(0, 2)
        data.write(end.file.getvalue())
        data.seek(0)
        for part in list(TraceReader(data).parts())[getattr(self, "seen", 0) :]:
            self.seen = getattr(self, "seen", 0) + 1
            for record in part.records[part.records["kind"] == Kind.WRITE]:
                yield int.from_bytes(part.blobs[record["addresses"]], "little"), part.blobs[record["a"]]

    def copy(self, address, data):
        owner = 0 if address < 1 << 36 else None
        for found in self._mirrors.values():
            if found.address == owner or (owner is None and found.address <= address < found.end):
                self.at(found, address)[: len(data)] = np.frombuffer(data, np.uint8)


def launch(name, trace):
    prepared = prepare(name)
    case = prepared.case
    kernel = module(name).kernel(case["entry"])
    kernel.launch(case["grid"], case["block"], prepared.arguments, case["shared"], trace=trace)
    assert prepared.differences() == {}


QUICK = ("multi_warp.scores_softmax", "families.gemm_s8", "mma_sync.igemm", "library.gemm_split_k_descending")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in cases()]
)
def test_loads_find_in_the_mirror_what_is_in_memory(name):
    recorder = Recorder(io.BytesIO())
    launch(name, recorder)
    assert recorder.compared or not name.startswith(("multi", "families", "mma_sync"))


COPY = """
    ld.global.v2.u32 {%r1, %r2}, [%rd0]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd0;
    wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%rd2], %r2;
    st.global.u32 [%rd1+1024], %r0;
    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd2], {%f7, %f6, %f5, %f4, %f3, %f2, %f1, %f0}, %r2;
    wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%rd2], %r2;
    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd0], {%f7, %f6, %f5, %f4, %f3, %f2, %f1, %f0}, 16;
"""


@pytest.mark.parametrize(("first", "stride"), [(4, 0), (256, 8), (8, 1020), (1000, 8192), (12, 15360)])
def test_far_lines_come_by_pages(first, stride):
    """A matrix in one line, in lines that overlap, and in lines up to 60 KiB from each other."""
    random = np.random.default_rng(stride)
    elements = random.integers(0, 3, (1 << 18) - 5, dtype=np.uint32)
    elements[:2] = first, stride
    recorder = Recorder(io.BytesIO())
    kernel(COPY).launch(1, 32, [elements], trace=recorder)
    assert recorder.compared >= 16
    if stride > 1 << 12:
        assert len(recorder._writer.file.getvalue()) < elements.nbytes // 3


def trace_of(name="single_warp.wmma_ker"):
    file = io.BytesIO()
    launch(name, TraceRecorder(file, "hopper"))
    return file.getvalue()


MILLION = """
import resource, sys, tempfile
import numpy as np
sys.path.insert(0, sys.argv[1])
from short_kernels import kernel
from golden.simt.trace_recorder import TraceRecorder

BODY = '''
    mul.wide.u32 %rd2, %r0, 16; add.u64 %rd1, %rd0, %rd2; mov.u32 %r10, 0;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
    NEXT: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4},
        {%r2, %r3}, {%f0, %f1, %f2, %f3};
    add.u32 %r1, %r1, 1; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, 31250; @%p0 bra NEXT;'''
given = np.random.default_rng(1).integers(0, 1 << 30, 4096, np.uint32) & 0x33FF33FF
with tempfile.TemporaryFile() as file:
    kernel(BODY).launch(1, 1024, [given], trace=TraceRecorder(file, "hopper"))
    print(file.tell(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.long
def test_the_trace_of_a_million_matrix_instructions_goes_to_disk():
    """A GiB of memory is enough for the whole process, although the file has more."""
    command = [sys.executable, "-c", MILLION, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    file_bytes, kibibytes = map(int, done.stdout.split())
    assert file_bytes > 500_000_000
    assert kibibytes < 1 << 20


def test_a_trace_is_read_as_it_was_written():
    file = io.BytesIO()
    writer = TraceWriter(file)
    writer.begin(Head("k", "hopper", 64))
    for number in range(9000):  # more than one part
        texts, content = (f"text {number % 7}", "line"), np.full(100, number % 5, np.uint8)
        writer.record(Kind.END, number, texts, [None] * 6 + [content])
    writer.end([(512, 30)])
    file.seek(0)
    reader = TraceReader(file)
    assert (reader.head, reader.segments) == (Head("k", "hopper", 64), [(512, 30)])
    for _ in range(2):
        numbers = []
        for part in reader.parts():
            for record in part.records:
                number = int(record["block"])
                assert part.texts[record["instruction"]] == f"text {number % 7}"
                assert part.blobs[record["strides"]] == bytes([number % 5]) * 100
                numbers.append(number)
        assert numbers == list(range(9000))
    assert len(file.getvalue()) < 9000 * 50, "texts and blobs are kept once"


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_trace_is_refused(kept):
    data = trace_of()
    what = "the file is truncated in the part that begins at byte" if kept else "expected a trace"
    with pytest.raises(LaunchError, match=rf"^k\.trace: {what}"):
        TraceReader(io.BytesIO(data[: int(len(data) * kept)]), "k.trace")


def test_bytes_behind_the_end_are_refused():
    with pytest.raises(
        LaunchError, match=r"^k\.trace: expected the end of the trace at byte \d+, not more bytes$"
    ):
        TraceReader(io.BytesIO(trace_of() + b"x"), "k.trace")


def test_another_version_is_refused():
    data = trace_of().replace(MAGIC, b"openwmma trace 9\n")
    with pytest.raises(LaunchError, match=r"^k\.trace: expected a trace of version 3, not 9$"):
        TraceReader(io.BytesIO(data), "k.trace")


@given(st.data())
@settings(max_examples=25)
def test_a_damaged_trace_is_refused(data):
    whole = bytearray(TRACE)
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(LaunchError):
        TraceReader(io.BytesIO(bytes(whole)), "k.trace")


TRACE = trace_of()
