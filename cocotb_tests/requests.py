"""What the units are asked for, compared with the golden instructions and layouts."""

from dataclasses import replace
from typing import Any

from amaranth.hdl import Value
from amaranth.lib import data

from golden.tables.formats import FORMATS
from golden.tables.instruction_set import FP4_KINDS
from golden.tables.layouts import FragmentLayout, fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.dot_product.operands import GROUPS, Multiplicand, Operation, Result
from hdl.memory.fragment_geometry import BlockOrder, Pattern
from hdl.multiply.tile.request import TileShape

__all__ = ["check_geometry", "check_order", "check_tile"]

_CODES = (1 << data.Layout.cast(Operation)["multiplicand"].width) - 1
"""The lowest bits of an operation."""


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


def check_tile(instruction: MmaInstruction, tile: Any, *, converts: bool = True) -> None:
    """Compare what a multiply of any format asks of the units with its types and the golden layouts.

    Parameters
    ----------
    instruction : MmaInstruction
    tile : TileRequest
    converts : bool
        Whether fp8 in mma becomes f16.
    """
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
    products = {16: 16, 8: 16, 6: 32, 4: 32, 1: 128, 32: 4 if instruction.mnemonic == "wmma" else 8}
    expected = max(1, instruction.stored.k // products[FORMATS[instruction.a_type].bits])
    types = instruction.a_type, instruction.b_type
    is_small = tuple(name in ("e3m2", "e2m3", "e2m1") for name in types)
    is_fp8 = any(is_small) or instruction.a_type in ("e4m3", "e5m2")
    is_converted = is_fp8 and converts and instruction.mnemonic == "mma"
    if is_fp8:
        expected = 2 if is_converted else 1
    assert tile.passes == expected - 1, instruction
    assert tile.converted == (is_converted or bool(instruction.scale_vec)), instruction
    check_order(tile.x_order, x)
    check_order(tile.y_order, y)
    operation = tile.operation
    kind = {"s8": "I8", "u8": "I8", "s4": "I4", "u4": "I4"}.get(
        instruction.a_type, instruction.a_type.upper()
    )
    assert operation.c_is_f16 == (instruction.c_type == "f16")
    is_group_sum = instruction.kind in FP4_KINDS
    code = Multiplicand["F16" if is_converted else "FP8" if is_fp8 else kind].value
    assert Value.cast(operation).value & _CODES == (GROUPS if is_group_sum else code), instruction
    e5m2 = tuple(name in ("e5m2", "e3m2") for name in types)
    if is_group_sum:
        assert operation.a_e5m2 == (instruction.scale_type == "ue4m3")
    elif is_fp8:
        assert (operation.a_e5m2, operation.b_e5m2) == e5m2, instruction
    if any(is_small):
        is_e2m1 = tuple(name == "e2m1" and not is_group_sum for name in types)
        assert (operation.a_signed, operation.b_signed) == is_small, instruction
        assert (operation.saturate, operation.bitwise_and) == is_e2m1, instruction
    else:
        signs = tuple(name.startswith("s") for name in types)
        assert (operation.a_signed, operation.b_signed) == signs
        assert operation.saturate == instruction.saturate
        assert operation.bitwise_and == (instruction.operation == "and"), instruction
    results = {("f16", "f16"): Result.F16, ("f16", "f32"): Result.F16_FROM_F32}
    assert operation.result == results.get((instruction.d_type, instruction.c_type), Result.F32)
