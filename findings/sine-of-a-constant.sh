#!/bin/sh
# sin.approx.f32 and its relatives, of a constant.
#
# Guess: the assembler folds an approximate function of a constant to the bits that the chip would give.
# Seen:  ptxas 13.5.37 for sm_90 folds sin, cos, ex2, lg2, sqrt and rsqrt to the float nearest to the exact value in all
#        29 cases here: -8.74e-8 for the sine of pi, -0.52187 for the sine of the largest float, 128 for its lg2. At run
#        time the sine unit gets x times 1 / (2 pi) in f32, half a turn and whole turns here: an H200 gives 0 for both,
#        and 127.99999 for that lg2 (captured, driver 580).
# A kernel with an argument in its source and a kernel that loads it have different results.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37 pyelftools==0.33
cat >"$folder/fold.py" <<'EOF'
import math
import struct
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
        ".reg .b32 %r1; .reg .f32 %f<3>; .reg .b64 %x;\n"
        f"ld.param.u64 %x, [p];\n{body}\nst.global.b32 [%x], %r1;\nret;\n}}\n"
    )
    subprocess.run([ptxas, "-arch", "sm_90", folder / "k.ptx", "-o", folder / "k.cubin"], check=True)
    with open(folder / "k.cubin", "rb") as file:
        return ELFFile(file).get_section_by_name(".text.k").data()


def bits(value):
    """The bits of the nearest f32."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def number(pattern):
    return struct.unpack("<f", struct.pack("<I", pattern))[0]


PRECISE = {
    "sin": math.sin,
    "cos": math.cos,
    "ex2": lambda x: 2.0**x,
    "lg2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: x**-0.5,
}
LARGEST, PI, FACTOR = 0x7F7FFFFF, 0x40490FDB, 0x3E22F983
for name, function in PRECISE.items():
    for x in (PI, 0x3FC00000, 0x40BDFAE8, 0x42C80000, LARGEST):
        if name == "ex2" and x == LARGEST:
            continue  # overflows
        code = machine_code(f"mov.b32 %f1, {x}; {name}.approx.f32 %f2, %f1; mov.b32 %r1, %f2;")
        expected = bits(function(number(x)))
        folded = code == machine_code(f"mov.b32 %r1, {expected};")
        print(f"{name}.approx.f32 of {number(x):.9g} is folded to {number(expected):.9g}: {folded}")
        assert folded
loaded = machine_code("ld.global.f32 %f1, [%x]; sin.approx.f32 %f2, %f1; mov.b32 %r1, %f2;")
print("the sine of a loaded operand multiplies by 1 / (2 pi):", struct.pack("<I", FACTOR) in loaded)
assert struct.pack("<I", FACTOR) in loaded
for x in (PI, LARGEST):
    turns = number(bits(number(x) * number(FACTOR)))
    print(f"{number(x):.9g} is {turns:.9g} turns in f32, modulo 1: {turns % 1}")
    assert turns % 1 == (0.5 if x == PI else 0)
EOF
"$folder/environment/bin/python" "$folder/fold.py" "$folder"
