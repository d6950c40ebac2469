#!/bin/sh
# A rounding modifier on a conversion to f32 that is exact.
#
# Guess: it is refused for all narrower types, or taken for all: nothing is rounded.
# Seen:  ptxas 13.5.37 takes cvt.rn.f32.bf16 and refuses cvt.rn.f32.f16; without a modifier it takes both.
# A translator that treats the two 16-bit types alike writes PTX that does not assemble.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37
cat >"$folder/convert.py" <<'EOF'
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(ptxas,) = folder.glob("environment/lib/python3*/site-packages/nvidia/*/bin/ptxas")
seen = {}
for name in ("cvt.f32.f16", "cvt.rn.f32.f16", "cvt.f32.bf16", "cvt.rn.f32.bf16"):
    (folder / "k.ptx").write_text(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
        f".reg .b16 %h; .reg .f32 %f;\nmov.b16 %h, 0;\n{name} %f, %h;\nret;\n}}\n"
    )
    command = [ptxas, "-arch", "sm_90", folder / "k.ptx", "-o", folder / "k.cubin"]
    seen[name] = subprocess.run(command, capture_output=True, check=False).returncode == 0
    print(name, "taken" if seen[name] else "refused")
assert seen == {"cvt.f32.f16": True, "cvt.rn.f32.f16": False, "cvt.f32.bf16": True, "cvt.rn.f32.bf16": True}
EOF
"$folder/environment/bin/python" "$folder/convert.py" "$folder"
