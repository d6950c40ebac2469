#!/bin/sh
# A product and a sum in a debug build.
#
# Guess: -g adds line numbers and leaves results alone.
# Seen:  ptxas 13.5.37 joins mul.f32 and add.f32 to one FFMA at -O1 to -O3. With -g or -O0 it does not: the
#        product is rounded, and the last bit of a result may change.
# A kernel that misbehaves may stop doing so under the debugger. --fmad=false gives the debug build's bits
# at full speed.
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
body = (
    "ld.global.f32 %f1, [%x]; ld.global.f32 %f2, [%x + 4]; ld.global.f32 %f3, [%x + 8];\n"
    "mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nst.global.f32 [%x + 12], %f5;\n"
)
joined, apart = ["FFMA"], ["FMUL", "FADD"]
expected = {"-O3": joined, "-O1": joined, "-O0": apart, "-g": apart, "--fmad=false": apart}
for option, instructions in expected.items():
    seen = [name for name in machine_code(body, "sm_90", option) if name in joined + apart]
    print(f"{option:13} {seen}")
    assert seen == instructions
EOF
"$folder/environment/bin/python" "$folder/translate.py" "$folder"
