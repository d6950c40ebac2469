"""What the units are asked for, compared with the golden instructions and layouts."""

from dataclasses import replace
from typing import Any

from golden.tables.formats import FORMATS
from golden.tables.layouts import FragmentLayout, fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.dot_product.operands import Multiplicand, Result
from hdl.memory.fragment_geometry import BlockOrder, Pattern
from hdl.multiply.tile.request import TileShape

__all__ = ["check_geometry", "check_order", "check_tile"]


def check_geometry(instruction: LoadInstruction | StoreInstruction, geometry: Any) -> None:
    """Compare the geometry of a load or store with the golden layout of its fragment."""
    form = fragment(instruction.use, instruction.type, instruction.shape)
    rows, columns = instruction.shape.extent(instruction.use)
    lines, length = (rows, columns) if instruction.layout == "row" else (columns, rows)
    bits = FORMATS[instruction.type].bits
    assert 1 << geometry.element_log2 == bits
    assert 1 << geometry.lines_log2 == lines
    assert (8 << geometry.line_log2) == length * bits
    assert 1 << geometry.stride_log2 == instruction.shape.default_stride(instruction.use, instruction.layout)
    for space, found in (("global", geometry.alignment_log2), ("shared", geometry.shared_alignment_log2)):
        assert 1 << found == replace(instruction, space=space).core_alignment
    assert geometry.registers == form.registers
    transposed = form.x_is_row != (instruction.layout == "row")
    assert geometry.pattern == pattern_of(form, bits, transposed), instruction
    check_order(geometry.order, form)


def pattern_of(form: FragmentLayout, bits: int, transposed: bool) -> Pattern:
    """How the words of a fragment lie in memory, by the width of its elements."""
    if form.is_accumulator and bits == 64:
        return Pattern.WIDE_TRANSPOSED if transposed else Pattern.WIDE
    if form.is_accumulator and bits == 32:
        return Pattern.SPLIT_TRANSPOSED if transposed else Pattern.SPLIT
    if bits == 64:
        return Pattern.F64_TRANSPOSED if transposed else Pattern.SPLIT
    return Pattern[f"TRANSPOSED_{bits}"] if transposed else Pattern.PACKED


def check_order(order: BlockOrder, form: FragmentLayout) -> None:
    """The order says of each block number which x and which y block it is."""
    for number, expected in enumerate(form.blocks()):
        found = {"X": 0, "Y": 0}
        place = {"X": 0, "Y": 0}
        for bit, axis in enumerate("" if order is BlockOrder.ONE else order.name):
            found[axis] |= (number >> bit & 1) << place[axis]
            place[axis] += 1
        assert (found["X"], found["Y"]) == expected, (form, number)


def check_tile(instruction: MmaInstruction, tile: Any) -> None:
    """Compare what a multiply of any format asks of the units with its types and the golden layouts."""
    a, b = instruction.fragments["a"], instruction.fragments["b"]
    x, y = (a, b) if a.wide else (b, a)
    assert tile.x_is_b == (not a.wide), instruction
    shapes = {
        (16, 16): TileShape.SQUARE_16,
        (32, 8): TileShape.WIDE_32,
        (16, 8): TileShape.WIDE_16,
        (8, 8): TileShape.SQUARE_8,
    }
    assert tile.tile_shape == shapes[8 * x.x_blocks, 8 * y.x_blocks], instruction
    assert tile.halves == (x.y_blocks == 2), instruction
    # A unit adds 16 products of 16 and 8 bits, 32 of 4, 128 of one; of tf32, 4 in wmma and 8 in mma; and 32
    # of fp8, which in mma becomes f16, in two halves.
    products = {16: 16, 8: 16, 4: 32, 1: 128, 32: 4 if instruction.mnemonic == "wmma" else 8}
    expected = max(1, instruction.stored.k // products[FORMATS[instruction.a_type].bits])
    is_fp8 = instruction.a_type in ("e4m3", "e5m2")
    is_converted = is_fp8 and instruction.mnemonic == "mma"
    if is_fp8:
        expected = 2 if is_converted else 1
    assert tile.passes == expected - 1, instruction
    assert tile.converted == is_converted, instruction
    check_order(tile.x_order, x)
    check_order(tile.y_order, y)
    operation = tile.operation
    kind = {"s8": "I8", "u8": "I8", "s4": "I4", "u4": "I4"}.get(
        instruction.a_type, instruction.a_type.upper()
    )
    if is_fp8:
        kind = "F16" if is_converted else "FP8"
        types = (instruction.a_type, instruction.b_type)
        assert (operation.a_e5m2, operation.b_e5m2) == tuple(name == "e5m2" for name in types), instruction
    assert operation.multiplicand == Multiplicand[kind], instruction
    assert (operation.a_signed, operation.b_signed) == (
        instruction.a_type.startswith("s"),
        instruction.b_type.startswith("s"),
    )
    assert operation.saturate == instruction.saturate
    assert operation.bitwise_and == (instruction.operation == "and"), instruction
    assert operation.c_is_f16 == (instruction.c_type == "f16")
    results = {("f16", "f16"): Result.F16, ("f16", "f32"): Result.F16_FROM_F32}
    assert operation.result == results.get((instruction.d_type, instruction.c_type), Result.F32)
