"""The example with GEMM kernels of CUTLASS. The headers come with a package (`make test-cuda`)."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from golden.simt import LaunchError

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "cutlass" / "cutlass_gemm.py"))
KERNELS = tuple(SCRIPT["INSTRUCTIONS"])


@pytest.fixture(scope="module")
def compiled():
    return SCRIPT["load"]()


def matrices(m, n, k):
    random = np.random.default_rng(7)
    return (random.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))


@pytest.mark.cuda
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(64, 64, 64), (80, 48, 112)])
def test_a_gemm_equals_a_chain_of_multiplies(kernel, shape, compiled):
    a, b = matrices(*shape)
    d, run = SCRIPT["cutlass_gemm"](compiled, kernel, a, b)
    assert run.blocks == -(-shape[0] // 64) * -(-shape[1] // 64)
    np.testing.assert_array_equal(d.view(np.uint32), SCRIPT["expected"](kernel, a, b).view(np.uint32))


@pytest.mark.cuda
@pytest.mark.parametrize("kernel", KERNELS)
def test_small_integers_are_multiplied_exactly(kernel, compiled):
    random = np.random.default_rng(8)
    a, b = (random.integers(-8, 9, (64, 64)).astype(np.float16) for _ in "ab")
    d, _ = SCRIPT["cutlass_gemm"](compiled, kernel, a, b)
    np.testing.assert_array_equal(d, a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.cuda
def test_a_structure_of_another_size_is_refused(compiled):
    with pytest.raises(LaunchError, match=r"wmma_gemm_param_0 has .* bytes, but the argument has 17:"):
        compiled.kernel("wmma_gemm").launch(1, 128, [bytes(17)], shared=18432)


@pytest.mark.cuda
def test_lockstep(capsys):
    arguments = ["--on", "lockstep", "--preset", "standard", "--kernel", "mma_sync", "--size", "32"]
    assert SCRIPT["main"](arguments) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^  cycles +[1-9]\d*$", printed, re.MULTILINE)
    assert re.search(r"^  elements that differ +0 of 1024$", printed, re.MULTILINE)


@pytest.mark.cuda
def test_the_script_finds_a_wrong_result(monkeypatch, capsys):
    main = SCRIPT["main"]
    kernel = SCRIPT["cutlass_gemm"]

    def wrong(*arguments, **options):
        d, run = kernel(*arguments, **options)
        d.view(np.uint32)[-1, -1] ^= 1
        return d, run

    monkeypatch.setitem(main.__globals__, "cutlass_gemm", wrong)
    assert main(["--kernel", "wmma"]) == 1
    assert re.search(r"differ +1 of 4096", capsys.readouterr().out)


def test_missing_headers_are_named(monkeypatch, capsys):
    main = SCRIPT["main"]
    monkeypatch.setitem(main.__globals__, "headers", lambda: None)
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(
        "error: the headers of CUTLASS are missing; install them with: pip install nvidia-cutlass\n"
    )


def test_a_size_that_does_not_fit_is_refused(capsys):
    with pytest.raises(SystemExit):
        SCRIPT["main"](["--size", "24"])
    assert "--size 24: expected a positive multiple of 16" in capsys.readouterr().err
