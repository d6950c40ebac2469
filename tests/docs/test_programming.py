"""The page on programming the core: its tables, written access by access to a simulated core."""

import re
from contextlib import closing
from pathlib import Path

import numpy as np

from golden.memory import Memory
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import StoreInstruction
from hdl.config import PRESETS
from hdl.control.host.register_map import REGISTERS
from sim.rtl_machine import RtlMachine

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "programming.md").read_text()
ACCESSES = [
    (kind, int(address, 16), int(value, 16))
    for kind, address, value in re.findall(r"^\| (\w+) \| `(0x\w{3})` \| `(0x\w{8})` \|", PAGE, re.MULTILINE)
]
POLLS = 2000


def test_the_accesses_of_the_page_multiply_a_tile_and_tell_a_fault():
    random = np.random.default_rng(3)
    a, b = (random.integers(-8, 9, (16, 16)) for _ in "ab")
    with closing(RtlMachine(PRESETS["tiny"], Memory(0x4000, 0))) as machine:
        machine.memory.write(0x1000, a.astype(np.float16).view(np.uint8).reshape(-1))
        machine.memory.write(0x2000, b.T.astype(np.float16).copy().view(np.uint8).reshape(-1))
        for number, (kind, address, value) in enumerate(ACCESSES):
            if kind == "write":
                machine.simulation.write(address, np.array([value], np.uint32))
                continue
            read = (int(machine.simulation.read(address)[0]) for _ in range(POLLS if kind == "poll" else 1))
            assert value in read, f"access {number}: {kind} of {address:#x}"
        d = machine.memory.read(0x3000, 1024).view(np.float32).reshape(16, 16)
        np.testing.assert_array_equal(d, a @ b)
    assert len(ACCESSES) == 44
    assert {kind for kind, *_ in ACCESSES} == {"read", "write", "poll"}


def test_the_page_names_registers_at_their_addresses():
    named = re.findall(r"`(0x0\w{2})` \| `0x\w{8}` \| `([A-Z_]+)", PAGE)
    named += [(address, name) for name, address in re.findall(r"`([A-Z_]+)` \(`(0x0\w{2})`\)", PAGE)]
    assert len(named) > 8
    assert {name: int(address, 16) for address, name in named} == {name: REGISTERS[name] for _, name in named}


def test_the_page_has_the_alignment_of_the_store_that_fails():
    store = StoreInstruction(layout="row", shape=Shape(16, 16, 16), type="f32", space="global")
    (told,) = re.findall(r"must be a multiple of (\d+) bytes", PAGE)
    assert int(told) == store.core_alignment
