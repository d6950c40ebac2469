#!/bin/sh
# bfi.b32 with a constant length of 32 or more.
#
# Guess: the length is one byte and is clamped to what the word has room for, as the PTX manual says.
# Seen:  ptxas 13.0.88 does so if all operands are constants, or b alone is. With b from memory it takes the length
#        modulo 32: 40 bits at position 1 have the machine code of 8 bits. ptxas 13.5.37 clamps both.
# One kernel inserts 8 or 31 bits, depending on the assembler and on whether b is known to it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.0.88 pyelftools==0.33
python3 -m venv "$folder/later"
"$folder/later/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37
cat >"$folder/insert.py" <<'EOF'
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

folder = Path(sys.argv[1])


def machine_code(environment, body):
    """The machine code of a kernel that stores %r1 after the statements of the body."""
    (ptxas,) = folder.glob(f"{environment}/lib/python3*/site-packages/nvidia/*/bin/ptxas")
    (folder / "k.ptx").write_text(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<4>; .reg .b64 %x;\nld.param.u64 %x, [p];\n"
        "ld.global.b32 %r2, [%x + 4];\nld.global.b32 %r3, [%x + 8];\n"
        f"{body};\nst.global.b32 [%x], %r1;\nret;\n}}\n"
    )
    subprocess.run([ptxas, "-arch", "sm_90", folder / "k.ptx", "-o", folder / "k.cubin"], check=True)
    with open(folder / "k.cubin", "rb") as file:
        return ELFFile(file).get_section_by_name(".text.k").data()


# Per statement: the length 40 has the code of 31, as if clamped, or of 8, as if taken modulo 32.
seen = {}
for environment in ("environment", "later"):
    for operands in ("0x12345678, 0x9abcdef0", "%r2, 0x9abcdef0", "0x12345678, %r2", "%r2, %r3"):
        code = {n: machine_code(environment, f"bfi.b32 %r1, {operands}, 1, {n}") for n in (8, 31, 40)}
        assert code[8] != code[31]
        seen[environment, operands] = next((n for n in (8, 31) if code[n] == code[40]), None)
        print(f"{environment:12} bfi.b32 %r1, {operands}, 1, 40 has the code of length {seen[environment, operands]}")
assert list(seen.values()) == [31, 31, 8, 8, 31, 31, 31, 31]
EOF
"$folder/environment/bin/python" "$folder/insert.py" "$folder"
