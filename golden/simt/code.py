"""Compiles the blocks of a kernel to Python functions, each when it first runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Block, Terminator
from golden.simt.arrays import Access
from golden.simt.writer import Writer

BlockCode = Callable[[Any, NDArray[np.int64]], Any]
"""From the running block and its threads to what the terminator needs: a predicate, an index, operands."""


def _merge(old: NDArray[Any], where: NDArray[np.int64], new: NDArray[Any]) -> NDArray[Any]:
    result = old.copy()
    result[where] = new
    return result


_GLOBALS: Final = {"Access": Access, "where": np.where, "full": np.full, "merge": _merge}


def compile_block(
    block: Block, number: int, *, everyone: bool, slots: Mapping[str, int], widths: Sequence[int]
) -> BlockCode:
    """Compile a block; `number` names its code in a traceback.

    With `everyone`, all threads of the block take part: registers are used and replaced as a whole.
    """
    writer = Writer(slots, widths)
    for step in block.steps:
        writer.emit(step)
    ending = _ending(writer, block.terminator)
    stores = [slot for slot in writer.defined if slot in block.live_out]
    lines = ["def code(B, ix):", "    R = B.registers", "    n = ix.size"]
    for slot in writer.inputs:
        lines.append(f"    r{slot} = R[{slot}]" + ("" if everyone else "[ix]"))
    lines += writer.lines
    for slot in stores:
        lines.append(
            f"    R[{slot}] = r{slot}" if everyone else f"    R[{slot}] = merge(R[{slot}], ix, r{slot})"
        )
    lines.append(f"    return {ending}")
    namespace: dict[str, Any] = {**_GLOBALS, **writer.namespace}
    exec(compile("\n".join(lines), f"<block {number}>", "exec"), namespace)
    code: BlockCode = namespace["code"]
    return code


def _ending(writer: Writer, terminator: Terminator | None) -> str:
    """The code of what a block returns."""
    if terminator is None:
        return "None"
    if terminator.kind == "branch":
        if terminator.guard is None:
            return str(terminator.targets[0])
        slot, negated = terminator.guard
        return ("~" if negated else "") + writer.slot(slot)
    details = terminator.details
    if terminator.kind == "indexed":
        return writer.array(details["choice"], 32)
    if terminator.kind == "warp barrier":
        return writer.array(details["mask"], 32)
    if terminator.kind == "barrier":
        count = "None" if details["count"] is None else writer.array(details["count"], 32)
        value = "None" if details["value"] is None else writer.array(details["value"], 1)
        return f"({writer.array(details['barrier'], 32)}, {count}, {value})"
    return "None"
