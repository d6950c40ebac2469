#!/bin/sh
# An infinity in a block that is quantised to an MX format.
#
# Guess: the block becomes infinite or NaN, as it does for a NaN.
# Seen:  torchao 0.18.0 gives a finite block: scale 2**126 and element 6 in fp4, scale 2**120 and element 448 in
#        fp8. A NaN gives scale 255, so the whole block is NaN.
# An overflow before the quantiser is a large finite number after it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check torchao==0.18.0 torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import math

import torch
from torchao.prototype.mx_formats.mx_tensor import to_mx


def first(value, dtype):
    block = torch.zeros(1, 32, dtype=torch.bfloat16)
    block[0, 0] = value
    scale, data = to_mx(block, dtype, 32)
    return scale.view(torch.uint8).flatten()[0].item(), data.view(torch.uint8).flatten()[0].item()


seen = {
    "inf in fp4": first(math.inf, torch.float4_e2m1fn_x2),
    "inf in fp8": first(math.inf, torch.float8_e4m3fn),
}
nan_scale = first(math.nan, torch.float4_e2m1fn_x2)[0]
print("scale byte, first data byte:", seen, "scale byte of a block with NaN:", nan_scale)
assert seen == {"inf in fp4": (253, 0x07), "inf in fp8": (247, 0x7E)}
assert nan_scale == 255
EOF
