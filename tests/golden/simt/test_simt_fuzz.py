"""Whatever the text of a module, loading and launching it gives results, a `PtxError` or a `SimtError`."""

import re
from contextlib import suppress

import numpy as np
from captured import DATA
from hypothesis import HealthCheck, given, settings, strategies

from golden.ptx.source import PtxError
from golden.simt import Module, SimtError

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
TOKEN = re.compile(r"[A-Za-z_$%.][\w$.:]*|\d\w*|\s+|.", re.DOTALL)
WORDS = strategies.sampled_from(
    [
        *("%r1", "%rd1", "%p1", "%f1", "%tid.x", "%clock", "0", "-1", "0f3F800000", "1.5", "9" * 20, "64"),
        *(
            "{",
            "}",
            "[",
            "]",
            "<",
            ">",
            "(",
            ")",
            "@",
            "!",
            "|",
            "_",
            ",",
            ";",
            ":",
            "/*",
            '"',
            "é",
            "\0",
            "%",
        ),
        *(".shared", ".align", ".param", ".entry", ".func", ".b64", ".u16", "v4", "f64", "b128", "+8"),
        *(
            "bar.sync",
            "ret",
            "bra",
            "trap",
            "call",
            "brx.idx",
            "mov.b32",
            "ld.global.u32",
            "wmma",
            "generic(",
        ),
        *("shfl.sync.idx.b32", "vote.sync.any.pred", "cp.async.wait_all;"),
    ]
)


def kernels() -> list[str]:
    """Each kernel of the captured files as a module of its own."""
    found = []
    for path in sorted(DATA.glob("*.ptx")):
        text = path.read_text()
        variables = "\n".join(re.findall(r"^\.(?:extern|global|const).*$", text, re.MULTILINE))
        bodies = re.findall(r"^(?:\.visible )?\.entry.*?^}$", text, re.MULTILINE | re.DOTALL)
        found += [f"{HEADER}{variables}\n{body}\n" for body in bodies]
    return found


KERNELS = kernels()


def exhaust(text: str, threads: int = 32) -> None:
    with suppress(PtxError, SimtError):
        module = Module(text)
        for name in module.entries:
            with suppress(PtxError, SimtError):
                kernel = module.kernel(name)
                arguments = [argument(parameter) for parameter, _ in kernel.compiled.parameters]
                kernel.launch(1, threads, arguments, 6144, limit=4000, check=threads % 64 == 0)


def argument(parameter):
    if parameter.is_array:
        return bytes(parameter.size)
    if parameter.type.kind == "float":
        return 1.0
    return np.zeros(4096, np.uint8) if parameter.size == 8 else 16


@given(strategies.text())
def test_any_text(text):
    exhaust(text)
    exhaust(HEADER + text)


@given(strategies.lists(WORDS, max_size=30))
def test_any_words_in_a_body(words):
    exhaust(
        f"{HEADER}.entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>; {' '.join(words)} }}"
    )


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.large_base_example],
)
@given(strategies.sampled_from(KERNELS), strategies.data())
def test_damaged_kernels(text, data):
    tokens = TOKEN.findall(text)
    for _ in range(data.draw(strategies.integers(1, 3))):
        place = data.draw(strategies.integers(0, len(tokens) - 1))
        other = data.draw(strategies.integers(0, len(tokens) - 1))
        word = data.draw(strategies.one_of(WORDS, strategies.just(tokens[other]), strategies.just("")))
        tokens[place] = word
    exhaust("".join(tokens), data.draw(strategies.sampled_from([32, 40, 128])))


def test_deep_nesting_and_long_names():
    for text in ("{" * 100_000, "." * 100_000, "[" * 100_000, "a" * 100_000, "1" * 100_000, "/*" * 100_000):
        exhaust(f"{HEADER}.entry k() {{ {text}")
        exhaust(HEADER + text)
    exhaust(f"{HEADER}.global .b32 x = {'{' * 100_000};")
