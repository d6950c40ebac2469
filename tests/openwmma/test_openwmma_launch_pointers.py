"""Launch files whose buffers hold addresses of buffers: grouped and batched multiplies, lists, cycles."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_openwmma_launch import SCALE

import openwmma
from openwmma.cli import main

ROOT = Path(__file__).parents[2]

WALK = """
.version 7.0
.target sm_70
.address_size 64
.global .align 8 .u64 home = 0;
.global .align 8 .u64 stored = 0;
.visible .entry walk(.param .u64 table, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [table];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd2, %r2, 16;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u64 %rd4, [%rd3];
    ld.global.u32 %r3, [%rd4];
    add.u32 %r3, %r3, 1;
    st.global.u32 [%rd4], %r3;
    st.global.u64 [%rd3+8], %rd4;
    mov.u64 %rd5, stored;
    st.global.u64 [%rd5], %rd1;
DONE:
    ret;
}
"""
"""Adds 1 where each entry of a table points to, and notes the address beside it."""

LIST = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry follow(.param .u64 first, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [first];
    ld.param.u32 %r1, [count];
LOOP:
    ld.global.u64 %rd2, [%rd1+8];
    add.u64 %rd2, %rd2, 1;
    st.global.u64 [%rd1+8], %rd2;
    ld.global.u64 %rd1, [%rd1];
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra LOOP;
    ret;
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def description(name="case"):
    (case,) = json.loads(Path(f"{name}.json").read_text())
    return case


def walk(dtype=np.uint64):
    """A launch with a table of addresses; its buffers, which must live on for the addresses to differ."""
    x = openwmma.device(np.arange(4, dtype=np.uint32), name="x")
    y = openwmma.device(np.arange(10, 14, dtype=np.uint32), name="y")
    places = np.array([[x.address + 4, 0], [y.address + 8, 7], [x.address, 0]], np.uint64)
    table = openwmma.device(places.view(dtype), name="table")
    openwmma.Module(WALK).kernel().launch(1, 32, [table, 3], save="case")
    assert x.numpy().tolist() == [1, 2, 2, 3]
    return x, y, table


def repeated(name="case"):
    (launch,) = openwmma.read_launches(f"{name}.json")
    launch.launch()
    return launch


STRUCTURE = np.dtype([("target", "<u8"), ("note", "<u8")])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint8, STRUCTURE], ids=str)
def test_a_table_of_addresses_is_restored_and_compared(dtype):
    buffers = walk(dtype)
    case = description()
    assert case["pointers"]["table"] == {"0": ["x", 4], "16": ["y", 8], "32": ["x", 0]}
    assert case["pointers"]["table.after"] == {
        **case["pointers"]["table"],
        "8": ["x", 4],
        "24": ["y", 8],
        "40": ["x", 0],
    }
    launch = repeated()
    assert launch.differences() == []
    own = {name: buffer.address for name, buffer in launch.buffers.items()}
    assert all(own[buffer.name] != buffer.address for buffer in buffers)
    table = launch.buffers["table"].numpy().view(np.uint64).reshape(3, 2)
    assert table[:, 1].tolist() == [own["x"] + 4, own["y"] + 8, own["x"]]


def test_on_the_command_line_and_in_another_process(capsys):
    kept = walk()
    assert main(["run", "--launch", "case.json", "--on", "lockstep"]) == 0
    assert "memory is as recorded" in capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "openwmma", "run", "--launch", "case.json"],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert kept


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("st.global.u64 [%rd3+8], %rd1;", "table: "),
        ("st.global.u64 [%rd3+8], 0;", "table: "),
        ("add.u64 %rd4, %rd4, 1; st.global.u64 [%rd3+8], %rd4;", "table: 3 of 48 bytes differ; byte 8: "),
    ],
)
def test_another_address_is_a_difference(change, found):
    kept = walk()
    Path("case.ptx").write_text(WALK.replace("st.global.u64 [%rd3+8], %rd4;", change))
    differences = repeated().differences()
    assert [str(item).startswith(found) for item in differences] == [True]
    assert kept


def test_cycles_of_buffers():
    nodes = [openwmma.device(np.array([0, number], np.uint64), name=f"n{number}") for number in range(3)]
    for node, following in zip(nodes, [*nodes[1:], nodes[0]], strict=True):
        node.write(np.array([following.address, node.numpy()[1]], np.uint64))
    openwmma.Module(LIST).kernel().launch(1, 1, [nodes[1], 7], save="case")
    assert [int(node.numpy()[1]) for node in nodes] == [2, 4, 4]
    case = description()
    assert case["arguments"][0] == "n1"
    assert case["pointers"]["n0"] == {"0": ["n1", 0]}
    assert repeated().differences() == []


def test_a_buffer_that_points_to_itself_and_just_behind_itself():
    own = openwmma.device(np.zeros(4, np.uint64), name="own")
    own.write(np.array([own.address, 0, own.address + 32, own.address + 33], np.uint64))
    openwmma.Module(LIST).kernel().launch(1, 1, [own, 2], save="case")
    assert description()["pointers"]["own"] == {"0": ["own", 0], "16": ["own", 32]}
    assert repeated().differences() == []


def test_variables_that_hold_addresses_and_are_pointed_to():
    module = openwmma.Module(WALK)
    x = openwmma.device(np.zeros(4, np.uint32), name="x")
    home = module["home"]
    table = openwmma.device(np.array([[home.address, 0], [x.address, 0]], np.uint64), name="table")
    module["stored"].write(np.uint64(x.address + 8))
    module.kernel().launch(1, 32, [table, 2], save="case")
    case = description()
    assert case["variables"] == {"stored": "stored", "home": "home"}
    assert case["pointers"]["stored"] == {"0": ["x", 8]}
    assert case["pointers"]["stored.after"] == {"0": ["table", 0]}
    launch = repeated()
    assert launch.differences() == []
    assert int(launch.module["home"].numpy()) == 1
    assert int(launch.module["stored"].numpy()) == launch.buffers["table"].address


def test_the_address_of_a_variable_that_the_kernel_writes():
    text = WALK.replace("st.global.u64 [%rd3+8], %rd4;", "mov.u64 %rd6, home; st.global.u64 [%rd3+8], %rd6;")
    x = openwmma.device(np.zeros(4, np.uint32), name="x")
    table = openwmma.device(np.array([[x.address, 0]], np.uint64), name="table")
    module = openwmma.Module(text)
    module.kernel().launch(1, 32, [table, 1], save="case")
    assert description()["variables"]["home"] == "home"
    assert repeated().differences() == []


def test_the_address_of_an_array_that_was_handed_in_directly():
    out = np.zeros(2, np.uint64)
    text = LIST.replace("ld.global.u64 %rd2, [%rd1+8];", "add.u64 %rd2, %rd1, 4;")
    openwmma.Module(text).kernel().launch(1, 1, [out, 1], save="case")
    assert out[1] > 1 << 36
    assert description()["pointers"] == {"first.after": {"8": ["first", 5]}}
    assert repeated().differences() == []


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.uint16])
def test_numbers_of_other_types_are_no_addresses(dtype):
    first = openwmma.empty(1 << 20, np.uint8)
    high, low = first.address >> 32, first.address & 0xFFFFFFFF
    words = np.array([low + 16, high, low, high, 1, 2, 3, 4], np.uint32)
    x = openwmma.device(words.view(dtype), name="x")
    openwmma.Module(SCALE).kernel().launch(1, 1, [x, 2.0, 0], save="case")
    case = description()
    assert (case["pointers"], case["arrays"]) == ({}, ["x"])
    launch = repeated()
    assert launch.differences() == []
    assert launch.buffers["x"].numpy().tobytes() == words.tobytes()


def test_files_of_others_without_lists_of_what_was_left():
    kept = walk()
    case = description()
    del case["addresses"]
    del case["pointers"]["table.after"]
    with np.load("case.npz") as file:
        arrays = dict(file)
    # A chip has its own addresses; only the table from before tells which words are addresses.
    for name in ("case/table", "case/table.after"):
        words = arrays[name].reshape(3, 2)
        words[:, 0] = [0x7F0000000004, 0x7F0000010008, 0x7F0000000000]
        words[:, 1] = 0
    np.savez("case.npz", **arrays)
    Path("case.json").write_text(json.dumps([case]))
    Path("case.ptx").write_text(WALK.replace("st.global.u64 [%rd3+8], %rd4;", ""))
    assert repeated().differences() == []
    assert kept


def test_a_launch_that_is_repeated_can_be_saved_again():
    kept = walk()
    (launch,) = openwmma.read_launches("case.json")
    with pytest.raises(openwmma.LaunchError, match=r"another file than case\.json, which is read too"):
        launch.launch(save="case")
    launch.launch(save="again")
    assert description("again")["pointers"] == description()["pointers"]
    assert repeated("again").differences() == []
    assert kept


def test_many_words_that_are_no_addresses_are_fast():
    x = np.random.default_rng(3).integers(1 << 36, 1 << 63, 1 << 20).astype(np.uint64)
    openwmma.Module(LIST).kernel().launch(1, 1, [np.array([0, 0], np.uint64), 1], save="small")
    openwmma.Module(SCALE).kernel().launch(1, 1, [x, 2.0, 0], save="case")
    assert description()["pointers"] == {}
