#!/bin/sh
# torch._int_mm beyond 32 bits.
#
# Guess: a CPU and a GPU give the same integers, as integer sums do not depend on the order.
# Seen:  on a CPU torch 2.13.0 wraps modulo 2**32. An H200 with torch 2.11 clamps the running sum after every 16
#        products (captured; docs/explanation/matrix-products.md).
# From k = 133 145 on a sum of 127 * 127 leaves 32 bits.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import torch

k = 262144
product = torch._int_mm(torch.full((32, k), 127, dtype=torch.int8), torch.full((k, 32), 127, dtype=torch.int8))
exact = 127 * 127 * k
print(f"exact {exact}, wrapped {exact - 2**32}, torch {product[0, 0].item()}")
assert (product == exact - 2**32).all()
EOF
