#!/bin/sh
# Where an extern array in shared memory begins in a debug build (nvcc -G, ptxas -g).
#
# Guess: .extern .shared .align 1024 .b8 p[] begins at a multiple of 1024, as tensor copies with a swizzle of 128 bytes
#        and descriptors of wgmma need.
# Seen:  with -g ptxas 13.0.88 puts p at the next multiple of 16 behind the variables in shared memory, whatever its
#        alignment, and at one place for all kernels that name it: 8 bytes of variables in one kernel and 40 in another
#        give 0x430 in both. (The system's own 0x400 bytes come first.) 13.5.37 puts it at 0x800, as both do without -g.
# On an H200 whose driver has CUDA 13.0, kernels with tensor copies and wgmma that run without -G stop with it
# ("misaligned address"), or swizzle otherwise and store other results. A static array keeps its alignment.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/13.0.88"
"$folder/13.0.88/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.0.88 pyelftools==0.32
python3 -m venv "$folder/13.5.37"
"$folder/13.5.37/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.5.37
cat >"$folder/place.py" <<'EOF'
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

folder, version = Path(sys.argv[1]), sys.argv[2]
(ptxas,) = (folder / version).glob("lib/python3*/site-packages/nvidia/*/bin/ptxas")


def kernel(name, variables):
    declared = "".join(f".shared .align {align} .b8 {variable}[{size}];\n" for variable, align, size in variables)
    used = "".join(f"mov.u32 %r1, {variable}; st.global.u32 [%x0], %r1;\n" for variable, *_ in [*variables, ("p",)])
    return (
        f".visible .entry {name}(.param .u64 o) {{\n{declared}.reg .b32 %r<4>; .reg .b64 %x<2>;\n"
        f"ld.param.u64 %x0, [o];\n{used}ret;\n}}\n"
    )


def placed(*options):
    """The addresses of symbols in shared memory, and where the shared memory of each kernel ends."""
    text = (
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 p[];\n"
        + kernel("few", [("a", 8, 8)])
        + kernel("more", [("s", 8, 8), ("t", 16, 32)])
    )
    (folder / "k.ptx").write_text(text)
    subprocess.run([ptxas, "-arch", "sm_90a", *options, folder / "k.ptx", "-o", folder / "k.cubin"], check=True, stderr=subprocess.DEVNULL)
    with (folder / "k.cubin").open("rb") as file:
        elf = ELFFile(file)
        symbols = elf.get_section_by_name(".symtab").iter_symbols()
        found = {symbol.name: hex(symbol["st_value"]) for symbol in symbols if symbol.name in ("a", "s", "t", "p")}
        ends = [hex(elf.get_section_by_name(f".nv.shared.{name}")["sh_size"]) for name in ("few", "more")]
    return found, ends


plain, debug = placed(), placed("-g")
print(version, "without -g", *plain)
print(version, "with -g   ", *debug)
early = version == "13.0.88"
assert plain[1] == ["0x800", "0x800"]
assert debug[0] == {"a": "0x400", "t": "0x400", "s": "0x420", "p": "0x430" if early else "0x800"}
assert debug[1] == (["0x430", "0x430"] if early else ["0x800", "0x800"])
EOF
for version in 13.0.88 13.5.37; do
    "$folder/13.0.88/bin/python" "$folder/place.py" "$folder" "$version"
done
