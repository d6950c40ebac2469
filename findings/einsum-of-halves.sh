#!/bin/sh
# A float16 matrix product by numpy's einsum.
#
# Guess: it has the sum that @ has, in f32 and rounded once, whichever way the operands lie.
# Seen:  with numpy 2.4.6, ij,jk->ik rounds to float16 after each addition: 8192 ones add up to 2048. ij,kj->ik, the same
#        product of a transposed operand, gives 8192, as @ does, and so does ij,jk->ik with optimize=True.
# A reference for a tensor core that is written with einsum needs dtype=np.float32.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/environment/bin/python" -W ignore - <<'EOF'
import numpy as np

a = np.ones((2, 8192), np.float16)
b = np.ones((8192, 2), np.float16)
bt = np.ones((2, 8192), np.float16)
seen = {
    "@": a @ b,
    "ij,jk->ik": np.einsum("ij,jk->ik", a, b),
    "ij,kj->ik": np.einsum("ij,kj->ik", a, bt),
    "ij,jk->ik, optimize": np.einsum("ij,jk->ik", a, b, optimize=True),
    "ij,jk->ik, float32": np.einsum("ij,jk->ik", a, b, dtype=np.float32),
}
seen = {name: float(product[0, 0]) for name, product in seen.items()}
print(seen)
assert seen == {name: 2048 if name == "ij,jk->ik" else 8192 for name in seen}
EOF
