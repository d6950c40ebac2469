"""Simulations of testbenches: one that was damaged, or whose build was killed, is built again."""

import shutil
from pathlib import Path

import pytest

from sim.cache import is_whole
from sim.testbench import runner
from sim.testbench.design import Design

DESIGN = Design.of_text("unit", "module top; endmodule\n", "top")
DAMAGE = {
    "nothing": lambda folder: None,
    "removed": lambda folder: (folder / "top").unlink(),
    "emptied": lambda folder: (folder / "top").write_bytes(b""),
    "truncated": lambda folder: (folder / "top").write_bytes(b"progra"),
    "garbage": lambda folder: (folder / "top").write_bytes(b"PROGRAM"),
    "key removed, as by a killed build": lambda folder: (folder / "key").unlink(),
    "key truncated": lambda folder: (folder / "key").write_text((folder / "key").read_text()[:-1]),
    "key of bytes": lambda folder: (folder / "key").write_bytes(b"\xff\x00"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed_and_built_again(tmp_path, monkeypatch, damage):
    built = []

    def build(design: Design, folder: Path, *rest: object) -> None:
        assert [path.name for path in folder.iterdir()] == ["top.v"]
        (folder / design.top).write_bytes(b"program")
        built.append(folder)

    monkeypatch.setattr(runner, "BUILD", tmp_path)
    monkeypatch.setattr(runner, "_build_verilator", build)
    folder = runner.build(DESIGN)
    DAMAGE[damage](folder)
    assert runner.build(DESIGN) == folder
    assert (folder / "top").read_bytes() == b"program"
    assert len(built) == (1 if damage == "nothing" else 2)


def test_damage_of_what_all_simulations_share_is_noticed(tmp_path, monkeypatch):
    """Headers and objects are kept from the first build; of a copy, headers and one object are damaged."""
    linked = {path.name for path in runner.build(DESIGN).iterdir()}
    digest = runner._digest("", runner._VERILATOR_FLAGS, False, "verilator")
    for kept in runner.BUILD.glob(f"*-{digest}"):
        shutil.copytree(kept, tmp_path / kept.name)
    monkeypatch.setattr(runner, "BUILD", tmp_path)
    objects = [path for path in tmp_path.glob("runtime-*/*.o") if path.name in linked]
    headers = [path for path in tmp_path.glob("headers-*/*") if path.suffix in (".gch", ".h")]
    damaged = [*headers, min(objects, key=lambda path: path.stat().st_size)]
    for path in damaged:
        path.write_bytes(b"garbage")
    folder = runner.build(Design.of_text("other", "module top; wire x; endmodule\n", "top"))
    assert (folder / "top").stat().st_size > 1000
    assert all(is_whole(path) for path in (*headers, *objects))


@pytest.mark.parametrize("name", ["BUILD", "VERILATOR_ROOT"])
def test_a_folder_with_spaces_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(runner, name, tmp_path / "my project")
    with pytest.raises(runner.UnsuitableFolder, match="my project: make splits paths at spaces"):
        runner.build(DESIGN)
