"""`--on board`: programs on a core behind a serial port, and everything that may be wrong with the port."""

import errno
import fcntl
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import serial
from terminal_board import TerminalBoard, open_terminal

import golden
from boards.host import link
from hdl.config import PAGE_BYTES, PRESETS
from hdl.control.host import REGISTERS
from openwmma.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = PRESETS["small"]
MEMORY_BYTES = 16 * PAGE_BYTES
RANDOM = np.random.default_rng(12)


@pytest.fixture
def board(tmp_path, monkeypatch):
    """A board, its port, and matrices in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        np.save(f"{name}.npy", RANDOM.standard_normal((32, 32)).astype(np.float16))
    return TerminalBoard(SMALL, MEMORY_BYTES)


def gemm(*options, n=32):
    arrays = ("--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", f"n={n}")
    return ["run", str(EXAMPLES / "gemm_f16_f32.ptx"), *arrays, *options]


def run_on(board, command):
    with open_terminal(board) as port:
        return main([*command, "--port", port])


def test_programs_give_what_golden_gives_and_their_own_counters(board, capsys):
    assert main(gemm("--out", "D=golden.npy:f32:32x32")) == 0
    capsys.readouterr()
    with open_terminal(board) as port:
        # The second finds the registers, the memory and the counters that the first has left.
        for name in ("first", "second"):
            assert main(gemm("--out", f"D={name}.npy:f32:32x32", "--on", "board", "--port", port)) == 0
            printed = capsys.readouterr().out
            assert "gemm_f16_f32 on board" in printed
            assert "instructions            │ 32 " in printed
            assert Path(f"{name}.npy").read_bytes() == Path("golden.npy").read_bytes()


def test_what_no_argument_fills_begins_as_zeros(board):
    """Rows that the program does not write, on a board whose memory holds noise."""
    assert run_on(board, gemm("--out", "D=d.npy:f32:40x32", "--on", "board")) == 0
    d = np.load("d.npy")
    assert not d[32:].any()
    assert d[:32].all()


def test_shared_memory(board):
    for name in ("m", "n"):
        np.save(f"{name}.npy", RANDOM.standard_normal((16, 16)).astype(np.float16))
    command = ["run", str(EXAMPLES / "shared_transpose.ptx"), "--arg", "A=m.npy", "--arg", "B=n.npy"]
    command += ["--out", "D=d.npy:f16:16x16"]
    assert main([*command, "--out", "E=golden.npy:f16:16x16"]) == 0
    assert run_on(board, [*command, "--out", "E=board.npy:f16:16x16", "--on", "board"]) == 0
    assert Path("board.npy").read_bytes() == Path("golden.npy").read_bytes()


def test_more_tiles_than_memory_holds(board):
    instruction = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
    a, b = RANDOM.standard_normal((2, 45, 16, 16)).astype(np.float16)
    c = RANDOM.standard_normal((45, 16, 16)).astype(np.float32)
    for name, matrix in (("ta", a), ("tb", b), ("tc", c)):
        np.save(f"{name}.npy", matrix)
    assert (
        run_on(board, ["mma", instruction, "ta.npy", "tb.npy", "tc.npy", "-o", "d.npy", "--on", "board"]) == 0
    )
    expected = golden.mma(instruction, a.view(np.uint16), b.view(np.uint16), c.view(np.uint32))
    np.testing.assert_array_equal(np.load("d.npy"), expected)


def test_lockstep_with_a_board(board, capsys):
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "lockstep")) == 0
    a, b = (np.load(f"{name}.npy").astype(float) for name in "ab")
    np.testing.assert_allclose(np.load("d.npy"), a @ b, rtol=1e-4, atol=1e-4)
    assert "gemm_f16_f32 on lockstep" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (2 * 2048 + 4 * 33, "1 bytes of memory differ; the first is row 1, column 1 of d"),
        (MEMORY_BYTES - 4, "after 32 instructions: 1 bytes of memory differ; the first is address 0x10ffc"),
    ],
)
def test_lockstep_finds_a_wrong_bit_in_the_boards_memory(board, capsys, place, message):
    """One in a matrix that is stored, at once; one that no store reaches, in the end."""
    board.corrupts[PAGE_BYTES + place] = 1
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "lockstep")) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("on", ["board", "lockstep"])
def test_a_fault_names_the_instruction_of_this_program(board, capsys, on):
    np.save("odd.npy", np.zeros((24, 24), dtype=np.float16))
    odd = gemm("--arg", "D=a.npy", "--on", on, n=24)
    odd = [text.replace("A=a", "A=odd").replace("B=b", "B=odd") for text in odd]
    with open_terminal(board) as port:
        assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", port, n=16)) == 0
        assert main([*odd, "--port", port]) == 1
        assert capsys.readouterr().err.startswith("openwmma: instruction 1: misaligned stride: ")
        assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", port, n=16)) == 0


def test_a_preset_that_is_named_is_required(board, capsys):
    assert run_on(board, gemm("--arg", "D=b.npy", "--on", "board", "--preset", "standard")) == 1
    assert capsys.readouterr().err == (
        "openwmma: the core has registers 64, but the configuration says 128\n"
    )


def test_what_the_boards_core_cannot_do_is_refused_by_it(board, capsys):
    tiny = TerminalBoard(PRESETS["tiny"], MEMORY_BYTES)
    command = ["run", str(EXAMPLES / "tf32.ptx"), "--out", "D=d.npy:f32:16x16", "--on", "board"]
    for name in "ABC":
        command += ["--arg", f"{name}=a.npy"]
    assert run_on(tiny, command) == 1
    assert "openwmma: instruction 0: illegal instruction" in capsys.readouterr().err
    assert run_on(board, command) == 0


def test_arrays_larger_than_the_boards_memory(board, capsys):
    assert run_on(board, gemm("--out", "D=d.npy:f32:128x128", "--on", "board")) == 2
    assert capsys.readouterr().err == (
        f"openwmma: expected arrays of at most {MEMORY_BYTES} bytes in all, for which the board has memory, "
        f"not {MEMORY_BYTES + PAGE_BYTES}\n"
    )
    assert not Path("d.npy").exists()


def test_a_port_that_does_not_exist(board, capsys, monkeypatch):
    monkeypatch.setattr(link, "comports", lambda: [SimpleNamespace(device="/dev/ttyUSB7")])
    assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", "/dev/openwmma-none")) == 2
    assert capsys.readouterr().err == (
        "openwmma: cannot open the serial port /dev/openwmma-none: there is no such device; "
        "found: /dev/ttyUSB7\n"
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, "no permission; on most systems its group, dialout or uucp, must be one of yours"),
        (errno.EBUSY, "another program has it open"),
        (errno.EIO, "[Errno 5] refused"),
    ],
)
def test_a_port_that_cannot_be_opened(board, capsys, monkeypatch, number, reason):
    def refuse(*_, **__):
        raise serial.SerialException(number, "refused")

    monkeypatch.setattr(link.serial, "serial_for_url", refuse)
    assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", "/dev/ttyUSB0")) == 2
    assert capsys.readouterr().err == f"openwmma: cannot open the serial port /dev/ttyUSB0: {reason}\n"


def test_a_port_that_another_program_has(board, capsys):
    with open_terminal(None) as port, Path(port).open("rb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", port)) == 2
        assert capsys.readouterr().err == (
            f"openwmma: cannot open the serial port {port}: another program has it open\n"
        )


@pytest.mark.parametrize(("name", "access"), [("FORMATS", "read host"), ("CONTROL", "write host")])
def test_a_core_that_does_not_answer(board, capsys, name, access):
    board.unanswered = {REGISTERS[name]}
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "board")) == 1
    assert capsys.readouterr().err == (
        f"openwmma: nothing answered the board's try to {access} at {REGISTERS[name]:#x} within 16384 cycles "
        "of its clock (328 us); reset the board\n"
    )


def test_a_board_that_does_not_answer(board, capsys):
    with open_terminal(None) as port:
        assert main(gemm("--arg", "D=b.npy", "--on", "board", "--port", port)) == 1
        assert capsys.readouterr().err == (
            f"openwmma: no board at {port} with 1000000 baud: "
            "the board gave no good answer to IDENTIFY at 0x0 in 6 tries\n"
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on", "board"], "--on board: expected --port with the board's serial port, as in /dev/ttyUSB0"),
        (["--port", "x"], "--port: expected --on board or --on lockstep, not --on golden"),
        (["--port", "x", "--on", "rtl"], "--port: expected --on board or --on lockstep, not --on rtl"),
        (
            ["--port", "x", "--on", "board", "--waves", "w.fst"],
            "--waves: expected a simulated core, not one on a board",
        ),
        (
            ["--port", "x", "--on", "lockstep", "--trace", "t.json"],
            "--trace: expected a simulated core, not one on a board",
        ),
        (
            ["--port", "x", "--on", "board", "--preset", "x"],
            "--preset x: expected one of tiny, small, standard, large",
        ),
    ],
)
def test_options_that_do_not_go_together(board, capsys, options, message):
    assert main(gemm("--arg", "D=b.npy", *options)) == 2
    assert capsys.readouterr().err == f"openwmma: {message}\n"
