"""The command line at the pins of the board: a PTX program, frames, the board top, and golden's results."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from boards.gateware.top import RESET_CYCLES, BoardTop
from cocotb_tests.boards.board_models import plain_design
from cocotb_tests.boards.serial_line import SerialLine
from cocotb_tests.boards.terminal import run_at_terminal
from cocotb_tests.boards.test_board import CONFIG
from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import start

GEMM = Path(__file__).parents[2] / "examples" / "gemm_f16_f32.ptx"
BAUD = 1200
"""Of the terminal, which has none: the time-outs that come of it are long enough for the simulation."""


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def program(dut: Any) -> None:
    """Twice, so that the second finds what the first has left."""
    line = SerialLine(dut, CONFIG.divider)
    await start(dut)
    await line.idle(RESET_CYCLES / CONFIG.divider + 10)
    random = np.random.default_rng(cocotb.RANDOM_SEED)
    command = [sys.executable, "-m", "openwmma"]
    arguments = [*command, "run", str(GEMM), "--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", "n=16"]
    for name in ("first", "second"):
        for matrix in "ab":
            np.save(f"{matrix}.npy", random.standard_normal((16, 16)).astype(np.float16))
        subprocess.run([*arguments, "--out", "D=golden.npy:f32:16x16"], check=True)
        of_board = [*arguments, "--out", f"D={name}.npy:f32:16x16", "--on", "board", "--baud", str(BAUD)]
        printed = await run_at_terminal(
            line,
            lambda port, options=of_board: [*options, "--port", port],
            Path.cwd(),
        )
        assert "gemm_f16_f32 on board" in printed
        assert "instructions            │ 5 " in printed, printed
        assert Path(f"{name}.npy").read_bytes() == Path("golden.npy").read_bytes()


def test_board_program(simulate: Simulate) -> None:
    simulate(plain_design("board", BoardTop(CONFIG)), __name__)
