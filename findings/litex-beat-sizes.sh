#!/bin/sh
# The code of a beat's size in LiteX's AXI.
#
# Guess: AxSIZE is the logarithm of the bytes of a beat, as AXI defines it: 5 for 32 bytes, 6 for 64.
# Seen:  the table of LiteX 2024.12 has 6 for 32 bytes and 7 for 64; up to 16 bytes it is right.
# A master of 256 bits that is built with the table asks for beats twice as wide as its bus.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check litex==2024.12 migen==0.9.2
"$folder/environment/bin/python" -W ignore - <<'EOF'
from litex.soc.interconnect.axi.axi_common import AXSIZE

for size, code in AXSIZE.items():
    print(f"{size:3} bytes: {code}, AXI {size.bit_length() - 1}")
assert {size: code for size, code in AXSIZE.items() if code != size.bit_length() - 1} == {32: 6, 64: 7}
EOF
