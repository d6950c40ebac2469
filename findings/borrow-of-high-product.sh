#!/bin/sh
# The borrow of a subtraction from a high product.
#
# Guess: mul.hi.u32 p, a, b and sub.cc.u32 p, c borrow nothing for c = 0.
# Seen:  ptxas 13.0.88 and 13.5.37 for sm_90a join both to IMAD.HI.U32 with a flag, and add -c to the product. That is the
#        code of neg and mad.hi.cc.u32, whose addition of -0 carries nothing; subc behind it takes that for a borrow.
#        Behind mul.lo.u32 the subtraction stays an IADD3 of its own, and so it does for c = 0 that the assembler knows.
# Arithmetic of several words that subtracts from a high product is 1 too small in the next word, if c is 0, on an H200 too.
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


store = "subc.u32 %r6, %r1, 0; st.global.b32 [%x0], %r5; st.global.b32 [%x0 + 16], %r6;"
bodies = {
    "mul.hi, sub.cc": "mul.hi.u32 %r4, %r1, %r2; sub.cc.u32 %r5, %r4, %r3;",
    "neg, mad.hi.cc": "neg.s32 %r4, %r3; mad.hi.cc.u32 %r5, %r1, %r2, %r4;",
    "mul.lo, sub.cc": "mul.lo.u32 %r4, %r1, %r2; sub.cc.u32 %r5, %r4, %r3;",
    "mul.hi, sub.cc 0": "mov.b32 %r3, 0; mul.hi.u32 %r4, %r1, %r2; sub.cc.u32 %r5, %r4, %r3;",
}
for environment in ("environment", "later"):
    flags = {}  # what writes and what reads the flag P0
    for name, body in bodies.items():
        flags[name] = [line for line in machine_code(environment, body + store) if "P0" in line]
        print(f"{environment:12} {name:16} {flags[name]}")
    assert flags["mul.hi, sub.cc"] == flags["neg, mad.hi.cc"]
    assert [line.split()[0] for line in flags["mul.hi, sub.cc"]] == ["IMAD.HI.U32", "IADD3.X"]
    for name in ("mul.lo, sub.cc", "mul.hi, sub.cc 0"):
        assert [line.split()[0] for line in flags[name]] == ["IADD3", "IADD3.X"]
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
