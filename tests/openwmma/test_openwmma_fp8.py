"""fp8 for a user: kernels with `mma.sync`, and `openwmma mma` with `mma.sync` and every form of `wgmma`."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from golden_captures import COMPACT, instruction_of

import golden
import openwmma
from golden.fragments import collect
from golden.resolve import resolve_instruction
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import WGMMA_FAMILIES
from golden.tables.profiles import PROFILES
from hdl.config import PRESETS
from openwmma.cli import main
from openwmma.core_settings import with_profile

ROOT = Path(__file__).parents[2]
FILES = ["a.npy", "b.npy", "c.npy", "-o", "d.npy"]
MMA = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n16k32"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def captured_fp8():
    """Names of the captured registers of `mma.sync` with fp8."""
    with np.load(COMPACT / "mma.npz") as file:
        prefixes = sorted({key.rsplit("/", 1)[0] for key in file.files})
    return [
        prefix for prefix in prefixes if instruction_of(prefix.rsplit("/", 1)[1]).a_type in ("e4m3", "e5m2")
    ]


def arrays_of(prefix):
    """Registers of A, B, C and D: shapes (tiles, 32 lanes, registers)."""
    with np.load(COMPACT / "mma.npz") as file:
        return {use: file[f"{prefix}/{use}"] for use in "abcd"}


def kernel_of(instruction, counts):
    """A kernel in which each warp multiplies fragments that lie in memory as its lanes hold them."""
    kinds = {use: "f32" if use in "cd" and instruction.c_type == "f32" else "b32" for use in "abcd"}
    names = {use: [f"%{use}{index}" for index in range(count)] for use, count in counts.items()}
    lines = [
        ".version 8.4",
        ".target sm_89",
        ".address_size 64",
        f".visible .entry multiply({', '.join(f'.param .u64 p_{use}' for use in 'abcd')})",
        "{",
        ".reg .b32 %thread, %block;",
        ".reg .b64 %offset, %at;",
        *(f".reg .{kinds[use]} {', '.join(some)};" for use, some in names.items()),
        "mov.u32 %thread, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        "mad.lo.u32 %thread, %block, 32, %thread;",
    ]
    for use, some in names.items():
        if use == "d":
            vectors = ["{" + ", ".join(names[part]) + "}" for part in "dabc"]
            lines.append(f"{instruction} {', '.join(vectors)};")
        lines += [
            f"ld.param.u64 %at, [p_{use}];",
            f"mul.wide.u32 %offset, %thread, {4 * len(some)};",
            "add.s64 %at, %at, %offset;",
        ]
        for index, name in enumerate(some):
            place = f"[%at+{4 * index}]"
            access = f"st.global.{kinds[use]} {place}, {name};" if use == "d" else ""
            lines.append(access or f"ld.global.{kinds[use]} {name}, {place};")
    return "\n".join([*lines, "ret;", "}"])


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
def test_kernels_give_the_captured_bytes(on):
    """One kernel for each shape, pair of types and result."""
    prefixes = captured_fp8()
    assert len(prefixes) == 16
    for prefix in prefixes:
        instruction = instruction_of(prefix.rsplit("/", 1)[1])
        arrays = arrays_of(prefix)
        counts = {use: array.shape[2] for use, array in arrays.items()}
        module = openwmma.Module(kernel_of(instruction, counts))
        d = np.zeros_like(arrays["d"])
        operands = [np.ascontiguousarray(arrays[use]) for use in "abc"]
        run = module.kernel().launch(grid=len(d), block=32, arguments=[*operands, d], on=on)
        assert run.matrix_instructions == len(d)
        np.testing.assert_array_equal(d, arrays["d"], err_msg=prefix)


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
def test_mma_sync_of_fp8_on_the_command_line(on):
    prefix = next(name for name in captured_fp8() if name.endswith("m16n8k32_f32_e4m3_e5m2_f32"))
    types = {"a": "e4m3", "b": "e5m2", "c": "f32", "d": "f32"}
    shape = resolve_instruction(MMA).shape
    tiles = {
        use: collect(array.transpose(0, 2, 1), use, types[use], shape)
        for use, array in arrays_of(prefix).items()
    }
    for use in "abc":
        np.save(f"{use}.npy", tiles[use])
    assert main(["mma", MMA, *FILES, "--on", on]) == 0
    np.testing.assert_array_equal(np.load("d.npy"), tiles["d"])


def wgmma_forms():
    """Each family once, with every result, and a number of columns of its own."""
    for number, family in enumerate(WGMMA_FAMILIES):
        shape = family.shapes[number % 3]
        for d_type in family.accumulators:
            yield (
                f"wgmma.mma_async.sync.aligned.{shape}.{d_type}"
                f".{family.multiplicands[0]}.{family.multiplicands[-1]}"
                + "".join(f".{operation}.popc" for operation in family.operations)
            )
    yield "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8.satfinite"


@pytest.mark.parametrize("on", ["rtl", "lockstep"])
def test_every_form_of_wgmma_on_the_core(on, tmp_path):
    random = np.random.default_rng(1)
    forms = list(wgmma_forms())
    assert len(forms) == 9
    for text in forms:
        instruction = resolve_instruction(text)
        operands = []
        for use, type_ in (("a", instruction.a_type), ("b", instruction.b_type), ("c", instruction.c_type)):
            # Lockstep reads all registers after each command.
            extent = (2 if on == "rtl" else 1, *instruction.shape.extent(use))
            bits = FORMATS[type_].bits
            kind = "i" if type_ in ("s8", "s32") else "u"
            if type_ in ("f16", "bf16", "tf32", "f32"):
                values = random.standard_normal(extent)
                array = values.astype(np.float16).view(np.uint16)
                if type_ != "f16":
                    array = values.astype(np.float32).view(np.uint32)
                    array = (array >> (32 - bits)).astype(f"u{bits // 8}")
            else:
                size = max(1, bits // 8)
                array = random.integers(0, 1 << bits, extent, dtype=f"u{size}").view(f"{kind}{size}")
            operands.append(array)
            np.save(f"{use}.npy", array)
        assert main(["mma", text, *FILES, "--force", "--on", on]) == 0
        expected = golden.mma(instruction, *operands)
        np.testing.assert_array_equal(np.load("d.npy").view(expected.dtype), expected, err_msg=text)


@pytest.mark.parametrize("on", ["golden", "rtl"])
@pytest.mark.parametrize(
    ("text", "profile"),
    [
        *((MMA, profile) for profile in ("ada", "ampere")),
        *((f"{WGMMA}.f16.e4m3.e4m3", profile) for profile in ("blackwell", "ada", "ampere")),
    ],
)
def test_other_profiles_refuse_fp8_by_name(capsys, text, on, profile):
    instruction = resolve_instruction(text)
    for use in "ab":
        np.save(f"{use}.npy", np.zeros(instruction.shape.extent(use), np.uint8))
    c = np.uint16 if instruction.c_type == "f16" else np.uint32
    np.save("c.npy", np.zeros(instruction.shape.extent("c"), c))
    assert main(["mma", text, *FILES, "--on", on, "--profile", profile]) == 2
    message = capsys.readouterr().err
    assert f"{profile}, which has no e4m3" in message
    assert "hopper" in message
    assert not Path("d.npy").exists()


@pytest.mark.parametrize("on", ["golden", "rtl", "lockstep"])
def test_a_kernel_with_fp8_on_another_profile(on, monkeypatch):
    """Refused before a core is built, which takes half a minute."""
    monkeypatch.setattr("sim.rtl_machine.build_core", None)
    arrays = arrays_of(captured_fp8()[0])
    text = kernel_of(
        instruction_of(captured_fp8()[0].rsplit("/", 1)[1]), {u: x.shape[2] for u, x in arrays.items()}
    )
    kernel = openwmma.Module(text).kernel()
    arguments = [np.zeros((32, arrays[use].shape[2]), np.uint32) for use in "abcd"]
    with pytest.raises(openwmma.LaunchError, match="ampere, which has no e4m3 in mma"):
        kernel.launch(grid=1, block=32, arguments=arguments, on=on, preset="small", profile="ampere")


def test_a_core_without_fp8_says_so():
    arrays = arrays_of(captured_fp8()[0])
    text = kernel_of(
        instruction_of(captured_fp8()[0].rsplit("/", 1)[1]), {u: x.shape[2] for u, x in arrays.items()}
    )
    kernel = openwmma.Module(text).kernel()
    arguments = [np.zeros((32, arrays[use].shape[2]), np.uint32) for use in "abcd"]
    with pytest.raises(openwmma.LaunchError, match=r"tiny has no \.e4m3 multiply"):
        kernel.launch(grid=1, block=32, arguments=arguments, preset="tiny")


def test_the_page_about_the_accumulator():
    """What docs/explanation/fp8-accumulator.md and its example show is what happens."""
    example = runpy.run_path(str(ROOT / "examples" / "fp8_accumulator.py"))
    shown = (ROOT / "docs" / "explanation" / "fp8-accumulator.md").read_text()
    for name, text in (("wgmma, fp8", "WGMMA"), ("mma.sync, fp8", "MMA"), ("mma.sync, f16", "MMA_F16")):
        for profile in PROFILES:
            try:
                bits = example["kept_bits"](example[text], profile=profile)
            except golden.InvalidArgument:
                bits = "not known"
            assert f"  {name:14} {profile:10} {bits}\n" in shown
    for steps, ends in ((511, (16352, 16352)), (600, (16384, 19200))):
        assert tuple(example["accumulated"](example[name], steps) for name in ("WGMMA", "MMA")) == ends


def test_the_experiment_of_the_page():
    ones = np.full((64, 32), 0x38, np.uint8), np.full((32, 8), 0x38, np.uint8)
    wgmma = f"{WGMMA}.f32.e4m3.e4m3".replace("n16", "n8")
    mma = MMA.replace("e5m2", "e4m3")
    for c, ends in ((16383, (16414, 16415)), (16384, (16384, 16416))):
        addend = np.full((64, 8), c, np.float32).view(np.uint32)
        d = golden.mma(wgmma, *ones, addend), golden.mma(mma, ones[0][:16], ones[1], addend[:16])
        assert tuple(found.view(np.float32)[0, 0] for found in d) == ends


@pytest.fixture
def tiles():
    """Operands of e4m3 in files, and in memory."""
    random = np.random.default_rng(2)
    a, b = (random.integers(0, 120, extent, np.uint8) for extent in ((16, 32), (32, 8)))
    c = np.zeros((16, 8), np.uint32)
    for name, array in zip("abc", (a, b, c), strict=True):
        np.save(f"{name}.npy", array)
    return a, b, c


def test_fp8_of_blackwell_is_golden_s_by_default(tiles):
    a, b, c = tiles
    assert main(["mma", MMA, *FILES, "--profile", "blackwell"]) == 0
    np.testing.assert_array_equal(np.load("d.npy"), golden.mma(MMA, a, b, c, profile="blackwell"))
    assert (np.load("d.npy") != golden.mma(MMA, a, b, c)).any()
    assert "fp8" in with_profile(PRESETS["small"], "small", "blackwell").formats


@pytest.mark.long
def test_fp8_of_blackwell_needs_a_core_that_has_it(tiles, capsys):
    assert main(["mma", MMA, *FILES, "--profile", "blackwell", "--on", "rtl", "--preset", "tiny"]) == 1
    assert f"illegal instruction: {MMA}" in capsys.readouterr().err
