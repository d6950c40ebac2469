"""The core in WebAssembly: registers and memory as the golden machine leaves them, for every program."""

import json

import numpy as np
import pytest
from hardware_in_wasm import CoreInWasm, description
from page_visit import REPOSITORY

from answers.core_program import answer_text, contents
from answers.core_reference import Reference
from golden.memory import Memory
from golden.programs.values import command_data, command_of
from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.faults import Cause
from golden.warp import GoldenMachine
from hdl.command import encode

pytestmark = pytest.mark.browser

FOLDER = REPOSITORY / "site" / "pages" / "core" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.ptx"))
FAULTS = {"beyond_memory": (Cause.WRITE_DECODE_ERROR, 4)}
BASE, SIZE, BUFFER = 0x10000, 0x10000, 0x1000
FILLS = (("halves", "f16"), ("counting", "f16"), ("halves", "f32"))


def variants(name):
    return description("programs")[name]["variants"]


def commands_of(name, number=0):
    return [command_of(item["command"]) for item in variants(name)[number]["commands"]]


def words_of(name, number=0):
    return [item["words"] for item in variants(name)[number]["commands"]]


def first_memory():
    memory = bytearray(SIZE)
    for index, (fill, type) in enumerate(FILLS):
        memory[BUFFER * index : BUFFER * (index + 1)] = contents(fill, type, 16, BUFFER)
    return memory


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in FAULTS])
def test_core_and_page_leave_what_the_golden_machine_leaves(name):
    core = description("core")
    machine = GoldenMachine(memory=Memory(SIZE, BASE), registers=core["registers"])
    machine.memory.write(BASE, np.frombuffer(bytes(first_memory()), np.uint8))
    reference = Reference(BASE, first_memory(), core["registers"])
    for command in commands_of(name):
        machine.execute(command)
        reference.execute(command)
    found = CoreInWasm(bytes(first_memory()), words_of(name))
    assert found.outcome == "done"
    expected = machine.memory.read(BASE, SIZE).tobytes()
    assert found.memory == expected == bytes(reference.memory)
    assert found.memory != bytes(first_memory())
    registers = machine.read_registers()
    np.testing.assert_array_equal(found.registers(), registers)
    np.testing.assert_array_equal(np.array(reference.registers, np.uint32), registers)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_its_cause_and_command(name):
    found = CoreInWasm(bytes(first_memory()), words_of(name))
    assert found.outcome == "fault"
    assert (found.module.call("fault_cause"), found.module.call("fault_index")) == FAULTS[name]


@pytest.mark.parametrize("latency", [1, 5, 100])
def test_the_memory_may_be_slow(latency):
    words = words_of("two_sets")
    slow, fast = (CoreInWasm(bytes(first_memory()), words, latency=cycles) for cycles in (latency, 20))
    assert slow.memory == fast.memory
    assert len(slow.noted("cycles", 1)) != len(fast.noted("cycles", 1))


def test_the_commands_of_a_program_are_those_of_its_text():
    """The fill, then two loads and a multiply for each step along k, and a store for each tile of D."""
    numbers = [variant["numbers"]["n"] for variant in variants("matrix_multiply")]
    assert numbers == [16, 32, 48, 64]
    for number, size in enumerate(numbers):
        tiles = size // 16
        step = [Load, Load, Mma]
        expected = [*([Fill, *step * tiles, Store] * tiles**2)]
        commands = commands_of("matrix_multiply", number)
        assert [type(command) for command in commands] == expected
        assert {command.stride for command in commands if isinstance(command, Load | Store)} == {size}
        assert {command.address for command in commands if isinstance(command, Store)} == {
            BASE + 2 * BUFFER + 4 * (16 * i * size + 16 * j) for i in range(tiles) for j in range(tiles)
        }
        assert [list(encode(command)) for command in commands] == words_of("matrix_multiply", number)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_command_stands_where_its_line_says(name):
    lines = (FOLDER / f"{name}.ptx").read_text().splitlines()
    for item in variants(name)[0]["commands"]:
        assert lines[item["line"] - 1].strip().startswith(item["text"].partition(";")[0])
        assert command_data(command_of(item["command"])) == item["command"]


def test_the_page_asks_golden_command_by_command():
    def ask(**question):
        return json.loads(answer_text(json.dumps(question)))

    held = contents("identity", "f16", 16, BUFFER).hex()
    assert ask(kind="contents", fill="identity", type="f16", columns=16, bytes=BUFFER) == {"bytes": held}
    memory = first_memory()
    ask(kind="begin", base=BASE, memory=memory.hex(), registers=64)
    reference = Reference(BASE, bytearray(memory), 64)
    for item in variants("one_tile")[0]["commands"]:
        ask(kind="golden", command=item["command"])
        reference.execute(command_of(item["command"]))
    found = ask(kind="end")
    assert found["memory"] == reference.memory.hex()
    assert bytes.fromhex(found["registers"]) == np.array(reference.registers, "<u4").tobytes()
