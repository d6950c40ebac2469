"""Which registers are still needed where, and which instructions nobody needs."""

from collections.abc import Sequence

from golden.simt.flow import EXIT, Block
from golden.simt.writer import Step

__all__ = ["remove_unused", "successors"]


def successors(blocks: Sequence[Block], number: int) -> tuple[int, ...]:
    """The blocks that may follow a block, without `EXIT`."""
    terminator = blocks[number].terminator
    following = (number + 1,) if number + 1 < len(blocks) else ()
    if terminator is None or terminator.kind in ("barrier", "warp barrier"):
        return following
    targets = tuple(target for target in terminator.targets if target != EXIT)
    if terminator.kind == "branch" and terminator.guard is not None:
        return (*targets, *following)
    return targets


def remove_unused(blocks: Sequence[Block]) -> list[Step]:
    """Remove the instructions whose results nobody uses, and note what is live between blocks.

    Sets of registers are integers with a bit for each register.

    Parameters
    ----------
    blocks : sequence of Block
        Changed in place.

    Returns
    -------
    list of Step
        The loads that were removed, in order.
    """
    live_in = [0] * len(blocks)
    after = [0] * len(blocks)
    following = [successors(blocks, number) for number in range(len(blocks))]
    preceding: list[list[int]] = [[] for _ in blocks]
    for number, targets in enumerate(following):
        for target in targets:
            preceding[target].append(number)
    waiting = list(range(len(blocks)))
    queued = set(waiting)
    while waiting:
        number = waiting.pop()
        queued.discard(number)
        live = 0
        for target in following[number]:
            live |= live_in[target]
        after[number] = live
        live = _before(blocks[number], live, None)
        if live != live_in[number]:
            live_in[number] = live
            for source in preceding[number]:
                if source not in queued:
                    queued.add(source)
                    waiting.append(source)
    removed: list[Step] = []
    for number, block in enumerate(blocks):
        kept: list[Step] = []
        _before(block, after[number], kept)
        kept.reverse()
        needed = {id(step) for step in kept}
        removed.extend(step for step in block.steps if id(step) not in needed and step.loads)
        block.steps = kept
        if all(step.mask is None for step in kept):
            block.mask = None
        block.live_in = _members(live_in[number])
        block.live_out = frozenset(_members(after[number]))
    return removed


def _before(block: Block, live: int, kept: list[Step] | None) -> int:
    """What is live before a block, from what is live behind it; the steps needed are added to `kept`."""
    terminator = block.terminator
    if terminator is not None:
        for slot in terminator.writes:
            live &= ~(1 << slot)
        for slot in terminator.reads:
            live |= 1 << slot
    for step in reversed(block.steps):
        written = 0
        for slot in step.writes:
            written |= 1 << slot
        if step.pure and not written & live:
            continue
        if kept is not None:
            kept.append(step)
        if step.guard is None:
            live &= ~written
        for slot in step.reads:
            live |= 1 << slot
    return live


def _members(bits: int) -> tuple[int, ...]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)
