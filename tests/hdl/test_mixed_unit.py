"""A dot-product unit and a unit for sums of groups behind one port: results in the order of the operands."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.multiply import mma
from golden.tables.profiles import PROFILES
from hdl.config import PRESETS, DotProductConfig
from hdl.dot_product.operands import GROUPS, Multiplicand, Result
from hdl.dot_product.unit import DotProductUnit
from hdl.multiply.tile.mixed_unit import MixedUnit

NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def packed(elements, bits):
    return sum(int(element) << bits * place for place, element in enumerate(elements))


def operation_of(draw, is_group):
    """Fields of the operands, and the result by golden."""
    c = draw.integers(0, 1 << 32, dtype=np.uint32)
    addend = np.full((16, 8), c)
    if is_group:
        a, b = draw.integers(0, 16, (2, 64), np.uint8)
        scales = draw.integers(0x30, 0x40, (2, 4), np.uint8)
        found = mma(
            *(NVF4, np.tile(a, (16, 1)), np.tile(b[:, None], 8), addend),
            scale_a=np.tile(scales[0], (16, 1)),
            scale_b=np.tile(scales[1][:, None], 8),
            profile="blackwell",
        )
        fields = {"a": packed(a, 4), "b": packed(b, 4), "operation": (GROUPS, 1)}
        fields |= {"scale_a": packed(scales[0], 8), "scale_b": packed(scales[1], 8)}
    else:
        a, b = draw.integers(0, 1 << 16, (2, 16), np.uint16)
        found = mma(F16, np.tile(a, (16, 1)), np.tile(b[:, None], 8), addend, profile="blackwell")
        fields = {"a": packed(a, 16), "b": packed(b, 16), "operation": (Multiplicand.F16.value, 0)}
    return {**fields, "c": int(c)}, int(found[0, 0])


@pytest.mark.parametrize("depth", [1, 14])
def test_results_leave_in_the_order_of_the_operands(depth):
    unit = DotProductConfig(profile=PROFILES["blackwell"], depth=depth)
    config = replace(PRESETS["tiny"], dot_product=unit, mxf4=True)
    draw = np.random.default_rng(depth)
    work = [operation_of(draw, bool(draw.integers(2))) for _ in range(30)]
    dut = MixedUnit(config, DotProductUnit(unit))
    found = []

    async def give(ctx):
        for fields, _ in work:
            while draw.random() < 0.2:
                await ctx.tick()
            payload = dut.operands.payload
            code, ue4m3 = fields["operation"]
            ctx.set(payload.operation.as_value()[:7], code)
            ctx.set(payload.operation.result, Result.F32)
            ctx.set(payload.operation.a_e5m2, ue4m3)
            for name in fields.keys() - {"operation"}:
                ctx.set(payload[name], fields[name])
            ctx.set(dut.operands.valid, 1)
            await ctx.tick().until(dut.operands.ready)
            ctx.set(dut.operands.valid, 0)

    async def take(ctx):
        for _ in range(500 + 10 * len(work)):
            ctx.set(dut.result.ready, int(draw.random() < 0.7))
            _, _, valid, ready, d = await ctx.tick().sample(
                dut.result.valid, dut.result.ready, dut.result.payload.d
            )
            if valid and ready:
                found.append(d)
            if len(found) == len(work):
                return

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give, background=True)
    simulator.add_testbench(take)
    simulator.run()
    assert found == [result for _, result in work]
