#!/bin/sh
# Float saturation behind integer saturation.
#
# Guess: cvt.sat.f32.f32 clamps the float in its source to 0 to 1, whatever computed the bits.
# Seen:  ptxas 13.0.88 and 13.5.37 for sm_90a drop it if add.sat.s32, mad.hi.sat.s32 or mad24.hi.sat.s32 computed them:
#        the machine code is the code without cvt. Without .sat on the integer instruction, FADD.SAT is there.
#        add.sat.f32 with 0 in place of cvt keeps its FADD.SAT.
# An H200 then stores 0xffffffff, a NaN, where 0 is right. A kernel that keeps floats as integers meets it.
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


integers = {
    "add.sat.s32 %r4, %r1, %r2;": True,
    "mad.hi.sat.s32 %r4, %r1, %r2, %r3;": True,
    "mad24.hi.sat.s32 %r4, %r1, %r2, %r3;": True,
    "add.s32 %r4, %r1, %r2;": False,
    "mad24.hi.s32 %r4, %r1, %r2, %r3;": False,
}
for environment in ("environment", "later"):
    for integer, dropped in integers.items():
        without = machine_code(environment, f"{integer} st.global.b32 [%x0], %r4;")
        code = {
            "cvt": machine_code(environment, f"{integer} cvt.sat.f32.f32 %r5, %r4; st.global.b32 [%x0], %r5;"),
            "add": machine_code(environment, f"{integer} add.sat.f32 %r5, %r4, 0f00000000; st.global.b32 [%x0], %r5;"),
        }
        print(f"{environment:12} {integer:38} the code of no cvt.sat.f32.f32: {code['cvt'] == without}")
        assert (code["cvt"] == without) == dropped
        assert any("FADD.SAT" in line for line in code["cvt"]) != dropped
        assert any("FADD.SAT" in line for line in code["add"])
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
