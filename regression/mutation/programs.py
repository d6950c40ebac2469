"""``python -m regression.mutation.programs LIBRARY PRESET``: random programs on each mutant of a whole core.

The library is a simulation of all mutants, for `sim.rtl_machine.RtlMachine`. A mutant is noticed by what it
does otherwise than the golden machine, and by what it counts otherwise than the core without a fault: the
cycles of each program and up to each fault, and the core's own counters.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from mmap import MADV_NOHUGEPAGE, MAP_PRIVATE, mmap
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from golden.lines import gather_lines
from golden.memory import Memory
from golden.tables.commands import Command, Fill, Move
from golden.tables.layouts import LANES
from golden.warp import GoldenMachine
from hdl.command import COMMAND_BITS, encode
from hdl.config import PRESETS, CoreConfig
from hdl.control.host import REGISTERS
from hdl.memory.axi import HOST_ADDRESS_BITS
from regression.mutation.forks import become_mutant, compare_cycles, limited, settings
from regression.mutation.settings import MUTANT
from regression.random_programs.choices import (
    UNITS,
    Access,
    access_command,
    accesses_of,
    commands_of,
    default_stride,
    operands_of,
    stride_unit,
)
from regression.random_programs.faulting import FaultSession
from regression.random_programs.generator import make_program
from regression.random_programs.operands import FLOAT_KINDS, TWO_PRODUCTS
from regression.random_programs.program import Program, span
from regression.random_programs.running import Core, difference, fault_of
from sim.rtl_machine import RtlMachine
from sim.simulation import HostRefusal
from sim.testbench.reference import golden_machine

_SEED: Final = 1
_PROGRAMS: Final = (
    (2, False, FLOAT_KINDS),
    *((48, False, FLOAT_KINDS),) * 20,
    *((48, False, TWO_PRODUCTS),) * 20,
    *((12, True, FLOAT_KINDS),) * 10,
)
"""How many multiplies of its own each has, whether it is crowded, and kinds of its operands."""

_REACHING: Final = 600
"""Loads and stores all over a memory."""

_FAILING: Final = 200
"""Groups of loads and stores of which several fail."""

_TOUCHING: Final = 200
"""Commands with others behind them."""

_PAGE: Final = 4096
"""Bytes. No burst of AXI4 goes beyond a page."""

_REFUSED: Final = 2
"""One of so many accesses is refused at each of its lines."""

_NUMBER_BITS: Final = 8
"""Of a register in a command."""

_COUNT_BITS: Final = 12
"""Of registers in a fill or move."""

_FLIPPED: Final = 16
"""One of so many forms of a command has each of its bits inverted."""

_PROBES: Final = 1000
"""Accesses of the host."""

_SESSIONS: Final = 4
"""Of `FaultSession`, each with a seed of its own."""


def _count(test: str, core: Core) -> None:
    assert isinstance(core, RtlMachine)
    compare_cycles(test, (core.simulation.cycles, *asdict(core.counters).values()))


def _run(program: Program, open_core: Callable[[Program], RtlMachine], test: str) -> None:
    found = difference(program, open_core, on_end=partial(_count, test))
    assert found is None, found


def _fail(seed: int, preset: str, open_core: Callable[[Program], RtlMachine], test: str) -> None:
    session = FaultSession(preset, seed, open_core)
    for *_, found in session.run():
        assert found is None, found
        _count(test, session.core)


def _tell_alike(golden: GoldenMachine, core: RtlMachine, commands: Sequence[Command]) -> None:
    expected, found = (fault_of(machine, commands) for machine in (golden, core))
    told = [fault and (fault.cause, fault.index) for fault in (expected, found)]
    assert told[0] == told[1], f"{commands}: {told[1]}, not {told[0]}"


def _reach(library: Path, preset: str, test: str) -> None:
    """Loads and stores anywhere in a memory, with any stride; near a load is a store, near a store a load."""
    config, random = PRESETS[preset], np.random.default_rng(_SEED)
    golden = golden_machine(config, _all_addresses(config))
    core = RtlMachine(config, _all_addresses(config), library=library)
    accesses = accesses_of(config)
    loads, stores = ([item for item in accesses if (item.use == "d") == kept] for kept in (False, True))
    for number in range(_REACHING):
        access = accesses[random.integers(len(accesses))]
        layout = access.fragment
        unit = access.core_alignment
        stride = stride_unit(access) * int(2 ** random.uniform(0, 28))
        if random.random() < 0.2:
            stride = _longest_stride(access, config) + stride_unit(access) * int(random.integers(-1, 3))
        room = (1 << config.address_bits) - span(access, stride)
        if random.random() < 0.5 and room > 0:
            place = int(random.integers(room)) // unit
        else:
            place = max(room, 0) // unit + int(random.integers(3))
        register = int(random.integers(config.registers - layout.registers + 1))
        address = place * unit
        if number < 64 - config.address_bits:
            address |= 1 << config.address_bits + number
        command = access_command(access, "global", register, address, stride)
        registers = random.integers(0, 1 << 32, (config.registers, LANES), dtype=np.uint32)
        opposite = loads if access.use == "d" else stores
        near = opposite[random.integers(len(opposite))]
        at = address + (span(access, stride) - 1) * int(random.integers(2)) + 64 * int(random.integers(-1, 2))
        at = max(0, at) // near.core_alignment * near.core_alignment
        register = int(random.integers(config.registers - near.fragment.registers + 1))
        # Each of these takes the next slot of the scoreboard.
        before = [access_command(loads[0], "global", 0, 0, default_stride(loads[0]))] * int(
            random.integers(4)
        )
        commands = *before, command, access_command(near, "global", register, at, default_stride(near))
        lines = [*gather_lines(access, address, stride), *gather_lines(near, at, default_stride(near))]
        lines = [line for line in lines if golden.memory.contains(*line)]
        for machine in (golden, core):
            machine.write_registers(0, registers)
        for place, count in lines:
            values = random.integers(0, 256, count, dtype=np.uint8)
            for machine in (golden, core):
                machine.memory.write(place, values)
        _tell_alike(golden, core, commands)
        assert np.array_equal(golden.read_registers(), core.read_registers()), commands
        for line in lines:
            assert np.array_equal(golden.memory.read(*line), core.memory.read(*line)), commands
        _count(test, core)


def _longest_stride(access: Access, config: CoreConfig) -> int:
    """With which the last byte of an access to the first address is just within the memory."""
    least, unit = default_stride(access), stride_unit(access)
    step = span(access, least + unit) - span(access, least)
    return least + unit * (((1 << config.address_bits) - span(access, least)) // step)


def _refuse(library: Path, preset: str, test: str) -> None:
    """Accesses of which memory refuses each line in turn: the core says the same as without a fault."""
    config = PRESETS[preset]
    core = RtlMachine(config, _all_addresses(config), library=library)
    for number, access in enumerate(accesses_of(config)[::_REFUSED]):
        stride = default_stride(access) + stride_unit(access) * (1 + number % 5)
        # A line beyond a page is a burst more.
        address = _PAGE - access.core_alignment * (1 + number % 3)
        words = np.array([encode(access_command(access, "global", 0, address, stride))], dtype=np.uint32)
        for line in dict.fromkeys(gather_lines(access, address, stride)):
            core.simulation.set_slave_error(*line)
            assert not core.execute_words(words), (access, line)
            progress = int(core.simulation.read(REGISTERS["FAULT_PROGRESS"])[0])
            compare_cycles(test, (core.clear_fault()[0].value, progress, core.simulation.cycles))


def _rival(library: Path, preset: str, test: str) -> None:
    """Loads and stores at work at once, some of them outside of memory: the oldest of these is told."""
    config, random = PRESETS[preset], np.random.default_rng(_SEED)
    accesses = accesses_of(config)
    golden, core = golden_machine(config, Memory(_PAGE)), RtlMachine(config, Memory(_PAGE), library=library)
    for _ in range(_FAILING):
        commands = []
        for outside in random.random(int(random.integers(2, 6))) < 0.6:
            access = accesses[random.integers(len(accesses))]
            stride = default_stride(access) + stride_unit(access) * int(random.integers(3))
            # Its last line alone is outside, or all of it.
            address = _PAGE - access.core_alignment if random.random() < 0.5 else _PAGE
            commands.append(access_command(access, "global", 0, address if outside else 0, stride))
        _tell_alike(golden, core, commands)
        _count(test, core)


def _touch(library: Path, preset: str, test: str) -> None:
    """Fills and moves right behind a command, up to a register at either end of one of its operands."""
    config, random = PRESETS[preset], np.random.default_rng(_SEED)
    golden, core = golden_machine(config, Memory(_PAGE)), RtlMachine(config, Memory(_PAGE), library=library)
    forms = [form for unit in ("load", "store", "tile", "move") for form in commands_of(unit, config)]
    for _ in range(_TOUCHING):
        form = forms[random.integers(len(forms))]
        values = random.integers(0, 256, _PAGE, dtype=np.uint8)
        for machine in (golden, core):
            machine.memory.write(0, values)
        commands: list[Command] = []
        changed: dict[str, Any] = {
            operand: int(random.integers(config.registers - size + 1))
            for operand, (size, _) in operands_of(form).items()
        }
        form = replace(form, **changed)
        for operand, (size, _) in operands_of(form).items():
            first = changed[operand]
            for edge in (first - 1, first, first + size - 1, first + size):
                count = int(random.integers(1, 5))
                near = int(np.clip(edge - random.choice([0, count - 1]), 0, config.registers - count))
                far = int(random.integers(config.registers - count + 1))
                behind = Fill(near, count, edge & 0xFF), Move(near, far, count), Move(far, near, count)
                commands += [form, behind[random.integers(3)]]
        _tell_alike(golden, core, commands)
        assert np.array_equal(golden.read_registers(), core.read_registers()), commands
        _count(test, core)


def _limit(library: Path, preset: str, test: str) -> None:
    """Every form of a command, each operand from registers of one bit, and to the last one and beyond."""
    config, random = PRESETS[preset], np.random.default_rng(_SEED)
    golden = golden_machine(config, _all_addresses(config))
    core = RtlMachine(config, _all_addresses(config), library=library)
    forms = [form for unit in ("load", "store", "tile", "movmatrix") for form in commands_of(unit, config)]
    for count in sorted({(1 << place) + more for place in range(_COUNT_BITS) for more in (0, 1)}):
        forms += [Fill(0, count, count), Move(0, 0, count)]
    for form in forms:
        registers = random.integers(0, 1 << 32, (config.registers, LANES), dtype=np.uint32)
        for machine in (golden, core):
            machine.write_registers(0, registers)
        for operand, (size, _) in operands_of(form).items():
            last = config.registers - size
            for first in sorted({last, last + 1, *(1 << place for place in range(_NUMBER_BITS))}):
                if first not in range(1 << _NUMBER_BITS):
                    continue
                changed: dict[str, Any] = {operand: first}
                if isinstance(form, Fill):
                    changed["value"] = int(random.integers(1 << 32))
                command = replace(form, **changed)
                _tell_alike(golden, core, (command,))
        assert np.array_equal(golden.read_registers(), core.read_registers()), form
        _count(test, core)


def _flip(library: Path, preset: str, test: str) -> None:
    """Commands with one bit inverted: the core says and leaves the same as without a fault."""
    config, random = PRESETS[preset], np.random.default_rng(_SEED)
    core = RtlMachine(config, _all_addresses(config), library=library)
    core.memory.write(0, random.integers(0, 256, 1 << 16, dtype=np.uint8))
    core.write_registers(0, random.integers(0, 1 << 32, (config.registers, LANES), dtype=np.uint32))
    for form in [form for unit in UNITS for form in commands_of(unit, config)[::-_FLIPPED]]:
        for place in range(COMMAND_BITS):
            words = np.array([encode(form)], dtype=np.uint32)
            words[0, place // 32] ^= np.uint32(1 << place % 32)
            cause = 0 if core.execute_words(words) else core.clear_fault()[0].value
            compare_cycles(test, (cause, core.simulation.cycles))
        compare_cycles(
            test, (crc32(core.read_registers().tobytes()), crc32(core.memory.read(0, 1 << 16).tobytes()))
        )


def _probe(library: Path, preset: str, test: str) -> None:
    """Reads and writes of the host anywhere, also several at once: it is told the same as without a fault."""
    random = np.random.default_rng(_SEED)
    core = RtlMachine(PRESETS[preset], Memory(64), library=library)
    for _ in range(_PROBES):
        address = int(random.integers(1 << random.integers(1, HOST_ADDRESS_BITS + 1)))
        address &= ~int(random.choice([0, 3, 3, 3]))
        count = min(int(random.choice([1, 1, 40])), (1 << HOST_ADDRESS_BITS) - address + 3 >> 2)
        try:
            if random.random() < 0.3:
                core.simulation.write(address, random.integers(0, 1 << 32, count, dtype=np.uint32))
                told = 0
            else:
                told = crc32(core.simulation.read(address, count).tobytes())
        except HostRefusal:
            told = -1
        compare_cycles(test, (told, core.simulation.cycles))


def _all_addresses(config: CoreConfig) -> Memory:
    """Memory of which only the pages that are written take room."""
    memory = Memory(64)
    pages = mmap(-1, 1 << config.address_bits, flags=MAP_PRIVATE)
    pages.madvise(MADV_NOHUGEPAGE)
    memory.data = np.frombuffer(pages, dtype=np.uint8)
    return memory


def main(library: Path, preset: str) -> None:
    """Try the mutants that the settings name, each until a test fails; the process ends."""

    def open_core(program: Program) -> RtlMachine:
        memory = program.fresh_memory()
        return RtlMachine(program.config, memory, timing=program.timing, library=library)

    programs = [
        make_program(preset, _SEED, number, multiplies, kinds=kinds, crowded=crowded)
        for number, (multiplies, crowded, kinds) in enumerate(_PROGRAMS)
    ]
    tests: dict[str, Callable[[str], None]] = {
        **{f"program {number}": partial(_run, program, open_core) for number, program in enumerate(programs)},
        **{f"faults {seed}": partial(_fail, seed, preset, open_core) for seed in range(_SESSIONS)},
        "reach": partial(_reach, library, preset),
        "refuse": partial(_refuse, library, preset),
        "rival": partial(_rival, library, preset),
        "touch": partial(_touch, library, preset),
        "limit": partial(_limit, library, preset),
        "flip": partial(_flip, library, preset),
        "probe": partial(_probe, library, preset),
    }
    names = sorted(tests, key=lambda name: settings().limits.get(name, 0.0))  # the shortest first
    MUTANT.write_text(str(become_mutant()))
    for name in names:
        with limited(name, is_last=name == names[-1]):
            tests[name](name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
