"""Damaged, made-up and unusual .npy, .npz and JSON files: one sentence with the file and the reason."""

import io
import json
import os
import re
import struct
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from test_openwmma_launch import SCALE

import openwmma
from golden.limits import ARRAY_BYTES
from golden.ptx.source import PtxError
from openwmma.cli import main
from openwmma.input_files import UnreadableFile, read_archive, read_array, read_json


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scale.ptx").write_text(SCALE)
    np.save("x.npy", np.arange(64, dtype=np.float32))
    return tmp_path


def npy(array, *, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version=version)
    return file.getvalue()


def header(text, version=1, length=None):
    data = text.encode("latin1") + b"\n"
    length = len(data) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(2 if version == 1 else 4, "little") + data


def described(descr="'<f4'", shape="(4,)", order="False"):
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}")


GOOD = npy(np.arange(4, dtype=np.float32))
DAMAGED_ARRAYS = {
    "empty": b"",
    "text": b"no array at all",
    "magic alone": GOOD[:6],
    "no length": GOOD[:8],
    "no header": GOOD[:10],
    "half a header": GOOD[:40],
    "no data": GOOD[:-16],
    "half of the data": GOOD[:-7],
    "unknown version": b"\x93NUMPY\x09\x00" + GOOD[8:],
    "open bracket": header("{'descr': '<f4', 'shape': ("),
    "no dictionary": header("[1, 2]"),
    "no keys": header("{}"),
    "other keys": header("{'a': 1, 'b': 2, 'c': 3}"),
    "code": header("__import__('os').abort()"),
    "tokens": header("'''"),
    "bytes": header("\xff\x00\x80"),
    "brackets": header("(" * 9000),
    "minus signs": header("-" * 9000 + "1"),
    "long header": header(" " * 70_000, version=2),
    "header of 4 GB": header("", version=2, length=0xFFFFFFFF),
    "objects": described("'|O'"),
    "unknown type": described("'<q9'"),
    "nested type": described("[('a', [('b', '<f4')])]", "(1,)"),
    "type of a number": described("17"),
    "type of nothing": described("None"),
    "huge type": described("'V9999999999'"),
    "negative": described(shape="(-4,)"),
    "negative twice": described(shape="(-2, -2)"),
    "fractions": described(shape="(4.0,)"),
    "text as shape": described(shape="'4'"),
    "no shape": described(shape="None"),
    "petabytes": described(shape=f"({1 << 50},)"),
    "overflow": described(shape=f"({1 << 40}, {1 << 40})"),
    "digits": described(shape=f"({'9' * 5000},)"),
    "nothing times too much": described(shape=f"(0, {1 << 62}, {1 << 62})"),
    "many axes": described(shape=str((1,) * 70)),
    "more than the limit": described(shape=f"({ARRAY_BYTES // 4 + 1},)"),
    "order": described(order="'yes'"),
}


def one_sentence(text):
    assert text.count("\n") == 1
    assert len(text) < 500
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("name", DAMAGED_ARRAYS)
def test_a_damaged_array_is_refused_in_one_sentence(capsys, name):
    Path("bad.npy").write_bytes(DAMAGED_ARRAYS[name])
    with pytest.raises(UnreadableFile, match=r"^bad\.npy: "):
        read_array(Path("bad.npy"))
    for arguments in (
        ["run", "scale.ptx", "--grid", "1", "--arg", "bad.npy", "--arg", "1", "--arg", "1"],
        ["mma", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", *["bad.npy"] * 3, "-o", "d.npy"],
    ):
        assert main(arguments) == 2
        assert "bad.npy" in one_sentence(capsys.readouterr().err)


@pytest.mark.parametrize("length", range(0, len(GOOD), 5))
@pytest.mark.parametrize("byte", [0x00, 0x27, 0x28, 0x39, 0xFF])
def test_every_changed_byte_of_a_header_is_an_array_or_one_sentence(length, byte):
    data = bytearray(GOOD)
    data[length] = byte
    Path("bad.npy").write_bytes(data)
    try:
        assert isinstance(read_array(Path("bad.npy")), np.ndarray)
    except UnreadableFile as error:
        one_sentence(f"{error}\n")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        np.float64(1.5),
        np.zeros((3, 0), np.int8),
        np.zeros(2, [("a", "<u4"), ("b", "<f8", (2,))]),
    ],
    ids=["floats", "columns", "one", "none", "structures"],
)
def test_whatever_numpy_writes_is_read(array, version):
    Path("good.npy").write_bytes(npy(array, version=version))
    found = read_array(Path("good.npy"))
    assert (found.dtype, found.shape) == (np.asarray(array).dtype, np.asarray(array).shape)
    assert found.tobytes() == np.asarray(array).tobytes()
    assert found.flags.writeable


def archive(members, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as written:
        for name, data in members:
            written.writestr(name, data)
    return file.getvalue()


GOOD_ARCHIVE = archive([("case/x.npy", GOOD)])


def lying(data, *, size):
    """An archive whose directory and local header give another size."""
    changed = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = changed.find(signature) + offset
        changed[place : place + 4] = struct.pack("<I", size)
    return bytes(changed)


def flagged(data, *, flag=0, method=None):
    changed = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = changed.find(signature) + offset
        changed[place] |= flag
        if method is not None:
            changed[place + 2 : place + 4] = struct.pack("<H", method)
    return bytes(changed)


def damaged_archives():
    bomb = described("'|u1'", f"({3 << 30},)")
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w", zipfile.ZIP_DEFLATED) as written, written.open("case/x.npy", "w") as file:
        file.write(bomb)
    return {
        "empty": b"",
        "text": b"text",
        "an array": GOOD,
        "half": GOOD_ARCHIVE[: len(GOOD_ARCHIVE) // 2],
        "no beginning": GOOD_ARCHIVE[20:],
        "damaged data": GOOD_ARCHIVE.replace(GOOD_ARCHIVE[50:60], b"\xff" * 10),
        "wrong sum": archive([("case/x.npy", GOOD)], zipfile.ZIP_STORED).replace(GOOD[-8:], b"12345678"),
        "encrypted": flagged(GOOD_ARCHIVE, flag=1),
        "unknown method": flagged(GOOD_ARCHIVE, method=99),
        "larger than declared": lying(GOOD_ARCHIVE, size=130),
        "3 GB declared": lying(GOOD_ARCHIVE, size=3 << 30),
        "3 GB in the header": huge.getvalue(),
        "no arrays": archive([("case/x.npy", b"text")]),
    }


@pytest.mark.parametrize("name", damaged_archives())
def test_a_damaged_archive_is_refused_in_one_sentence(capsys, name):
    case = {"case": "case", "file": "scale.ptx", "entry": "scale", "grid": 1, "block": 1, "arguments": []}
    Path("case.json").write_text(json.dumps([case]))
    Path("case.npz").write_bytes(damaged_archives()[name])
    with pytest.raises(UnreadableFile, match=r"^case\.npz: expected an archive of arrays \(."):
        read_archive(Path("case.npz"))
    assert main(["run", "--launch", "case.json"]) == 2
    assert one_sentence(capsys.readouterr().err).startswith("openwmma: case.npz: expected an archive")


def test_an_archive_of_zeros_is_refused_before_it_is_unpacked():
    zeros = bytes(1 << 20)
    with zipfile.ZipFile("case.npz", "w", zipfile.ZIP_DEFLATED) as written:
        for number in range(3):
            with written.open(f"case/{number}.npy", "w", force_zip64=True) as file:
                file.write(described("'|u1'", f"({400 << 20},)"))
                for _ in range(400):
                    file.write(zeros)
    assert Path("case.npz").stat().st_size < 3_000_000
    with pytest.raises(UnreadableFile, match=r"its 12\d+ bytes are more than 1073741824, the limit"):
        read_archive(Path("case.npz"))


DAMAGED_JSON = {
    "empty": b"",
    "half": b'[{"case": "x"',
    "bytes": b"\xff\xfe\x00",
    "nested": b"[" * 100_000,
    "nested objects": b'{"a":' * 100_000,
    "digits": b'[{"grid": ' + b"9" * 5000 + b"}]",
    "NaN": b'[{"grid": NaN}]',
    "infinity": b'[{"grid": -Infinity}]',
    "too large": b'[{"grid": 1e999}]',
    "twice": b'[{"case": "a", "case": "b"}]',
    "half a character": b'["\\ud800"]',
    "two values": b"[] []",
    "too long": b" " * ((1 << 26) + 1),
}


def test_json_may_begin_with_a_byte_order_mark():
    Path("case.json").write_text('{"a": 1}\r\n', encoding="utf-8-sig")
    assert read_json(Path("case.json")) == {"a": 1}


@pytest.mark.parametrize("name", DAMAGED_JSON)
def test_damaged_json_is_refused_in_one_sentence(capsys, name):
    Path("case.json").write_bytes(DAMAGED_JSON[name])
    with pytest.raises(UnreadableFile, match=r"^case\.json: not JSON \("):
        read_json(Path("case.json"))
    assert main(["run", "--launch", "case.json"]) == 2
    assert one_sentence(capsys.readouterr().err).startswith("openwmma: case.json: not JSON (")


KEYS = {
    "case": [None, 1, []],
    "file": [None, 1, "", ".", "no.ptx", "\0", "x.npy", "../" * 50],
    "entry": [None, 1, "no", {}],
    "grid": [None, "1", [], [1, 1, 1, 1], [1.5], {"x": 1}, 0, [[1]], True, 1e300],
    "block": [None, "32", -1, [1025]],
    "contract": [None, 0, "true"],
    "shared": [None, "0", -1, 1 << 70, 0.5, []],
    "arguments": [
        None, "x", {}, 3, [], ["x"], [1, 2, 3], [None] * 3, [[], [], []], ["x", "y", "z"], [{}, {}, {}],
        *(["x", item, {"type": "u32", "value": 4}] for item in (
            {"type": "f32"}, {"type": "f32", "value": None}, {"type": "f32", "value": "1"},
            {"type": "f32", "value": 1e300}, {"type": "f32", "value": 10**400}, {"type": "f32", "value": []},
            {"type": 1, "value": 1}, {"type": "f8", "value": 1}, {"type": "b32", "value": 1},
            {"struct": 4, "hex": "zz"}, {"struct": 4, "hex": 1}, {"struct": "4", "hex": "00000000"},
            {"struct": 4, "hex": "00000000", "pointers": {"0": ["x", 0]}},
            {"struct": 4, "hex": "00000000", "pointers": 3},
        )),
        *(["x", {"type": "f32", "value": 1}, item] for item in (
            {"type": "u32", "value": 1.5}, {"type": "u32", "value": 1 << 32}, {"type": "u32", "value": -1},
            {"type": "u32", "value": "0x10"}, {"type": "u32", "value": 10**4000},
            {"type": "u32", "value": []}, {"type": "u32", "value": True},
            {"type": "s64", "value": 1 << 63},
        )),
    ],
    "variables": [None, [], {"x": "no"}, {"x": 1}, {"x": None}],
    "addresses": [None, []],
    "pointers": [None, [], {"x": 3}, {"x": {"a": ["x", 0]}}, {"x": {"0": "x"}}, {"x": {"0": ["y", 0]}},
                 {"x": {"0": ["x", "0"]}}, {"x": {"256": ["x", 0]}}, {"x": {"-8": ["x", 0]}},
                 {"x": {"0": [["x"], 0]}}, {"x": {"0": ["x", 1 << 70]}}, {"x": {"9" * 5000: ["x", 0]}}],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, some in KEYS.items() for value in some])
def test_a_made_up_description_is_refused_in_one_sentence(capsys, key, value):
    case = {
        "case": "case",
        "file": "scale.ptx",
        "entry": "scale",
        "grid": 1,
        "block": 1,
        "arguments": ["x", {"type": "f32", "value": 1}, {"type": "u32", "value": 4}],
    }
    np.savez("case.npz", **{"case/x": np.arange(64, dtype=np.float32)})
    Path("case.json").write_text(json.dumps([case]))
    assert main(["run", "--launch", "case.json"]) == 0
    Path("case.json").write_text(json.dumps([{**case, key: value}]))
    capsys.readouterr()
    assert main(["run", "--launch", "case.json"]) == 2
    one_sentence(capsys.readouterr().err)
    with pytest.raises((openwmma.LaunchError, PtxError), match=r"\w"):
        openwmma.read_launches("case.json")[0].launch()


@pytest.mark.parametrize("dtype", ["U4", "M8[s]", "m8[s]", "S0"])
def test_arrays_that_a_device_does_not_have(capsys, dtype):
    case = {
        "case": "c",
        "file": "scale.ptx",
        "entry": "scale",
        "grid": 1,
        "block": 1,
        "arguments": ["x", 1, 2],
    }
    Path("case.json").write_text(json.dumps([case]))
    np.savez("case.npz", **{"c/x": np.zeros(4, dtype)})
    assert main(["run", "--launch", "case.json"]) == 2
    assert "expected numbers or structures" in one_sentence(capsys.readouterr().err)


def test_a_launch_file_stays_in_its_folder(capsys, folder):
    inside = folder / "inside"
    inside.mkdir()
    case = {
        "case": "case",
        "file": "../scale.ptx",
        "entry": "scale",
        "grid": 1,
        "block": 1,
        "arguments": ["x", {"type": "f32", "value": 1}, {"type": "u32", "value": 4}],
    }
    np.savez(inside / "case.npz", **{"case/x": np.arange(64, dtype=np.float32)})
    (inside / "link.ptx").symlink_to(folder / "scale.ptx")
    for file in ("../scale.ptx", str(folder / "scale.ptx"), "link.ptx"):
        (inside / "case.json").write_text(json.dumps([{**case, "file": file}]))
        assert main(["run", "--launch", "inside/case.json"]) == 2
        assert "lies outside of the launch file's folder" in one_sentence(capsys.readouterr().err)
        assert main(["run", "--launch", "inside/case.json", "--allow-outside"]) == 0
        with pytest.raises(openwmma.LaunchError, match="allow_outside=True"):
            openwmma.read_launches("inside/case.json")[0].launch()
        openwmma.read_launches("inside/case.json", allow_outside=True)[0].launch()
        capsys.readouterr()
    assert main(["run", "scale.ptx", "--allow-outside"]) == 2
    assert "expected --launch with it" in capsys.readouterr().err


def fed(path, data):
    """Make a pipe that holds a file."""
    os.mkfifo(path)

    def feed():
        with Path(path).open("wb") as file:
            file.write(data)

    thread = threading.Thread(target=feed)
    thread.start()
    return thread


def test_pipes_are_read(capsys):
    threads = [
        fed("x.pipe.npy", Path("x.npy").read_bytes()),
        fed("scale.pipe", SCALE.encode()),
    ]
    run = ["run", "scale.pipe", "--block", "32", "--arg", "2", "--out", "0=d.npy"]
    assert main([*run[:4], "--arg", "x.pipe.npy", "--arg", "2", "--arg", "32", *run[6:]]) == 0
    assert np.load("d.npy")[3] == 6
    case = openwmma.Module(SCALE).kernel()
    case.launch(1, 32, [np.arange(64, dtype=np.float32), 2.0, 64], save="case")
    for name in ("json", "npz"):
        data = Path(f"case.{name}").read_bytes()
        Path(f"case.{name}").unlink()
        threads.append(fed(f"case.{name}", data))
    assert main(["run", "--launch", "case.json"]) == 0
    for thread in threads:
        thread.join()


def test_process_substitution_is_read():
    read, write = os.pipe()
    os.write(write, Path("x.npy").read_bytes())
    os.close(write)
    arguments = ["--arg", f"/dev/fd/{read}", "--arg", "2", "--arg", "32", "--out", "0=d.npy"]
    assert main(["run", "scale.ptx", "--block", "32", *arguments]) == 0
    os.close(read)
    assert np.load("d.npy")[3] == 6


@pytest.mark.parametrize(
    "error", [OSError(), OSError("words"), OSError(28, "No space"), OSError(2, "gone", "a")]
)
def test_an_error_of_the_system_never_names_none(capsys, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("openwmma.commands.run.repeat_file", fail)
    assert main(["run", "--launch", "x.json"]) == 2
    printed = one_sentence(capsys.readouterr().err)
    assert "None" not in printed
    assert re.fullmatch(r"openwmma: \S.*\n", printed)


NUMBERS = ["9" * 5000, "0x" + "f" * 5000, "-" + "9" * 5000, "1e400", "-1e999", "1" * 400,
           "u8:" + "9" * 5000, "f32:" + "9" * 5000, "f16:1e9", "s8:0x80", "u8:-1", "f32:", "u8:1.5",
           "1_", "--1", "0x", "∞", "1j"]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS, ids=lambda text: text[:10])
@pytest.mark.parametrize("name", ["factor", "count"])
def test_numbers_beyond_every_type_are_refused_on_the_command_line(capsys, text, name):
    others = {"x": "x.npy", "factor": "1", "count": "4", name: text}
    arguments = [item for key, value in others.items() for item in ("--arg", f"{key}={value}")]
    assert main(["run", "scale.ptx", "--block", "32", *arguments]) == 2
    one_sentence(capsys.readouterr().err)


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("text", NUMBERS, ids=lambda text: text[:10])
def test_numbers_beyond_every_type_are_refused_by_programs_of_one_warp(capsys, text):
    np.save("m.npy", np.ones((16, 16), np.float16))
    program = ["run", str(ROOT / "examples" / "gemm_f16_f32.ptx"), "--arg", "A=m.npy", "--arg", "B=m.npy"]
    assert main([*program, "--arg", f"n={text}", "--out", "D=d.npy:f32:16x16"]) == 2
    one_sentence(capsys.readouterr().err)


SCALED = """
.version 8.0
.target sm_90
.address_size 64
.entry scaled(.param .u64 A, .param .f16 s, .param .u32 n)
{
    ret;
}
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("s", value)
            for value in (1e6, np.float32(1e6), -65520.0, np.complex64(1), np.datetime64(1, "s"), "1")
        ),
        *(
            ("n", value)
            for value in (
                1 << 32,
                -(1 << 31) - 1,
                10**6000,
                1.5,
                np.float32(1),
                np.array(1.5),
                np.bytes_(b"1"),
            )
        ),
        ("s", None),
        ("n", [1]),
        ("A", np.array([None], object)),
        ("A", 1j),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_of_a_kernel(name, value):
    kernel = openwmma.Module(SCALED).kernel()

    def run(**arguments):
        given = {"A": np.ones(4, ">f2"), "s": np.float32(0.5), "n": np.array(7), **arguments}
        kernel.launch(1, 32, given)
        return given["A"]

    assert run().tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError) as caught:  # noqa: PT011  any of the package
        run(**{name: value})
    one_sentence(f"{caught.value}\n")
