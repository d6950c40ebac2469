"""Commands at random for a whole core, and the multiplies of f16 that most of them are about."""

import random
from typing import Any, Final

from cocotb_tests.core_bench import BASE, SQUARE, CoreBench
from golden.tables.commands import Load
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import LAYOUTS, Shape
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction

__all__ = ["SHAPES", "TYPES", "multiply_of", "random_load", "random_load_to", "random_stride"]

SHAPES: Final = (SQUARE, Shape(8, 32, 16), Shape(32, 8, 16))
TYPES: Final = (("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32"))
"""Of C and D."""


def multiply_of(shape: Shape, c_type: str, d_type: str, *, saturate: bool = False) -> MmaInstruction:
    """A multiply of f16."""
    return MmaInstruction(
        shape=shape,
        a_layout="row",
        b_layout="col",
        a_type="f16",
        b_type="f16",
        c_type=c_type,
        d_type=d_type,
        saturate=saturate,
    )


def random_stride(
    rng: random.Random, use: Any, layout: Any, shape: Shape, name: str, *, overlapping: bool = False
) -> int:
    """A legal stride: the default one, up to two steps more, or perhaps less, down to 0."""
    step = fragment(use, name, shape).core_alignment(layout, "global") * 8 // FORMATS[name].bits
    least = shape.default_stride(use, layout)
    if overlapping and rng.random() < 0.3:
        return step * rng.randrange(least // step)
    return least + step * rng.randrange(3)


def random_load(made: CoreBench) -> Load:
    """A load of a square of f32 from anywhere in the first part of memory to any registers."""
    load = LoadInstruction(use="c", layout=made.rng.choice(LAYOUTS), shape=SQUARE, type="f32")
    place = BASE + 32 * made.rng.randrange(0x3000 // 32)
    return Load(load, made.rng.randrange(made.config.registers - 7), place)


def random_load_to(made: CoreBench, register: int) -> Load:
    """The same to given registers."""
    return Load(random_load(made).instruction, register, BASE + 32 * made.rng.randrange(0x2000 // 32))
