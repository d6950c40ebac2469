#!/bin/sh
# The flag that sub.cc leaves.
#
# Guess: it is the borrow, as the PTX manual says: 3 - 5 sets it, and addc behind it adds 1.
# Seen:  ptxas 13.5.37 for sm_90 folds sub.cc 3, 5 and addc 0, 100 to 100, though subc 100, 0 behind the same
#        sub.cc is 99. After sub.cc 5, 3 the code of addc is the code after add.cc -1, 3, which carries. So the flag
#        is the carry of a + ~b + 1: 1 where nothing is borrowed. subc inverts it, after add.cc too.
# An emulator that keeps the borrow is right until addc follows sub.cc or subc follows add.cc.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37 pyelftools==0.33
cat >"$folder/fold.py" <<'EOF'
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

folder = Path(sys.argv[1])
(ptxas,) = folder.glob("environment/lib/python3*/site-packages/nvidia/*/bin/ptxas")


def machine_code(body):
    """The machine code of a kernel that stores %r1 after the statements of the body."""
    (folder / "k.ptx").write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<3>; .reg .b64 %x;\n"
        f"ld.param.u64 %x, [p];\n{body}\nst.global.b32 [%x], %r1;\nret;\n}}\n"
    )
    subprocess.run([ptxas, "-arch", "sm_90", folder / "k.ptx", "-o", folder / "k.cubin"], check=True)
    with open(folder / "k.cubin", "rb") as file:
        return ELFFile(file).get_section_by_name(".text.k").data()


flags = {
    "3 - 5": "sub.cc.u32 %r2, 3, 5;",
    "5 - 3": "sub.cc.u32 %r2, 5, 3;",
    "1 + 3": "add.cc.u32 %r2, 1, 3;",
    "-1 + 3": "add.cc.u32 %r2, -1, 3;",
}
added = {name: machine_code(flag + "addc.u32 %r1, 0, 100;") for name, flag in flags.items()}
subtracted = {name: machine_code(flag + "subc.u32 %r1, 100, 0;") for name, flag in flags.items()}
for value in (99, 100, 101):
    stored = machine_code(f"mov.u32 %r1, {value};")
    for name in flags:
        if added[name] == stored:
            print(f"addc 0, 100 after {name} is folded to {value}")
        if subtracted[name] == stored:
            print(f"subc 100, 0 after {name} is folded to {value}")
print("addc after 5 - 3 has the code of addc after -1 + 3:", added["5 - 3"] == added["-1 + 3"])
assert added["3 - 5"] == added["1 + 3"] == machine_code("mov.u32 %r1, 100;")
assert subtracted["3 - 5"] == subtracted["1 + 3"] == machine_code("mov.u32 %r1, 99;")
assert added["5 - 3"] == added["-1 + 3"] != added["3 - 5"]
assert subtracted["5 - 3"] == subtracted["-1 + 3"] != subtracted["3 - 5"]
EOF
"$folder/environment/bin/python" "$folder/fold.py" "$folder"
