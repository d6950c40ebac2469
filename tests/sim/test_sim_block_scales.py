"""Multiplies with block scales on the simulated core, against the golden machine."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth.sim import Simulator
from rtl import BASE

from golden.fragments import distribute
from golden.memory import Memory
from golden.multiply import mma
from golden.random_operands import random_metadata, random_operand
from golden.resolve import resolve_instruction
from golden.simt.errors import LaunchError
from golden.sparsity import pack_metadata
from golden.tables.commands import Fill, Mma, Move
from golden.tables.faults import Cause, Fault
from golden.tables.formats import FORMATS, float_format
from golden.tables.instruction_set import CORE_NARROW_FAMILIES
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import multiplies_of
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from hdl.command import encode
from hdl.config import PRESETS, DotProductConfig
from hdl.control.decoder import Decoder
from openwmma.core_settings import adjusted_config
from openwmma.modules import Module
from regression.campaign.kinds import results
from regression.campaign.kinds.results import NARROW, NARROW_CORE, compare
from sim.lockstep import LockstepMachine
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from fragment_kernels import fragment_source

SETTINGS = {
    "formats": "f16,fp8,fp6,fp4",
    "profile": "blackwell",
    "block_scale": True,
    "mxf4": True,
    "sparse": True,
}
"""What makes `NARROW_CORE` of preset tiny."""
CONFIG = NARROW_CORE
WIDE = replace(CONFIG, dot_product_units=4, warps=2, shared_bytes=1 << 12)
"""Two rows of A meet two of B; moves of matrices also read registers before they start."""
FORMS = [item for family in CORE_NARROW_FAMILIES for item in multiplies_of(family)]
SCALED = [item for item in FORMS if item.scales]
PLACES = {"a": 0, "b": 4, "c": 8, "d": 12}
SIDE = {"metadata": 20, "scale_a": 21, "scale_b": 22}


def machines(config):
    memories = [Memory(1 << 12, BASE) for _ in range(2)]
    return golden_machine(config, memories[0]), RtlMachine(config, memories[1])


@pytest.fixture
def tiny():
    golden, rtl = machines(CONFIG)
    yield LockstepMachine(golden, rtl)
    rtl.close()


def one_of(kind, scale_vec="", scale_type="", *, mnemonic="mma"):
    return next(
        item
        for item in FORMS
        if (item.kind, item.scale_vec, item.mnemonic) == (kind, scale_vec, mnemonic)
        and item.scale_type == (scale_type or item.scale_type)
    )


def random_scales(random, scale_type):
    """A register of scales: all bytes, bytes around one, zeros, or one byte that is NaN."""
    one = 0x38 if scale_type == "ue4m3" else 127
    kind = random.integers(4)
    values = random.integers(0, 256, (LANES, 4), np.uint8)
    if kind:
        values = (one + random.integers(-6, 7, (LANES, 4))).astype(np.uint8)
    if kind == 2:
        values[random.random((LANES, 4)) < 0.3] = random.choice([0, 0x80])
    if kind == 3:
        values[random.integers(LANES), random.integers(4)] = random.choice([0x7F, 0xFF])
    return values.view("<u4").reshape(LANES)


def random_matrix(random, instruction, use):
    """Bits of any kind; of A and B often zeros, and rows that cancel."""
    extent = instruction.extent(use)
    if use == "c":
        return random_operand(random, instruction.c_type, (12, *extent), addend=True)[random.integers(12)]
    matrix = random.integers(0, 1 << FORMATS[instruction.types[use]].bits, extent, np.uint8)
    match random.integers(4):
        case 0:
            matrix[random.random(extent) < 0.7] = 0
        case 1:
            half = extent[1] // 2 if use == "a" else extent[0] // 2
            sign = np.uint8(float_format(instruction.types[use]).sign_mask if use == "a" else 0)
            lines = matrix if use == "a" else matrix.T
            lines[:, half:] = lines[:, :half] ^ sign
    return matrix


def random_selectors(random, instruction):
    chosen = {}
    for use in "ab" if instruction.scales else "":
        chosen[f"byte_{use}"] = int(random.choice(BYTE_IDS[instruction.scale_vec]))
        chosen[f"thread_{use}"] = int(random.choice(THREAD_IDS[use]))
    return chosen


def fill_operands(machine, random, instruction, warp=0):
    """Write fragments, whose containers have bits that no element uses, and side operands."""
    for use in "abc":
        kind = instruction.types[use], instruction.shape
        matrix = random_matrix(random, instruction, use)
        words = np.ascontiguousarray(distribute(matrix, use, *kind, sparse=instruction.is_sparse))
        machine.write_registers(PLACES[use], words, warp=warp)
    for name in instruction.side_registers:
        if name == "metadata":
            words = pack_metadata(instruction, random_metadata(random, instruction, 1)[0])
        else:
            words = random_scales(random, instruction.scale_type)
        machine.write_registers(SIDE[name], words[None], warp=warp)


def execute(machine, random, instruction, warp=0):
    side = {name: SIDE[name] for name in instruction.side_registers}
    selectors = random_selectors(random, instruction)
    machine.execute(Mma(instruction, **PLACES, **side, **selectors, warp=warp))


def every_form(machine, forms, rounds=1):
    random = np.random.default_rng(67)
    for number, instruction in enumerate(forms * rounds):
        warp = number % machine.warp_count
        fill_operands(machine, random, instruction, warp)
        execute(machine, random, instruction, warp)
    machine.finish()


def test_every_form_with_scales_equals_golden(tiny):
    assert len(SCALED) == 2 * (25 + 1 + 3)
    every_form(tiny, SCALED, rounds=3)


def test_the_settings_make_the_core():
    assert adjusted_config("tiny", SETTINGS) == CONFIG


@pytest.mark.parametrize("family", NARROW)
def test_random_results_equal_golden(family):
    assert sum(compare(family, 4000, config=CONFIG, sets=4)) >= 4000


def test_random_results_have_every_scale_and_groups_that_cancel(monkeypatch):
    """Also NaN that only a scale brings, and finite results beside it."""
    scales = {"ue8m0": set(), "ue4m3": set()}
    counts = dict.fromkeys(("cancelled", "of NaN scales", "finite"), 0)

    def observed(instruction, a, b, c, **options):
        form = resolve_instruction(instruction)
        for use in "ab":
            scales[form.scale_type] |= set(np.unique(options[f"scale_{use}"]).tolist())
        found = mma(form, a, b, c, **options)
        zero = np.zeros_like(c)
        sums, magnitudes = mma(form, a, b, zero, **options), mma(form, a & 7, b & 7, zero, **options)
        one = np.uint8(0x38 if form.scale_type == "ue4m3" else 127)
        ones = {name: np.full_like(options[name], one) for name in ("scale_a", "scale_b")}
        unscaled = mma(form, a, b, c, **{**options, **ones})
        nan, unscaled_nan = (np.isnan(x.view(np.float32)) for x in (found, unscaled))
        counts["cancelled"] += int(((sums & 0x7FFF_FFFF == 0) & (magnitudes != 0)).sum())
        counts["of NaN scales"] += int((nan & ~unscaled_nan).sum())
        counts["finite"] += int(np.isfinite(found.view(np.float32)).sum())
        return found

    monkeypatch.setattr(results, "mma", observed)
    assert sum(results.compare("mma.mxf4nvf4", 60_000, config=CONFIG)) >= 60_000
    assert scales == {name: set(range(256)) for name in scales}
    assert counts["cancelled"] > 2000, counts
    assert counts["of NaN scales"] > 1000, counts
    assert counts["finite"] > 30_000, counts


@pytest.mark.long
@pytest.mark.parametrize("family", NARROW)
def test_ten_million_results_equal_golden(family):
    assert sum(compare(family, 10_000_000, config=CONFIG, seed=2026)) >= 10_000_000


def test_forms_without_scales_equal_golden_between_others(tiny):
    mixed = [
        item
        for pair in zip(FORMS, reversed(FORMS), strict=True)
        for item in pair
        if not item.kind or item.is_sparse
    ]
    every_form(tiny, mixed)


def test_a_nan_scale_gives_nan(tiny):
    """Of one row or column alone, also over an infinite C."""
    random = np.random.default_rng(1)
    for instruction in SCALED:
        fill_operands(tiny, random, instruction)
        tiny.execute(Fill(0, PLACES["c"], 0))
        tiny.execute(Fill(PLACES["c"], 4, 0x7F80_0000))
        for name in ("scale_a", "scale_b"):
            ones = np.full(LANES, 0x38383838 if instruction.scale_type == "ue4m3" else 0x7F7F7F7F, np.uint32)
            tiny.write_registers(SIDE[name], ones[None])
        ones[0] = 0xFFFFFFFF
        tiny.write_registers(SIDE["scale_b"], ones[None])
        tiny.execute(Mma(instruction, **PLACES, **{name: SIDE[name] for name in instruction.side_registers}))
        d = tiny.read_registers(PLACES["d"], 4)
        # Column 0 of D is in registers 0 and 2 of the first lane of each quad.
        is_nan = d == 0x7FFF_FFFF
        assert is_nan[0::2, ::4].all(), instruction
        assert not is_nan[1::2].any(), instruction


@pytest.mark.parametrize(
    ("kind", "vec", "change", "message"),
    [
        ("mxf8f6f4", "1X", {"thread_a": 2}, "the thread_a must be from 0 to 1, not 2"),
        ("mxf4", "2X", {"byte_a": 1}, "the byte_a must be 0 or 2, not 1"),
        ("mxf4nvf4", "4X", {"byte_b": 2}, "the byte_b must be from 0 to 0, not 2"),
    ],
)
def test_selectors_are_checked(tiny, kind, vec, change, message):
    with pytest.raises(Fault, match=message) as raised:
        tiny.execute(Mma(one_of(kind, vec), **PLACES, **change))
    assert raised.value.cause == Cause.ILLEGAL_INSTRUCTION
    tiny.execute(Mma(one_of("mxf8f6f4", "1X"), **PLACES, byte_a=3, thread_a=1, byte_b=3, thread_b=3))


@pytest.mark.parametrize("name", ["scale_a", "scale_b"])
def test_registers_of_scales_must_exist(tiny, name):
    beyond = {name: CONFIG.registers}
    with pytest.raises(Fault, match=f"the scale of {name[-1]}, 1 registers from 32 on") as raised:
        tiny.execute(Mma(one_of("mxf4nvf4", "4X"), **PLACES, **beyond))
    assert raised.value.cause == Cause.REGISTER_RANGE


def test_undefined_nibble_beside_scales_is_a_precise_fault(tiny):
    random = np.random.default_rng(3)
    instruction = one_of("mxf4nvf4", "4X", mnemonic="mma.sp")
    fill_operands(tiny, random, instruction)
    tiny.execute(Fill(SIDE["metadata"], 1, 0x4444_4044))
    executed = tiny.executed()
    with pytest.raises(Fault, match="got 0000 in row 0, group 2;") as raised:
        tiny.execute(Mma(instruction, **PLACES, **SIDE))
    assert (raised.value.cause, raised.value.index) == (Cause.UNDEFINED_METADATA, executed)


def decoded_causes(config, instructions):
    """What the decoder of a core says of multiplies."""
    decoder, found = Decoder(config), []

    async def bench(ctx):
        ctx.set(decoder.take, 1)
        for instruction in instructions:
            words = encode(Mma(instruction, **PLACES))
            ctx.set(decoder.command, sum(word << 32 * place for place, word in enumerate(words)))
            await ctx.tick()
            found.append(ctx.get(decoder.decoded.cause))

    simulator = Simulator(decoder)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize("preset", ["hopper", "blackwell"])
def test_core_without_the_options_refuses_scales(preset):
    """A multiply without scales may have the same shape and types: of hopper those of fp8."""
    unit = replace(CONFIG.dot_product, block_scale=False)
    config = replace(CONFIG, dot_product=unit, mxf4=False)
    if preset == "hopper":
        config = replace(PRESETS["tiny"], dot_product=DotProductConfig(formats=frozenset({"f16", "fp8"})))
    plain = resolve_instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    found = decoded_causes(config, [*SCALED, plain])
    assert found == [Cause.ILLEGAL_INSTRUCTION] * len(SCALED) + [0]


def test_scales_and_metadata_wait_for_their_writers():
    """Fills, moves and multiplies write side operands right before they are read, and right behind."""
    random = np.random.default_rng(5)
    golden, rtl = machines(CONFIG)
    values = random.integers(0, 1 << 32, (CONFIG.registers, LANES), dtype=np.uint32)
    values[20:28] = random.choice(np.array([0x7F7F7F7F, 0x81807E7D], np.uint32), (8, LANES))
    for machine in (golden, rtl):
        machine.write_registers(0, values)
    commands = []
    for _ in range(300):
        first, second, metadata = (int(x) for x in random.integers(20, 28, 3))
        match random.integers(4):
            case 0:
                commands.append(Fill(first, 1, int(random.choice([0x7F7F7F7F, 0x4444_4444]))))
            case 1:
                commands.append(Move(first, second, 1))
            case _:
                instruction = FORMS[random.integers(len(FORMS))]
                if instruction.is_sparse:
                    commands.append(Fill(metadata, 1, 0x4444_4444))
                side = {"metadata": metadata, "scale_a": first, "scale_b": second}
                side = {name: side[name] for name in instruction.side_registers}
                a, b, c, d = (4 * int(place) for place in random.integers(5, size=4))
                d = int(random.choice([d, 20, 24])) if instruction.c_type == "f32" else d
                commands.append(Mma(instruction, d=d, a=a, b=b, c=c, **side))
    golden.queue(commands)
    rtl.queue(commands)
    rtl.finish()
    assert np.array_equal(golden.read_registers(), rtl.read_registers())
    rtl.close()


def cycles_of(machine, instruction, count=64):
    before = machine.counters
    side = {name: SIDE[name] for name in instruction.side_registers}
    machine.queue(Mma(instruction, **PLACES, **side) for _ in range(count))
    machine.finish()
    return (machine.counters - before).cycles / count


@pytest.mark.long
def test_a_sum_of_groups_takes_as_many_cycles_as_s8_with_half_its_k():
    """And a sparse form as many as the dense one with as many stored elements."""
    formats = CONFIG.dot_product.formats | {"i8"}
    _, rtl = machines(replace(CONFIG, dot_product=replace(CONFIG.dot_product, formats=formats)))
    rtl.execute(Fill(SIDE["metadata"], 1, 0x4444_4444))
    s8 = resolve_instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    found = {
        "s8": cycles_of(rtl, s8),
        **{name: cycles_of(rtl, one_of("mxf4nvf4", "4X", mnemonic=name)) for name in ("mma", "mma.sp")},
    }
    assert max(found.values()) < 1.02 * min(found.values()), found
    f8 = {
        (kind, name): cycles_of(rtl, one_of(kind, vec, mnemonic=name))
        for kind, vec in (("f8f6f4", ""), ("mxf8f6f4", "1X"))
        for name in ("mma", "mma.sp")
    }
    assert max(f8.values()) < 1.02 * min(f8.values()), f8
    rtl.close()


@pytest.mark.long
def test_rows_that_share_scales_equal_golden():
    golden, rtl = machines(WIDE)
    every_form(LockstepMachine(golden, rtl), FORMS, rounds=12)
    rtl.close()


@pytest.mark.parametrize(
    ("kind", "vec", "mnemonic"), [("mxf4nvf4", "4X", "mma"), ("mxf8f6f4", "1X", "mma.sp")]
)
def test_kernel_in_lockstep_equals_golden(kind, vec, mnemonic):
    """Its selectors name lanes and bytes; a trace has the scales that they mean."""
    instruction = one_of(kind, vec, mnemonic=mnemonic)
    random = np.random.default_rng(8)
    counts = {use: layout.registers for use, layout in instruction.fragments.items()}
    words = {use: random.integers(0, 1 << 32, (2, count, LANES), np.uint32) for use, count in counts.items()}
    words["c"] &= 0x7FFF_FFFF
    words |= {name: np.stack([random_scales(random, instruction.scale_type)] * 2) for name in "st"}
    last = max(BYTE_IDS[instruction.scale_vec])
    tail = f"%s0, {{{last}, 1}}, %t0, {{{last}, 3}}"
    if instruction.is_sparse:
        words["e"] = np.full((2, LANES), 0x4444_4444, np.uint32)
        tail = f"%e0, 0, {tail}"
    extra = "".join(name for name in words if name not in "abcd")
    kernel = Module(fragment_source(instruction, tail, extra=extra)).kernel()
    found = {}
    for machine in ("golden", "lockstep"):
        d = np.zeros_like(words["d"])
        arguments = [d, *(words[use] for use in "abc"), *(words[name] for name in extra)]
        options = {"profile": "blackwell"} if machine == "golden" else {"preset": "tiny", "config": SETTINGS}
        kernel.launch(1, 2 * LANES, arguments, on=machine, **options)
        found[machine] = d
    np.testing.assert_array_equal(found["golden"], found["lockstep"])
    assert np.count_nonzero(found["golden"]) > 64


def test_kernel_on_a_core_without_the_option_is_refused():
    kernel = Module(fragment_source(one_of("mxf4nvf4", "4X", "ue4m3"), "%e0, {0, 0}, %e0, {0, 0}")).kernel()
    arguments = [np.zeros(512, np.uint32) for _ in range(5)]
    with pytest.raises(LaunchError, match=r"has no \.e2m1 multiply with block scales"):
        kernel.launch(1, LANES, arguments, on="rtl", preset="tiny", config={**SETTINGS, "mxf4": False})
