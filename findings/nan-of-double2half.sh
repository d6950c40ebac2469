#!/bin/sh
# A negative NaN through __double2half and __double2bfloat16.
#
# Guess: it stays negative, and a host, a constant in device code and a chip agree.
# Seen:  the headers of nvidia-cuda-runtime-cu12 12.9.79 give 0x7fff on a host for every NaN. In device code they are
#        cvt.rn.f16.f64 and cvt.rn.bf16.f64, which ptxas 12.9.86 folds to 0x7fff too. An H200 (captured, driver 580)
#        keeps the sign of a NaN in a register: 0xfe00 and 0xffc0 for 0xfff8000000000000. In cvt.rn.f32.f64 ptxas keeps
#        it as the chip does.
# Tensors that a host and a kernel converted differ in a comparison of bits.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-cccl-cu12==12.9.27 pyelftools==0.33
cat >"$folder/host.cpp" <<'EOF'
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

int main() {
    for (unsigned long long bits : {0x7ff8000000000000ull, 0xfff8000000000000ull, 0xfff123456789abcdull}) {
        double x;
        memcpy(&x, &bits, sizeof x);
        __half_raw half = __double2half(x);
        __nv_bfloat16_raw bfloat = __double2bfloat16(x);
        printf("%x %x\n", half.x, bfloat.x);
    }
}
EOF
cat >"$folder/convert.py" <<'EOF'
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

folder = Path(sys.argv[1])
(packages,) = folder.glob("environment/lib/python3*/site-packages/nvidia")
headers = [f"-I{packages / name / 'include'}" for name in ("cuda_runtime", "cuda_nvcc", "cuda_cccl")]
subprocess.run(["g++", *headers, folder / "host.cpp", "-o", folder / "host"], check=True)
host = subprocess.run([folder / "host"], check=True, capture_output=True, text=True).stdout.split()
print("host:", host)
assert host == ["7fff"] * 6


def machine_code(body):
    """The machine code of a kernel that stores %r1 after the statements of the body."""
    (folder / "k.ptx").write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b16 %h; .reg .b32 %r1; .reg .f32 %f; .reg .b64 %x; .reg .f64 %d;\n"
        f"ld.param.u64 %x, [p];\n{body}\nst.global.b32 [%x], %r1;\nret;\n}}\n"
    )
    ptxas = packages / "cuda_nvcc/bin/ptxas"
    subprocess.run([ptxas, "-arch", "sm_90", folder / "k.ptx", "-o", folder / "k.cubin"], check=True)
    with open(folder / "k.cubin", "rb") as file:
        return ELFFile(file).get_section_by_name(".text.k").data()


nan = "mov.f64 %d, 0dfff8000000000000; "
folded = {
    "cvt.rn.f16.f64": (machine_code(nan + "cvt.rn.f16.f64 %h, %d; cvt.u32.u16 %r1, %h;"), 0x7FFF),
    "cvt.rn.bf16.f64": (machine_code(nan + "cvt.rn.bf16.f64 %h, %d; cvt.u32.u16 %r1, %h;"), 0x7FFF),
    "cvt.rn.f32.f64": (machine_code(nan + "cvt.rn.f32.f64 %f, %d; mov.b32 %r1, %f;"), 0xFFC00000),
}
for name, (code, value) in folded.items():
    print(f"{name} of the constant 0xfff8000000000000 is {value:#x}:", code == machine_code(f"mov.b32 %r1, {value};"))
    assert code == machine_code(f"mov.b32 %r1, {value};")
EOF
"$folder/environment/bin/python" "$folder/convert.py" "$folder"
