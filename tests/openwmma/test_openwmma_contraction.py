"""The switch that leaves multiplications and additions apart, and the list of those that are joined."""

import numpy as np
import pytest

import openwmma
from openwmma.cli import main

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .f32 e)
{
    .reg .f32 %f<5>;
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f3, [e];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r1, %r0, 32, %r1;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mul.f32 %f2, %f1, %f1;
    add.f32 %f4, %f2, %f3;
    st.global.f32 [%rd3], %f4;
    ret;
}
"""
PAIR = "k.ptx:15: mul.f32 %f2, %f1, %f1; -> k.ptx:16: add.f32 %f4, %f2, %f3;"
PROGRAM = """.version 8.0
.target sm_90
.address_size 64
.visible .entry p(.param .u64 A, .param .u64 D, .param .f32 e)
{
    .reg .f32 %c<8>, %e;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [A];
    ld.param.u64 %rd2, [D];
    ld.param.f32 %e, [e];
    wmma.load.c.sync.aligned.row.m16n16k16.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%rd1];
EACH    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd2], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};
}
""".replace("EACH", "".join(f"mul.f32 %c{i}, %c{i}, %c{i};\nadd.f32 %c{i}, %c{i}, %e;\n" for i in range(8)))
X = np.sqrt(1 + np.arange(32) / 1024).astype(np.float32)
ADDEND = float(np.float32(-1.01))


def joined(x):
    return (x.astype(np.float64) ** 2 + np.float64(np.float32(ADDEND))).astype(np.float32)


def separate(x):
    return x * x + np.float32(ADDEND)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(KERNEL)
    (tmp_path / "p.ptx").write_text(PROGRAM)
    np.save("x.npy", X)


def test_the_inputs_show_a_difference():
    assert (joined(X) != separate(X)).any()


@pytest.mark.parametrize(("options", "expected"), [({}, joined), ({"contract": False}, separate)])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_launch_from_python(options, expected, jobs):
    x = np.tile(X, 2)
    openwmma.Module(KERNEL).kernel().launch(2, 32, [x, ADDEND], jobs=jobs, **options)
    np.testing.assert_array_equal(x, np.tile(expected(X), 2))


def test_both_launches_of_one_kernel_share_its_variables():
    text = KERNEL.replace(".visible", ".global .u32 count;\n.visible").replace(
        "    ret;", "    red.global.add.u32 [count], 1;\n    ret;"
    )
    module = openwmma.Module(text)
    for contract in (True, False, True):
        module.kernel().launch(1, 32, [X.copy(), ADDEND], contract=contract)
    assert module["count"].numpy() == 96


@pytest.mark.parametrize("name", ["contract", "check", "races"])
@pytest.mark.parametrize("value", [1, "yes", None, np.array([True, False])], ids=range(4))
def test_a_switch_is_true_or_false(name, value):
    kernel = openwmma.Module(KERNEL).kernel()
    with pytest.raises(openwmma.LaunchError, match=f"{name}.* True or False"):
        kernel.launch(1, 32, [X.copy(), ADDEND], **{name: value})
    kernel.launch(1, 32, [X.copy(), ADDEND], **{name: np.bool_(True)})


@pytest.mark.parametrize("name", ["on_block", "on_step"])
def test_what_a_launch_calls_is_a_function(name):
    kernel = openwmma.Module(KERNEL).kernel()
    with pytest.raises(openwmma.LaunchError, match=f"{name}.* a function or None, not 3 of type int"):
        kernel.launch(1, 32, [X.copy(), ADDEND], **{name: 3})


def test_pairs_from_python():
    (pair,) = openwmma.Module(KERNEL, name="k.ptx").kernel().contractions
    assert str(pair) == PAIR
    assert (pair.product.line, pair.sum.line) == (15, 16)


@pytest.mark.parametrize(
    ("options", "expected"), [([], joined), (["--contract"], joined), (["--no-contract"], separate)]
)
def test_a_launch_on_the_command_line(options, expected):
    run = ["run", "k.ptx", "--block", "32", "--arg", "x.npy", "--arg", str(ADDEND), "--out", "0=y.npy"]
    assert main([*run, *options]) == 0
    np.testing.assert_array_equal(np.load("y.npy"), expected(X))


@pytest.mark.parametrize(("options", "expected"), [([], joined), (["--no-contract"], separate)])
def test_a_program_of_one_warp_on_the_command_line(options, expected):
    a = np.resize(X, (16, 16))
    np.save("a.npy", a)
    run = ["run", "p.ptx", "--arg", "A=a.npy", "--arg", f"e={ADDEND}", "--out", "D=d.npy:f32:16x16"]
    assert main([*run, *options]) == 0
    np.testing.assert_array_equal(np.load("d.npy"), expected(a))


@pytest.mark.parametrize(("contract", "other"), [(True, "--no-contract"), (False, "--contract")])
def test_a_saved_launch_is_repeated_as_it_was(contract, other):
    openwmma.Module(KERNEL).kernel().launch(1, 32, [X.copy(), ADDEND], save="case", contract=contract)
    assert main(["run", "--launch", "case.json"]) == 0
    assert main(["run", "--launch", "case.json", other]) == 1
    (launch,) = openwmma.read_launches("case.json")
    launch.launch()
    assert not launch.differences()


def test_pairs_on_the_command_line(capsys):
    assert main(["run", "k.ptx", "--block", "32", "--contractions"]) == 0
    assert capsys.readouterr().out == f"k: 1 joined\n  {PAIR}\n"
    assert main(["run", "p.ptx", "--contractions"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "p: 8 joined"
    x = X.copy()
    openwmma.Module(KERNEL).kernel().launch(1, 32, [x, ADDEND], save="case")
    assert main(["run", "--launch", "case.json", "--contractions"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(": 1 joined")
    assert main(["run", "--launch", "case.json"]) == 0
    assert main(["run", "--launch", "case.json", "--no-contract"]) == 1
