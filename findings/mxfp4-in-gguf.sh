#!/bin/sh
# Where GGUF puts the elements of an MXFP4 block, and how it rounds them.
#
# Guess: two neighbours share a byte, low nibble first, as in torch's float4_e2m1fn_x2; halves round to even.
# Seen:  gguf 0.19.0 stores the scale first and element i beside element i + 16: low and high nibbles hold the two
#        halves of the block. A value halfway between two codes takes the smaller magnitude: 0.75 becomes 0.5, 5
#        becomes 4, where nearest even gives 1 and 4.
# Bytes copied between the two layouts are a permutation of the block, and requantised blocks differ.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check gguf==0.19.0 ml_dtypes==0.5.4
"$folder/environment/bin/python" -W ignore - <<'EOF'
import gguf
import ml_dtypes
import numpy as np
from gguf import quants

MXFP4 = gguf.GGMLQuantizationType.MXFP4
block = np.zeros(32, np.float32)
block[:16], block[16:] = 1, 6
data = quants.quantize(block, MXFP4)
print("ones, then sixes:", bytes(data).hex())
assert data.tolist() == [127] + [0x72] * 16

block = np.zeros(32, np.float32)
block[:7] = 6, 0.25, 0.75, 1.25, 2.5, 3.5, 5
there = quants.dequantize(quants.quantize(block, MXFP4), MXFP4)[:7]
even = block[:7].astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
print("halves:", block[:7].tolist(), "gguf", there.tolist(), "nearest even", even.tolist())
assert there.tolist() == [6, 0, 0.5, 1, 2, 3, 4]
assert even.tolist() == [6, 0, 1, 1, 2, 4, 4]
EOF
