"""Golden accepts the statements that NVIDIA's assembler accepts, but for those in a table with reasons."""

import base64
import re
import zlib
from pathlib import Path

import pytest
from acceptance_exceptions import LOOSER, STRICTER
from assembler import Golden, refused
from assembler_forms import statements

RECORDED = Path(__file__).parents[2] / "data" / "ptx_acceptance.txt"
"""A bit for each number of a statement, compressed: whether the assembler accepts it."""


@pytest.fixture(scope="module")
def accepted():
    return zlib.decompress(base64.b64decode("".join(RECORDED.read_text().split())))


def as_text(numbers):
    data = bytearray(max(numbers) // 8 + 1)
    for number in numbers:
        data[number // 8] |= 1 << number % 8
    text = base64.b64encode(zlib.compress(bytes(data), 9)).decode()
    return "\n".join(text[i : i + 100] for i in range(0, len(text), 100)) + "\n"


def is_set(accepted, number):
    return number // 8 < len(accepted) and bool(accepted[number // 8] >> number % 8 & 1)


def reason(table, text):
    """The pattern of a table that a statement fits; None if there is none."""
    return next((pattern for pattern in table if re.match(pattern, text)), None)


def differences(given, accepted):
    """Statements in no table, and the patterns that were met."""
    golden, unknown, met = Golden(), [], set()
    for number, text in given:
        refusal = golden.refusal(text)
        if (refusal is None) == is_set(accepted, number):
            continue
        pattern = reason(STRICTER if refusal is not None else LOOSER, text)
        met.add(pattern)
        if pattern is None:
            unknown.append((text, refusal))
    return unknown, met


def test_golden_accepts_what_the_assembler_was_seen_to_accept(accepted):
    unknown, _ = differences(statements(most=60), accepted)
    assert unknown == []


@pytest.mark.long
def test_every_exception_is_needed(accepted):
    unknown, met = differences(statements(), accepted)
    assert unknown == []
    assert met == {*STRICTER, *LOOSER}


@pytest.mark.cuda
def test_the_assembler_still_accepts_what_is_recorded(tmp_path):
    numbers, texts = zip(*statements(), strict=True)
    errors = refused(texts, tmp_path)
    text = as_text([number for index, number in enumerate(numbers) if index not in errors])
    (tmp_path / RECORDED.name).write_text(text)
    assert text == RECORDED.read_text(), f"write it anew from {tmp_path / RECORDED.name}"
