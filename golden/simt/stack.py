"""The stack of each thread: ``alloca``, and the calls of functions that have bodies of their own.

The variables on it are in local memory. Where a call returns to, and the registers that it finds there again,
are kept beside it.
"""

import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from golden.limits import NESTED_CALLS, STACK_BYTES
from golden.ptx.blocks import Terminator
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import Location
from golden.ptx.syntax import Register, Variable
from golden.simt.arrays import Addresses, Threads
from golden.simt.names import readable

_NOWHERE: Final = Location(1, 1)

STACK_POINTER: Final = Register("the stack pointer", "%stack", TYPES["u64"], _NOWHERE)
"""The address of the lowest byte of a thread's stack that is in use, in local memory."""

STACK: Final = Variable("%stack", "the stack", "local", TYPES["b8"], STACK_BYTES, 16, _NOWHERE, is_array=True)
"""The stack in local memory, where it is the first variable."""


class Stack:
    """The stacks of the threads of a `golden.simt.block.BlockRun`."""

    def __init__(self, block: Any) -> None:
        self._block = weakref.proxy(block)  # no cycle: the memory of a block is freed with it
        self._words = np.zeros((block.total, 0), np.uint64)
        """For each thread its saved registers, call after call, each followed by the block to return to."""
        self._top = np.zeros(block.total, np.int64)
        """Words in use."""
        self._calls = np.zeros(block.total, np.int64)
        """Calls that have not returned."""
        self.lowest = STACK_BYTES if block.kernel.has_stack else 0
        """The lowest byte of local memory that may have been written."""

    def allocate(
        self, threads: Threads, pointers: Addresses, sizes: NDArray[Any], alignment: int, index: int
    ) -> Addresses:
        """The stack pointers of threads with so many bytes more in use; KernelFault if there are too few."""
        signed = sizes.view(f"i{sizes.itemsize}").astype(np.int64)
        found = (pointers.view(np.int64) - signed) & -alignment
        wrong = np.flatnonzero((found < 0) | (found > STACK_BYTES))
        if wrong.size:
            first = int(wrong[0])
            used = STACK_BYTES - int(pointers[first].astype(np.int64))
            what = f"the stack of a thread has {STACK_BYTES} bytes, {used} of them in use"
            needed = f"{self._block.kernel.function_at(index)} asks for {signed[first]}"
            self._block.fault(index, threads, f"{what}, and {needed}", first)
        self.lowest = min(self.lowest, int(found.min()))
        return found.view(np.uint64)

    def call(self, threads: Threads, following: int, terminator: Terminator, callees: Any) -> None:
        """Let threads go to functions, by their addresses if there are any, and later on to a block."""
        block = self._block
        functions = terminator.details["functions"]
        deepest = int(self._calls[threads].max())
        if deepest >= NESTED_CALLS:
            position = int(np.argmax(self._calls[threads]))
            callee = next(iter(functions)) if callees is None else int(callees[position])
            name = readable(functions.get(callee, "a function"))
            message = f"the calls of {name} are nested more than {NESTED_CALLS} deep"
            block.fault(terminator.index, threads, message, position)
        self._push(threads, following)
        if callees is None:
            block.resume(terminator.targets[0], threads)
            return
        targets = dict(zip(functions, terminator.targets, strict=True))
        for address in np.unique(callees).tolist():
            where = np.flatnonzero(callees == address)
            if address not in targets:
                known = ", ".join(map(readable, functions.values())) or "none"
                what = f"a call goes to {address:#x}, which is none of the functions that fit: {known}"
                block.fault(terminator.index, threads, what, int(where[0]))
            block.resume(targets[address], threads[where])

    def _push(self, threads: Threads, following: int) -> None:
        block = self._block
        slots = block.kernel.saved[following]
        top = self._top[threads]
        needed = int(top.max()) + len(slots) + 1
        if needed > self._words.shape[1]:
            wider = np.zeros((block.total, 2 * needed), np.uint64)
            wider[:, : self._words.shape[1]] = self._words
            self._words = wider
        for place, slot in enumerate(slots):
            self._words[threads, top + place] = block.registers[slot][threads]
        self._words[threads, top + len(slots)] = following
        self._top[threads] += len(slots) + 1
        self._calls[threads] += 1

    def leave(self, threads: Threads) -> None:
        """Let threads go on behind their calls."""
        block = self._block
        self._calls[threads] -= 1
        points = self._words[threads, self._top[threads] - 1]
        for point in np.unique(points).tolist():
            some = threads[points == point]
            slots = block.kernel.saved[point]
            self._top[some] -= len(slots) + 1
            top = self._top[some]
            for place, slot in enumerate(slots):
                register = block.registers[slot].copy()
                register[some] = self._words[some, top + place]
                block.registers[slot] = register
            block.resume(point, some)
