#!/bin/sh
# Sorting bf16 and fp8 arrays with NaN in numpy.
#
# Guess: NaN go to the end, as numpy's manual has it for floats.
# Seen:  with ml_dtypes 0.5.4 and numpy 2.4.6, sort leaves [3, nan, 1, 2, nan, -1] as it is, in bf16, e4m3 and e5m2; argsort
#        gives the indices in order, and unique and searchsorted are wrong in turn. float16 is sorted.
# One NaN in a layer's weights makes thresholds for pruning or quantising wrong, and nothing says so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check ml_dtypes==0.5.4 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import ml_dtypes
import numpy as np

VALUES = [3, np.nan, 1, 2, np.nan, -1]


def positions(dtype):
    values = np.array(VALUES, dtype)
    print(np.dtype(dtype).name, "sorted:", np.sort(values).astype(float).tolist(), "unique:", len(np.unique(values)))
    sorted_ = np.sort(values).astype(float)
    assert np.array_equal(sorted_, values.astype(float)[np.argsort(values, kind="stable")], equal_nan=True)
    return np.argsort(values, kind="stable").tolist()


assert positions(np.float16) == [5, 2, 3, 0, 1, 4]
for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
    assert positions(dtype) == [0, 1, 2, 3, 4, 5]
EOF
