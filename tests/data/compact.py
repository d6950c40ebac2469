"""Make the compact copy of the captures that the tests fall back on: every NAME, every kind, one tile each.

    python tests/data/compact.py CAPTURES

CAPTURES is the folder with the full captures; the compact files are written beside this script.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

TILES_WITHOUT_KIND = 3
PARTS = ("a", "b", "c", "d", "kind")


def group_of(file: Path, name: str) -> str:
    """Which compact file a NAME goes to."""
    for group in ("window", "wgmma"):
        if group in file.stem:
            return group
    if name.startswith("mma_"):
        return "mma"
    if "float16" in file.stem:
        return "float16_legacy" if name.endswith("_legacy") else "float16"
    return "rest"


def chosen_tiles(arrays: dict[str, np.ndarray], taken: set[int]) -> np.ndarray:
    """Indices of the tiles that are kept: the first of each kind that is not in `taken` yet."""
    if "kind" not in arrays:
        return np.arange(0 if taken else TILES_WITHOUT_KIND)
    kinds = arrays["kind"]
    return np.array([np.flatnonzero(kinds == kind)[0] for kind in np.unique(kinds) if kind not in taken], int)


def narrowed(array: np.ndarray) -> np.ndarray:
    """Small integers in 8 bits."""
    if array.dtype != np.int16:
        return array
    narrow = array.astype(np.uint8 if array.min() >= 0 else np.int8)
    if not np.array_equal(narrow, array):
        raise ValueError("a 16-bit integer of the captures does not fit 8 bits")
    return narrow


def compact_captures(source: Path, target: Path) -> None:
    """Write one compact file a group; keys keep the stem of the file they came from."""
    groups: dict[str, dict[str, np.ndarray]] = {}
    seen: dict[str, set[int]] = {}
    for file in sorted(source.glob("public_*.npz")):
        if "sparse" in file.stem:
            continue
        with np.load(file) as loaded:
            for name in sorted({key.rsplit("/", 1)[0] for key in loaded.files}):
                arrays = {part: loaded[f"{name}/{part}"] for part in PARTS if f"{name}/{part}" in loaded}
                taken = seen.setdefault(name if "window" not in file.stem else f"{file.stem}/{name}", set())
                tiles = chosen_tiles(arrays, taken)
                taken |= {int(kind) for kind in arrays["kind"][tiles]} if "kind" in arrays else {-1}
                if not len(tiles):
                    continue
                group = groups.setdefault(group_of(file, name), {})
                for part, array in arrays.items():
                    group[f"{file.stem}/{name}/{part}"] = narrowed(array[tiles])
    for group, members in groups.items():
        np.savez_compressed(target / f"{group}.npz", **members)


def compact_layouts(source: Path, target: Path) -> None:
    """Write `layouts.npz`: per name the map of a load or the source of a store."""
    layouts = json.loads((source / "layouts.json").read_text())
    members = {}
    for name, entry in layouts.items():
        part = "map" if "map" in entry else "source"
        facts = (entry["use"], entry["type"], entry["shape"], entry["layout"], str(entry["regs"]))
        dtype = np.uint16 if part == "source" else np.uint8
        members["/".join((name, *facts, part))] = np.array(entry[part], dtype)
    np.savez_compressed(target / "layouts.npz", **members)


def compact_scalars(source: Path, target: Path) -> None:
    """Write `scalar.npz`: the forms of scalar instructions with their operands and results, all of them."""
    forms = json.loads((source / "scalar.json").read_text())
    with np.load(source / "scalar.npz") as loaded:
        members = {name: loaded[name] for name in loaded.files if name.startswith("pool/")}
        members["results"] = loaded["results"][[form["row"] for form in forms]]
    for name in ("text", "pool"):
        members[name] = np.array([form[name] for form in forms])
    members["result_bits"] = np.array(
        [1 if form["result"] == "p" else form["result"] for form in forms], np.uint8
    )
    members["operand_bits"] = np.array(
        [form["operands"] + [0] * (4 - len(form["operands"])) for form in forms], np.uint8
    )
    np.savez_compressed(target / "scalar.npz", **members)


def compact_moves(source: Path, target: Path) -> None:
    """Write `matrix_moves.npz`: per instruction the source of each place."""
    moves = json.loads((source / "matrix_moves.json").read_text())
    members = {name: np.array(places, np.uint16) for name, places in moves.items()}
    np.savez_compressed(target / "matrix_moves.npz", **members)


def digest(*arrays: np.ndarray) -> int:
    """64 bits that stand for results."""
    content = b"".join(array.tobytes() for array in arrays)
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def compact_hopper(source: Path, target: Path) -> None:
    """Write `hopper.npz`: a digest of the results of blocks of `wgmma`, dense and sparse, and of copies.

    Of a load it is of the bytes of shared memory, of a store or reduction of the places and the values of the
    bytes of the tensor that changed.
    """
    kernels = [entry["kernel"] for entry in json.loads((source / "wgmma_layout.json").read_text())]
    with np.load(source / "public_wgmma_layout.npz") as loaded:
        known = [(place, name) for place, name in enumerate(kernels) if f"{name}/d" in loaded.files]
        results = [[digest(block) for block in loaded[f"{name}/d"]] for _, name in known]
    copies = json.loads((source / "public_copies.json").read_text())
    with np.load(source / "public_copies.npz") as loaded:
        numbers = [copy["number"] for copy in copies]
        parts = [[key for key in (f"{n}", f"{n}/at", f"{n}/value") if key in loaded] for n in numbers]
        digests = [digest(*(loaded[key] for key in keys)) for keys in parts]
    # A capture of 2026-11-29 that a folder of captures need not have: what is recorded of it then stays.
    if (drawn := source / "sparse_drawn.npz").exists():
        with np.load(drawn) as loaded:
            sparse, sparse_digests = loaded["names"], loaded["digests"][:, 1:]
    else:
        with np.load(target / "hopper.npz") as loaded:
            sparse, sparse_digests = loaded["sparse"], loaded["sparse_digest"]
    np.savez_compressed(
        target / "hopper.npz",
        wgmma=np.array([name for _, name in known]),
        wgmma_number=np.array([place for place, _ in known], np.uint8),
        wgmma_digest=np.array(results, np.uint64),
        copy=np.array([copy["kind"] for copy in copies]),
        copy_number=np.array(numbers, np.uint16),
        copy_size=np.array([copy.get("last", 0) for copy in copies], np.uint16),
        copy_digest=np.array(digests, np.uint64),
        sparse=sparse,
        sparse_digest=sparse_digests,
    )


def compact_alignment(source: Path, target: Path) -> None:
    """Write `alignment.json`: by the form of a load or store, what the chip says of each pointer and stride.

    A letter for each number of bytes, 16, 8, 4, 2 and 1, as far as it was tried: `r` for right results, `f`
    for a fault, `W` for bytes from elsewhere.
    """
    verdicts = {"right": "r", "WRONG": "W", "fault 716": "f"}
    forms = {}
    for form in json.loads((source / "alignment.json").read_text()):
        results = {tuple(map(int, key.split(","))): verdicts[each] for key, each in form["results"].items()}
        tried = [16 >> place for place in range(5)]
        pointers = "".join(results[size, 0] for size in tried)
        strides = "".join(results.get((0, size), "") for size in tried)
        key = " ".join(form[name] for name in ("use", "type", "shape", "layout", "space"))
        forms[key] = f"{pointers} {strides}"
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(forms[key])}" for key in sorted(forms))
    (target / "alignment.json").write_text(f"{{\n{lines}\n}}\n")


def compact_sparse(source: Path, target: Path) -> None:
    """Write `sparse.npz`: two tiles of each sparse multiply."""
    with np.load(source / "public_sparse.npz") as loaded:
        members = {name: loaded[name][[1, -1]] for name in loaded.files}
    np.savez_compressed(target / "sparse.npz", **members)


def main() -> None:
    """Read the folder from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", type=Path)
    source = parser.parse_args().captures
    target = Path(__file__).parent
    compact_captures(source, target)
    compact_layouts(source, target)
    compact_scalars(source, target)
    compact_moves(source, target)
    compact_alignment(source, target)
    compact_hopper(source, target)
    compact_sparse(source, target)


if __name__ == "__main__":
    main()
