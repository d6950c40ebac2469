"""What fuzzing starts from: words of each language, kernels of the repository, and a small module."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

from regression.fuzz.kind import ROOT

_READ: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text())

WORDS: Final[dict[str, list[str]]] = {name: item for name, item in _READ.items() if isinstance(item, list)}
"""Of `words.toml`, by the language they belong to."""

TABLES: Final[dict[str, dict[str, Any]]] = {
    name: item for name, item in _READ.items() if isinstance(item, dict)
}
"""Of `words.toml`."""

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

LAUNCH_PTX: Final = f"""{HEADER}
.global .align 4 .u32 total = 5;
.visible .entry k(.param .u64 a, .param .u32 n, .param .f32 x, .param .align 8 .b8 s[16])
{{
.reg .pred %p;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .f32 %f<3>;
ld.param.u64 %rd0, [a];
ld.param.u32 %r1, [n];
ld.param.f32 %f0, [x];
ld.param.u32 %r2, [s+8];
mov.u32 %r0, %tid.x;
setp.ge.u32 %p, %r0, %r1;
@%p ret;
mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd1, %rd0, %rd1;
ld.global.f32 %f1, [%rd1];
fma.rn.f32 %f1, %f1, %f0, 0f3F800000;
st.global.f32 [%rd1], %f1;
atom.global.add.u32 %r3, [total], %r2;
ret;
}}
"""
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
