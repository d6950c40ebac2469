#!/bin/sh
# The operands of st.async and of bulk copies, before the assembler.
#
# Guess: a store of two registers where one is named is refused, as for st, and so is a 32-bit global address, as
#        for ld.
# Seen:  ptxas 13.5.37 takes st.async...u32 with two registers, and a 32-bit register as the global source of
#        cp.async.bulk. It refuses both in st.shared and ld.global.
# A code generator that relies on the assembler's checks may emit a copy from half an address.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37
cat >"$folder/count.py" <<'EOF'
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(ptxas,) = folder.glob("environment/lib/python3*/site-packages/nvidia/*/bin/ptxas")
ASYNC = "st.async.shared::cluster.mbarrier::complete_tx::bytes"
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
EXPECTED = {
    "st.shared.v4.u32 [%r1], {%r2, %r3, %r4, %r5}": True,
    "st.shared.v4.u32 [%r1], %r2": False,
    "st.shared.u32 [%r1], {%r2, %r3}": False,
    f"{ASYNC}.v4.u32 [%r1], {{%r2, %r3, %r4, %r5}}, [%r6]": True,
    f"{ASYNC}.v4.u32 [%r1], %r2, [%r6]": False,
    f"{ASYNC}.u32 [%r1], {{%r2, %r3}}, [%r6]": True,
    "ld.global.u32 %r1, [%r2]": False,
    f"{BULK} [%r1], [%d2], %r3, [%r4]": True,
    f"{BULK} [%r1], [%r2], %r3, [%r4]": True,
}
seen = {}
for statement in EXPECTED:
    (folder / "k.ptx").write_text(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        f".reg .b32 %r<7>; .reg .b64 %d<3>;\n{statement};\nret;\n}}\n"
    )
    command = [ptxas, "-arch", "sm_90a", folder / "k.ptx", "-o", folder / "k.cubin"]
    seen[statement] = subprocess.run(command, capture_output=True, check=False).returncode == 0
    print("taken  " if seen[statement] else "refused", statement)
assert seen == EXPECTED
EOF
"$folder/environment/bin/python" "$folder/count.py" "$folder"
