"""Whatever the text, the only exceptions are those of texts and of launches."""

from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import given, strategies
from modules import entry, kernels

from golden.ptx import PtxError
from golden.simt import SimtError

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.ptx"))
TEXTS = [path.read_text() for path in EXAMPLES]
WORDS = strategies.sampled_from(
    [
        *("%a0", "%d0", "%tid.x", "0", "-", "0f3F800000", "1.5", "99999999999999999999"),
        *("{", "}", "[", "]", "<", ">", "@", "!", ",", ";", ":", "/*", '"', "\n", "é", "\0", "%"),
        *(".shared", ".align", "mul.f32", "fma.rn.ftz.f16x2", "cvta.shared.u64"),
        *(".reg", ".b32", ".pred", ".param", ".entry", ".loc", ".section", ".f16"),
        *("mov.u32", "bra", "ROWS", "wmma.mma.sync", "mma.sync.aligned"),
    ]
)


def exhaust(text):
    """Parse, check and run a module as far as it goes."""
    with suppress(PtxError, SimtError):
        for kernel in kernels(text).values():
            arguments = [
                bytes(item.size) if item.is_array else np.zeros(512, np.uint8) if item.size == 8 else 1
                for item, _ in kernel.compiled.parameters
            ]
            with suppress(SimtError):
                kernel.launch(1, 32, arguments, limit=2000)


@given(strategies.text())
def test_any_text(text):
    exhaust(text)


@given(strategies.lists(WORDS))
def test_any_words_in_a_body(words):
    with suppress(PtxError):
        entry(" ".join(words))


@given(strategies.sampled_from(TEXTS), strategies.data())
def test_damaged_examples(text, data):
    for _ in range(data.draw(strategies.integers(1, 3))):
        start = data.draw(strategies.integers(0, len(text)))
        length = data.draw(strategies.integers(0, 30))
        text = (
            text[:start] + data.draw(strategies.one_of(WORDS, strategies.just(""))) + text[start + length :]
        )
    exhaust(text)


def test_deep_nesting_and_long_names_are_errors_or_fine():
    for text in ("{" * 100_000, "." * 100_000, "[" * 100_000, "a" * 100_000, "1" * 100_000, "/*" * 100_000):
        exhaust(f".version 8.0 .target sm_90 .entry k() {{ {text}")
        with suppress(PtxError):
            entry(text)
