#!/bin/sh
# The same int8 tl.dot, compiled by Triton for several GPUs.
#
# Guess: the sum wraps on all of them, or is clamped on all of them.
# Seen:  Triton 3.9.0 writes mma.sync with .satfinite for sm_80, sm_89 and sm_120, but wgmma without it for sm_90.
# One kernel clamps on an A100 or RTX 5090 and wraps on an H100. No GPU is needed to compile.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0
cat >"$folder/dot.py" <<'EOF'
import re

import triton
import triton.language as tl


@triton.jit
def product(a, b, d):
    i = tl.arange(0, 64)
    x = tl.load(a + i[:, None] * 64 + i[None, :])
    y = tl.load(b + i[:, None] * 64 + i[None, :])
    tl.store(d + i[:, None] * 64 + i[None, :], tl.dot(x, y))


for arch in (80, 89, 90, 120):
    source = triton.compiler.ASTSource(product, signature={"a": "*i8", "b": "*i8", "d": "*i32"})
    ptx = triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", arch, 32)).asm["ptx"]
    (name,) = set(re.findall(r"(?:mma\.sync|wgmma\.mma_async)\S*", ptx))
    print(f"sm_{arch}: {name}")
    assert (".satfinite" in name) == (arch != 90)
EOF
TRITON_CACHE_DIR="$folder/cache" "$folder/environment/bin/python" -W ignore "$folder/dot.py"
