"""Make the compact copy of the captured approximate instructions.

    python tests/data/approximate/compact.py CAPTURES H100

CAPTURES is the folder with the captures of an NVIDIA H200; H100 is a JSON file of digests of an NVIDIA H100
in the same format. The digests of both must agree. `captures.npz` is written beside this script:

=================  =========================================================================================
`h200/FORM`        512 digests: the first 8 bytes of SHA-256, as a number, over the 2**23 results (uint32,
                   little-endian) for the operands from i * 2**23 up
`h100/FORM`        the same; of f64, upper words of the results for these upper words, and lower words from
                   `mixed` in tests/golden/approximate_captures.py; of divisions, 256 digests of the 2**20
                   pairs of `quotients`; of f16 and bf16, one digest of all 2**16 results (uint16)
`operands/FORM`    (1 or 2, 512) bit patterns
`results/FORM`     512 bit patterns from an H200
=================  =========================================================================================
"""

import argparse
import json
from pathlib import Path

import numpy as np

from golden.approximation.instructions import FORMS


def digests(texts: list[str]) -> np.ndarray:
    """The digests as numbers."""
    return np.array([int(text, 16) for text in texts], np.uint64)


def compact(captures: Path, h100: Path, target: Path) -> None:
    """Write the compact file."""
    h200_digests = json.loads((captures / "approximate_digests.json").read_text())
    h100_digests = json.loads(h100.read_text())
    arrays = {f"h200/{form}": digests(texts) for form, texts in h200_digests.items()}
    for form, texts in h100_digests.items():
        if form not in h200_digests:
            arrays[f"h100/{form}"] = digests(texts)
        elif texts != h200_digests[form]:
            raise ValueError(f"{form}: the digests of the two chips differ")
    listing = json.loads((captures / "scalar.json").read_text())
    with np.load(captures / "scalar.npz") as scalar:
        for entry in listing:
            if entry["text"] in FORMS:
                dtype = f"u{entry['result'] // 8}"
                pool = scalar[f"pool/{entry['pool']}"][: len(entry["operands"])]
                arrays[f"operands/{entry['text']}"] = pool.astype(dtype)
                arrays[f"results/{entry['text']}"] = scalar["results"][entry["row"]].astype(dtype)
    np.savez_compressed(target, **arrays)


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("captures", type=Path)
    parser.add_argument("h100", type=Path)
    arguments = parser.parse_args()
    compact(arguments.captures, arguments.h100, Path(__file__).with_name("captures.npz"))


if __name__ == "__main__":
    main()
