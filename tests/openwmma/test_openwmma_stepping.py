"""`openwmma run --step`: what it shows of each instruction, and what it can be asked for."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import openwmma
from openwmma.cli import main
from openwmma.stepping import Stepper, Stopped

ROOT = Path(__file__).parents[2]
TILE = ROOT / "examples" / "tile_f16.ptx"
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry halves(.param .u64 x)
{
    .reg .pred %p; .reg .f32 %f; .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    setp.gt.u32 %p, %r1, 39;
    @%p bra END;
    cvt.rn.f32.u32 %f, %r1;
    @!%p mul.f32 %f, %f, 0f3F000000;
    st.global.f32 [%rd3], %f;
END:
    ret;
}
"""


def stepped(commands, grid=2, block=64):
    """Run with commands; whether it ended by itself, the prompts, and the array."""
    given, asked = iter(commands), []

    def read(prompt):
        asked.append(prompt)
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    x = np.full(64, -1, np.float32)
    try:
        openwmma.Module(PTX).kernel().launch(grid, block, [x], on_step=Stepper(read))
    except Stopped:
        return False, len(asked), x
    return True, len(asked), x


def test_each_instruction_shows_what_it_has_written(capsys):
    ended, asked, x = stepped(["", "n", "t 3", "", "", "p %r1", "c"])
    assert ended
    assert asked == 7
    np.testing.assert_array_equal(x, np.where(np.arange(64) < 40, np.arange(64) / 2, -1).astype(np.float32))
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"block 0,0,0 warp 0, 32 lanes: .*:8: ld\.param\.u64 %rd1, \[x\];", lines[0])
    assert lines[2].endswith("mov.u32 %r1, %tid.x;")
    assert lines[3] == "  lane  0  %r1 = 0x0 = 0"
    first = int(
        re.search(r" = (0x\w+) = ", lines[1])[1], 16
    )  # depends on what the process has launched before
    assert f"  lane  3  %rd3 = {first + 12:#x} = {first + 12}" in lines
    assert "  lane 31  %r1 = 0x1f = 31" in lines


def test_a_line_another_warp_and_another_block_are_reached(capsys):
    commands = ["w 1", "l 14", "t 7", "p %f", "m", "p q", "b 1", "t 4", "p %r1", "c"]
    ended, _, _ = stepped(commands)
    assert ended
    printed = capsys.readouterr().out
    assert "block 0,0,0 warp 1, 8 lanes: <ptx>:14: cvt.rn.f32.u32 %f, %r1;" in printed
    assert "  lane  7  %f = 0x421c0000 = 39" in printed
    assert "m: no matrix instruction has been executed here" in printed
    assert "q has not been written" in printed
    assert "block 1,0,0 warp 1, 32 lanes" in printed


LINES = "no instruction begins there, only on lines 8 to 18"
BLOCKS, WARPS = "the grid has blocks 0,0,0 to 1,0,0", "the block has warps 0 to 1"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("w 2", f"warp 2: {WARPS}"),
        ("w", f"warp: {WARPS}"),
        ("w -1", f"warp -1: {WARPS}"),
        ("b 5,5,5", f"block 5,5,5: {BLOCKS}"),
        ("b 0,0,0,0", f"block 0,0,0,0: {BLOCKS}"),
        ("b 1,x", f"block 1,x: {BLOCKS}"),
        ("l 99999", f"line 99999: {LINES}"),
        ("l 17", f"line 17: {LINES}"),
        ("l 8,9", f"line 8,9: {LINES}"),
        ("t 32", "lane 32: the warp has lanes 0 to 31"),
        ("t x", "lane x: the warp has lanes 0 to 31"),
        ("m", "m: no matrix instruction has been executed here"),
        ("zzz", "'zzz': expected one of n, c, q, b, w, t, l, p, m, or h for help"),
        ("n 5", "'n 5': expected one of n, c, q, b, w, t, l, p, m, or h for help"),
        ("t " + "9" * 5000, "lane 999"),
        ("h", "n or Enter"),
    ],
)
def test_what_does_not_exist_is_told_and_asked_for_again(command, message, capsys):
    ended, asked, x = stepped([command, "q"])
    assert (ended, asked) == (False, 2)
    assert (x == -1).all()
    assert capsys.readouterr().out.splitlines()[2].startswith(message)


def test_lanes_are_those_of_the_last_warp(capsys):
    assert stepped(["t 9", "w 1", "t 8", "t 7", "q"], block=40)[:2] == (False, 5)
    assert capsys.readouterr().out.splitlines()[-1] == "lane 8: the warp has lanes 0 to 7"


def test_a_place_that_the_launch_does_not_reach_is_told(capsys):
    commands = iter(["b 1", "b 0"])  # blocks run in order
    stepper = Stepper(lambda prompt: next(commands))
    openwmma.Module(PTX).kernel().launch(2, 64, [np.zeros(64, np.float32)], on_step=stepper)
    stepper.tell_missed()
    assert capsys.readouterr().out.endswith("\nblock 0: the launch ended before an instruction there\n")


VOTES = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry votes(.param .u64 x)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p, %r1, 8;
    vote.sync.ballot.b32 %r2, %p, 0xffffffff;
    @!%p bra END;
    shfl.sync.down.b32 %r3, %r1, 1, 31, 0xff;
END:
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


def test_results_of_collectives_are_shown_for_whole_warps_and_for_some_lanes(capsys):
    x = np.zeros(1, np.uint32)
    openwmma.Module(VOTES).kernel().launch(1, 32, [x], on_step=Stepper())
    printed = capsys.readouterr().out
    assert "vote.sync.ballot.b32 %r2, %p, 0xffffffff;\n  lane  0  %r2 = 0xff = 255\n" in printed
    assert "8 lanes: <ptx>:13: shfl.sync.down.b32 %r3, %r1, 1, 31, 0xff;" in printed
    assert "  lane  0  %r3 = 0x1 = 1\n" in printed
    assert x[0] == 0xFF


@pytest.mark.parametrize("commands", [["q"], [], ["n", "q"]])
def test_the_end_of_input_and_q_stop_the_launch(commands):
    ended, _, x = stepped(commands)
    assert not ended
    assert (x == -1).all()


def tile(folder, *options):
    a, b = np.diag(np.arange(16)).astype(np.float16), np.full((16, 16), 0.5, np.float16)
    for name, array in (("a", a), ("b", b), ("c", np.ones((16, 16), np.float16))):
        np.save(folder / f"{name}.npy", array)
    names = [f"{letter.upper()}={folder / letter}.npy" for letter in "abc"]
    arguments = [item for name in names for item in ("--arg", name)]
    return ["run", str(TILE), *arguments, "--out", f"D={folder}/d.npy:f16:16x16", *options]


def test_without_a_terminal_a_program_of_one_warp_is_printed_to_its_end(tmp_path, capsys):
    assert main(tile(tmp_path, "--step")) == 0
    printed = capsys.readouterr().out
    d = np.load(tmp_path / "d.npy").view(np.float16)
    expected = np.diag(np.arange(16)) @ np.full((16, 16), 0.5) + 1
    np.testing.assert_array_equal(d, expected)
    found = printed.index("D f16 m16n16k16:\n")
    rows = printed[found:].splitlines()[1:17]
    assert [[float(cell) for cell in row.split()] for row in rows] == expected.tolist()
    main(tile(tmp_path, "--force"))
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy").view(np.float16), d)
    assert main(tile(tmp_path, "--step", "--jobs", "2", "--force")) == 2
    assert "--step: expected one job on this computer" in capsys.readouterr().err


def test_in_a_terminal_it_asks(tmp_path):
    main_end, other = pty.openpty()
    command = [sys.executable, "-m", "openwmma", *tile(tmp_path, "--step")]
    process = subprocess.Popen(
        command, stdin=other, stdout=other, stderr=other, env={**os.environ, "TERM": "dumb"}
    )
    os.close(other)
    text = b""
    for answer in (b"n\n", b"h\n", b"q\n"):
        while not text.endswith(b"step> "):
            text += os.read(main_end, 1 << 16)
        os.write(main_end, answer)
        text += b"|"
    assert process.wait(timeout=60) == 0
    try:
        while piece := os.read(main_end, 1 << 16):
            text += piece
    except OSError:  # the other end is closed
        pass
    os.close(main_end)
    assert b"next instruction of the warp" in text
    assert b"stopped; nothing is written" in text
    assert not (tmp_path / "d.npy").exists()
