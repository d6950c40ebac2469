"""`wgmma` on the simulated core, with operands in its on-chip memory, against the golden machine."""

import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rtl import CONFIG, WIDE

from bench.on_chip import wgmma
from golden.memory import Memory
from golden.simt.trace_file import TraceReader
from golden.simt.trace_recorder import TraceRecorder
from golden.tables.commands import Fill, Mma, Store, Wgmma
from golden.tables.faults import Cause, Fault
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import WGMMA_FAMILIES, Shape
from golden.tables.matrix_instructions import StoreInstruction, multiplies_of, warp_tile
from golden.warpgroup_share import accumulator_registers
from hdl.config import PRESETS
from sim.lockstep import LockstepMachine
from sim.replay.addresses import memory_bytes
from sim.replay.replayer import Replayer
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

sys.path.insert(0, str(Path(__file__).parents[1] / "golden" / "simt"))
from captured import cases, module, prepare

BASE = 0x4000
GROUP = replace(CONFIG, warps=4, registers=128, shared_bytes=1 << 16, wgmma=True, f64_units=0)
"""One unit, which reads one chunk at a time."""
EIGHT_WARPS = replace(GROUP, dot_product_units=16, data_bits=512, warps=8)
"""Four chunks at a time, and two groups of warps."""
CORES = [WIDE, *(pytest.param(config, marks=pytest.mark.long) for config in (GROUP, EIGHT_WARPS))]
"""The first reads two chunks at a time."""
INSTRUCTIONS = [item for family in WGMMA_FAMILIES for item in multiplies_of(family)]


def machines(config):
    """A golden machine and a core with the same random registers and memories."""
    random = np.random.default_rng(5)
    memories = [Memory(1 << 14, BASE) for _ in range(2)]
    made = golden_machine(config, memories[0]), RtlMachine(config, memories[1])
    on_chip = random.integers(0, 256, config.shared_bytes, dtype=np.uint8)
    registers = random.integers(0, 1 << 32, (config.warps, config.registers, 32), dtype=np.uint32)
    for machine in made:
        machine.shared.write(config.shared_base, on_chip)
        for warp in range(config.warps):
            machine.write_registers(0, registers[warp], warp=warp)
    return made


@pytest.fixture(params=CORES, ids=["wide", "one unit", "eight warps"])
def pair(request):
    golden, rtl = machines(request.param)
    yield golden, rtl
    rtl.close()


def descriptor(random, rows, transposed, size, swizzle=None):
    """A descriptor whose operand lies in the memory, with any offsets that are possible."""
    swizzle = int(random.integers(4)) if swizzle is None else swizzle
    per_row = (1, 8, 4, 2)[swizzle]
    groups = rows // 8 // per_row if transposed and swizzle else rows // 8
    most = max(1, (size // 16 - 160) // (groups + 2))
    leading, stride = (int(random.integers(most)) for _ in range(2))
    start, base = int(random.integers(64)), int(random.integers(8)) * int(random.integers(2))
    return start | leading << 16 | stride << 32 | base << 49 | swizzle << 62


def share(random, instruction, config):
    """A share with everything drawn but its warp."""
    element = FORMATS[instruction.a_type]
    is_float = isinstance(element, FloatFormat)
    in_registers = bool(random.integers(4) == 0)
    transposed = [bool(random.integers(2)) and is_float and element.bits == 16 for _ in range(2)]
    transposed[0] &= not in_registers
    negated = tuple(bool(random.integers(4) == 0) and is_float for _ in range(2))
    size, count = config.shared_bytes, accumulator_registers(replace_d(instruction))
    in_registers &= count <= config.registers - 8
    first = int(random.integers(config.registers - count + 1 - 4 * in_registers))
    return Wgmma(
        instruction,
        first,
        first + count if in_registers else descriptor(random, 64, transposed[0], size),
        descriptor(random, instruction.shape.n, transposed[1], size),
        a_in_registers=in_registers,
        negated=negated,
        transposed=tuple(transposed),
        scale_d=bool(random.integers(4)),
    )


def replace_d(instruction):
    return Wgmma(instruction, 0, 0, 0)


def drawn(random, config, count):
    fitting = [item for item in INSTRUCTIONS if accumulator_registers(replace_d(item)) <= config.registers]
    for _ in range(count):
        yield share(random, fitting[random.integers(len(fitting))], config)


def test_every_type_equals_golden(pair):
    random = np.random.default_rng(7)
    lockstep, config = LockstepMachine(*pair), pair[1].config
    for family in WGMMA_FAMILIES:
        types = {
            (item.a_type, item.b_type, item.d_type): item
            for item in multiplies_of(family)
            if item.shape.n < 48
        }
        for instruction in types.values():
            lockstep.execute(
                replace(share(random, instruction, config), warp=int(random.integers(config.warps)))
            )
    lockstep.finish()


def test_random_shares_equal_golden(pair):
    random = np.random.default_rng(8)
    lockstep, config = LockstepMachine(*pair), pair[1].config
    for command in drawn(random, config, 24):
        lockstep.execute(replace(command, warp=int(random.integers(config.warps))))
    lockstep.finish()


def test_shares_that_overlap_equal_golden(pair):
    """Queued without a wait: gangs of one to four warps, multiplies and fills between them."""
    random = np.random.default_rng(9)
    golden, rtl = pair
    config, commands = rtl.config, []
    for each in drawn(random, config, 30):
        stays = each.a_in_registers or bool(random.integers(2))
        command = each if stays else replace(each, d=0)
        for warp in range(config.warps):
            if random.integers(4):
                commands += [replace(command, warp=warp)] * int(1 + random.integers(2))
            if not random.integers(4):
                tile = warp_tile(command.instruction)
                first = int(random.integers(config.registers - 16))
                commands.append(Mma(tile, first, first + 8, first + 12, first + 4, warp=warp))
            if not random.integers(8):
                commands.append(Fill(int(random.integers(64)), 8, int(random.integers(1 << 30)), warp=warp))
    for machine in (golden, rtl):
        machine.queue(commands)
        machine.finish()
    np.testing.assert_array_equal(rtl.inspect_registers(), golden.inspect_registers())


def test_operands_beyond_the_memory_are_refused_before_anything_changes(pair):
    random = np.random.default_rng(10)
    lockstep, config = LockstepMachine(*pair), pair[1].config
    outcomes = []
    for command in drawn(random, config, 40):
        far = int(random.integers(1 << 14)) << int(random.choice([0, 16, 32]))
        which = "b" if command.a_in_registers or random.integers(2) else "a"
        beyond = replace(command, **{which: getattr(command, which) ^ far}, warp=int(random.integers(4)))
        try:
            lockstep.execute(beyond)
            outcomes.append(None)
        except Fault as fault:
            outcomes.append(fault.cause)
    lockstep.finish()
    assert set(outcomes) == {None, Cause.ADDRESS_RANGE}


def test_what_no_wgmma_has_is_illegal(pair):
    lockstep = LockstepMachine(*pair)
    of = {(item.a_type, item.shape.n): item for item in INSTRUCTIONS}
    integers, half = of["s8", 16], of["f16", 16]
    for command in (
        Wgmma(integers, 0, 0, 0, negated=(True, False)),
        Wgmma(integers, 0, 0, 0, transposed=(False, True)),
        Wgmma(half, 0, 10, 0, a_in_registers=True, transposed=(True, False)),
        Wgmma(half, 8, 5, 0, a_in_registers=True),
        Wgmma(half, 8, 15, 0, a_in_registers=True),
    ):
        with pytest.raises(Fault, match="illegal instruction") as fault:
            lockstep.execute(command)
        assert fault.value.cause is Cause.ILLEGAL_INSTRUCTION
    lockstep.execute(Wgmma(half, 8, 4, 0, a_in_registers=True))
    lockstep.finish()


def test_shares_and_stores_of_a_warp_keep_their_order(pair):
    golden, rtl = pair
    random = np.random.default_rng(11)
    store = StoreInstruction(layout="row", shape=Shape(16, 16, 16), type="f32", space="shared")
    commands = []
    for command in drawn(random, rtl.config, 16):
        commands.append(Store(store, int(random.integers(64)), 16 * int(random.integers(256)), 16))
        commands += [command] * int(1 + random.integers(2))
    for machine in (golden, rtl):
        machine.queue(commands)
        machine.finish()
    np.testing.assert_array_equal(rtl.inspect_registers(), golden.inspect_registers())
    size, base = rtl.config.shared_bytes, rtl.config.shared_base
    np.testing.assert_array_equal(rtl.shared.read(base, size), golden.shared.read(base, size))


def test_rows_without_swizzle_meet_in_a_bank(pair):
    """Halves of a row that lie a multiple of 64 bytes apart, where several chunks are read at once."""
    _, rtl = pair
    half = next(item for item in INSTRUCTIONS if item.a_type == "f16" and item.shape.n == 16)
    counts = []
    for bits in (8 << 16 | 16 << 32, 64 << 32 | 1 << 62, 32 << 32 | 2 << 62, 16 << 32 | 3 << 62):
        before = rtl.counters.bank_conflicts
        rtl.execute(Wgmma(half, 0, bits, bits))
        counts.append(rtl.counters.bank_conflicts - before)
    # A block of A and one of B have 64 halves of rows: a request has one of each bank.
    banks = rtl.config.beat_quads
    assert counts == [64 // banks if banks > 1 else 0, 0, 0, 0]


@pytest.mark.long
def test_units_of_large_are_busy_where_rows_have_a_swizzle():
    figures = wgmma()
    swizzled, plain = figures[:3], figures[3:]
    assert all(figure.value >= 90 and not figure.counters["bank_conflicts"] for figure in swizzled)
    # Each block of 16 rows takes 16 cycles in place of 8: of A four, of B one for each 16 columns.
    for n, figure in zip((64, 128, 256), plain, strict=True):
        assert abs(figure.counters["bank_conflicts"] - 128 * 8 * (4 + n // 16)) <= 8 * (4 + n // 16)


KERNELS = [name for name in cases() if name.startswith(("hopper.gemm", "hopper.softmax"))]


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("hopper.gemm_f16_mn", WIDE),
        pytest.param("hopper.gemm_f16_mn", GROUP, marks=pytest.mark.long),
        *(pytest.param(name, PRESETS["large"], marks=pytest.mark.long) for name in KERNELS),
    ],
)
def test_kernels_of_hopper_replay_without_a_difference(name, config):
    prepared, file = prepare(name), io.BytesIO()
    case = prepared.case
    recorder = TraceRecorder(file, "hopper")
    kernel = module(name).kernel(case["entry"])
    kernel.launch(case["grid"], case["block"], prepared.arguments, case["shared"], trace=recorder)
    file.seek(0)
    trace = TraceReader(file)
    rtl = RtlMachine(config, Memory(memory_bytes(trace.segments, BASE), BASE))
    seen, queue = [], rtl.queue
    rtl.queue = lambda commands: (seen.extend(commands), queue(commands))
    try:
        Replayer(rtl, golden_machine(config, Memory(64)), trace).run()
        assert {type(command) for command in seen} & {Wgmma, Mma} == {Wgmma}
    finally:
        rtl.close()
