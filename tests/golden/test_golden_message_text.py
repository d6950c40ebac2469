"""Text from outside in messages: one line, bounded, nothing that a terminal obeys."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from golden.invalid_argument import InvalidArgument
from golden.limits import MESSAGE_CHARACTERS, WORD_CHARACTERS
from golden.message_text import printable, sentence, without_middle
from golden.ptx import PtxError
from golden.ptx.source import SourceLine
from golden.simt import KernelFault, LaunchError, Module
from openwmma.usage_error import UsageError

HOSTILE = {
    "\n": "\\n",
    "\r": "\\r",
    "\0": "\\x00",
    "\x07": "\\x07",
    "\x1b[31m": "\\x1b[31m",
    "\x7f": "\\x7f",
    "\x9b2J": "\\x9b2J",
    "\u202e": "\\u202e",
    "\u2066": "\\u2066",
    "\u200f": "\\u200f",
    "\u2028": "\\u2028",
    "\udc80": "\\udc80",
    "\ufeff": "\\ufeff",
}
ERRORS = {
    "PtxError": lambda text: PtxError("x.ptx", 1, 1, text),
    "PtxError of a file": lambda text: PtxError(text, 1, 1, "wrong"),
    "LaunchError": LaunchError,
    "KernelFault": lambda text: KernelFault(text, kernel=text, place=text),
    "InvalidArgument": lambda text: InvalidArgument(text, text, text),
    "UsageError": UsageError,
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_error_holds_what_a_terminal_obeys(error, text):
    message = str(error(f"a{text}b"))
    assert f"a{HOSTILE[text]}b" in message
    assert message.isprintable()


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("text", ["x" * 1_000_000, "x " * 500_000, "\x1b" * 1_000_000])
def test_no_error_fills_the_screen(error, text):
    assert len(str(error(text))) <= 10 * MESSAGE_CHARACTERS


@given(st.text())
def test_printable_text_stays_and_the_rest_can_be_printed(text):
    found = printable(text)
    assert found.replace("\t", "").isprintable()
    found.encode()
    assert found == text or not text.replace("\t", "").isprintable()


@example("00000.000000", 11)
@given(st.text(), st.integers(3, 50))
def test_text_without_its_middle_keeps_both_ends(text, most):
    found = without_middle(text, most)
    assert len(found) == min(len(text), most)
    # A text may have dots of its own beside the three that stand for its middle.
    splits = ((found[:at], found[at + 3 :]) for at in range(most) if found[at : at + 3] == "...")
    assert found == text or any(text.startswith(head) and text.endswith(tail) for head, tail in splits)


@given(st.lists(st.text(alphabet="ab/:", max_size=1000)))
def test_words_of_a_sentence_are_bounded(words):
    found = sentence(" ".join(words))
    assert all(len(word) <= WORD_CHARACTERS for word in found.split())
    assert len(found) <= MESSAGE_CHARACTERS


def test_a_line_of_source_is_shortened_where_it_is_shown():
    line = SourceLine("x.ptx", 1, 1, "add.u32 " + "%r1, " * 100_000)
    assert len(str(line)) < 600


HUGE = 10**5000
SHOWN = "0x31e20801036510f3c591fde5361d... (16610 bits)"


@pytest.mark.parametrize(
    ("extents", "options", "message"),
    [
        ((HUGE, 1), {}, f"grid.x must be 1 to 2147483647, not {SHOWN}"),
        (((1, HUGE), 1), {}, f"grid.y must be 1 to 65535, not {SHOWN}"),
        ((1, HUGE), {}, f"block.x must be 1 to 1024, not {SHOWN}"),
        ((1, -HUGE), {}, "block.x must be 1 to 1024, not -0x31e2"),
        ((1, (1, 2, 3, HUGE)), {}, "block takes one to three integers, not a tuple"),
        ((1, 1), {"shared": HUGE}, f"k needs {SHOWN} bytes of shared memory"),
        ((1, 1), {"shared": -HUGE}, "shared memory must be at least 0 bytes, not -0x31e2"),
        ((1, 1), {"limit": -HUGE}, "the limit must be at least 1 instruction, not -0x31e2"),
        ((1, 1), {"jobs": -HUGE}, "the number of jobs must be at least 1 job, not -0x31e2"),
        ((1, [1] * 100_000), {}, "block takes one to three integers, not [1, 1,"),
    ],
    ids=range(10),
)
def test_numbers_of_thousands_of_digits_are_refused(extents, options, message):
    kernel = Module(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }").kernel()
    with pytest.raises(LaunchError) as error:
        kernel.launch(*extents, **options)
    assert str(error.value).startswith(message)
