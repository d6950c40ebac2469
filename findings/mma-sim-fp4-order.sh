#!/bin/sh
# Which half of a byte is the first element of fp4 in MMA-Sim, a simulator of matrix instructions.
#
# Guess: the low half, as in PTX and in torch's float4_e2m1fn_x2.
# Seen:  MMA-Sim 2.1.1 takes the high half first. Its dot products do not show it: both operands are swapped alike,
#        and neighbours are in one group.
# Elements that are compared one by one, or packed for another library, are swapped in pairs.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check mmasim==2.1.1 torch==2.13.0
"$folder/environment/bin/python" -W ignore - <<'EOF'
import torch
from mmasim.arithmetic.helper import unpack_uint8_to_fp4

code_1, code_2 = 0.5, 1.0
found = unpack_uint8_to_fp4(torch.tensor([[0x21, 0x11]], dtype=torch.uint8)).tolist()
print("0x21 0x11:", found)
assert found == [[code_2, code_1, code_1, code_1]]
EOF
