#!/bin/sh
# Which mma.sync are one matrix instruction of the chip.
#
# Guess: what an older chip does in hardware, newer chips do too; fp8, sub-byte and single-bit mma.sync are each
#        one instruction.
# Seen:  ptxas 13.5.37 makes two f16 instructions and four f32 additions of an fp8 mma.sync for sm_90a and
#        sm_100a, one QMMA for sm_89 and sm_120a. s4 is one IMMA up to sm_89 and two of s8 behind a call from
#        sm_90a on. b1 with xor is two ANDs on sm_90a; b1 is eight IMMA of u8 on sm_100a and sm_120a.
# So the sum of an fp8 mma.sync differs between generations, and bits and cycles of one PTX form do not
# carry over.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37 nvidia-cuda-nvdisasm==13.5.37
cat >"$folder/translate.py" <<'EOF'
import re
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
programs = folder / "environment/lib"
(ptxas,), (nvdisasm,) = (list(programs.glob(f"python3*/site-packages/nvidia/*/bin/{name}")) for name in ("ptxas", "nvdisasm"))


def machine_code(body, arch, *options):
    """The names of the machine instructions that the body of a kernel becomes."""
    (folder / "k.ptx").write_text(
        f".version 9.0\n.target {arch}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n"
        ".reg .b32 %r<64>; .reg .f32 %f<64>; .reg .u64 %x;\nld.param.u64 %x, [p];\n" + body + "ret;\n}\n"
    )
    subprocess.run([ptxas, "-arch", arch, *options, folder / "k.ptx", "-o", folder / "k.cubin"], check=True, stderr=subprocess.DEVNULL)
    code = subprocess.run([nvdisasm, "-c", folder / "k.cubin"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?\w+ )?([A-Z][\w.]*)", code, re.MULTILINE)


EOF

cat >>"$folder/translate.py" <<'EOF'
def mma(name, kind):
    loads = "".join(f"ld.global.b32 %r{i}, [%x + {4 * i}];\n" for i in range(6))
    loads += "".join(f"ld.global.b32 %{kind}{i}, [%x + {4 * i}];\n" for i in range(40, 44))
    registers = lambda letter, start, count: "{" + ", ".join(f"%{letter}{start + i}" for i in range(count)) + "}"
    stores = "".join(f"st.global.b32 [%x + {100 + 4 * i}], %{kind}{20 + i};\n" for i in range(4))
    operands = [registers(kind, 20, 4), registers("r", 0, 4), registers("r", 4, 2), registers(kind, 40, 4)]
    return f"{loads}mma.sync.aligned.{name} {', '.join(operands)};\n{stores}"


forms = {
    "e4m3": mma("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f"),
    "s4": mma("m16n8k64.row.col.s32.s4.s4.s32", "r"),
    "b1 and": mma("m16n8k256.row.col.s32.b1.b1.s32.and.popc", "r"),
    "b1 xor": mma("m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "r"),
}
expected = {
    "e4m3": {"sm_89": "1 QMMA", "sm_90a": "2 HMMA", "sm_100a": "2 HMMA", "sm_120a": "1 QMMA"},
    "s4": {"sm_80": "1 IMMA", "sm_89": "1 IMMA", "sm_90a": "2 IMMA", "sm_100a": "2 IMMA", "sm_120a": "2 IMMA"},
    "b1 and": {"sm_80": "1 BMMA", "sm_90a": "1 BMMA", "sm_100a": "8 IMMA", "sm_120a": "8 IMMA"},
    "b1 xor": {"sm_80": "1 BMMA", "sm_90a": "2 BMMA", "sm_100a": "8 IMMA", "sm_120a": "8 IMMA"},
}
for form, body in forms.items():
    seen = {}
    for arch in expected[form]:
        names = [name.split(".")[0] for name in machine_code(body, arch)]
        (kind,) = {name for name in names if name.endswith("MMA") and name != "HFMA2"}
        seen[arch] = f"{names.count(kind)} {kind}"
    print(form, seen)
    assert seen == expected[form]
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
