"""`--on board` with a simulated SoC: over its serial line, and through litex_server."""

import socket
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import litex_server

from boards.host.link import open_link
from openwmma.cli import main

pytestmark = pytest.mark.soc

EXAMPLES = Path(__file__).parents[2] / "examples"
RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def matrices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        np.save(f"{name}.npy", RANDOM.standard_normal((32, 32)).astype(np.float16))


def gemm(*options):
    arrays = ("--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", "n=32")
    return ["run", str(EXAMPLES / "gemm_f16_f32.ptx"), *arrays, *options]


def give_up(port):
    """Open and give back: the port is free."""
    open_link(port, 1_000_000).close()


@pytest.mark.parametrize("way", ["serial line", "litex_server"])
def test_programs_give_what_golden_gives(serial_port, capsys, way):
    assert main(gemm("--out", "D=golden.npy:f32:32x32")) == 0
    if way == "serial line":
        assert main(gemm("--out", "D=board.npy:f32:32x32", "--on", "board", "--port", serial_port)) == 0
    else:
        with litex_server(serial_port) as place:
            assert main(gemm("--out", "D=board.npy:f32:32x32", "--on", "board", "--port", place)) == 0
            assert main(gemm("--out", "D=lockstep.npy:f32:32x32", "--on", "lockstep", "--port", place)) == 0
        assert Path("lockstep.npy").read_bytes() == Path("golden.npy").read_bytes()
    assert Path("board.npy").read_bytes() == Path("golden.npy").read_bytes()
    assert "gemm_f16_f32 on board" in capsys.readouterr().out


def test_a_null_pointer_is_a_fault_of_the_core(serial_port, capsys):
    """LiteDRAM answers every address: the guard before it refuses those outside the memory."""
    command = ["run", str(EXAMPLES / "tile_f16.ptx"), "--on", "board", "--port", serial_port]
    for name in "ABCD":
        command += ["--arg", f"{name}=0"]
    code = main(command)
    assert (code, "read decode error" in capsys.readouterr().err) == (1, True)


def test_another_preset_is_refused(serial_port, capsys):
    begin = time.monotonic()
    assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", serial_port, "--preset", "standard")) == 2
    assert time.monotonic() - begin < 10
    assert capsys.readouterr().err == "openwmma: the core has registers 64, but the configuration says 128\n"
    give_up(serial_port)


def test_nobody_at_the_other_end(capsys):
    with socket.create_server(("localhost", 0)) as silent:
        port = f"socket://localhost:{silent.getsockname()[1]}"
        begin = time.monotonic()
        assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", port)) == 2
        assert time.monotonic() - begin < 10
    assert capsys.readouterr().err == (
        f"openwmma: no board at {port}: the bridge did not answer within 1 s\n"
    )


def test_a_silent_litex_server(capsys):
    """LiteX's client would make zeros up."""
    with socket.create_server(("localhost", 0)) as silent:
        place = f"localhost:{silent.getsockname()[1]}"
        assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", place)) == 2
    assert capsys.readouterr().err == f"openwmma: cannot reach litex_server at {place}: timed out\n"


def test_no_litex_server(capsys):
    with socket.create_server(("localhost", 0)) as used:
        place = f"localhost:{used.getsockname()[1]}"
    assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", place)) == 2
    assert capsys.readouterr().err == f"openwmma: cannot reach litex_server at {place}: Connection refused\n"
