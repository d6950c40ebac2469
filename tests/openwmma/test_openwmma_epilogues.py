"""Matrix products with bias, C, alpha, beta, scales and relu, against PyTorch's on an H200."""

from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import openwmma
from golden.invalid_argument import InvalidArgument
from openwmma.cli import main

FOLDER = Path(__file__).parents[1] / "data" / "products"
PUBLIC, CAPTURED = np.load(FOLDER / "epilogues_public.npz"), np.load(FOLDER / "epilogues.npz")
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
DTYPES = {
    "bf16": BF16,
    "f16": np.float16,
    "tf32": np.float32,
    "f64": np.float64,
    "f32": np.float32,
    "e4m3": E4M3,
}
FACTORS = [(alpha, beta) for alpha in (1, 0.7, -0.7) for beta in (0, 1, 1.3)]


def same(found, bits):
    """Equal in every bit; of a NaN only that it is one."""
    observed = bits.view(found.dtype)
    assert found.shape == observed.shape
    nan = np.isnan(observed.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)
    np.testing.assert_array_equal(np.where(nan, 0, found.view(bits.dtype)), np.where(nan, 0, bits))


@pytest.mark.parametrize("name", ["bf16_64x96x64", "bf16_16x512x128", "f16_64x96x64", "tf32_64x96x64"])
def test_linear_and_addmm_equal_the_chip(name):
    type_ = name.split("_")[0]

    def get(part):
        return PUBLIC[f"{name}/{part}"].view(DTYPES[type_])

    def product(*operands, **call):
        return openwmma.matmul(*operands, **call, split_k=2 if type_ == "tf32" else 1)

    a, b, bias, c = get("a"), get("w").T, get("bias"), get("c")
    same(openwmma.matmul(a, b, bias=bias), PUBLIC[f"{name}/linear"])
    same(product(a, b), PUBLIC[f"{name}/mm"])
    same(product(a, b, c=c), PUBLIC[f"{name}/addmm"])
    same(product(a, b, c=c, alpha=0.7), PUBLIC[f"{name}/addmm_a"])
    same(product(a, b, c=c, beta=1.3), PUBLIC[f"{name}/addmm_b"])
    same(product(a, b, c=c, alpha=0.7, beta=1.3), PUBLIC[f"{name}/addmm_ab"])
    same(product(a, b, c=bias, alpha=0.7, beta=1.3), PUBLIC[f"{name}/addmm_row"])
    if type_ != "tf32":
        same(product(a, b, bias=bias, activation="relu"), PUBLIC.get(f"{name}/relu", get("linear") * 0))
    if f"{name}/bx" in PUBLIC:
        x, y = get("bx"), get("by")
        same(product(x, y), PUBLIC[f"{name}/bmm"])
        same(product(x, y, c=get("bc"), alpha=0.7, beta=1.3), PUBLIC[f"{name}/baddbmm"])


@pytest.mark.parametrize("accumulation", ["fast", "precise"])
def test_scaled_products_equal_the_chip(accumulation):
    def get(part, dtype=None):
        found = PUBLIC[f"fp8_64x96x64/{part}"]
        return found if dtype is None else found.view(dtype)

    one, rows = (
        dict(zip(("scale_a", "scale_b"), map(get, pair), strict=True))
        for pair in (("sa", "sb"), ("ra", "rb"))
    )
    bias = {"bias": get("bias", BF16)}
    calls = {
        "f32_one": {},
        "bf16_one": {},
        "f32": one,
        "bf16": one,
        "f16": one,
        "bf16_bias": one | bias,
        "e4m3": one,
    }
    calls |= {"e4m3_noscale": one, "rowwise_bf16": rows, "rowwise_bf16_bias": rows | bias}
    for name, call in calls.items():
        d_type = name.removeprefix("rowwise_").split("_")[0]
        found = openwmma.matmul(
            get("a", E4M3), get("w", E4M3).T, d_type=d_type, accumulation=accumulation, **call
        )
        same(found, get(f"{name}_{accumulation}").view(f"u{found.itemsize}"))
    d = openwmma.matmul(PUBLIC["s8/a"], PUBLIC["s8/w"].T)
    np.testing.assert_array_equal(d, PUBLIC["s8/d"])


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("f16_32x48x64", 1),
        ("bf16_32x48x64", 1),
        ("bf16_16x4096x4096", 2),
        ("tf32_32x48x64", 2),
        ("tf32_128x256x96", 1),
        ("f64_32x48x64", 1),
    ],
)
def test_sums_with_special_numbers_equal_the_chip(name, split):
    """NaN, infinities and zeros of either sign in A, C and the bias; results of f32 too."""
    type_ = name.split("_")[0]
    a, b, c, v = (CAPTURED[f"{name}/{part}"].view(DTYPES[type_]) for part in "abcv")
    same(openwmma.matmul(a, b, split_k=split), CAPTURED[f"{name}/mm"])
    batch = [CAPTURED[f"{name}/{part}"].view(DTYPES[type_]) for part in "xyz" if f"{name}/x" in CAPTURED]
    # cuBLAS cuts k otherwise where it adds a row of its own: without a cut in tf32.
    cut = {"split_k": 1 if type_ == "tf32" else split}
    for alpha, beta in FACTORS:
        call = {"alpha": alpha, "beta": beta}
        same(openwmma.matmul(a, b, c=c, split_k=split, **call), CAPTURED[f"{name}/c_{alpha}_{beta}"])
        rows = cut if beta == 1 else {"split_k": split}
        if not (type_ == "f64" and beta == 1 and alpha != 1):
            same(openwmma.matmul(a, b, bias=v, **rows, **call), CAPTURED[f"{name}/v_{alpha}_{beta}"])
            relu = openwmma.matmul(a, b, bias=v, activation="relu", **rows, **call)
            same(relu, CAPTURED[f"{name}/relu_{alpha}_{beta}"])
        if type_ in ("f16", "bf16"):
            for wide in (c, c.astype(np.float32)):
                found = openwmma.matmul(a, b, c=wide, d_type="f32", split_k=split, **call)
                same(found, CAPTURED[f"{name}/wide_{alpha}_{beta}"])
        if batch and alpha > 0:
            x, y, z = batch
            same(openwmma.matmul(x, y, c=z, **call), CAPTURED[f"{name}/z_{alpha}_{beta}"])


@pytest.mark.parametrize("type_", ["f32", "bf16", "f16", "e4m3"])
def test_scales_with_special_numbers_equal_the_chip(type_):
    def get(part, dtype):
        return CAPTURED[f"fp8/{part}"].view(dtype)

    a, b = get("a", E4M3), get("b", E4M3)
    bias = get("h", np.float16) if type_ == "f16" else get("v", BF16)
    names = [
        name.removeprefix(f"fp8/{type_}_") for name in CAPTURED.files if name.startswith(f"fp8/{type_}_")
    ]
    for name in names:
        first, second = name.split("_")[:2]
        if first == "rows":
            scale_a, scale_b = get("rows", np.float32), get("columns", np.float32)
        else:
            scale_a, scale_b = float(first), float(second)
        found = openwmma.matmul(
            a,
            b,
            d_type=type_,
            scale_a=scale_a,
            scale_b=scale_b,
            bias=bias if name.endswith("_bias") else None,
            accumulation="precise" if "precise" in name else "fast",
        )
        same(found, CAPTURED[f"fp8/{type_}_{name}"])
    assert len(names) >= 10


def test_s8_clamps_after_every_sixteen_products():
    place = np.arange(200704)
    rows = (0, 1, 5, 11)
    a = np.stack([np.where(place < 135168 + 1040 * j + j, 127, -128) for j in rows]).astype(np.int8)
    b = np.full((len(place), 2), 127, np.int8)
    b[:, 1] = np.where(place // 16 % 3 == 0, -128, 127)
    for name, left in (("up", a), ("down", -1 - a)):
        expected = CAPTURED[f"s8/{name}"][list(rows), :2].view(np.int32)
        np.testing.assert_array_equal(openwmma.matmul(left, b), expected)
    wrapped = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    assert (openwmma.matmul(a, b) != wrapped).any()


def multiply_add(a, b, c):
    """``a b + c`` rounded once, of numpy's scalars: exact, then the nearest of three neighbours."""
    kind = type(c)
    if not all(map(np.isfinite, (a, b, c))) or not (a and b):
        return kind(a * b + c)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return kind(a * b + c)
    near = kind(float(exact))
    candidates = np.nextafter(near, kind(-np.inf)), near, np.nextafter(near, kind(np.inf))
    finite = [x for x in candidates if np.isfinite(x)]
    if len(finite) < 3:
        return near
    distance = [abs(Fraction(float(x)) - exact) for x in finite]
    least = min(distance)
    nearest = [x for x, far in zip(finite, distance, strict=True) if far == least]
    width = {4: np.uint32, 8: np.uint64}[near.itemsize]
    return min(nearest, key=lambda x: int(x.view(width)) & 1)


def one_element(total, addend, call, types):
    """D of one sum, in scalars: the rules as the page has them."""
    a_type, d_dtype = types
    kind = type(total)
    alpha, beta, row = kind(call.get("alpha", 1)), kind(call.get("beta", 1)), call["row"]
    halves = a_type in ("f16", "bf16")
    if a_type == "e4m3":
        scaled = multiply_add(call["scale"], total, kind(0)) if "scale" in call else total
    elif alpha == 1:
        scaled = total
    else:
        scaled = multiply_add(alpha, total, kind(0)) if halves else alpha * total
    if addend is None or beta == 0:
        result = scaled
    elif beta == 1 and (halves or a_type == "e4m3"):
        result = (scaled if row else kind(d_dtype(scaled))) + addend
    else:
        result = multiply_add(alpha, total, kind(beta * addend))
    if call.get("activation"):
        result = (
            kind(0) if result <= 0 or (np.isnan(result) and a_type == "tf32" and call["fused"]) else result
        )
    if d_dtype is E4M3:
        result = result if np.isnan(result) else max(kind(-448), min(kind(448), result))
    return d_dtype(result)


CALLS = {
    "bias": {"bias": True},
    "bias and relu": {"bias": True, "activation": "relu"},
    "c": {"c": True},
    "c by beta": {"c": True, "alpha": -1.7, "beta": 0.3, "activation": "relu"},
    "c not read": {"c": True, "beta": 0},
    "row by beta": {"bias": True, "alpha": 0.1, "beta": -2},
    "alpha": {"alpha": 1 / 3},
    "relu": {"activation": "relu"},
    "scales": {"scale": (-0.7, 3.3), "bias": True},
}


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("d_type", ["f16", "bf16", "f16 f32", "tf32 f32", "f64", "e4m3 bf16", "e4m3"])
def test_every_epilogue_in_every_type_and_shape(d_type, name):
    a_type, d_type = d_type.split()[0], d_type.split()[-1]
    call, in_dtype, d_dtype = dict(CALLS[name]), DTYPES[a_type], DTYPES[d_type]
    if ("c" in call or "alpha" in call) if a_type == "e4m3" else "scale" in call:
        return
    random = np.random.default_rng(3)
    wide = np.float64 if a_type == "f64" else np.float32
    addend_dtype = BF16 if d_type == "e4m3" else d_dtype
    for left, right in (
        ((3, 5), (5, 4)),
        ((2, 1, 2, 3), (2, 3, 2)),
        ((3, 0), (0, 2)),
        ((0, 3), (3, 2)),
        ((3,), (3, 4)),
    ):
        a, b = random.normal(size=left).astype(in_dtype), random.normal(size=right).astype(in_dtype)
        if a.size > 9:
            a[..., 0, 0], a[..., 1, :] = np.nan, 0
        given = {key: value for key, value in call.items() if key in ("alpha", "beta", "activation")}
        total = openwmma.matmul(a, b, d_type="f64" if a_type == "f64" else "f32")
        addend = None
        if "c" in call and len(left) == 1:
            continue
        if "bias" in call or "c" in call:
            addend = random.normal(size=total.shape[-1:] if "bias" in call else total.shape).astype(
                addend_dtype
            )
            if addend.size:
                addend.reshape(-1)[-1] = np.inf
            given["bias" if "bias" in call else "c"] = addend
            addend = np.broadcast_to(addend, total.shape)
        if "scale" in call:
            given["scale_a"], given["scale_b"] = call["scale"]
            call["scale"] = np.float32(given["scale_a"]) * np.float32(given["scale_b"])
        found = openwmma.matmul(a, b, d_type=d_type, **given)
        facts = call | {"row": "bias" in call, "fused": addend is not None and call.get("beta", 1) == 1}
        expected = np.empty(total.shape, d_dtype)
        for place in np.ndindex(total.shape):
            one = None if addend is None else wide(addend[place])
            expected[place] = one_element(total[place], one, facts, (a_type, d_dtype))
        if "scale" in call:
            call["scale"] = CALLS[name]["scale"]
        assert found.dtype == expected.dtype
        same(found, expected.view(f"u{expected.itemsize}"))


def test_rows_and_columns_of_scales_are_multiplied_one_after_the_other():
    """The column's scale first: results of f32 tell the two orders apart."""
    a, b = (CAPTURED[f"fp8/{part}"].view(E4M3) for part in "ab")
    rows, columns = (CAPTURED[f"fp8/{part}"].view(np.float32) for part in ("rows", "columns"))
    total = openwmma.matmul(a, b, d_type="f32")
    found = openwmma.matmul(a, b, d_type="f32", scale_a=rows[:, 0], scale_b=columns)
    np.testing.assert_array_equal(found, rows * (columns * total))
    assert (found != columns * (rows * total)).any()
    same(found, CAPTURED["fp8/f32_rows_fast"])
    np.testing.assert_array_equal(openwmma.matmul(a, b, d_type="f32", scale_a=rows), rows * total)


HALF, F32, F64 = np.ones((2, 3), np.float16), np.ones((2, 3), np.float32), np.ones((2, 3))
FP8, S8 = np.ones((2, 3), E4M3), np.ones((2, 3), np.int8)


@pytest.mark.parametrize(
    ("a", "call", "message"),
    [
        (HALF, {"activation": "gelu"}, "^activation: got 'gelu'; allowed: None or 'relu', the only one"),
        (HALF, {"activation": 3}, "^activation: got 3 of type int; allowed: a text$"),
        (
            HALF,
            {"bias": np.ones(2, np.float32)},
            "^bias: got dtype float32; allowed: float16 for a result of f16$",
        ),
        (
            HALF,
            {"bias": np.ones(3, np.float16)},
            r"^bias: got shape \(3,\); allowed: \(2,\), or what broadcasts",
        ),
        (HALF, {"c": np.ones((3, 2), np.float16)}, r"^c: got shape \(3, 2\); allowed: \(2, 2\), or what"),
        (HALF, {"c": HALF[:, :2], "bias": HALF[0, :2]}, "^c: got C beside bias; allowed: one of the two$"),
        (
            HALF,
            {"c": HALF[:, :2], "activation": "relu"},
            "^activation: got 'relu' with a matrix c and beta 1; ",
        ),
        (HALF, {"beta": 2}, "^beta: got 2; allowed: 1 without c or bias$"),
        (HALF, {"alpha": "2"}, "^alpha: got '2'; allowed: a number$"),
        (HALF, {"alpha": 1e39}, r"^alpha: got 1e\+39; allowed: a number within the range of float32$"),
        (HALF, {"alpha": np.ones(2)}, r"^alpha: got array\(\[1., 1.\]\); allowed: a number$"),
        (HALF, {"alpha": [[1], [1, 2]]}, "^alpha: got list "),
        (HALF, {"scale_a": 2.0}, "^scale_a: got a scale of f16; allowed: a scale of e4m3 or e5m2$"),
        (HALF, {"split_k": 4}, "^split_k: got 4; allowed: at most k, 3$"),
        (F64, {"bias": np.ones(2), "alpha": 2}, "^alpha: got 2; allowed: 1 with a bias of f64: its rule"),
        (FP8, {"alpha": 2}, "^a: got e4m3 with c, alpha or beta; allowed: scale_a, scale_b and bias$"),
        (
            FP8,
            {"scale_a": np.ones(2)},
            "^scale_a: got dtype float64; allowed: a number, float32, or block scales of ",
        ),
        (
            FP8,
            {"scale_a": np.ones(3, np.float32)},
            r"^scale_a: got a scale of shape \(3, 1\); allowed: shape \(2, 1\)",
        ),
        (
            FP8,
            {"scale_a": np.ones(2, np.float32), "scale_b": 2.0},
            r"^scale_b: got a scale of shape \(1, 1\); ",
        ),
        (
            FP8,
            {"scale_a": np.ones(2, np.float32), "d_type": "e4m3"},
            "^d_type: got 'e4m3' with scales of rows; ",
        ),
        (
            FP8,
            {"bias": np.ones(2, np.float32)},
            "^bias: got dtype float32; allowed: bfloat16 for a result of bf16$",
        ),
        (S8, {"bias": np.ones(2, np.int32)}, "^a: got s8 with an epilogue; allowed: none of bias, c, alpha"),
        (np.ma.masked_array(HALF, HALF > 0), {}, r"^a: got MaskedArray \(elements are masked; fill them\); "),
        (np.float16(1), {}, "^a: got a number; allowed: at least one axis$"),
    ],
    ids=str,
)
def test_a_form_without_a_known_rule_is_refused_by_name(a, call, message):
    b = np.ones((3, 2), np.asarray(a).dtype)
    with pytest.raises(InvalidArgument, match=message):
        openwmma.matmul(a, b, **call)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices_and_arrays_without_a_masked_element_are_arrays():
    a, b = np.matrix(HALF), np.ma.masked_array(HALF.T)
    found = openwmma.matmul(a, b)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, openwmma.matmul(HALF, HALF.T))


def test_one_axis_as_in_numpy():
    matrix = np.arange(12, dtype=np.float16).reshape(3, 4)
    for x, y in (
        (matrix[:, 0], matrix),
        (matrix, matrix[0]),
        (matrix[0], matrix[1]),
        (np.ones((2, 5, 3), np.float16), matrix[:, 1]),
    ):
        found, expected = openwmma.matmul(x, y), np.matmul(x, y)
        assert found.shape == np.shape(expected)
        np.testing.assert_array_equal(found, expected)
    bias = np.full(4, 2**-11, np.float16)
    found = openwmma.matmul(np.ones(1, np.float16), np.ones((1, 4), np.float16), bias=bias)
    assert found.tolist() == [1.0] * 4  # a tie, to even
    with pytest.raises(InvalidArgument, match=r"^c: got C beside an operand of one axis; allowed: "):
        openwmma.matmul(matrix[:, 0], matrix, c=bias)


def test_bias_is_added_before_the_only_rounding():
    """By hand: 1 + 2**-8 is a tie of bf16, 2**-8 more is 1.0078125."""
    x, w = np.array([[1, 2**-4]], BF16), np.array([[1], [2**-4]], BF16)
    bias = np.array([2**-8], BF16)
    assert (openwmma.matmul(x, w) + bias).tolist() == [[1.0]]
    assert openwmma.matmul(x, w, bias=bias).tolist() == [[1.0078125]]
    assert openwmma.matmul(x, w, c=bias[None]).tolist() == [[1.0]]


def test_match_says_what_follows_the_sums():
    name = "bf16_64x96x64"
    a, w, bias, c = (PUBLIC[f"{name}/{part}"] for part in ("a", "w", "bias", "c"))
    types = {"a_type": "bf16", "b_type": "bf16"}
    cases = {
        "linear": ({"bias": bias}, "; then bias added before rounding"),
        "relu": ({"bias": bias, "activation": "relu"}, "; then bias added before rounding, relu"),
        "addmm": ({"c": c}, "; then rounded to bf16, C added, rounded again"),
        "addmm_ab": ({"c": c, "alpha": 0.7, "beta": 1.3}, "; then alpha 0.7, beta 1.3, C added"),
        "mm": ({}, "equal in every bit: one chain, fast accumulation"),
    }
    for result, (call, text) in cases.items():
        match = openwmma.match_matmul(a, w.T, PUBLIC[f"{name}/{result}"], **types, **call)
        assert match
        assert str(match).endswith(text)
    assert not openwmma.match_matmul(a, w.T, PUBLIC[f"{name}/addmm"], bias=bias, **types)
    fp8 = [PUBLIC[f"fp8_64x96x64/{part}"] for part in ("a", "w", "rowwise_bf16_fast", "ra", "rb")]
    match = openwmma.match_matmul(
        fp8[0], fp8[1].T, fp8[2], a_type="e4m3", b_type="e4m3", scale_a=fp8[3], scale_b=fp8[4]
    )
    assert str(match).endswith("one chain, fast accumulation; then scale_a (scale_b sum)")


def test_command_line_takes_epilogues(tmp_path, capsys):
    name = "f16_64x96x64"
    for part in ("a", "w", "bias", "c", "linear", "addmm_ab"):
        array = PUBLIC[f"{name}/{part}"].view(np.float16)
        np.save(tmp_path / f"{part}.npy", array.T if part == "w" else array)
    paths = [str(tmp_path / "a.npy"), str(tmp_path / "w.npy")]
    linear = ["--bias", str(tmp_path / "bias.npy")]
    assert main(["matmul", *paths, *linear, "-o", str(tmp_path / "d.npy")]) == 0
    same(np.load(tmp_path / "d.npy"), PUBLIC[f"{name}/linear"])
    addmm = ["--c", str(tmp_path / "c.npy"), "--alpha", "0.7", "--beta", "1.3"]
    assert main(["matmul", *paths, *addmm, "--compare", str(tmp_path / "addmm_ab.npy")]) == 0
    assert "then alpha 0.7, beta 1.3, C added" in capsys.readouterr().out
    assert main(["matmul", *paths, *linear, "--activation", "gelu", "-o", str(tmp_path / "e.npy")]) == 2
    assert "activation" in capsys.readouterr().err
    for part in ("a", "w", "sa", "sb", "f32_fast"):
        array = PUBLIC[f"fp8_64x96x64/{part}"]
        np.save(tmp_path / f"{part}.npy", array.T if part == "w" else array)
    fp8 = ["--a-type", "e4m3", "--b-type", "e4m3", "--d-type", "f32"]
    scales = ["--scale-a", str(tmp_path / "sa.npy"), "--scale-b", "1.91"]
    assert main(["matmul", *paths, *fp8, *scales, "--compare", str(tmp_path / "f32_fast.npy")]) == 0
    assert (
        main(["matmul", *paths, *fp8, "--scale-a", "half", "--compare", str(tmp_path / "f32_fast.npy")]) == 2
    )
    assert "--scale-a" in capsys.readouterr().err
