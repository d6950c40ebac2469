"""What fuzzing starts from: words of each language, kernels of the repository, and a small module."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

from regression.campaign.identity import ROOT

WORDS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text())
"""Lists of words by the language they belong to, and tables of them."""

LONG: Final = (
    "x" * 3000,
    "9" * 4400,
    "0x" + "f" * 3000,
    "(" * 3000 + "1",
    "[" * 5000,
    '{"a":' * 2000,
    "{" * 30_000,
)
"""Text that is long or deeply nested, for any language."""

HEADER: Final = ".version 8.0\n.target sm_90\n.address_size 64\n"

LAUNCH_PTX: Final = Path(__file__).with_name("launch.ptx").read_text()
"""A kernel with an array, numbers, a structure and a variable."""

PROGRAM_PTX: Final = (ROOT / "examples" / "tile_f16.ptx").read_text()
"""A program of one warp."""


@cache
def kernels() -> tuple[str, ...]:
    """Each kernel of the repository's PTX as a module of its own, with the variables of its module."""
    found = [LAUNCH_PTX]
    for folder in (
        "examples",
        "tests/data/kernels",
        "site/pages/core/programs",
        "docs/tutorials/labs",
        "bench/data",
    ):
        for path in sorted((ROOT / folder).rglob("*.ptx")):
            text = path.read_text()
            header = "\n".join(
                re.findall(r"^\.(?:version|target|address_size|extern|global|const|shared).*$", text, re.M)
            )
            bodies = re.findall(r"^(?:\.visible )?\.entry.*?^\}$", text, re.MULTILINE | re.DOTALL)
            found += [f"{header}\n{body}\n" for body in bodies]
    return tuple(found)
