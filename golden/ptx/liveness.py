"""Which registers are still needed where, and which instructions nobody needs.

This is the backward data-flow equation of live variables. Sets are integers with a bit for each element.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_

from golden.ptx.blocks import EXIT, Block
from golden.ptx.decoding import Step


def successors(blocks: Sequence[Block], number: int) -> tuple[int, ...]:
    """The blocks that may follow a block, without `EXIT`."""
    terminator = blocks[number].terminator
    following = (number + 1,) if number + 1 < len(blocks) else ()
    if terminator is None or terminator.kind in ("barrier", "collective"):
        return following
    targets = tuple(target for target in terminator.targets if target != EXIT)
    if terminator.kind == "call" or (terminator.kind == "branch" and terminator.guard is not None):
        return (*targets, *following)
    return targets


def fixed_point(
    inputs: Sequence[Sequence[int]], order: Iterable[int], transfer: Callable[[int, int], int]
) -> tuple[list[int], list[int]]:
    """The least solution of data-flow equations: the sets that enter and that leave each block.

    What leaves the blocks `inputs` of a block enters it; `transfer` gives what leaves it, from its number and
    what enters it. The last blocks of `order` are looked at first; all others have empty sets.
    """
    entering, leaving = [0] * len(inputs), [0] * len(inputs)
    readers: list[list[int]] = [[] for _ in inputs]
    for number, sources in enumerate(inputs):
        for source in sources:
            readers[source].append(number)
    waiting = dict.fromkeys(order)
    while waiting:
        number, _ = waiting.popitem()
        entering[number] = reduce(or_, (leaving[source] for source in inputs[number]), 0)
        result = transfer(number, entering[number])
        if result != leaving[number]:
            leaving[number] = result
            waiting.update(dict.fromkeys(readers[number]))
    return entering, leaving


def walk(block: Block, live: int) -> Iterator[tuple[Step | None, int]]:
    """The instructions of a block that are needed, last one first, each with what is live before it.

    `live` is what is live behind the block. The terminator comes first, as None, also where there is none.
    """
    terminator = block.terminator
    if terminator is not None:
        live = live & ~mask(terminator.writes) | mask(terminator.reads)
    yield None, live
    for step in reversed(block.steps):
        written = mask(step.writes)
        if step.pure and not written & live:
            continue
        if step.guard is None:
            live &= ~written
        live |= mask(step.reads)
        yield step, live


def remove_unused(blocks: Sequence[Block]) -> list[Step]:
    """Remove the instructions whose results nobody uses, and note what is live between blocks.

    The blocks are changed in place; returned are the loads that were removed, in order.
    """

    def before(number: int, behind: int) -> int:
        *_, (_, live) = walk(blocks[number], behind)
        return live

    following = [successors(blocks, number) for number in range(len(blocks))]
    behind, live_in = fixed_point(following, range(len(blocks)), before)
    removed: list[Step] = []
    for block, live, live_behind in zip(blocks, live_in, behind, strict=True):
        kept = [step for step, _ in walk(block, live_behind) if step is not None][::-1]
        used = {id(step) for step in kept}
        removed.extend(step for step in block.steps if id(step) not in used and step.loads)
        block.steps = kept
        block.whole = max((step.whole for step in kept), default=0)
        block.live_in = tuple(members(live))
        block.live_out = frozenset(members(live_behind))
    return removed


def mask(slots: Sequence[int]) -> int:
    """A set of registers."""
    return reduce(or_, (1 << slot for slot in slots), 0)


def members(bits: int) -> list[int]:
    """The registers of a set."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
