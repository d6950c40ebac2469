"""The data of the pages: every layout is golden's, and the banks give each lane its elements."""

import json
import re
import sys
import zipfile

import numpy as np
import pytest

import golden
from answers import page_data
from answers.archive import write_archive
from answers.tables import TAUGHT, fragment_tables, instruction_tables
from answers.transposition_tables import transposition_tables
from golden.tables.instruction_set import FAMILIES, Shape
from golden.tables.layouts import fragment
from golden.tables.profiles import PROFILES


def test_positions_are_those_of_golden():
    tables = fragment_tables()
    for item in tables["fragments"]:
        wanted = golden.fragment_layout(item["use"], item["type"], item["shape"])
        rows, columns = np.divmod(np.array(tables["positions"][item["positions"]]), item["columns"])
        assert np.array_equal(np.stack([rows, columns], axis=-1).reshape(wanted.shape), wanted)
        assert item["registers"] * 32 == wanted.shape[1] * item["bits"]
        assert item["rows"] * item["columns"] == len(np.unique(wanted.reshape(-1, 2), axis=0))


def test_every_fragment_is_there_once():
    found = [(f["mnemonic"], f["use"], f["type"], f["shape"]) for f in fragment_tables()["fragments"]]
    assert len(found) == len(set(found))
    assert set(found) == {
        (family.mnemonic, use, type, str(shape))
        for family in FAMILIES
        for shape in family.shapes
        for use in "abcd"
        for type in (family.multiplicands if use in "ab" else family.accumulators)
    }


def test_a_profile_executes_what_golden_lets_it():
    tables = instruction_tables()
    for index, family in enumerate(TAUGHT):
        for profile in tables["profiles"]:
            executes = profile["exact"] or PROFILES[profile["name"]].executes(family)
            assert (index in profile["families"]) == executes


@pytest.mark.parametrize("table", transposition_tables(), ids=lambda table: table["pattern"])
def test_the_banks_bring_each_byte_to_its_lane(table):
    """A word's bytes, followed back through banks and skews to memory, are those that the layout names."""
    shape = Shape(*map(int, re.findall(r"\d+", table["shape"])))
    layout = fragment(table["use"], table["type"], shape)
    skews = {(item["line"], item["segment"]): item["skew"] for item in table["segments"]}
    size = table["bits"] // 8
    for word in table["words"]:
        found = []
        for byte, (line, segment) in enumerate(word["places"]):
            bank = byte ^ word["skew"]
            found.append((line, 16 * segment + (bank ^ skews[line, segment])))
        if word["swap"]:
            found = [*found[:4], *found[8:12], *found[4:8], *found[12:]]
        wanted = []
        for byte in range(16):
            element = (32 * word["register"] + 8 * (byte % 4)) // table["bits"]
            place = layout.position(4 * word["quad"] + byte // 4, element)
            line, index = place if table["layout"] == "row" else reversed(place)
            wanted.append((line, index * size + byte % size))
        assert found == wanted
        assert len({(line, byte // 16, byte % 16 ^ skews[line, byte // 16]) for line, byte in found}) == 16
    assert len(table["words"]) == len(table["segments"]) == len(skews)


def test_the_archive_is_the_same_each_time(tmp_path):
    for name in ("first", "second"):
        write_archive(tmp_path / name, page_data.MODULES_IN_THE_BROWSER)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    names = zipfile.ZipFile(tmp_path / "first").namelist()
    for module in page_data.MODULES_IN_THE_BROWSER:
        assert f"{module.replace('.', '/')}.py" in names
    assert len(names) == len(set(names))
    assert "golden/__init__.py" in names


def test_the_files_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["page_data", str(tmp_path / "data")])
    assert page_data.main() == 0
    written = {path.name for path in (tmp_path / "data").iterdir()}
    assert written == {
        "golden.zip",
        "policy.txt",
        "instructions.json",
        "fragments.json",
        "transposition.json",
    }
    assert len(capsys.readouterr().out.splitlines()) == len(written)
    for name in written:
        if name.endswith(".json"):
            assert json.loads((tmp_path / "data" / name).read_text())


def test_a_missing_folder_is_bad_usage(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["page_data"])
    assert page_data.main() == 2
    assert capsys.readouterr().err.startswith("usage:")
