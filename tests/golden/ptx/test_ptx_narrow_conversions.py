"""Conversions of 4-, 6- and 8-bit floats and of scales: accepted exactly as NVIDIA's assembler does.

The tests of acceptance are about ``sm_90a``, which has few of these.
"""

from itertools import product
from pathlib import Path

import numpy as np
from assembler import Golden

from golden.scalar import operation

RECORDED = Path(__file__).parents[2] / "data" / "ptx_narrow_conversions.txt"
NARROW = ("e2m1x2", "e3m2x2", "e2m3x2", "ue8m0x2", "e4m3x2", "e5m2x2")
WIDE = ("f32", "f16x2", "bf16x2", "f16", "bf16")
SCALED = "scaled::n2::ue8m0"


def statements():
    for words in product(("rn", "rz", "rp", "rna", ""), ("satfinite", ""), ("relu", ""), (SCALED, "")):
        modifiers = ".".join(filter(None, ("cvt", *words)))
        for narrow, wide, register in product(NARROW, WIDE, ("%h1", "%b1", "%r1")):
            third = ", %h3" if SCALED in words else ""
            yield f"{modifiers}.{narrow}.{wide} {register}, %r2{third}"
            yield f"{modifiers}.{narrow}.{wide} {register}, %r2, %r3{third}"
            yield f"{modifiers}.{wide}.{narrow} %r1, {register}{third}"


def test_golden_accepts_what_the_assembler_was_seen_to_accept():
    recorded = {line for line in RECORDED.read_text().splitlines() if not line.startswith("#")}
    golden, tried = Golden(), list(statements())
    accepted = {text for text in tried if golden.refusal(text) is None}
    assert recorded <= set(tried)
    assert accepted == recorded


def test_spare_bits_of_a_container_are_ignored():
    for name, bits in (("e3m2x2", 6), ("e2m3x2", 6)):
        form = operation(f"cvt.rn.f16x2.{name}")
        patterns = np.arange(1 << 16, dtype=np.uint16)
        kept = patterns & np.uint16(((1 << bits) - 1) * 0x0101)
        assert np.array_equal(form.evaluate(patterns), form.evaluate(kept))
