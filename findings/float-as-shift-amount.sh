#!/bin/sh
# A 64-bit shift by a register that a float instruction has written, and a store of the low word of an f64.
#
# Guess: a shift takes the bits of a .b32 register as its amount: 1.0 is 0x3f800000, and shifts everything out.
# Seen:  ptxas 13.0.88 and 13.5.37 for sm_90a convert the float to an integer before a 64-bit shift: F2I is there, and
#        the code is that of an explicit cvt.rzi, so 1.0 shifts by 1. mov.b32 between both brings the bits back, and a
#        32-bit shift takes them too.
#        13.0.88, and not 13.5.37: st.global.u32 of a .b64 register that an f64 instruction has written stores the f64
#        as an integer, not its low word; the code is that of cvt.rzi.u32.f64. nvcc writes such a store for (unsigned)z after inline assembly with
#        an f64 result in "=l"(z). A cvt.u32.u64 between both brings the low word back.
# No instruction of the text asks for these conversions. An H200 shifts and stores as the machine code says.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvdisasm==13.5.37
python3 -m venv "$folder/later"
"$folder/later/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37
cat >"$folder/translate.py" <<'EOF'
import re
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(nvdisasm,) = folder.glob("environment/lib/python3*/site-packages/nvidia/*/bin/nvdisasm")


def machine_code(environment, body):
    """The machine instructions of a kernel with the statements of the body."""
    (ptxas,) = folder.glob(f"{environment}/lib/python3*/site-packages/nvidia/*/bin/ptxas")
    (folder / "k.ptx").write_text(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %x<4>;\nld.param.u64 %x0, [p];\n"
        "ld.global.b32 %r1, [%x0 + 4];\nld.global.b32 %r2, [%x0 + 8];\nld.global.b32 %r3, [%x0 + 12];\n"
        f"{body}\nret;\n}}\n"
    )
    subprocess.run([ptxas, "-arch", "sm_90a", folder / "k.ptx", "-o", folder / "k.cubin"], check=True)
    code = subprocess.run([nvdisasm, "-c", folder / "k.cubin"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;", code, re.MULTILINE)


load = "ld.global.b64 %x1, [%x0 + 24];"
for environment in ("environment", "later"):
    for single in ("cvt.rn.sat.f32.u32 %r4, %r1;", "add.f32 %r4, %r1, %r2;"):
        for shift, kind in {"shr.s64": "s64", "shr.u64": "u64", "shl.b64": "u64"}.items():
            end = "st.global.b64 [%x0], %x2;"
            converted = f"cvt.rzi.{kind}.f32 %x3, %r4; cvt.u32.u64 %r5, %x3;"
            code = machine_code(environment, f"{load} {single} {shift} %x2, %x1, %r4; {end}")
            explicit = machine_code(environment, f"{load} {single} {converted} {shift} %x2, %x1, %r5; {end}")
            moved = machine_code(environment, f"{load} {single} mov.b32 %r5, %r4; {shift} %x2, %x1, %r5; {end}")
            extra = [line for line in code if line.startswith("F2I")]
            print(f"{environment:12} {single:28} {shift} {extra}, the code of cvt.rzi.{kind}.f32: {code == explicit}")
            assert len(extra) == 1 and code == explicit and not any("F2I" in line for line in moved)
        short = machine_code(environment, f"{single} shr.s32 %r5, %r2, %r4; st.global.b32 [%x0], %r5;")
        assert not any("F2I" in line for line in short)
    for double in ("cvt.rn.f64.s64 %x2, %x1;", "cvt.f64.f32 %x2, %r1;", "sqrt.rm.f64 %x2, %x1;"):
        code, explicit, word = (
            machine_code(environment, f"{load} {double} {narrow} st.global.u32 [%x0], {stored};")
            for narrow, stored in (
                ("", "%x2"),
                ("cvt.rzi.u32.f64 %r5, %x2;", "%r5"),
                ("cvt.u32.u64 %r5, %x2;", "%r5"),
            )
        )
        extra = [line for line in code if line.startswith("F2I")]
        print(f"{environment:12} {double:28} st.u32 {extra}, the code of cvt.rzi.u32.f64: {code == explicit}")
        assert (code == explicit) == (environment == "environment") and not any("F2I" in line for line in word)
        assert len(extra) == (environment == "environment")
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
