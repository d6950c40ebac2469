#!/bin/sh
# The low half of a prmt.b32 with sign selectors.
#
# Guess: prmt.b32 r, a, b, 0x39ea and a mask of 0xffff behind it give the low half of prmt alone. Selectors 8 to 11 repeat
#        the sign of a byte of a, as the PTX manual says.
# Seen:  ptxas 13.0.88 for sm_90a takes them for bytes of b, as it does 4 to 7, if the other selector of the low half is
#        one of b: it does not load a, and puts 0 in its place. cvt.u16.u32 in place of the mask does the same.
#        ptxas 13.5.37 keeps a.
# With a = 0x3f800000 and b = 0xfffffffe the result is 0xffff by the manual, and 0xff00 on an H200 with 13.0.88.
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


# Per statement: whether the kernel reads a, the word at offset 4.
seen = {}
for environment in ("environment", "later"):
    for selectors in (0x39EA, 0x00A4, 0x398E, 0x39A0):
        for mask in ("and.b32 %r5, %r4, 0xffff;", "cvt.u16.u32 %h1, %r4; cvt.u32.u16 %r5, %h1;", "mov.b32 %r5, %r4;"):
            body = f"prmt.b32 %r4, %r1, %r2, {selectors:#06x}; {mask}"
            code = machine_code(environment, f"{body} st.global.b32 [%x0], %r5;")
            seen[environment, selectors, mask[:3]] = any("+0x4]" in line for line in code)
            print(f"{environment:12} {body:82} {[line for line in code if 'PRMT' in line]}")
for (environment, selectors, mask), reads in seen.items():
    assert reads == (environment == "later" or selectors == 0x39A0 or mask == "mov")
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
