#!/bin/sh
# Compare and exchange of 16 bytes in libcu++.
#
# Guess: compare_exchange_strong of a cuda::atomic_ref of 16 bytes compiles for sm_90, which has atom.cas.b128.
# Seen:  it compiles with none of CCCL 12.9.27 and 13.0.85: the header names members x and y of a structure whose
#        members are called __x and __y. CCCL 13.3.5.0.6 compiles it, to atom.cas.b128.
# A lock-free list with pointer and count in one atomic needs the later headers, or inline PTX.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-cccl==13.0.85 nvidia-cuda-nvrtc==13.0.88
for version in cu12==12.9.27 ==13.3.5.0.6; do
    case $version in cu12*) package=nvidia-cuda-cccl-$version ;; *) package=nvidia-cuda-cccl$version ;; esac
    "$folder/environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$folder/$version" "$package"
done
cat >"$folder/translate.py" <<'EOF'
import ctypes
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(library,) = folder.glob("environment/lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc.so.13")
nvrtc = ctypes.CDLL(str(library))
text = b"""
#include <cuda/atomic>
struct alignas(16) Pair { unsigned long long low, high; };
extern "C" __global__ void k(Pair* p) {
  Pair expected = p[1];
  cuda::atomic_ref<Pair, cuda::thread_scope_device>(p[0]).compare_exchange_strong(expected, Pair{1, 2});
}
"""


def compiled(headers):
    """Whether NVRTC compiles the text, and what it says: PTX, or messages."""
    options = [b"-arch=sm_90", b"--std=c++17", f"-I{headers}".encode()]
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    name = "ProgramLog" if failed else "PTX"
    getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{name}")(program, buffer)
    return not failed, buffer.value.decode()


places = {}
for name in ("cu12==12.9.27", "environment", "==13.3.5.0.6"):
    (header,) = (path for path in (folder / name).rglob("cuda/atomic") if path.is_file())
    places[name] = header.parent.parent
for (name, headers), works in zip(places.items(), (False, False, True), strict=True):
    succeeded, told = compiled(headers)
    print(f"{name:14} compiles: {succeeded}")
    assert succeeded == works, told
    assert ("atom.cas" in told and ".b128" in told) if works else 'has no member "x"' in told
EOF
LD_LIBRARY_PATH=$(echo "$folder"/environment/lib/python3*/site-packages/nvidia/cu13/lib) \
    "$folder/environment/bin/python" "$folder/translate.py" "$folder"
