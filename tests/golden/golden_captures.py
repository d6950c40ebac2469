"""The captures from an NVIDIA H200: compact, or in full where ``OPENWMMA_CAPTURES`` names their folder."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Mnemonic, Shape
from golden.tables.matrix_instructions import MmaInstruction

REPOSITORY = Path(__file__).parents[2]
COMPACT = REPOSITORY / "tests" / "data"
VARIABLE = "OPENWMMA_CAPTURES"

TABLES = ("hopper", "instructions", "layouts", "matmul", "matrix_moves", "scalar", "small_formats", "sparse")
"""Files beside the captures that hold no batches of tiles."""

FULL_FILE = re.compile(r"public_(float16|rest|window|mma_sync|wgmma)(16b?|_(corner|under))?\.npz")
"""Names of the full files that hold dense multiplies."""

WINDOW_NAMES = {
    "bf16": "m16n16k16_f32_bf16_f32",
    "tf32": "m16n16k8_f32_tf32_f32",
    "f16": "m16n16k16_f16_f16_f16",
    "f16f32": "m16n16k16_f16_f16_f32",
}


@cache
def full_folder() -> Path | None:
    """The folder of the full captures that the variable names, or None: then the compact copy is used."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    if not (folder / "public_rest.npz").is_file():
        raise FileNotFoundError(f"{VARIABLE} names {folder}, which has no public_rest.npz")
    return folder


def described() -> str:
    """Which captures the tests use, for the header of the run."""
    folder = full_folder()
    files = captured_files()
    if folder is None:
        return f"captures: compact copy, {len(files)} files (set {VARIABLE} to the folder of the full ones)"
    return f"captures: full, {len(files)} files of {folder}"


def captured_files() -> list[Path]:
    """Every file of arrays, sorted."""
    folder = full_folder()
    if folder is not None:
        return sorted(path for path in folder.iterdir() if FULL_FILE.fullmatch(path.name))
    return sorted(path for path in COMPACT.glob("*.npz") if path.stem not in TABLES)


@dataclass(frozen=True)
class Capture:
    """One NAME of one file."""

    file: Path
    prefix: str

    @property
    def name(self) -> str:
        return self.prefix.rsplit("/", 1)[-1]

    @property
    def is_raw(self) -> bool:
        """Whether the arrays are registers of mma.sync."""
        return self.name.startswith("mma_")

    def __str__(self) -> str:
        return f"{self.file.stem}-{self.prefix}"

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays a, b, c, d, and kind where there are kinds."""
        with np.load(self.file) as loaded:
            return {
                part: loaded[f"{self.prefix}/{part}"]
                for part in ("a", "b", "c", "d", "kind")
                if f"{self.prefix}/{part}" in loaded
            }


def captures() -> Iterator[Capture]:
    """Every NAME of every file."""
    for file in captured_files():
        with np.load(file) as loaded:
            prefixes = sorted({key.rsplit("/", 1)[0] for key in loaded.files})
        for prefix in prefixes:
            yield Capture(file, prefix)


def instruction_of(name: str) -> MmaInstruction:
    """The multiply that made a NAME.

    Names ending in ``_satfinite_legacy`` were assembled with the old modifier, which the chip does not
    honour: no result is clamped, so they are taken as the instruction without it.
    """
    name = WINDOW_NAMES.get(name, name)
    match = re.fullmatch(
        r"(?:(mma_)?m(\d+)n(\d+)k(\d+)_)?([a-z0-9]+(?:_[a-z]+\d+[a-z0-9]*)*)((?:_[a-z]+)*)", name
    )
    assert match, name
    types, modifiers = match[5].split("_"), match[6].split("_")[1:]
    legacy = "legacy" in modifiers
    rounding = [item for item in modifiers if item in ("rn", "rz", "rm", "rp")]
    operation = [item for item in modifiers if item in ("xor", "and")]
    assert set(modifiers) <= {*rounding, *operation, "satfinite", "sat", "legacy", "popc"}, name
    mnemonic: Mnemonic
    if match[2] is None:
        mnemonic, shape = "wgmma", Shape(64, 8, 256 // max(8, FORMATS[types[1]].bits))
        d_type, a_type, b_type, c_type = (*types, types[0])
    else:
        mnemonic, shape = "mma" if match[1] else "wmma", Shape(int(match[2]), int(match[3]), int(match[4]))
        d_type, a_type, b_type, c_type = types if len(types) == 4 else (*types[:2], *types[1:])
    return MmaInstruction(
        mnemonic=mnemonic,
        shape=shape,
        a_layout="row",
        b_layout="col",
        a_type=a_type,
        b_type=b_type,
        c_type=c_type,
        d_type=d_type,
        saturate=bool({"satfinite", "sat"} & set(modifiers)) and not legacy,
        rounding=rounding[0] if rounding else None,
        operation=operation[0] if operation else None,
    )
