"""The tile multiplier with Python for dot-product units: which operands meet, and what is written where.

The units here compute a sum that tells every k from every other, so that no two orders give the same result.
"""

import random
from collections import deque
from typing import Any

import cocotb
import numpy as np
import pytest
from amaranth.lib import data
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray

from cocotb_tests.conftest import Simulate
from cocotb_tests.register_model import RegisterModel
from cocotb_tests.runner import parameters
from cocotb_tests.streams import StreamSink, StreamSource, never, pauses, start
from cocotb_tests.unit import unit_design
from golden.arguments import dtype_of
from golden.formats import FORMATS
from golden.fragments import distribute
from golden.instruction_set import Shape
from golden.layouts import fragment
from hdl.config import CoreConfig
from hdl.dot_product.interface import DotProductOperands, DotProductResult, Multiplicand, Operation, Result
from hdl.memory.geometry import block_order
from hdl.multiply.tile_multiplier import TileMultiplier
from hdl.multiply.tile_request import TileRequest, TileShape

SHAPES = (Shape(16, 16, 16), Shape(8, 32, 16), Shape(32, 8, 16))
TYPES = [("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")]
K = 16
OPERANDS = data.Layout.cast(DotProductOperands)


def weighted(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], bits: int) -> NDArray[Any]:
    """The stand-in for the arithmetic: ``sum((2 k + 1) a[k] b[k]**2) + 3 c``, modulo ``2**bits``."""
    weights = 2 * np.arange(K, dtype=np.uint64) + 1
    products = a.astype(np.uint64) * weights @ (b.astype(np.uint64) ** 2)
    return products + 3 * c.astype(np.uint64) & np.uint64((1 << bits) - 1)


def operation_of(c_type: str, d_type: str, saturate: int) -> dict[str, Any]:
    result = {"f32": Result.F32, "f16": Result.F16 if c_type == "f16" else Result.F16_FROM_F32}[d_type]
    return {
        "multiplicand": Multiplicand.F16,
        "result": result,
        "c_is_f16": c_type == "f16",
        "saturate": saturate,
        "a_signed": 0,
        "b_signed": 0,
        "bitwise_and": 0,
    }


class Units:
    """The dot-product units: each takes operands, keeps them for a while, and gives their weighted sum."""

    def __init__(self, dut: Any, config: CoreConfig, rng: random.Random, share: float, delay: int) -> None:
        self.operations = 0
        self.unlike = 0
        self.operation = 0
        self._dut = dut
        self._delay = delay
        for unit in range(config.dot_product_units):
            sink = StreamSink(dut, f"operands_{unit}", pauses(rng, share) if share else never())
            source = StreamSource(dut, f"result_{unit}", pauses(rng, share) if share else never())
            cocotb.start_soon(self._compute(sink, source))

    async def _compute(self, sink: StreamSink, source: StreamSource) -> None:
        pipeline: deque[int | None] = deque([None] * self._delay)
        edge = RisingEdge(self._dut.aclk)
        while True:
            await edge
            ready = [self._result(payload) for payload in sink.received]
            sink.received.clear()
            pipeline.append(ready[0] if ready else None)
            pipeline.extend(ready[1:])
            out = pipeline.popleft()
            if out is not None:
                source.put(out)

    def _result(self, payload: int) -> int:
        operands = OPERANDS.from_bits(payload)
        self.operations += 1
        self.unlike += operands.operation.as_bits() != self.operation
        a, b = (
            np.frombuffer(value.to_bytes(2 * K, "little"), dtype="<u2") for value in (operands.a, operands.b)
        )
        half = operands.operation.result != Result.F32
        if operands.operation.c_is_f16:
            assert operands.c < 1 << 16, "the high half of an f16 C is to be zero"
        d = weighted(a, b, np.array(operands.c, dtype=np.uint64), 16 if half else 32)
        return DotProductResult.const({"d": int(d)}).as_bits()


async def multiply(
    dut: Any,
    registers: RegisterModel,
    units: Units,
    source: StreamSource,
    shape: Shape,
    c_type: str,
    d_type: str,
    first: dict[str, int],
    seed: int,
) -> int:
    """Multiply random matrices whose fragments begin at the given registers; returns the cycles it took.

    C is written after A and B and may overlap neither; D may lie anywhere.
    """
    bits = np.random.default_rng(seed)
    matrices = {
        use: bits.integers(0, 1 << FORMATS[name].bits, shape.extent(use), dtype=np.uint64).astype(
            dtype_of(FORMATS[name])
        )
        for use, name in (("a", "f16"), ("b", "f16"), ("c", c_type))
    }
    registers.values[:] = bits.integers(0, 1 << 32, registers.values.shape, dtype=np.uint32)
    for use, name in (("a", "f16"), ("b", "f16"), ("c", c_type)):
        words = distribute(matrices[use], use, name, shape)
        registers.values[first[use] : first[use] + len(words)] = words
    expected = registers.values.copy()
    d = weighted(matrices["a"], matrices["b"], matrices["c"], FORMATS[d_type].bits)
    words = distribute(d.astype(dtype_of(FORMATS[d_type])), "d", d_type, shape)
    expected[first["d"] : first["d"] + len(words)] = words

    a, b = (fragment(use, "f16", shape) for use in ("a", "b"))
    x_use, x, y_use, y = ("a", a, "b", b) if a.wide else ("b", b, "a", a)
    c_end = first["c"] + fragment("c", c_type, shape).registers
    overlap = first["c"] < first["d"] + len(words) and first["d"] < c_end
    operation = operation_of(c_type, d_type, seed & 1)
    units.operation = Operation.const(operation).as_bits()
    fields = {
        "operation": operation,
        "tile_shape": TileShape.WIDE_32 if max(shape.m, shape.n) == 32 else TileShape.SQUARE_16,
        "halves": 1,
        "chained": 0,
        "x_order": block_order(x),
        "y_order": block_order(y),
        "x_is_b": x_use == "b",
        "x": first[x_use],
        "y": first[y_use],
        "c": first["c"],
        "d": first["d"],
        "hazard": overlap and (c_type != d_type or first["c"] != first["d"]),
    }
    operations, busy, writes = units.operations, 0, registers.writes
    source.put(TileRequest.const(fields).as_bits())
    cycles = 0
    done = False
    while not done:
        await RisingEdge(dut.aclk)
        busy += int(dut.busy_units.value)
        done = bool(dut.done.value)
        cycles += 1
        assert cycles < 20_000, f"no end of {shape} {c_type} {d_type} {first}"
    wrong = np.argwhere(registers.values != expected)
    assert not len(wrong), f"{shape} D {d_type} C {c_type} {first}: register, lane {wrong[:4].tolist()}"
    assert units.operations - operations == busy == shape.m * shape.n
    assert registers.writes - writes == 8 * len(words)
    assert not units.unlike, "an operation other than the request's"
    return cycles


@cocotb.test
async def every_shape_and_type(dut: Any) -> None:
    """Three shapes, four combinations of D and C, apart and in place, with random waits at the units."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = CoreConfig(dot_product_units=parameters()["units"])
    registers = RegisterModel(dut, config.registers)
    units = Units(dut, config, rng, 0.3, 5)
    await start(dut)
    source = StreamSource(dut, "request")
    for shape in SHAPES:
        for c_type, d_type in TYPES:
            first = {"a": rng.randrange(9), "b": rng.randrange(17, 25), "c": rng.randrange(33, 41), "d": 0}
            first["d"] = rng.choice([first["c"], rng.randrange(49, 57)])
            seed = rng.getrandbits(32)
            await multiply(dut, registers, units, source, shape, c_type, d_type, first, seed)


@cocotb.test
async def overlaps(dut: Any) -> None:
    """D over C, A and B at every offset: every operand is read as it was before."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = CoreConfig(dot_product_units=parameters()["units"])
    registers = RegisterModel(dut, config.registers)
    units = Units(dut, config, rng, 0, 3)
    await start(dut)
    source = StreamSource(dut, "request")
    for c_type, d_type in TYPES:
        for offset in range(-7, 9):
            first = {"a": 1, "b": 11, "c": 29, "d": 29 + offset}
            await multiply(
                dut, registers, units, source, rng.choice(SHAPES), c_type, d_type, first, offset + 99
            )
    for first_d in range(0, 20, parameters()["units"]):
        first = {"a": 1, "b": 11, "c": 29, "d": first_d}
        await multiply(dut, registers, units, source, rng.choice(SHAPES), "f32", "f32", first, first_d)


@cocotb.test
async def throughput(dut: Any) -> None:
    """Units that never wait get operands in every cycle once the operands have been fetched."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = CoreConfig(dot_product_units=parameters()["units"])
    registers = RegisterModel(dut, config.registers)
    await start(dut)
    delay = 9
    units = Units(dut, config, rng, 0, delay)
    source = StreamSource(dut, "request")
    first = {"a": 3, "b": 20, "c": 40, "d": 40}
    cycles = await multiply(dut, registers, units, source, SHAPES[0], "f32", "f32", first, 5)
    issuing = 256 // config.dot_product_units
    assert cycles <= 64 + issuing + delay + 10, "one result per unit and cycle"


@pytest.mark.parametrize("units", [1, 2, 4])
def test_tile_multiplier(simulate: Simulate, units: int) -> None:
    config = CoreConfig(dot_product_units=units)
    simulate(
        unit_design(f"tile_multiplier-{units}", TileMultiplier(config)), __name__, values={"units": units}
    )
