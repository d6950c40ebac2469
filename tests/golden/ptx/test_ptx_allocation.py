"""Fragment registers: memory must end up as PTX says, wherever in the machine the registers are put."""

import numpy as np
from hypothesis import given, settings, strategies
from modules import commands, entry, vector

from golden.memory import Memory
from golden.ptx import parse_instruction
from golden.tables.commands import Fill, Load, Mma, Move, Store
from golden.tables.instruction_set import Shape
from golden.tables.layouts import fragment
from golden.warp import GoldenMachine

REGISTERS = ".reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>, %d<8>; .reg .f64 %x<4>, %y<4>;"
A, B, C, D = vector("%a", 8), vector("%b", 8), vector("%c", 8), vector("%d", 8)
LOAD_A = "wmma.load.a.sync.aligned.row.m16n16k16.f16"
LOAD_B = "wmma.load.b.sync.aligned.row.m16n16k16.f16"
LOAD_C = "wmma.load.c.sync.aligned.row.m16n16k16.f32"
MMA = "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.f32"


def fill(prefix, count, value):
    return "".join(f"mov.b32 {prefix}{index}, {value};" for index in range(count))


def test_vectors_are_consecutive_and_accumulate_in_place():
    found = commands(
        f"{REGISTERS} {LOAD_A} {A}, [0]; {LOAD_B} {B}, [512]; {LOAD_C} {C}, [1024];"
        f"{MMA} {C}, {A}, {B}, {C}; {STORE} [2048], {C}, 16;"
    )
    assert found == [
        Load(parse_instruction(LOAD_A), 0, 0),
        Load(parse_instruction(LOAD_B), 8, 512),
        Load(parse_instruction(LOAD_C), 16, 1024),
        Mma(parse_instruction(MMA), d=16, a=0, b=8, c=16),
        Store(parse_instruction(STORE), 16, 2048, 16),
    ]


def test_fills_of_neighbours_are_one_command():
    found = commands(
        f"{REGISTERS} {fill('%c', 6, '0f3F800000')} mov.f32 %c6, 2.0; mov.f32 %c7, 2.0; {STORE} [0], {C};"
    )
    assert found == [Fill(0, 6, 0x3F800000), Fill(6, 2, 0x40000000), Store(parse_instruction(STORE), 0, 0)]


def test_moves_of_neighbours_are_one_command():
    moves = "".join(f"mov.f32 %d{index}, %c{index};" for index in range(8))
    found = commands(f"{REGISTERS} {LOAD_C} {C}, [0]; {moves} {STORE} [0], {D};")
    assert found == [
        Load(parse_instruction(LOAD_C), 0, 0),
        Move(8, 0, 8),
        Store(parse_instruction(STORE), 8, 0),
    ]


def test_doubles_take_two_registers_low_word_first():
    store = "wmma.store.d.sync.aligned.row.m8n8k4.f64"
    found = commands(
        f"{REGISTERS} mov.f64 %x0, 0d0123456789ABCDEF; mov.f64 %x1, %x0; {store} [0], {{%x0, %x1}};"
    )
    assert found == [
        Fill(0, 1, 0x89ABCDEF),
        Fill(1, 1, 0x01234567),
        Move(2, 0, 2),
        Store(parse_instruction(store), 0, 0),
    ]


def test_one_register_eight_times_is_copied_to_a_window():
    zero = "{" + ", ".join(["%c0"] * 8) + "}"
    found = commands(
        f"{REGISTERS} mov.f32 %c0, 0f00000000; {LOAD_A} {A}, [0]; {LOAD_B} {B}, [0];"
        f"{MMA} {D}, {A}, {B}, {zero};"
    )
    moves = [command for command in found if isinstance(command, Move)]
    (multiply,) = (command for command in found if isinstance(command, Mma))
    (zeroed,) = (command for command in found if isinstance(command, Fill))
    assert moves == [Move(multiply.c + index, zeroed.register, 1) for index in range(8)]


def test_registers_in_another_order_are_copied_out_of_a_window():
    backwards = "{" + ", ".join(f"%c{index}" for index in reversed(range(8))) + "}"
    found = commands(f"{REGISTERS} {fill('%c', 8, 0)} {STORE} [0], {C}; {LOAD_C} {backwards}, [0];")
    load = found[2]
    assert isinstance(load, Load)
    assert [(move.source - load.register, move.destination, move.count) for move in found[3:]] == [
        (index, 7 - index, 1) for index in range(8)
    ]


def test_fragments_that_are_never_wanted_together_share_registers():
    body = ".reg .f32 %f<80>;" + "".join(
        f"{LOAD_C} {registers}, [0]; {STORE} [0], {registers};"
        for registers in (vector("%f", 8, 8 * index) for index in range(10))
    )
    assert entry(body).registers == 8


def test_fragments_wanted_around_a_loop_share_nothing():
    body = (
        f"{REGISTERS} .reg .u32 %i; .reg .pred %p; mov.u32 %i, 0; {LOAD_C} {C}, [0];"
        f"LOOP: {STORE} [3072], {C}; {LOAD_C} {D}, [1024]; {STORE} [2048], {D};"
        "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra LOOP;"
    )
    assert entry(body).registers == 16


def test_a_guarded_write_keeps_what_was_there():
    body = (
        f"{REGISTERS} .reg .pred %p; mov.pred %p, 0; {LOAD_C} {C}, [0];"
        f"{LOAD_C} {D}, [1024]; {STORE} [2048], {D}; @%p {LOAD_C} {C}, [4096]; {STORE} [3072], {C};"
    )
    assert entry(body).registers == 16


def test_two_registers_are_not_put_in_one_place():
    store = "wmma.store.d.sync.aligned.row.m8n8k32.s32"
    found = commands(
        f"{REGISTERS} {fill('%a', 1, 1)} {fill('%b', 2, 2)} mov.b32 %b1, 3;"
        f"{store} [0], {{%b0, %b1}}; {store} [256], {{%a0, %b1}};"
    )
    machine = GoldenMachine(registers=32, memory=Memory(512))
    for command in found:
        machine.execute(command)
    rows = machine.memory.read(0, 512).view(np.uint32).reshape(2, 8, 4, 2)
    assert np.array_equal(rows[0], np.broadcast_to([2, 3], (8, 4, 2)))
    assert np.array_equal(rows[1], np.broadcast_to([1, 3], (8, 4, 2)))


STORES = {
    8: ("wmma.store.d.sync.aligned.row.m16n16k16.f32", fragment("d", "f32", Shape(16, 16, 16))),
    2: ("wmma.store.d.sync.aligned.row.m8n8k32.s32", fragment("d", "s32", Shape(8, 8, 32))),
}
"""An instruction and a layout for each number of registers that a random store takes."""
NAMES = [f"%f{index}" for index in range(12)]
name = strategies.sampled_from(NAMES)
statement = strategies.one_of(
    strategies.tuples(name, strategies.integers(0, 2**32 - 1)),
    strategies.tuples(name, name),
    *(strategies.lists(name, min_size=count, max_size=count) for count in STORES),
)


@settings(max_examples=100)
@given(strategies.lists(statement, min_size=1, max_size=20))
def test_random_fills_moves_and_stores(statements):
    """Registers that hold one value in all lanes, stored from vectors with any register at any place."""
    registers = dict.fromkeys(NAMES, 0)
    text, expected = ".reg .b32 %f<12>;" + "".join(f"mov.b32 {item}, 0;" for item in NAMES), []
    for item in [*statements, NAMES[:2]]:
        if isinstance(item, list):
            store, layout = STORES[len(item)]
            text += f"{store} [{1024 * len(expected)}], {{{', '.join(item)}}};"
            matrix = np.zeros((layout.shape.m, layout.shape.n), dtype=np.uint32)
            for lane in range(32):
                for element, register in enumerate(item):
                    matrix[layout.position(lane, element)] = registers[register]
            expected.append(matrix)
        else:
            destination, source = item
            text += f"mov.b32 {destination}, {source};"
            registers[destination] = registers.get(source, source)
    machine = GoldenMachine(registers=64, memory=Memory(1024 * len(expected)))
    for command in commands(text):
        machine.execute(command)
    for index, matrix in enumerate(expected):
        stored = machine.memory.read(1024 * index, matrix.nbytes).view(np.uint32)
        assert np.array_equal(stored.reshape(matrix.shape), matrix)
