"""The core in WebAssembly: registers and memory as the golden machine leaves them, for every program."""

import json
import random
import sys

import numpy as np
import pytest
from hardware_in_wasm import CoreInWasm, description
from page_visit import REPOSITORY

from golden.memory import Memory
from golden.ptx import parse_instruction
from golden.tables.commands import Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction
from golden.warp import GoldenMachine
from hdl.command import encode
from openwmma.learn.core_program import answer_text, command_words, compiled, contents
from openwmma.learn.core_reference import Reference

pytestmark = pytest.mark.browser

FOLDER = REPOSITORY / "site" / "pages" / "core" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.ptx"))
FAULTS = {"beyond_memory": (Cause.WRITE_DECODE_ERROR, 4)}
BASE, SIZE, BUFFER = 0x10000, 0x10000, 0x1000
FILLS = (("halves", "f16"), ("counting", "f16"), ("halves", "f32"))


def ask(**question):
    return json.loads(answer_text(json.dumps(question)))


def text_of(name):
    return (FOLDER / f"{name}.ptx").read_text()


def arguments_of(text):
    parameters = ask(kind="parameters", text=text)["parameters"]
    return {
        item["name"]: BASE + BUFFER * index if item["type"] == "u64" else 32
        for index, item in enumerate(parameters)
    }


def first_memory():
    memory = bytearray(SIZE)
    for index, (fill, type) in enumerate(FILLS):
        memory[BUFFER * index : BUFFER * (index + 1)] = contents(fill, type, 16, BUFFER)
    return memory


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in FAULTS])
def test_core_and_page_leave_what_the_golden_machine_leaves(name):
    text, core = text_of(name), description("core")
    commands = [command for command, _, _ in compiled(text, arguments_of(text), core)]
    machine = GoldenMachine(memory=Memory(SIZE, BASE), registers=core["registers"])
    machine.memory.write(BASE, np.frombuffer(bytes(first_memory()), np.uint8))
    reference = Reference(BASE, first_memory(), core["registers"])
    for command in commands:
        machine.execute(command)
        reference.execute(command)
    found = CoreInWasm(bytes(first_memory()), [command_words(command, core) for command in commands])
    assert found.outcome == "done"
    expected = machine.memory.read(BASE, SIZE).tobytes()
    assert found.memory == expected == bytes(reference.memory)
    assert found.memory != bytes(first_memory())
    registers = machine.read_registers()
    np.testing.assert_array_equal(found.registers(), registers)
    np.testing.assert_array_equal(np.array(reference.registers, np.uint32), registers)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_its_cause_and_command(name):
    text, core = text_of(name), description("core")
    commands = compiled(text, arguments_of(text), core)
    found = CoreInWasm(bytes(first_memory()), [command_words(command, core) for command, _, _ in commands])
    assert found.outcome == "fault"
    assert (found.module.call("fault_cause"), found.module.call("fault_index")) == FAULTS[name]


@pytest.mark.parametrize("latency", [1, 5, 100])
def test_the_memory_may_be_slow(latency):
    text, core = text_of("two_sets"), description("core")
    commands = [command for command, _, _ in compiled(text, arguments_of(text), core)]
    words = [command_words(command, core) for command in commands]
    slow, fast = (CoreInWasm(bytes(first_memory()), words, latency=cycles) for cycles in (latency, 20))
    assert slow.memory == fast.memory
    assert len(slow.noted("cycles", 1)) != len(fast.noted("cycles", 1))


def test_words_are_those_that_the_hardware_decodes():
    core = description("core")
    values = random.Random(22)
    commands = [Fill(7, 5, 0xDEADBEEF), Move(3, 9, 4)]
    for name in core["commands"]["words"]:
        if name in ("Fill", "Move"):
            continue
        instruction = parse_instruction(name)
        registers = [values.randrange(64) for _ in range(4)]
        if isinstance(instruction, MmaInstruction):
            commands.append(Mma(instruction, *registers))
            continue
        kind = Load if isinstance(instruction, LoadInstruction) else Store
        for stride in (None, values.randrange(1 << 20)):
            commands.append(kind(instruction, registers[0], values.randrange(1 << 32), stride))
    assert {type(command) for command in commands} == {Load, Store, Mma, Fill, Move}
    for command in commands:
        assert command_words(command, core) == list(encode(command))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("wmma.mma", "wmma.mmm", ".mmm"),
        ("[%A];", "[%Z];", "%Z"),
        ("[%A];", "[%A]", "expected"),
        ("    ret;", "AGAIN:\n    bra AGAIN;", "200000"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.global.f16",
            "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16",
            "bf16",
        ),
        ("    ret;", "    mul.f32 %c0, %c0, 0f40000000;", "none of these"),
    ],
)
def test_a_program_that_is_refused_names_its_line(before, after, words):
    program = text_of("one_tile")
    lines = program.replace(before, after, 1).splitlines()
    (line,) = (index for index, text in enumerate(lines, 1) if after.splitlines()[-1] in text)
    found = ask(
        kind="compile",
        text="\n".join(lines),
        arguments=arguments_of(program),
        description=description("core"),
    )
    assert words in found["error"]
    assert found["line"] in (line, line + 1)


def test_what_needs_numpy_is_refused_without_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "golden.arithmetic.element", raising=False)
    program = text_of("one_tile").replace("    ret;", "    add.f32 %x, 0f3f800000, 0f3f800000;\n    ret;")
    program = program.replace("%c<8>;", "%c<8>, %x;")
    arguments = arguments_of(program)
    found = ask(kind="compile", text=program, arguments=arguments, description=description("core"))
    assert "numpy" in found["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [("ret;", "no command"), ("LOOP: mov.f32 %c0, 0f00000000; bra LOOP;", "more than 2000")],
)
def test_a_program_of_no_or_too_many_commands_is_refused(body, words):
    program = text_of("one_tile")
    program = program[: program.index("    ld.param")] + body + "\n}\n"
    if "LOOP" in body:
        store = "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%D], {%c0,%c1,%c2,%c3,%c4,%c5,%c6,%c7};"
        load = store.replace("store.d", "load.c").replace(" [%D], ", " ").replace(";", ", [%D];")
        program = program.replace(body, f"ld.param.u64 %D, [D];\nLOOP:\n{load}\nbra LOOP;")
    arguments = arguments_of(text_of("one_tile"))
    found = ask(kind="compile", text=program, arguments=arguments, description=description("core"))
    assert words in found["error"]
