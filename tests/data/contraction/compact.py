"""Make the compact copy of the kernels whose multiplications and additions an NVIDIA H100 joins or not.

    python tests/data/contraction/compact.py KERNELS CAPTURES

KERNELS is the folder with ``contraction.ptx`` and ``contraction_types.ptx``, CAPTURES the one with
``public_contraction.npz`` and ``public_contraction_types.npz``. Beside this script are written `cases.json`,
with the part of each kernel that differs between them, and `h100.npz`:

=============  ===============================================================
`FILE/in`      registers %f1 to %f8 of 256 threads, bit patterns
`FILE/NAME`    what the kernel left in %f20 and %f21
=============  ===============================================================
"""

import argparse
import json
from pathlib import Path

import numpy as np

BEGIN, END = "mov.f32 %f21,0f00000000;", "st.global.f32 [%rd5],%f20;"


def compact(kernels: Path, captures: Path, target: Path) -> None:
    """Write both files."""
    bodies: dict[str, dict[str, str]] = {}
    arrays: dict[str, np.ndarray] = {}
    for stem in ("contraction", "contraction_types"):
        with np.load(captures / f"public_{stem}.npz") as loaded:
            arrays |= {f"{stem}/{name}": loaded[name] for name in loaded.files}
        for text in (kernels / f"{stem}.ptx").read_text().split(".visible .entry ")[1:]:
            lines = text.split(BEGIN)[1].split(END)[0].splitlines()
            body = "\n".join(line.strip() for line in lines if line.strip())
            bodies.setdefault(stem, {})[text.partition("(")[0]] = body
    (target / "cases.json").write_text(json.dumps(bodies, indent=1) + "\n")
    np.savez_compressed(target / "h100.npz", **arrays)


def main() -> None:
    """Read the folders from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", type=Path)
    parser.add_argument("captures", type=Path)
    arguments = parser.parse_args()
    compact(arguments.kernels, arguments.captures, Path(__file__).parent)


if __name__ == "__main__":
    main()
