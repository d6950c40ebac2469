"""Accesses of a program of one warp stay in the arrays in which they begin, as those of a launch must."""

from collections.abc import Iterable, Iterator

from golden.lines import gather_lines
from golden.programs.buffers import Buffers
from golden.programs.execution import ProgramFault
from golden.tables.commands import (
    MATRIX_ROW_BYTES,
    MATRIX_ROWS,
    Fill,
    HostWork,
    Load,
    LoadMatrix,
    SetLanes,
    Store,
    StoreMatrix,
    Work,
)
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Space
from golden.tables.layouts import LANES


def checked_bounds(
    program: Iterable[tuple[Work, object]], buffers: Buffers, shared: range, shared_bytes: int
) -> Iterator[tuple[Work, object]]:
    """Pass a program on; ProgramFault before a command that accesses what is in no array.

    `shared` are the generic addresses of the machine's shared memory; the program has `shared_bytes` of it.
    Rows of matrices are checked if the host has just set their addresses.
    """

    def problem(first: int, address: int, count: int, space: Space) -> str | None:
        in_shared = space == "shared" or (space == "generic" and first in shared)
        start = shared.start * (space == "generic")
        found = ("shared memory", start, shared_bytes) if in_shared else buffers.find(first)
        if found is None:
            return f"{count} bytes at {address:#x}, where no array is"
        name, start, size = found
        if address + count <= start + size:
            return None
        return f"{count} bytes at byte {address - start} of {name}, which has {size} bytes"

    before: Work | None = None
    executed = 0
    for work, place in program:
        found = None
        match work:
            case Load(instruction) | Store(instruction):
                lines = gather_lines(instruction, work.address, work.stride)
                if shared or instruction.space != "shared":
                    told = (problem(work.address, *line, instruction.space) for line in (lines[-1], *lines))
                    found = next(told) and next(filter(None, told))
            case LoadMatrix() | StoreMatrix():
                rows = _host_set(before, work.addresses)[: MATRIX_ROWS * work.count]
                of_rows = (problem(row, row, MATRIX_ROW_BYTES, work.space) for row in rows)
                found = next(filter(None, of_rows), None) if shared else None
        if found is not None:
            is_load = isinstance(work, Load | LoadMatrix)
            cause = Cause.READ_DECODE_ERROR if is_load else Cause.WRITE_DECODE_ERROR
            raise ProgramFault(Fault(cause, executed, found), str(place))
        executed += not isinstance(work, HostWork)
        before = work
        yield work, place


def _host_set(work: Work | None, register: int) -> tuple[int, ...]:
    """What this work has set a register to, lane by lane; nothing if it has not."""
    match work:
        case SetLanes(changed, values) if changed == register:
            return values
        case Fill(first, count, value) if first <= register < first + count:
            return (value,) * LANES
    return ()
