#!/bin/sh
# A comparison with an f16 result, widened to 32 bits.
#
# Guess: cvt.u32.u16 leaves zeros in the upper half: set.lt.f16.f16 and cvt give 0x3c00 or 0.
# Seen:  ptxas 13.0.88 and 13.5.37 for sm_90a emit nothing for the cvt. The machine code is the code of
#        mov.b32 r, {h, h}, which has the result in both halves: 0x3c003c00, on an H200 too.
#        cvt.s32.s16 extends as it should, and cvt.u32.u16 does behind set.lt.s16.f16 and add.f16.
# The comparison writes both halves of its register, and the assembler takes the upper one for zeros.
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


operations = {"set.lt.f16.f16": True, "set.ge.f16.f16": True, "set.lt.s16.f16": False, "add.f16": False}
for environment in ("environment", "later"):
    for operation, both in operations.items():
        start = f"ld.global.b16 %h1, [%x0 + 4]; ld.global.b16 %h2, [%x0 + 8]; {operation} %h3, %h1, %h2;"
        twice = machine_code(environment, f"{start} mov.b32 %r4, {{%h3, %h3}}; st.global.b32 [%x0], %r4;")
        for widen in ("cvt.u32.u16", "cvt.s32.u16", "cvt.s32.s16"):
            code = machine_code(environment, f"{start} {widen} %r4, %h3; st.global.b32 [%x0], %r4;")
            print(f"{environment:12} {operation:16} {widen} has the code of mov.b32 of two halves: {code == twice}")
            assert (code == twice) == (both and widen != "cvt.s32.s16")
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
