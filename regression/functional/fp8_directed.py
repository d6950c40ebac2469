"""A program of multiplies of fp8 with two products each: distances and sums that many products hide."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from golden.arguments import dtype_of
from golden.tables.commands import Command
from golden.tables.formats import FloatFormat, float_format
from golden.tables.matrix_instructions import MmaInstruction
from hdl.config import PRESETS
from regression.functional.sums import is_fp8
from regression.mma_sync.batch import Batch
from regression.random_programs.choices import multiplies_of
from regression.random_programs.program import BLOCK_BYTES, Image, Program
from sim.simulation import BusTiming

KINDS: Final = ("any", "small", "infinite")
"""Distributions of the operands: any exponents, those near the least product, and infinities."""

_REPEATS: Final = 16


def fp8_program(preset: str, seed: int) -> Program:
    """Multiply every pair of types in every form, with operands of each of `KINDS`, on a core with fp8."""
    random = np.random.default_rng((seed, 3))
    config = PRESETS[preset]
    image = Image(random)
    commands: list[Command] = []
    for instruction in multiplies_of(config):
        if is_fp8(instruction):
            drawn = [draw_pairs(random, instruction, kind) for kind in KINDS * _REPEATS]
            batch = Batch(instruction=instruction, sets=1, registers=config.registers)
            batch = replace(batch, sets=len(drawn) // batch.tiles)
            batch = replace(batch, address=image.place(batch.memory_bytes, BLOCK_BYTES))
            a, b, c = (np.stack(matrices) for matrices in zip(*drawn, strict=True))
            image.write(batch.address, batch.operand_image(a, b, c))
            commands += batch.commands()
    return image.program(preset, (seed, 0), BusTiming(latency=20, stall=0, seed=1), commands)


def draw_pairs(
    random: Generator, instruction: MmaInstruction, kind: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """A, B and C of one multiply of fp8, as `golden.mma` takes them, of one of `KINDS`.

    All k but two are zeros, one in each half that `mma` takes at once.
    """
    shape = instruction.shape
    a_format, b_format = float_format(instruction.a_type), float_format(instruction.b_type)
    a = np.zeros(shape.extent("a"), np.uint8)
    b = np.zeros(shape.extent("b"), np.uint8)
    quad = 4 * random.integers(shape.k // 4, size=2)
    for k in (quad + random.integers(2, size=2) + (0, 2)).tolist():
        a[:, k] = _multiplicands(random, a_format, kind, shape.m)
        b[k] = _multiplicands(random, b_format, kind, shape.n)
    return a, b, _addends(random, float_format(instruction.c_type), kind, shape.extent("c"))


def _multiplicands(random: Generator, format: FloatFormat, kind: str, count: int) -> NDArray[np.uint8]:
    one = format.bias << format.fraction_bits
    if kind == "infinite":
        magnitudes = random.choice([one, format.infinity if format.has_infinity else one], count)
    else:
        field = (1 << format.exponent_bits) - 2 if kind == "any" else format.bias // 2
        magnitudes = random.integers(0, field + 1 << format.fraction_bits, count)
        subnormals = random.integers(1, 1 << format.fraction_bits, count)
        place = random.random(count)
        magnitudes = np.where(place < 0.4, subnormals, np.where(place < 0.7, magnitudes, magnitudes & ~3))
        magnitudes = np.where(random.random(count) < 0.3, 1, magnitudes)
    return (magnitudes | format.sign_mask * random.integers(2, size=count)).astype(np.uint8)


def _addends(random: Generator, format: FloatFormat, kind: str, extent: tuple[int, int]) -> NDArray[Any]:
    one = format.bias << format.fraction_bits
    if kind == "infinite":
        magnitudes = random.choice([0, one, format.infinity], extent)
    else:
        spread = format.bias - 1 if format.bits == 16 else 24
        fields = format.bias + random.integers(-spread, spread + 1, extent)
        fractions = random.integers(0, 1 << format.fraction_bits, extent) * random.integers(2, size=extent)
        magnitudes = fields << format.fraction_bits | fractions
        place = random.random(extent)
        magnitudes = np.where(place < 0.4, random.choice([1, 1, 2, 3, 5, 11], extent), magnitudes)
        magnitudes = np.where(place > 0.8, 0, magnitudes)
    return (magnitudes | format.sign_mask * random.integers(2, size=extent)).astype(dtype_of(format))
