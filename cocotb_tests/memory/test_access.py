"""The access check against the golden machine's rules."""

import random
from collections import Counter
from typing import Any

import cocotb
import pytest

from cocotb_tests.conftest import SLOW, Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import StreamSink, StreamSource, pauses, reset, start
from golden.lines import gather_lines
from golden.memory import Memory
from golden.tables.commands import MATRIX_COUNTS, MATRIX_ROW_BYTES, Load
from golden.tables.faults import Cause, Fault
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import SPACES
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from golden.warp import GoldenMachine
from hdl.config import PRESETS, CoreConfig
from hdl.memory.access import AccessCheck, AccessRequest, checked_layout
from hdl.memory.fragment_geometry import fragment_geometry, legal_fragments, matrix_geometry
from sim.testbench.parameters import parameters
from sim.testbench.unit import unit_design

CONFIGS = {
    "global": CoreConfig(dot_product=PRESETS["small"].dot_product, f64_units=1, address_bits=32),
    "shared": CoreConfig(
        dot_product=PRESETS["small"].dot_product,
        f64_units=1,
        address_bits=20,
        shared_bytes=0x4000,
        shared_base=0xF0000,
    ),
    "wide": CoreConfig(
        dot_product=PRESETS["small"].dot_product, address_bits=64, shared_bytes=0x1000, shared_base=1 << 40
    ),
}
REQUEST = Packing(AccessRequest)


def random_access(rng: random.Random, config: CoreConfig) -> Load:
    """A load (of any fragment, D as if it were one) that is often legal and often just not."""
    use, name, shape, layout = rng.choice(list(legal_fragments(config)))
    space = rng.choice(SPACES) if config.shared_bytes else rng.choice(["global", "generic"])
    unit = fragment(use, name, shape).core_alignment(layout, space)
    step = unit * 8 // FORMATS[name].bits
    least = shape.default_stride(use, layout)
    stride = rng.choice(
        [
            None,
            least,
            rng.randrange(2 * least),
            step * rng.randrange(least // step + 1),
            least + step * rng.randrange(20),
            rng.getrandbits(32),
            step * rng.randrange((1 << 32) // step),
            1 << rng.randrange(32),
            least ^ 1 << rng.randrange(32),
        ]
    )
    top = 1 << config.address_bits
    address = rng.choice(
        [
            rng.randrange(top) // unit * unit,
            rng.randrange(top),
            top - unit * rng.randrange(1, 80),
            rng.randrange(1 << 64) // unit * unit,
            rng.randrange(0x5000) // unit * unit,
            1 << rng.randrange(unit.bit_length() - 1, 64) | unit * rng.randrange(8),
        ]
    )
    kind: Any = StoreInstruction if use == "d" else LoadInstruction
    uses = {} if use == "d" else {"use": use}
    return Load(kind(**uses, layout=layout, shape=shape, type=name, space=space), 0, address, stride)


def expected_cause(config: CoreConfig, command: Load) -> int:
    """What the golden machine's own check says."""
    machine = GoldenMachine(
        registers=64,
        memory=Memory(4096),
        shared=Memory(config.shared_bytes, config.shared_base) if config.shared_bytes else None,
        address_bits=config.address_bits,
    )
    try:
        machine._checked_access(command)
    except Fault as fault:
        return fault.cause
    return 0


@cocotb.test
async def random_accesses(dut: Any) -> None:
    """Geometry, cause, stride, contiguity and span of random accesses, with pauses on both sides."""
    rng = random.Random(cocotb.RANDOM_SEED)
    config = CONFIGS[parameters()["config"]]
    layout = checked_layout(config)
    await start(dut)
    source = StreamSource(dut, "request", pauses(rng, 0.2))
    sink = StreamSink(dut, "checked", pauses(rng, 0.2))
    causes: Counter[int] = Counter()
    for number in range(4000):
        command = random_access(rng, config)
        instruction = command.instruction
        use, name, shape = instruction.use, instruction.type, instruction.shape
        geometry = fragment_geometry(use, name, shape, instruction.layout)
        listed = rng.random() < 0.2
        if listed:
            matrices = rng.choice(MATRIX_COUNTS)
            geometry = matrix_geometry(matrices, transposed=rng.random() < 0.5)
        fields = {
            "geometry": geometry,
            "register": number % 256,
            "space": SPACES.index(instruction.space),
            "address": command.address,
            "has_stride": command.stride is not None,
            "stride": command.stride or 0,
            "listed": listed,
        }
        packed = REQUEST.pack(fields)
        source.put(packed)
        if number % 500 == 7:
            await reset(dut)
            sink.received.clear()
            await source.sent()
            await reset(dut)
            sink.received.clear()
            continue
        (bits,) = await sink.take(1)
        checked = layout.from_bits(bits)
        assert checked.access.geometry == AccessRequest.from_bits(packed).geometry
        if listed:
            # Whatever address and stride are.
            access = checked.access
            assert (checked.cause, access.listed, access.register) == (0, 1, number % 256)
            assert (access.address, access.stride, access.contiguous) == (0, 2 * MATRIX_ROW_BYTES, 0)
            assert (checked.first, checked.last) == (0, (2 << config.address_bits) - 1)
            continue
        cause = expected_cause(config, command)
        assert checked.cause == cause, (command, checked.cause, cause)
        causes[cause] += 1
        if cause:
            continue
        lines = gather_lines(instruction, command.address, command.stride)
        base = config.shared_base if instruction.space == "shared" else 0
        stride = lines[1][0] - lines[0][0] if len(lines) > 1 else None
        assert checked.access.register == number % 256
        assert checked.access.space == SPACES.index(instruction.space)
        assert checked.access.address == command.address
        assert checked.access.stride == stride
        assert checked.access.contiguous == (stride == lines[0][1])
        assert not checked.access.listed
        span = (lines[0][0] + base, lines[-1][0] + lines[-1][1] - 1 + base)
        assert (checked.first, checked.last) == span
    checks = (
        *(Cause.MISALIGNED_ADDRESS, Cause.MISALIGNED_STRIDE),
        *(() if config.address_bits == 64 else (Cause.ADDRESS_RANGE,)),
    )
    assert all(causes[cause] > 30 for cause in (0, *checks)), causes


@pytest.mark.parametrize("config", ["shared", "wide", pytest.param("global", marks=SLOW)])
def test_access(simulate: Simulate, config: str) -> None:
    design = unit_design(f"access_{config}", AccessCheck(CONFIGS[config]))
    simulate(design, __name__, values={"config": config})
