#!/bin/sh
# Sums of small floating-point arrays in numpy: dot, @ and sum.
#
# Guess: dot and @ agree, and sum adds in the precision that they have.
# Seen:  with ml_dtypes 0.5.4 and numpy 2.4.6, @ returns float32, dot the small type (for e4m3 NaN, as 8192
#        overflows), and sum and mean round after each addition: 8192 ones add up to 256 in bf16, 16 in e4m3.
# A reference that uses sum is no reference; jax's sum of the same bf16 array is 8192.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check ml_dtypes==0.5.4 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import ml_dtypes
import numpy as np

expected = {
    "bfloat16": (8192, 8192, 256),
    "float8_e5m2": (8192, 8192, 8),
    "float8_e4m3fn": (8192, np.nan, 16),
    "float6_e3m2fn": (8192, 28, 8),
    "float4_e2m1fn": (8192, 6, 4),
}
for name, row in expected.items():
    dtype = np.dtype(getattr(ml_dtypes, name))
    ones = np.ones(8192, dtype)
    product, dot, total = (ones[None] @ ones[:, None])[0, 0], np.dot(ones, ones), ones.sum()
    print(f"{name:14} @ {product} ({product.dtype}), dot {dot}, sum {total} ({total.dtype})")
    assert product.dtype == np.float32 and dot.dtype == total.dtype == dtype
    np.testing.assert_array_equal(np.array([product, dot, total], np.float32), np.array(row, np.float32))
EOF
