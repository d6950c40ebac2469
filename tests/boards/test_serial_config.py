"""The configuration of a serial core, and the bit orders that are computed for it."""

import re
from itertools import product

import pytest

from boards.boards import BOARDS
from boards.gateware.board_config import BoardConfig
from boards.serial_core.orders import BitOrder, OrderTable, bit_order
from boards.serial_core.serial_config import SerialConfig
from boards.serial_core.walk_geometry import LINE_BITS, fragment_walk, product_order
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import MmaInstruction
from hdl.config import CoreConfig, DotProductConfig
from hdl.memory.fragment_geometry import legal_fragments
from hdl.multiply.multiplies import legal_multiplies

SQUARE = Shape(16, 16, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dot_product": DotProductConfig()}, "Formats of a serial core must be among b1, i4, i8, not f16"),
        ({"dot_product_units": 2}, "Dot product units of a serial core must be 1, not 2"),
        ({"f64_units": 1}, "F64 units of a serial core must be 0, not 1"),
        ({"data_bits": 64}, "Data bits of a serial core must be 32, not 64"),
        ({"data_bits": 16}, "Data bits must be a power of two from 32 to 512, not 16"),
        ({"outstanding_reads": 2}, "Outstanding reads of a serial core must be 1, not 2"),
        ({"shared_bytes": 4096}, "Shared bytes of a serial core must be 0, not 4096"),
        ({"address_bits": 33}, "Address bits of a serial core must be from 16 to 32, not 33"),
        ({"registers": 16}, "Registers must be a power of two from 32 to 256, not 16"),
    ],
)
def test_what_cannot_work_is_refused(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SerialConfig(**options)


def test_it_is_the_configuration_of_a_core():
    config = SerialConfig(dot_product=DotProductConfig(formats=frozenset({"b1"})))
    assert isinstance(config, CoreConfig)
    assert [family.name for family in config.families] == ["single-bit"]
    assert {family.name for family in SerialConfig().families} == {
        *("integer", "sub-byte", "single-bit", "mma.m8n8k16")
    }


def test_a_board_takes_either_kind_of_core():
    sizes = {"memory_bytes": 4096, "clock_hz": 12_000_000, "baud": 1_000_000}
    assert BoardConfig(core=SerialConfig(), **sizes).core.data_bits == 32
    with pytest.raises(ValueError, match="Data bits of a board's core must be 128, not 64"):
        BoardConfig(core=CoreConfig(data_bits=64), **sizes)
    assert isinstance(BOARDS["icebreaker"].config.core, SerialConfig)


def arranged(order, value):
    return sum((value >> bit & 1) << place for place, bit in enumerate(order.sources) if bit is not None)


def test_an_order_is_found():
    order = bit_order({value: (value & 1) << 2 | value >> 1 for value in range(8)}, 4)
    assert order == BitOrder((1, 2, 0, None), frozenset({0, 1, 2}))


def test_what_is_no_order_is_refused():
    with pytest.raises(ValueError, match="Result 0x1 of 0x3 must have the bits"):
        bit_order({0: 0, 1: 1, 2: 2, 3: 1}, 2)


def test_orders_that_agree_have_one_number():
    narrow = BitOrder((0, 1, None), frozenset({0, 1}))
    wide = BitOrder((0, 1, 2), frozenset({0, 1, 2}))
    other = BitOrder((1, 0, None), frozenset({0, 1}))
    busy = BitOrder((0, 1, None), frozenset({0, 1, 2}))
    assert narrow.agrees(wide)
    assert wide.agrees(narrow)
    assert not narrow.agrees(other)
    assert not wide.agrees(busy), "bit 2 counts, and goes nowhere"
    table = OrderTable([narrow, other, wide, narrow, busy])
    assert [table.number(order) for order in (narrow, other, wide, busy)] == [0, 1, 0, 2]
    assert len(table) == 3


@pytest.mark.parametrize(
    "row", list(legal_fragments(SerialConfig())), ids=lambda row: "-".join(map(str, row))
)
def test_a_walk_passes_every_byte_of_the_fragment_once(row):
    walk = fragment_walk(*row)
    use, name, shape, _ = row
    found = [
        arranged(walk.order, line | place << LINE_BITS)
        for line, place in product(range(walk.lines), range(walk.places))
    ]
    step = 1 if walk.bytewise else 4
    rows, columns = shape.extent(use)
    bits = {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32}[name]
    assert sorted(found) == list(range(0, rows * columns * bits // 8, step))


@pytest.mark.parametrize("instruction", list(legal_multiplies(SerialConfig())), ids=str)
def test_a_product_meets_every_word_as_often_as_there_are_rows_of_the_other(instruction):
    order = product_order(instruction)
    shape = instruction.shape
    results = shape.m * shape.n
    found = [arranged(order, value) for value in range(4 * results)]
    for shift, rows, others in ((0, shape.m, shape.n), (8, shape.n, shape.m)):
        words = [value >> shift & 0xFF for value in found]
        assert sorted(words) == sorted([*range(4 * rows)] * others)


def test_other_layouts_are_refused():
    with pytest.raises(ValueError, match="must have no fragments of f16: their words are not in one line"):
        fragment_walk("a", "f16", SQUARE, "col")
    multiply = MmaInstruction(
        shape=SQUARE, a_layout="row", b_layout="col", a_type="f16", b_type="f16", c_type="f16", d_type="f16"
    )
    with pytest.raises(ValueError, match="must take 4 words, not 8 of wmma"):
        product_order(multiply)
