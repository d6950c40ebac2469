#!/bin/sh
# The largest element of a block that is quantised to an MX format.
#
# Guess: the scale of a block is chosen so that its largest element keeps the precision of the element type.
# Seen:  gfloat 0.5.2 and gguf 0.19.0 take the scale from the exponent of the largest element alone, as the MX
#        specification says, and then clip the element: 7.96 becomes 6 in fp4, 24.6 % less; 509.44 becomes 448 in
#        e4m3, 12.1 % less.
# The greatest weights of a layer have the greatest relative errors. A scale rounded up has no such error.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check gguf==0.19.0 gfloat==0.5.2
"$folder/environment/bin/python" -W ignore - <<'EOF'
import gfloat
import gguf
import numpy as np
from gfloat import formats
from gguf import quants

LOST = {
    "mxfp4_e2m1": "7.96 6.0 24.6%",
    "mxfp6_e2m3": "7.96 7.5 5.8%",
    "mxfp6_e3m2": "31.84 28.0 12.1%",
    "mxfp8_e4m3": "509.44 448.0 12.1%",
    "mxfp8_e5m2": "65208.32 57344.0 12.1%",
}
for name, expected in LOST.items():
    info = getattr(formats, f"format_info_{name}")
    block = np.ones(32)
    block[0] = 1.99 * 2.0**info.etype.emax
    found = gfloat.quantize_block(info, block, gfloat.compute_scale_amax)
    seen = f"{block[0]} {found[0]} {1 - found[0] / block[0]:.1%}"
    print(name, seen)
    assert seen == expected

MXFP4 = gguf.GGMLQuantizationType.MXFP4
block = np.ones(32, np.float32)
block[0] = 7.96
found = quants.dequantize(quants.quantize(block, MXFP4), MXFP4)[:2].tolist()
print("gguf", found)
assert found == [6, 1]
EOF
