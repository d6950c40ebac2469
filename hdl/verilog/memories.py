"""Memories in Verilog: loops for what they hold at first, and one block for what is written at once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, groupby, islice

_INITIAL = re.compile(r"^  initial begin\n((?:    (?:\\\S+ |\w+)\[\d+\] = [^;\n]+;\n)+)  end\n", re.MULTILINE)
_WORD = re.compile(r"^    (\\\S+ |\w+)\[(\d+)\] = ([^;\n]+);\n", re.MULTILINE)

_WIDE_WRITE = re.compile(
    r"(?P<head>  always @\(posedge [^\n]+\) begin\n    if \([^\n]+\))\n"
    r"      (?P<memory>\\\S+ |\w+)\[[^\n]+\] <= [^;\n]+;\n  end\n"
    r"(?:(?P=head)\n      (?P=memory)\[[^\n]+\] <= [^;\n]+;\n  end\n)+"
)
_ASSIGNMENT = re.compile(r"^      .*\n", re.MULTILINE)

_END = "endmodule\n"

_BLOCK_WORDS = 256
"""Words that one block sets: yosys takes a time that grows with the square of a block's statements, which are
the variables of its unrolled loops too."""

_LEAST_LOOP = 5
"""Fewer equal words are set one by one."""


def with_initial_loops(text: str) -> str:
    """Let a loop set the successive words of a memory that begin with the same value.

    Each loop stands in a block of its own that declares its index, as Verilog-2001 has it. They are numbered
    module by module, so that a module is the same text in every design.

    Parameters
    ----------
    text : str
        Verilog as yosys writes it: an ``initial`` block of every memory, with an assignment to each word.

    Returns
    -------
    str
        Verilog in which every word begins with the same value. The same text gives the same text.
    """
    return _END.join(map(_with_loops, text.split(_END)))


def _with_loops(module: str) -> str:
    numbers = count()
    return _INITIAL.sub(lambda match: "".join(_blocks(match[1], numbers)), module)


def with_wide_writes(text: str) -> str:
    """Let one block write what is written to a memory under one condition.

    A memory that is written wider than it is read has a port for each of the words that are written at once.
    yosys makes one wide port of them wherever they stand. Other programs, Vivado among them, describe such a
    memory as one block with several assignments, and might take more than two blocks for as many ports,
    which no block RAM has.

    Parameters
    ----------
    text : str
        Verilog as yosys writes it: a block for each port, and the ports of a memory one behind the other.

    Returns
    -------
    str
        The same memories.
    """

    def joined(blocks: re.Match[str]) -> str:
        return f"{blocks['head']} begin\n{''.join(_ASSIGNMENT.findall(blocks[0]))}    end\n  end\n"

    return _WIDE_WRITE.sub(joined, text)


def _blocks(words: str, numbers: Iterator[int]) -> Iterator[str]:
    """The blocks that take the place of one, each loop with a name from `numbers`."""
    for is_loop, runs in groupby(_runs(words), key=lambda run: len(run.words) >= _LEAST_LOOP):
        if is_loop:
            for run in runs:
                yield (
                    f"  initial begin : initial_words_{next(numbers)}\n"
                    "    integer word;\n"
                    f"    for (word = {run.words[0]}; word <= {run.words[-1]}; word = word + 1)\n"
                    f"      {run.memory}[word] = {run.value};\n"
                    "  end\n"
                )
        else:
            assignments = (f"    {run.memory}[{word}] = {run.value};\n" for run in runs for word in run.words)
            while part := "".join(islice(assignments, _BLOCK_WORDS)):
                yield f"  initial begin\n{part}  end\n"


@dataclass(frozen=True)
class _Run:
    """Successive words of a memory that begin with the same value."""

    memory: str
    value: str
    words: range


def _runs(words: str) -> Iterator[_Run]:
    """What a block assigns, in order; no run is longer than a block may be."""
    assigned = [(match[1], int(match[2]), match[3]) for match in _WORD.finditer(words)]

    def together(item: tuple[int, tuple[str, int, str]]) -> tuple[str, str, int, int]:
        index, (memory, word, value) = item
        return memory, value, word - index, word // _BLOCK_WORDS

    for (memory, value, _, _), items in groupby(enumerate(assigned), key=together):
        places = [word for _, (_, word, _) in items]
        yield _Run(memory, value, range(places[0], places[-1] + 1))
