"""Shares of `wgmma` as the warpgroup multiplier gets them."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocotb_tests.packing import Packing
from golden.matrix_descriptors import MatrixDescriptor, matrix_of_chunks
from hdl.dot_product.operands import Result
from hdl.multiply.tile.request import TileRequest
from hdl.warpgroup.request import WgmmaRequest

M = 64
REQUEST = Packing(WgmmaRequest)
TILE = Packing(TileRequest)
TILE_BITS = TileRequest.as_shape().size
WARP_REGISTERS = 128


def descriptor_fields(bits: int) -> dict[str, int]:
    """The fields of `hdl.command.Descriptor`, of the bits that an instruction takes."""
    start, leading, stride = (bits >> low & 0x3FFF for low in (0, 16, 32))
    swizzle = {"base": bits >> 49 & 7, "swizzle": bits >> 62 & 3}
    return {"start": start, "leading": leading, "stride": stride, **swizzle}


@dataclass(frozen=True, kw_only=True)
class Operands:
    """What the shares of several warps may have in common."""

    b: int
    constants: int
    """Bits of a `TileRequest`, but for the type of D and the registers."""
    tiles: int
    is_f16: bool
    in_registers: bool
    scale_d: bool
    negated: int
    transposed: tuple[bool, bool]

    def tile(self, registers: int, **fields: int) -> Any:
        """A `TileRequest`, whose registers are fields or, where not given, from other bits."""
        tile, noise = TILE.unpack(self.constants), TILE.unpack(registers)
        tile.operation.result = (Result.F16 if self.is_f16 else Result.F32).value
        vars(tile).update({name: getattr(noise, name) for name in "xycd"} | fields)
        return tile


@dataclass(frozen=True, kw_only=True)
class Share:
    """A warp's share; registers are of all warps."""

    warp: int
    operands: Operands
    a: int
    """Descriptor, or register."""
    d: int
    noise: int
    """Bits where nobody looks."""

    @property
    def request(self) -> int:
        """Its bits."""
        common = self.operands
        tile = common.tile(self.noise, **({"x": self.a} if common.in_registers else {}), d=self.d)
        return REQUEST.pack(
            {
                "tile": tile,
                "tiles_less_one": common.tiles - 1,
                "a_in_registers": common.in_registers,
                "scale_d": common.scale_d,
                "negated": common.negated,
                "transposed": common.transposed[0] | common.transposed[1] << 1,
                "a": descriptor_fields(self.noise if common.in_registers else self.a),
                "b": descriptor_fields(common.b),
            }
        )

    def d_of(self, tile: int) -> int:
        """First register of D of a tile."""
        return self.d + tile * (2 if self.operands.is_f16 else 4)


def matrix(memory: NDArray[np.uint8], bits: int, rows: int, transposed: bool) -> NDArray[np.uint8]:
    """The bytes of an operand as golden finds them, shape (rows, 32)."""
    places = MatrixDescriptor.from_bits(bits).chunks(rows, transposed)
    stored = np.stack([memory[place : place + 16] for place in places.reshape(-1)])
    chunks = stored.view("<u8").reshape(*places.shape, 2)
    return np.ascontiguousarray(matrix_of_chunks(chunks, "u2", transposed)).view(np.uint8).reshape(rows, 32)


def draw_descriptor(rng: random.Random, rows: int, transposed: bool, size: int) -> int:
    """Any swizzle and offsets with which the operand lies in a memory of so many bytes."""
    swizzle = rng.randrange(4)
    base = rng.randrange(8) * rng.randrange(2)
    while True:
        leading, stride = (rng.randrange(size // 16 >> rng.randrange(8)) for _ in range(2))
        bits = leading << 16 | stride << 32 | base << 49 | swizzle << 62
        room = size - MatrixDescriptor.from_bits(bits).reach(rows, transposed)
        if room >= 0:
            return bits | rng.randrange(room // 16 + 1)


def draw_operands(rng: random.Random, size: int) -> Operands:
    """Operands with few tiles, seldom with many."""
    tiles = rng.randrange(1, rng.choice([6] * 6 + [32]) + 1)
    transposed = rng.random() < 0.5, rng.random() < 0.5
    in_registers = rng.random() < 0.3
    return Operands(
        b=draw_descriptor(rng, 8 * tiles, transposed[1], size),
        constants=rng.getrandbits(TILE_BITS),
        tiles=tiles,
        is_f16=rng.random() < 0.5,
        in_registers=in_registers,
        scale_d=rng.random() < 0.5,
        negated=rng.randrange(4),
        transposed=(transposed[0] and not in_registers, transposed[1]),
    )


def draw_share(rng: random.Random, operands: Operands, warp: int, size: int) -> Share:
    """The share of a warp, with A and D of its own."""
    room = WARP_REGISTERS - operands.tiles * (2 if operands.is_f16 else 4)
    d = warp * WARP_REGISTERS + 2 * rng.randrange(room // 2 + 1)
    a = d ^ 0x40 if operands.in_registers else draw_descriptor(rng, M, operands.transposed[0], size)
    return Share(warp=warp, operands=operands, a=a, d=d, noise=rng.getrandbits(TILE_BITS))
