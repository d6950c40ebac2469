"""What a tile multiplier is asked for: multiplies whose fragments lie anywhere in the registers."""

import random
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from golden.fragments import collect, distribute
from golden.multiply import mma
from golden.tables.instruction_set import CORE_FAMILIES, Shape
from golden.tables.layouts import FragmentLayout, fragment
from golden.tables.matrix_instructions import MmaInstruction, multiplies_of
from hdl.config import QUADS, CoreConfig
from hdl.dot_product.operands import Operation
from hdl.memory.fragment_geometry import block_order
from hdl.multiply.tile.request import TileRequest, TileShape
from sim.testbench.dot_product_operands import Mode

__all__ = ["MMA_SYNC", "TF32", "WGMMA_FP8", "Tile", "f16_multiply", "instructions", "random_tile"]


def instructions() -> list[MmaInstruction]:
    """Every dense multiply but f64; layouts do not matter here."""
    families = [item for item in CORE_FAMILIES if "f64" not in item.multiplicands and not item.is_sparse]
    return [instruction for family in families for instruction in multiplies_of(family)]


def f16_multiply(c_type: str, d_type: str) -> MmaInstruction:
    """m16n16k16 of f16, by the types of C and D."""
    return next(
        item
        for item in instructions()
        if (item.shape, item.a_type, item.c_type, item.d_type, item.saturate)
        == (Shape(16, 16, 16), "f16", c_type, d_type, False)
    )


TF32: Final = next(item for item in instructions() if item.a_type == "tf32")

MMA_SYNC: Final = [
    next(
        item
        for item in instructions()
        if (item.mnemonic, item.shape, item.a_type, item.d_type) == ("mma", shape, name, d_type)
    )
    for shape, name, d_type in (
        (Shape(16, 8, 16), "f16", "f32"),
        (Shape(16, 8, 8), "tf32", "f32"),
        (Shape(16, 8, 32), "s8", "s32"),
        (Shape(16, 8, 32), "e4m3", "f32"),
    )
]
"""The largest multiplies of `mma` of four formats; a result of s8 or fp8 is two dot products."""

WGMMA_FP8: Final = next(item for item in instructions() if item.mnemonic == "wgmma" and item.d_type == "f32")


@dataclass
class Tile:
    """One request: an instruction and the first registers of its fragments.

    A request may call its wide multiplicand B instead of A or the other way round, if the signs follow.
    """

    instruction: MmaInstruction
    first: dict[str, int]
    renamed: bool = False
    forms: dict[str, FragmentLayout] = field(init=False)

    def __post_init__(self) -> None:
        item = self.instruction
        types = {"a": item.a_type, "b": item.b_type, "c": item.c_type, "d": item.d_type}
        self.forms = {use: fragment(use, types[use], item.shape) for use in ("a", "b", "c", "d")}

    @property
    def x(self) -> str:
        """The wide multiplicand."""
        return "a" if self.forms["a"].wide else "b"

    @property
    def y(self) -> str:
        """The other one."""
        return "b" if self.forms["a"].wide else "a"

    @property
    def converted(self) -> bool:
        """Whether it is fp8 in `mma`, which becomes f16."""
        return self.instruction.mnemonic == "mma" and self.instruction.a_type in ("e4m3", "e5m2")

    @property
    def passes(self) -> int:
        """Dot products for each result: a unit adds 16 products of 16 bits, 4 of wmma's tf32, 8 of mma's."""
        item = self.instruction
        if self.converted:
            return 2
        products = {"f16": 16, "bf16": 16, "tf32": 4 if item.mnemonic == "wmma" else 8, "b1": 128}
        products |= {"e4m3": 32, "e5m2": 32}
        return max(1, item.shape.k // products.get(item.a_type, {"8": 16, "4": 32}.get(item.a_type[1:], 1)))

    def registers(self, use: str) -> range:
        """Where a fragment lies."""
        return range(self.first[use], self.first[use] + self.forms[use].registers)

    def sources(self) -> set[int]:
        """Registers that are read."""
        return {register for use in ("a", "b", "c") for register in self.registers(use)}

    @property
    def registers_of_rows(self) -> int:
        """Registers of A and B that have to be read: blocks that repeat others do not count."""
        return sum(len(self.forms[use].blocks()) for use in ("a", "b"))

    def reads(self, config: CoreConfig) -> int:
        """Reads of register words, each of `word_registers` registers."""
        registers = [len(self.forms[use].blocks()) for use in ("a", "b")]
        return self._words(config, *registers) + self._words_of(config, "c")

    def _words_of(self, config: CoreConfig, use: str) -> int:
        """Words of an accumulator; an f16 one is a register at a time."""
        registers = self.forms[use].registers
        is_f16 = self.forms[use].type == "f16"
        return registers if is_f16 and config.word_registers > 1 else self._words(config, registers)

    @staticmethod
    def _words(config: CoreConfig, *registers: int) -> int:
        return sum(-(-count // config.word_registers) for count in registers) * QUADS // config.word_quads

    def writes(self, config: CoreConfig) -> int:
        """Writes of register words, likewise."""
        return self._words_of(config, "d")

    def operations(self) -> int:
        """Dot products."""
        return self.instruction.shape.m * self.instruction.shape.n * self.passes

    def mode(self) -> Mode:
        """What the units are asked for."""
        item = self.instruction
        types = (item.b_type, item.a_type) if self.renamed else (item.a_type, item.b_type)
        return Mode(
            a_type="f16" if self.converted else types[0],
            b_type="f16" if self.converted else types[1],
            c_type=item.c_type,
            d_type=item.d_type,
            saturate=item.saturate,
            operation=item.operation,
        )

    def payload(self) -> int:
        """The request."""
        x, y = self.forms[self.x], self.forms[self.y]
        shapes = {
            (2, 2): TileShape.SQUARE_16,
            (4, 1): TileShape.WIDE_32,
            (2, 1): TileShape.WIDE_16,
            (1, 1): TileShape.SQUARE_8,
        }
        types = (self.instruction.a_type, self.instruction.b_type)
        code = self.mode().code()
        for kind, use in zip(types, "ba" if self.renamed else "ab", strict=True):
            code |= (kind == "e5m2") << Operation.as_shape()[f"{use}_e5m2"].offset
        fields = {
            "operation": Operation.from_bits(code),
            "tile_shape": shapes[x.x_blocks, y.x_blocks],
            "halves": x.y_blocks == 2,
            "passes": self.passes - 1,
            "converted": int(self.converted),
            "x_order": block_order(x),
            "y_order": block_order(y),
            "x_is_b": (self.x == "b") != self.renamed,
            "x": self.first[self.x],
            "y": self.first[self.y],
            "c": self.first["c"],
            "d": self.first["d"],
        }
        return int(TileRequest.const(fields).as_bits())

    def execute(self, values: NDArray[np.uint32]) -> None:
        """What the multiplier is to make of the registers."""
        item = self.instruction
        a, b, c = (
            collect(values[list(self.registers(use))], use, self.forms[use].type, item.shape)
            for use in ("a", "b", "c")
        )
        words = distribute(mma(item, a, b, c), "d", item.d_type, item.shape)
        values[list(self.registers("d"))] = words


def random_tile(rng: random.Random, item: MmaInstruction) -> Tile:
    """Fragments anywhere, overlapping or not; D often is C."""
    tile = Tile(item, dict.fromkeys("abcd", 0), renamed=rng.random() < 0.5)
    for use in "abcd":
        tile.first[use] = rng.randrange(257 - tile.forms[use].registers)
    if rng.random() < 0.5:
        tile.first["d"] = max(0, min(256 - tile.forms["d"].registers, tile.first["c"] + rng.randrange(-7, 8)))
    elif rng.random() < 0.5:
        tile.first["d"] = min(256 - tile.forms["d"].registers, tile.first[rng.choice("abc")])
    return tile
