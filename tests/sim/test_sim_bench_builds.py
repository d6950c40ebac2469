"""Simulations of testbenches: one that was damaged, or whose build was killed, is built again."""

from pathlib import Path

import pytest

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
