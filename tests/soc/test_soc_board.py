"""`--on board` with a simulated SoC: over its serial line, and through litex_server."""

import re
import select
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from conftest import BUILD, litex_server

from boards.address_map import ORIGIN
from boards.host.board_machine import open_board
from boards.host.bridges.open_link import open_link
from boards.soc.toolchain import environment
from golden.tables.commands import Load
from golden.tables.faults import Fault
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction
from hdl.control.host.register_map import IDENTITY
from openwmma.cli import main

pytestmark = pytest.mark.soc

EXAMPLES = Path(__file__).parents[2] / "examples"
RANDOM = np.random.default_rng(7)
MAX_SECONDS = 8
"""Two on a quiet machine, of which a link waits one; tests run beside other work."""


@pytest.fixture(autouse=True)
def matrices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        np.save(f"{name}.npy", RANDOM.standard_normal((32, 32)).astype(np.float16))


def gemm(*options):
    arrays = ("--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", "n=32")
    return ["run", str(EXAMPLES / "gemm_f16_f32.ptx"), *arrays, *options]


def printed_by_litex_cli(place, *options):
    command = [
        sys.executable,
        "-m",
        "litex.tools.litex_client",
        "--csr-csv",
        str(BUILD / "ulx3s" / "csr.csv"),
    ]
    command += ["--port", place.partition(":")[2], *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout


def ends_in_time(command):
    """Whether a command with bad input ends with exit code 2 soon."""
    begin = time.monotonic()
    return main(command) == 2 and time.monotonic() - begin < MAX_SECONDS


@contextmanager
def pulled_after(port, left):
    """A serial line to the board that ends after some bytes of its answers, and the times at which it did."""
    board = socket.create_connection(("localhost", int(port.rpartition(":")[2])))
    pulled = []
    with socket.create_server(("localhost", 0)) as server:

        def relay():
            host, _ = server.accept()
            answered = 0
            while answered < left:
                for ready in select.select([host, board], [], [])[0]:
                    part = ready.recv(4096)
                    assert part, "the line ended by itself"
                    (board if ready is host else host).sendall(part)
                    answered += len(part) * (ready is board)
            pulled.append(time.monotonic())
            host.close()
            board.close()

        thread = Thread(target=relay)
        thread.start()
        yield f"socket://localhost:{server.getsockname()[1]}", pulled
        thread.join()


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
            assert f"{ORIGIN:#x} : 0x{IDENTITY:08x}" in printed_by_litex_cli(place, "--read", hex(ORIGIN))
        assert Path("lockstep.npy").read_bytes() == Path("golden.npy").read_bytes()
    assert Path("board.npy").read_bytes() == Path("golden.npy").read_bytes()
    assert "gemm_f16_f32 on board" in capsys.readouterr().out


def test_a_null_pointer_is_a_fault_of_the_core(serial_port):
    """LiteDRAM answers every address: the guard before it refuses those outside the memory."""
    load = LoadInstruction(use="a", layout="row", shape=Shape(16, 16, 16), type="f16", space="global")
    machine = open_board(serial_port, None, 1_000_000)
    try:
        with pytest.raises(Fault, match="read decode error"):
            machine.execute(Load(load, 0, 0, None))
    finally:
        machine.close()


def test_another_preset_is_refused(serial_port, capsys):
    command = gemm("--out", "D=d.npy:f32:32x32", "--on", "board", "--port", serial_port)
    assert main([*command, "--preset", "standard"]) == 2
    assert capsys.readouterr().err == "openwmma: the core has registers 64, but the configuration says 128\n"
    give_up(serial_port)


def test_nobody_at_the_other_end(capsys):
    with socket.create_server(("localhost", 0)) as silent:
        port = f"socket://localhost:{silent.getsockname()[1]}"
        assert ends_in_time(gemm("--out", "D=d.npy:f32:32x32", "--on", "board", "--port", port))
    assert capsys.readouterr().err == (
        f"openwmma: no board at {port}: the bridge did not answer within 1 s\n"
    )


def test_a_silent_litex_server(capsys):
    """LiteX's client would make zeros up."""
    with socket.create_server(("localhost", 0)) as silent:
        place = f"localhost:{silent.getsockname()[1]}"
        assert ends_in_time(gemm("--out", "D=d.npy:f32:32x32", "--on", "board", "--port", place))
    assert capsys.readouterr().err == f"openwmma: cannot reach litex_server at {place}: timed out\n"


# pyserial closes the socket of a socket:// port, whose other end is gone, by dropping it.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("left", [100, 3000])
def test_a_cable_that_is_pulled(serial_port, capsys, left):
    """A line that ends after some bytes; the board's own line is free again then."""
    with pulled_after(serial_port, left) as (port, pulled):
        assert main(gemm("--out", "D=pulled.npy:f32:32x32", "--on", "board", "--port", port)) == 2
        assert time.monotonic() - pulled[0] < MAX_SECONDS
    message = capsys.readouterr().err
    assert re.fullmatch(
        rf"openwmma: (no board at {port}: )?cannot (read|write) [^\n]*serial port[^\n]*\n", message
    )
    assert main(gemm("--out", "D=again.npy:f32:32x32", "--on", "board", "--port", serial_port)) == 0


def test_no_litex_server(capsys):
    with socket.create_server(("localhost", 0)) as used:
        place = f"localhost:{used.getsockname()[1]}"
    assert main(gemm("--out", "D=d.npy:f32:32x32", "--on", "board", "--port", place)) == 2
    assert capsys.readouterr().err == f"openwmma: cannot reach litex_server at {place}: Connection refused\n"
