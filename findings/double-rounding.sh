#!/bin/sh
# float64 and integers as bf16 and fp8.
#
# Guess: a cast rounds once, as numpy's cast of float64 to float16 does.
# Seen:  torch 2.13.0 and ml_dtypes 0.5.4 round to f32 first and then again. A value just above the middle of two neighbours
#        becomes the middle, and then the even neighbour: 1.0625 + 2**-40 is 1 in e4m3, where 1.125 is nearer.
#        torch does so for f16 too. The integer 16842753 becomes 16777216 in bf16; 16908288 is nearer.
# A reference in float64 that is rounded at its end differs by one step from a result that is rounded once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 ml_dtypes==0.5.4 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import ml_dtypes
import numpy as np
import torch

for bits, dtype, torch_dtype in (
    (2, ml_dtypes.float8_e5m2, torch.float8_e5m2),
    (3, ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn),
    (7, ml_dtypes.bfloat16, torch.bfloat16),
    (10, np.float16, torch.float16),
):
    middle = 1 + 2.0 ** -(bits + 1)
    above = np.array([middle + 2.0**-40])
    by_numpy = float(above.astype(dtype)[0])
    by_torch = torch.from_numpy(above).to(torch_dtype).double().item()
    print(np.dtype(dtype).name, repr(float(above[0])), "numpy:", by_numpy, "torch:", by_torch, "nearest:", 1 + 2.0**-bits)
    assert by_torch == 1
    assert by_numpy == (1 + 2.0**-bits if dtype is np.float16 else 1)

for integer in (np.int32, np.int64):
    number = np.array([16842753], integer)
    pair = float(number.astype(ml_dtypes.bfloat16)[0]), torch.from_numpy(number).to(torch.bfloat16).double().item()
    print(integer.__name__, number[0], pair)
    assert pair == (16777216, 16777216)
EOF
