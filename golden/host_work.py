"""What the host does to the registers of a machine between its commands."""

import numpy as np
from numpy.typing import NDArray

from golden.arithmetic.element import compute
from golden.integers import checked_integer
from golden.invalid_argument import InvalidArgument
from golden.machine import Machine
from golden.tables.commands import ELEMENT_BITS, OPERAND_COUNTS, Elementwise, HostWork, SetLanes, Uniform
from golden.tables.layouts import LANES


def execute_host_work(machine: Machine, work: HostWork) -> None:
    """Read the registers of a machine that is idle, compute, and write the results back.

    Raises
    ------
    InvalidArgument
        Of arithmetic: for an operand too many or missing, registers that the machine does not have, a uniform
        value wider than a register of the type, a number of registers that holds no whole elements, and a
        flush in a type that has none. Of values lane by lane: for another number of values than there are
        lanes, a value wider than a register, and a register that the machine does not have. Nothing is
        written.
    """
    if isinstance(work, SetLanes):
        if len(work.values) != LANES:
            raise InvalidArgument("values", f"{len(work.values)} values", f"{LANES}, one for each lane")
        values = [
            checked_integer("values", value, 0, (1 << 32) - 1, unit="in 32 bits") for value in work.values
        ]
        machine.write_registers(work.register, np.array([values], dtype=np.uint32), warp=work.warp)
        return
    _check(work, machine.register_count)
    count, destination = work.count, work.destination
    registers = np.zeros((machine.register_count, LANES), dtype=np.uint32)
    for source in {source for source in work.sources if not isinstance(source, Uniform)}:
        registers[source : source + count] = machine.read_registers(source, count, warp=work.warp)
    step = count if _independent(work) else _words(work)
    for offset in range(0, count, step):
        operands = [_operand(work, source, registers, offset, step) for source in work.sources]
        results = np.asarray(compute(work.operation, work.type, *operands, flush=work.flush))
        registers[destination + offset : destination + offset + step] = _rows(results)
    machine.write_registers(destination, registers[destination : destination + count], warp=work.warp)


def _words(command: Elementwise) -> int:
    """32-bit registers that the smallest whole number of elements takes."""
    return max(1, ELEMENT_BITS[command.type] // 32)


def _independent(command: Elementwise) -> bool:
    """Whether no operand is a result that was written before it."""
    return all(
        isinstance(source, Uniform)
        or source >= command.destination
        or source + command.count <= command.destination
        for source in command.sources
    )


def _operand(
    command: Elementwise, source: int | Uniform, registers: NDArray[np.uint32], offset: int, count: int
) -> NDArray[np.unsignedinteger]:
    """Elements of an operand, one axis; a lane's f16 elements are in successive places."""
    bits = ELEMENT_BITS[command.type]
    if isinstance(source, Uniform):
        words = _words(command)
        pattern = np.array([source.pattern], dtype=f"<u{4 * words}").view(np.uint32)
        rows = np.repeat(np.tile(pattern, count // words)[:, None], LANES, axis=1)
    else:
        rows = registers[source + offset : source + offset + count]
    if bits == 64:
        return np.ascontiguousarray(rows.reshape(-1, 2, LANES).transpose(0, 2, 1)).view(np.uint64)
    return np.ascontiguousarray(rows).view(f"<u{bits // 8}")


def _rows(elements: NDArray[np.unsignedinteger]) -> NDArray[np.uint32]:
    """The registers that hold some elements, shape (count, 32 lanes); undoes `_operand`."""
    words = np.ascontiguousarray(elements).view(np.uint32)
    if words.ndim == 3:
        words = words.transpose(0, 2, 1)
    return words.reshape(-1, LANES)


def _check(command: Elementwise, registers: int) -> None:
    expected = OPERAND_COUNTS[command.operation]
    if len(command.sources) != expected:
        raise InvalidArgument(
            "sources", f"{len(command.sources)} operands", f"{expected} for {command.operation}"
        )
    words = _words(command)
    if command.count < 1 or command.count % words:
        raise InvalidArgument("count", str(command.count), f"a positive multiple of {words}")
    if command.flush and command.type not in ("f16", "f32"):
        raise InvalidArgument("flush", f"True for {command.type}", "True for f16 and f32")
    for source in (command.destination, *command.sources):
        if isinstance(source, Uniform):
            if not 0 <= source.pattern < 1 << 32 * words:
                raise InvalidArgument("sources", f"the value {source.pattern:#x}", f"{32 * words} bits")
        elif source < 0 or source + command.count > registers:
            given = f"registers {source} to {source + command.count - 1}"
            raise InvalidArgument("command", given, f"0 to {registers - 1}")
