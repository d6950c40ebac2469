"""A GPU as a machine, without one: its kernels run on the golden model, a stand-in takes its place."""

import re
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import golden
import openwmma
from golden.approximation.instructions import FORMS
from golden.approximation.operations import operation
from golden.machine import Difference
from golden.random_operands import random_metadata, random_operands
from golden.resolve import resolve_instruction
from golden.tables.layouts import LANES
from openwmma.cli import main
from openwmma.gpu import certify, driver, launches, multiply
from openwmma.gpu.driver import _granules

SM_90 = (9, 0)
TEXTS = [text for text in certify.instructions() if text not in FORMS and not text.startswith("wgmma")]
GROUPS = [text for text in certify.instructions() if re.match(r"wgmma.*m64n8k", text)]
KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.global .u32 table[4] = {5, 6, 7, 8};
.global .u64 pointer = table;
.visible .entry twice(.param .u64 x, .param .u32 k)
{
    .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [x]; ld.param.u32 %r0, [k];
    ld.global.u32 %r1, [%d0]; add.u32 %r1, %r1, %r0;
    st.global.u32 [%d0], %r1; st.global.u32 [table+4], %r1;
    ret;
}
"""

WAITING = KERNEL.replace("add.u32", "mov.u32 %r2, %envreg2; add.u32", 1)
"""As a kernel with ``grid.sync``, which finds its workspace there."""


def launch_on_golden(text, inputs, result_bytes, count, threads):
    """The kernel of `kernel_text`, on the golden model."""
    d = np.zeros(result_bytes, np.uint8)
    operands = [np.ascontiguousarray(array) for array in inputs]
    operands += [d] * (3 - len(operands))
    kernel = openwmma.Module(text).kernel("each")
    kernel.launch(-(-threads // 128), 128, [d, *operands, count])
    return d


@pytest.mark.parametrize("text", TEXTS)
def test_kernel_of_each_multiply(text):
    instruction = resolve_instruction(text)
    random = np.random.default_rng(3)
    operands = random_operands(random, instruction, 5)
    sparse = {"metadata": random_metadata(random, instruction, 5)} if instruction.is_sparse else {}
    words = multiply.warp_words(instruction, (*operands, *sparse.values()))
    warps = len(words[0])
    size = warps * instruction.fragments["d"].registers * LANES * 4
    found = launch_on_golden(multiply.kernel_text(instruction, SM_90), words, size, warps, warps * LANES)
    d = multiply.warp_results(instruction, found, 5)
    np.testing.assert_array_equal(d, golden.mma(instruction, *operands, **sparse))


@pytest.mark.parametrize("text", GROUPS)
def test_kernel_of_each_multiply_of_four_warps(monkeypatch, text):
    instruction = resolve_instruction(text)
    random = np.random.default_rng(7)
    operands = random_operands(random, instruction, 3)
    sparse = {"metadata": random_metadata(random, instruction, 3)} if instruction.is_sparse else {}

    def run(gpu, text, inputs, result_bytes, grid, n):
        return launch_on_golden(text, inputs, result_bytes, n, 128 * grid)

    monkeypatch.setattr(multiply, "_run", run)
    gpu = SimpleNamespace(capability=SM_90)
    d = multiply.multiply_on_gpu(gpu, instruction, *operands, *sparse.values())
    np.testing.assert_array_equal(d, golden.mma(instruction, *operands, **sparse))


@pytest.mark.parametrize("text", FORMS)
def test_kernel_of_each_approximate_form(text):
    form = FORMS[text]
    dtype = np.dtype(f"u{form.bits // 8}")
    random = np.random.default_rng(4)
    operands = [random.integers(0, 1 << form.bits, 200, dtype) for _ in range(form.operands)]
    found = launch_on_golden(multiply.kernel_text(form, SM_90), operands, 200 * dtype.itemsize, 200, 200)
    np.testing.assert_array_equal(found.view(dtype), operation(text)(*operands))


class StandIn:
    """Device memory and modules as `Gpu` has them; `run` is called in place of the kernel."""

    name = "stand-in"

    def __init__(self, run):
        self.run = run
        self.bytes = {}
        self.parameters = None

    @contextmanager
    def memory(self, ranges):
        assert list(ranges) == sorted(ranges)
        self.bytes |= {address: bytearray(size) for address, size in ranges}
        yield

    @contextmanager
    def module(self, ptx, *, contract):
        assert ptx in (KERNEL, WAITING)
        assert contract
        self.bytes[1 << 50] = bytearray(16)
        self.bytes[1 << 51] = bytearray((1 << 50).to_bytes(8, "little"))
        yield self

    def variable(self, name):
        return {"table": (1 << 50, 16), "pointer": (1 << 51, 8)}[name]

    def launch(self, entry, grid, block, shared, parameters, cluster, *, cooperative):
        assert (entry, grid, block, shared, cluster) == ("twice", (1, 1, 1), (1, 1, 1), 0, None)
        self.parameters, self.cooperative = parameters, cooperative
        self.run(self)
        return 0.5

    def write(self, address, values):
        assert len(values) == len(self.bytes[address])
        self.bytes[address][:] = bytes(values)

    def read(self, address, count):
        return np.frombuffer(bytes(self.bytes[address][:count]), np.uint8).copy()


def add(gpu, wrong=0):
    """What the kernel does."""
    address, k = (int.from_bytes(value, "little") for value in gpu.parameters)
    total = (int.from_bytes(gpu.bytes[address][:4], "little") + k + wrong).to_bytes(4, "little")
    gpu.bytes[address][:4] = total
    gpu.bytes[1 << 50][4:8] = total


@pytest.fixture
def stand_in(monkeypatch):
    def use(run):
        gpu = StandIn(run)

        @contextmanager
        def opened(number):
            assert number == 3
            yield gpu

        monkeypatch.setattr(driver, "open_gpu", opened)
        monkeypatch.setattr(launches, "read", gpu.read)
        monkeypatch.setattr(launches, "write", gpu.write)
        return gpu

    return use


def test_a_launch_on_a_gpu_brings_memory_back(stand_in):
    gpu = stand_in(add)
    module = openwmma.Module(KERNEL)
    x = np.array([40, 1], np.uint32)
    run = module.kernel().launch(1, 1, [x, 2], on="cuda", gpu=3)
    assert x.tolist() == [42, 1]
    assert module["table"].numpy().tolist() == [5, 42, 7, 8]
    assert int(module["pointer"].numpy()) == module["table"].address
    assert gpu.bytes[1 << 51] == (1 << 50).to_bytes(8, "little")  # the driver's address is left alone
    assert (run.blocks, run.seconds) == (1, 0.5)


@pytest.mark.parametrize(("text", "together"), [(KERNEL, False), (WAITING, True)])
def test_blocks_that_wait_for_their_grid_run_at_the_same_time(stand_in, text, together):
    gpu = stand_in(add)
    openwmma.Module(text).kernel().launch(1, 1, [np.array([40, 1], np.uint32), 2], on="cuda", gpu=3)
    assert gpu.cooperative == together


def test_lockstep_compares_all_memory(stand_in):
    stand_in(add)
    x = np.array([40], np.uint32)
    openwmma.Module(KERNEL).kernel().launch(1, 1, [x, 2], on="lockstep", gpu=3)
    assert x.tolist() == [42]
    stand_in(lambda gpu: add(gpu, wrong=256))
    with pytest.raises(
        Difference, match=r"(?s)table: 1 of 16 .*x: 1 of 4 bytes differ; byte 1: golden 0x00, GPU 0x01"
    ):
        openwmma.Module(KERNEL).kernel().launch(1, 1, [x, 2], on="lockstep", gpu=3)


def test_pieces_of_memory_hold_all_buffers():
    assert list(_granules([(5, 3), (20, 1), (31, 9), (70, 10)], 10)) == [(0, 10), (20, 20), (70, 10)]
    assert list(_granules([(0, 10), (10, 10)], 10)) == [(0, 20)]
    assert list(_granules([], 10)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on", "cuda"], "cuda-bindings; install it with"),
        (["--on", "lockstep", "--gpu", "0"], "cuda-bindings; install it with"),
        (["--on", "rtl", "--gpu", "0"], "--gpu: expected --on cuda or --on lockstep, not --on rtl"),
        (["--on", "cuda", "--preset", "small"], "--preset: expected a core of this project, not a GPU"),
        (["--on", "cuda", "--waves", "w.fst"], "--waves: expected --on rtl or --on lockstep"),
        (["--on", "cuda", "--gpu", "999"], "--gpu 999: expected 0 to 255"),
    ],
)
@pytest.mark.parametrize("command", ["run", "mma"])
def test_refusals(monkeypatch, tmp_path, capsys, command, options, message):
    driver._bindings.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(KERNEL)
    for name, shape in (("a", (16, 16)), ("b", (16, 16)), ("c", (16, 16)), ("x", (2,))):
        np.save(tmp_path / f"{name}.npy", np.zeros(shape, np.float32 if name == "c" else np.float16))
    words = {
        "run": ["run", "k.ptx", "--arg", "x=x.npy", "--arg", "k=1"],
        "mma": ["mma", TEXTS[1], "a.npy", "b.npy", "c.npy", "-o", "d.npy"],
    }[command]
    assert main([*words, *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "d.npy").exists()


def test_certify_without_a_gpu(monkeypatch, capsys):
    driver._bindings.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "cuda.bindings", None)
    assert main(["certify", "--seconds", "1"]) == 2
    assert "a GPU needs the package cuda-bindings" in capsys.readouterr().err
    assert main(["certify", "--only", "m1n1k1"]) == 2
    assert "--only m1n1k1: expected" in capsys.readouterr().err


def wrong_task(text, seed, profile, number):
    assert (profile, number) == ("hopper", 0)
    if text.startswith("ex2"):
        return text, certify.Line(missing="not here")
    return text, certify.Line(10, seed % 2, ("an example",) * (seed % 2))


def test_certify_counts(monkeypatch):
    class Pool:
        def __init__(self, *arguments, **options):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def submit(self, function, *arguments):
            future = certify.Future()
            future.set_result(function(*arguments))
            return future

    monkeypatch.setattr(certify, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(certify, "compare", wrong_task)
    chosen = ["rcp.approx.f32", "ex2.approx.f32"]
    *_, last = certify.certify(chosen, seed=2, results=100, jobs=1, name="a chip")
    line = last.lines["rcp.approx.f32"]
    assert last.results == line.results >= 100
    assert 3 < line.wrong < line.results
    assert line.examples == ("an example",) * 3
    assert last.lines["ex2.approx.f32"].missing == "not here"
    assert [text for text, _ in last.rows()] == chosen
    *_, last = certify.certify(["ex2.approx.f32"], seed=2, results=100, jobs=1)
    assert last.results == 0
