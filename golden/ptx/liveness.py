"""Which registers are still needed where, and which instructions nobody needs.

This is the backward data-flow equation of live variables, repeated until nothing changes. Sets of registers
are integers with a bit for each register.
"""

from collections.abc import Iterator, Sequence

from golden.ptx.blocks import EXIT, Block
from golden.ptx.decoding import Step

__all__ = ["live_registers", "members", "needed", "remove_unused", "successors", "walk"]


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


def live_registers(blocks: Sequence[Block], *, removing: bool = True) -> tuple[list[int], list[int]]:
    """The registers that are live before and behind each block.

    Parameters
    ----------
    blocks : sequence of Block
    removing : bool
        Whether instructions that nobody needs count as removed.
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
        *_, (_, live) = walk(blocks[number], live, removing=removing)
        if live != live_in[number]:
            live_in[number] = live
            for source in preceding[number]:
                if source not in queued:
                    queued.add(source)
                    waiting.append(source)
    return live_in, after


def walk(block: Block, live: int, *, removing: bool = True) -> Iterator[tuple[Step | None, int]]:
    """The instructions of a block that are needed, last one first, each with what is live before it.

    Parameters
    ----------
    block : Block
    live : int
        What is live behind the block.
    removing : bool
        As for `live_registers`.

    Yields
    ------
    Step or None
        None for the terminator, which comes first, also where there is none.
    int
    """
    terminator = block.terminator
    if terminator is not None:
        live = live & ~mask(terminator.writes) | mask(terminator.reads)
    yield None, live
    for step in reversed(block.steps):
        written = mask(step.writes)
        if removing and step.pure and not written & live:
            continue
        if step.guard is None:
            live &= ~written
        live |= mask(step.reads)
        yield step, live


def needed(block: Block, live: int) -> list[Step]:
    """The instructions of a block whose results somebody uses; `live` is what is live behind it."""
    return [step for step, _ in walk(block, live) if step is not None][::-1]


def remove_unused(blocks: Sequence[Block]) -> list[Step]:
    """Remove the instructions whose results nobody uses, and note what is live between blocks.

    Parameters
    ----------
    blocks : sequence of Block
        Changed in place.

    Returns
    -------
    list of Step
        The loads that were removed, in order.
    """
    removed: list[Step] = []
    for block, before, behind in zip(blocks, *live_registers(blocks), strict=True):
        kept = needed(block, behind)
        used = {id(step) for step in kept}
        removed.extend(step for step in block.steps if id(step) not in used and step.loads)
        block.steps = kept
        if all(step.mask is None for step in kept):
            block.mask = None
        block.live_in = tuple(members(before))
        block.live_out = frozenset(members(behind))
    return removed


def mask(slots: Sequence[int]) -> int:
    """A set of registers."""
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


def members(bits: int) -> list[int]:
    """The registers of a set."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
