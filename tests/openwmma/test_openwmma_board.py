"""`--on board`: programs on the core of a SoC, and what may be wrong with a board."""

import re
from pathlib import Path

import numpy as np
import pytest
from bridged_core import MEMORY_BASE, NOTHING, BridgedCore

import golden
from boards.address_map import INFO, ORIGIN
from boards.host.board_machine import BoardMachine
from boards.host.link.errors import LinkError
from golden.installation import install_command
from hdl.config import PAGE_BYTES, PRESETS
from hdl.control.host import REGISTERS
from openwmma.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = PRESETS["small"]
MEMORY_BYTES = 16 * PAGE_BYTES
PORT = "/dev/ttyUSB0"
RANDOM = np.random.default_rng(12)


@pytest.fixture
def board(tmp_path, monkeypatch):
    """A board, its port, and matrices in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        np.save(f"{name}.npy", RANDOM.standard_normal((32, 32)).astype(np.float16))
    board = BridgedCore(SMALL, MEMORY_BYTES)
    connect(board, monkeypatch)
    yield board
    board.simulation.close()


def connect(board, monkeypatch):
    def open_link(port, baud):
        assert (port, baud) == (PORT, 1_000_000)
        return board.link()

    monkeypatch.setattr("boards.host.board_machine.open_link", open_link)


def gemm(*options, n=32):
    arrays = ("--arg", "A=a.npy", "--arg", "B=b.npy", "--arg", f"n={n}")
    return ["run", str(EXAMPLES / "gemm_f16_f32.ptx"), *arrays, *options]


def run_on(board, command):
    opened = board.closed
    code = main([*command, "--port", PORT])
    assert board.closed > opened, "the link is free afterwards"
    return code


def damage(board):
    """A wrong bit in every word of the memory that is not tested before a program."""
    for word in range(4, MEMORY_BYTES - PAGE_BYTES, 4):
        if word & (word - 1):
            board.corrupts[PAGE_BYTES + word] = 1 << 3


def test_programs_give_what_golden_gives_and_their_own_counters(board, capsys):
    assert main(gemm("--out", "D=golden.npy:f32:32x32")) == 0
    capsys.readouterr()
    # The second finds the registers, the memory and the counters that the first has left.
    for name in ("first", "second"):
        assert run_on(board, gemm("--out", f"D={name}.npy:f32:32x32", "--on", "board")) == 0
        printed = capsys.readouterr().out
        assert "gemm_f16_f32 on board" in printed
        assert "commands of the core              │ 29 " in printed
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
    forced = [*command, "--out", "E=board.npy:f16:16x16", "--on", "board", "--force"]
    assert run_on(board, forced) == 0
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


def test_lockstep_finds_a_wrong_bit_that_is_stored(board, capsys):
    damage(board)
    assert run_on(board, gemm("--out", "D=d.npy:f32:40x32", "--on", "lockstep")) == 1
    message = capsys.readouterr().err
    assert message.startswith("openwmma: instruction ")
    assert "of memory differ; the first is row 0, column 0 of d" in message


def test_lockstep_finds_a_wrong_bit_that_no_store_reaches(board, capsys):
    board.corrupts[4 * PAGE_BYTES - 4] = 1
    assert run_on(board, gemm("--out", "D=d.npy:f32:40x32", "--on", "lockstep")) == 1
    told = "after 28 instructions: 1 bytes of memory differ; the first is address 0x3ffc"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("on", ["board", "lockstep"])
def test_a_fault_of_a_program_leaves_the_board_usable(board, capsys, on):
    np.save("odd.npy", np.zeros((25, 25), dtype=np.float16))
    odd = gemm("--out", "D=odd_d.npy:f32:25x25", "--on", on, n=25)
    odd = [text.replace("A=a", "A=odd").replace("B=b", "B=odd") for text in odd]
    whole = gemm("--out", "D=d.npy:f32:32x32", "--on", "board", "--force", n=16)
    assert run_on(board, whole) == 0
    assert run_on(board, odd) == 1
    assert capsys.readouterr().err.startswith(
        "openwmma: stride 25 of 16-bit elements is not a multiple of 4 bytes (kernel gemm_f16_f32"
    )
    assert run_on(board, whole) == 0


def test_a_preset_that_is_named_is_required(board, capsys):
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "board", "--preset", "standard")) == 2
    assert capsys.readouterr().err == (
        "openwmma: the core has registers 64, but the configuration says 128\n"
    )


def test_what_the_boards_core_cannot_do_is_refused(board, capsys, monkeypatch):
    command = ["run", str(EXAMPLES / "tf32.ptx"), "--out", "D=d.npy:f32:16x16", "--on", "board"]
    for name in "ABC":
        command += ["--arg", f"{name}=a.npy"]
    assert run_on(board, command) == 0
    tiny = BridgedCore(PRESETS["tiny"], MEMORY_BYTES)
    connect(tiny, monkeypatch)
    assert run_on(tiny, [*command, "--force"]) == 2
    assert "openwmma: the board's core has no .tf32 multiply, needed at " in capsys.readouterr().err
    tiny.simulation.close()


def test_arrays_larger_than_the_boards_memory(board):
    """An array for which there is no room is in the host's memory: its fragments go over the link."""
    assert main(gemm("--out", "D=golden.npy:f32:128x128")) == 0
    assert run_on(board, gemm("--out", "D=d.npy:f32:128x128", "--on", "board")) == 0
    assert Path("d.npy").read_bytes() == Path("golden.npy").read_bytes()


@pytest.mark.parametrize(
    ("address", "word", "message"),
    [
        (INFO, NOTHING, f"a SoC with a core has 0x4f575343 at {INFO:#x}, not 0xffffffff"),
        (INFO, 0, f"a SoC with a core has 0x4f575343 at {INFO:#x}, not 0x0"),
        (MEMORY_BASE + PAGE_BYTES + 64, 7, "the board's memory must keep 0x"),
    ],
)
def test_another_device_or_its_memory(board, capsys, address, word, message):
    board.replaced[address] = word
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "board")) == 2
    assert capsys.readouterr().err.startswith(f"openwmma: no board at {PORT}: {message}")


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        ("IDENTITY", 5, "the core has identity 0x5, but the configuration says 0x4f574d4d"),
        ("VERSION", 0x300, "the core has version 0x300, but the configuration says 0x500"),
        ("PROFILE", 77, "the core has profile code 77; this software knows "),
    ],
)
def test_another_core(board, capsys, name, word, message):
    board.replaced[ORIGIN + REGISTERS[name]] = word
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "board")) == 2
    assert capsys.readouterr().err.startswith(f"openwmma: {message}")


def test_the_memory_is_tested_and_keeps_its_contents(board):
    before = board.memory.read(PAGE_BYTES, board.memory.size)
    BoardMachine(SMALL, board.link()).close()
    np.testing.assert_array_equal(board.memory.read(PAGE_BYTES, board.memory.size), before)


@pytest.mark.parametrize("left", [3, 40, 200])
def test_a_link_that_fails_during_a_program(board, capsys, left):
    """The first accesses are answered, then none: the cable was pulled."""
    read, accesses = board.read, iter(range(left))

    def pulled(addr, length):
        if next(accesses, None) is None:
            raise LinkError("the bridge did not answer within 1 s")
        return read(addr, length)

    board.read = pulled
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "board")) == 2
    message = capsys.readouterr().err
    assert message.startswith("openwmma: ")
    assert message.endswith("the bridge did not answer within 1 s\n")
    assert message.count("\n") == 1


def test_a_link_that_loses_words_is_noticed(board, capsys):
    """A constant of the SoC is read after some writes: from then on it reads as something else."""
    write, words = board.write, []

    def damaged(addr, data):
        words.extend(data)
        if len(words) > 400:
            board.replaced[INFO] = 0x1234
        write(addr, data)

    board.write = damaged
    assert run_on(board, gemm("--out", "D=d.npy:f32:32x32", "--on", "board")) == 2
    assert capsys.readouterr().err == (
        f"openwmma: the link lost words: 0x4f575343 must be at {INFO:#x}, not 0x1234\n"
    )


def test_a_board_without_litex(board, capsys, monkeypatch):
    command = gemm("--out", f"D={Path('d.npy').absolute()}:f32:32x32", "--on", "board", "--port", PORT)
    command = [text.replace("=a.npy", f"={Path('a.npy').absolute()}") for text in command]
    command = [text.replace("=b.npy", f"={Path('b.npy').absolute()}") for text in command]
    monkeypatch.undo()
    monkeypatch.setattr("boards.host.bridges.open_link.find_spec", lambda name: None)
    assert main(command) == 2
    assert capsys.readouterr().err == (
        f"openwmma: a board is reached with LiteX, which is not installed: {install_command('soc')}\n"
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
    assert main(gemm("--out", "D=d.npy:f32:32x32", *options)) == 2
    assert capsys.readouterr().err == f"openwmma: {message}\n"


def captured(case, on):
    launches = Path(__file__).parents[1] / "data" / "kernels" / "public_kernels.json"
    return ["run", "--launch", str(launches), "--case", case, "--on", on]


@pytest.mark.parametrize("on", ["board", "lockstep"])
def test_a_kernel_on_a_board_is_compared_with_the_chip(board, capsys, on):
    assert run_on(board, captured("single_warp.wmma_ker", on)) == 0
    printed = capsys.readouterr().out
    assert "memory is as recorded" in printed
    assert "fragments of the host" in printed


def test_a_wrong_bit_in_the_boards_memory_is_found_by_a_kernel(board, capsys):
    damage(board)
    assert run_on(board, captured("single_warp.wmma_ker", "board")) == 1
    # Where d lies depends on what other tests have allocated, and `damage` spares words at powers of two.
    assert re.search(r"of memory differ; the first is row 0, column [01] of d\b", capsys.readouterr().err)


def test_a_link_that_fails_during_a_launch_names_the_block(board, capsys):
    read, accesses = board.read, iter(range(250))

    def pulled(addr, length):
        if next(accesses, None) is None:
            raise LinkError("the bridge did not answer within 1 s")
        return read(addr, length)

    board.read = pulled
    assert run_on(board, captured("single_warp.wmma_ker", "board")) == 2
    told = "the bridge did not answer within 1 s; block 0 was being executed; the launch can be repeated"
    assert capsys.readouterr().err == f"openwmma: {told}\n"
    board.read = read
    assert run_on(board, captured("single_warp.wmma_ker", "board")) == 0
