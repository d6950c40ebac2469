#!/bin/sh
# NaN as e2m1, e3m2 and e2m3, which have no NaN.
#
# Guess: the conversion raises an error, or gives the largest number as for infinity.
# Seen:  ml_dtypes 0.5.4 gives -0 without a warning, infinity gives the largest number. gfloat 0.5.2 raises.
# A NaN in a layer's weights disappears when they are quantised to fp4 or fp6.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check ml_dtypes==0.5.4 gfloat==0.5.2
"$folder/environment/bin/python" -W ignore - <<'EOF'
import gfloat.formats
import ml_dtypes
import numpy as np

values = np.array([np.nan, np.inf, -np.inf], np.float32)
for dtype, largest in ((ml_dtypes.float4_e2m1fn, 6), (ml_dtypes.float6_e3m2fn, 28), (ml_dtypes.float6_e2m3fn, 7.5)):
    result = values.astype(dtype).astype(np.float32)
    print(np.dtype(dtype).name, result.tolist())
    assert result[0] == 0 and np.signbit(result[0])
    assert result[1:].tolist() == [largest, -largest]
try:
    gfloat.round_float(gfloat.formats.format_info_ocp_e2m1, float("nan"), sat=True)
except ValueError as error:
    print("gfloat:", error)
else:
    raise SystemExit("gfloat has rounded NaN to e2m1")
EOF
