"""Simulated SoCs for the tests: built once, in the folder that `openwmma soc` takes by default."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from boards.boards import BOARDS
from boards.host.board_machine import open_board
from boards.host.link.errors import LinkError
from boards.soc.simulate import simulated_board
from boards.soc.toolchain import environment

INITIALISATION_SECONDS = 120
LISTENING_SECONDS = 30
BUILD = Path(__file__).parents[2] / "build" / "soc"


@contextmanager
def litex_server(serial_port: str) -> Iterator[str]:
    """The place of a ``litex_server`` for a serial port."""
    command = [sys.executable, "-u", "-m", "litex.tools.litex_server", "--uart", "--uart-port", serial_port]
    command += ["--uart-baudrate", "1000000", "--bind-port", "0"]
    server = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert "tcp port:" in line, line
        yield f"localhost:{_bound_port(server.pid)}"
    finally:
        server.kill()
        server.communicate()


def _bound_port(process: int) -> int:
    """The TCP port that a process listens at, which it says before it does."""
    end = time.monotonic() + LISTENING_SECONDS
    while time.monotonic() < end:
        for connection in psutil.Process(process).net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                return connection.laddr.port
        time.sleep(0.05)
    raise AssertionError(f"process {process} listens at no port")


@pytest.fixture(scope="module")
def serial_port() -> Iterator[str]:
    """The serial line of a simulated ULX3S, as pyserial names it, once its memory is initialised."""
    with simulated_board(BOARDS["ulx3s"], BUILD, print) as port:
        place = f"socket://localhost:{port}"
        end = time.monotonic() + INITIALISATION_SECONDS
        while True:
            try:
                open_board(place, None, 1_000_000).close()
                break
            except LinkError:
                if time.monotonic() > end:
                    raise
        yield place
