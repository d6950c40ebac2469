#!/bin/sh
# float32 operands of tl.dot in tf32.
#
# Guess: the compiler rounds them to tf32 (cvt.rna.tf32.f32) before the matrix instruction, as the PTX manual
#        asks.
# Seen:  Triton 3.9.0 writes no conversion for sm_80, sm_89, sm_90 and sm_120: float32 bits go into mma.sync and
#        wgmma, which ignore the lowest 13 bits.
# So tl.dot truncates where cuBLAS rounds to nearest even (docs/explanation/matrix-products.md).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check triton==3.9.0
cat >"$folder/dot.py" <<'EOF'
import triton
import triton.language as tl


@triton.jit
def product(a, b, d):
    i = tl.arange(0, 64)
    x = tl.load(a + i[:, None] * 64 + i[None, :])
    y = tl.load(b + i[:, None] * 64 + i[None, :])
    tl.store(d + i[:, None] * 64 + i[None, :], tl.dot(x, y, input_precision="tf32"))


for arch in (80, 89, 90, 120):
    source = triton.compiler.ASTSource(product, signature={"a": "*fp32", "b": "*fp32", "d": "*fp32"})
    ptx = triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", arch, 32)).asm["ptx"]
    print(f"sm_{arch}: {ptx.count('tf32.tf32')} products in tf32, {ptx.count('cvt.rna')} conversions")
    assert "tf32.tf32" in ptx
    assert "cvt.rna" not in ptx and "cvt.rn.tf32" not in ptx
EOF
TRITON_CACHE_DIR="$folder/cache" "$folder/environment/bin/python" -W ignore "$folder/dot.py"
