#!/bin/sh
# bf16 and fp8 arrays in safetensors, from numpy.
#
# Guess: what save takes, load returns.
# Seen:  safetensors.numpy 0.8.0 saves ml_dtypes' bfloat16 and fp8 arrays, and its load of the same bytes raises
#        KeyError with the type's name.
# Such files are read with safetensors.torch, or by hand from the header of the file.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check safetensors==0.8.0 ml_dtypes==0.5.4 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import ml_dtypes
import numpy as np
from safetensors.numpy import load, save

for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu):
    data = save({"weights": np.ones(8, dtype)})
    try:
        load(data)
    except KeyError as error:
        print(np.dtype(dtype).name, len(data), "bytes saved; load raises KeyError", error)
    else:
        raise SystemExit(f"{np.dtype(dtype).name} was loaded")
EOF
