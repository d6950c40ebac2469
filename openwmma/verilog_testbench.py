"""A self-checking testbench of a core in SystemVerilog: the records that it executes, and its text."""

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, closing
from enum import IntEnum
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from golden.machine import Machine
from golden.memory import Memory
from golden.simt.trace_file import TraceReader
from golden.tables.commands import Command, Load, Mma, Store
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from golden.warp import GoldenMachine
from hdl.command import COMMAND_WORDS, encode
from hdl.config import CoreConfig
from hdl.control.host import register_map
from hdl.control.host.register_map import IDENTITY, REGISTER_MAP, REGISTERS, SHARED_WINDOW, WINDOW
from hdl.memory.axi import HOST_ADDRESS_BITS
from hdl.memory.fragment_geometry import legal_fragments
from sim import host_map
from sim.replay.addresses import GRANULE
from sim.replay.expectation import Expectation
from sim.replay.replay import Player
from sim.testbench.reference import golden_machine

_MIN_MEMORY_BITS: Final = 16
_A, _B, _C, _D, _USED = range(0, 40, 8)
"""First registers of the fragments, and how many of the 32 registers that every core has are used."""

_KEPT: Final = 0xBFFF_BFFF
"""Bits of the random operands; without the upper exponents of f16 and f32, so that few results are NaN."""

_PLACE: Final = 0x1000


class Kind(IntEnum):
    """What a record has the testbench do; each is kind, line, address, number of words, and the words."""

    END = 0
    COMMAND = 1
    """Queue a command."""
    WAIT = 2
    """Wait until the core is idle."""
    WRITE = 3
    """Write memory, in no time."""
    CHECK = 4
    """Compare memory."""
    HOST_WRITE = 5
    """Write registers or windows of the host port."""
    HOST_CHECK = 6
    """Compare them."""


class Stimulus:
    """Records in words of 32 bits; the memory beside the core has ``2**memory_bits`` bytes."""

    def __init__(self, memory_bits: int = _MIN_MEMORY_BITS) -> None:
        self.memory_bits = memory_bits
        self._lines: dict[str, int] = {}
        self._pieces: list[NDArray[np.uint32]] = []

    @property
    def lines(self) -> Sequence[str]:
        """Texts of the kernel, by the numbers in the records."""
        return tuple(self._lines)

    @property
    def words(self) -> NDArray[np.uint32]:
        """All records, and the end."""
        return np.concatenate([*self._pieces, np.zeros(1, np.uint32)])

    def add(self, kind: Kind, address: int = 0, data: ArrayLike = (), line: str = "") -> None:
        """Add a record."""
        words = np.array(data, np.uint32).reshape(-1)
        number = self._lines.setdefault(line, len(self._lines))
        self._pieces += [np.array([kind, number, address, words.size], np.uint32), words]

    def registers(
        self, kind: Kind, first: int, values: NDArray[np.uint32], warp: int = 0, line: str = ""
    ) -> None:
        """Write or compare registers of a warp; `values` has shape (count, 32)."""
        self.add(Kind.HOST_WRITE, host_map.WARP, [warp], line)
        self.add(kind, register_map.lane_address(first), values, line)


class _Recorder(GoldenMachine):
    """Records what a machine is given; it executes nothing."""

    stimulus: Stimulus
    lines: list[str]
    """Of the commands that come next."""

    def queue(self, commands: Iterable[Command]) -> None:
        """Record commands."""
        for command, line in zip(commands, self.lines, strict=True):
            assert isinstance(command, Command)
            self.stimulus.add(Kind.COMMAND, data=encode(command), line=line)
        self.lines.clear()

    def finish(self) -> None:
        """Record that the core ends its work."""
        self.stimulus.add(Kind.WAIT)

    def write_registers(self, first: int, values: NDArray[np.uint32], *, warp: int = 0) -> None:
        """Record registers that the host sets."""
        self.stimulus.registers(Kind.HOST_WRITE, first, values, warp)


class _Checks(Expectation):
    """Records what would be compared; what memory holds in the end the testbench compares by itself."""

    def __init__(self, machine: Machine, memory_bytes: int, shared_bytes: int) -> None:
        super().__init__(machine, memory_bytes, shared_bytes)
        assert isinstance(machine, _Recorder)
        self._stimulus = machine.stimulus
        self._bases = machine.memory.base, register_map.SHARED_WINDOW
        self._changed: dict[tuple[int, int], None] = {}

    def write(self, is_shared: bool, offset: int, data: NDArray[np.uint8]) -> None:
        """Record whole words that the host writes."""
        super().write(is_shared, offset, data)
        self._memory(Kind.HOST_WRITE if is_shared else Kind.WRITE, is_shared, offset, offset + data.size)

    def load(self, warp: int, first: int, content: bytes, origin: tuple[Command | None, str]) -> None:
        """Expect a content in registers, which are compared the next time."""
        super().load(warp, first, content, origin)
        count = len(content) // (4 * LANES)
        self._changed |= dict.fromkeys((warp, first + place) for place in range(count))

    def compare_registers(self) -> None:
        """Record the registers that have changed since the last time."""
        for warp, register in self._changed:
            values, line = self._registers[warp, register], self._writers[warp][register][1]
            self._stimulus.registers(Kind.HOST_CHECK, register, values, warp, line)
        self._changed.clear()

    def compare_stored(self) -> None:
        """Record what has been stored since the last time."""
        stored, self._stored = self._stored, []
        for entry, _ in stored:
            assert entry.place is not None
            is_shared, places = entry.place.is_shared, np.unique(entry.granules)
            kind = Kind.HOST_CHECK if is_shared else Kind.CHECK
            for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
                first, last = int(run[0]) * GRANULE, (int(run[-1]) + 1) * GRANULE
                self._memory(kind, is_shared, first, last, entry.line)

    def compare_memories(self) -> None:
        """Nothing: the testbench compares them."""

    def _memory(self, kind: Kind, is_shared: bool, first: int, last: int, line: str = "") -> None:
        begin, end = first // 4 * 4, -(-last // 4) * 4
        words = self._memories[is_shared].reshape(-1)[begin:end].view("<u4")
        self._stimulus.add(kind, self._bases[is_shared] + begin, words, line)


def launch_stimulus(trace: TraceReader, config: CoreConfig, name: str) -> Stimulus:
    """The matrix instructions of a launch as a core of a configuration executes them.

    `name` is of the core, for messages. LaunchError for a trace that the core cannot execute.
    """
    stimulus, lines = Stimulus(), list[str]()

    def opened(size: int) -> AbstractContextManager[Machine]:
        memory = Memory(size, _PLACE)
        stimulus.memory_bits = max(_MIN_MEMORY_BITS, (_PLACE + size - 1).bit_length())
        machine = golden_machine(config, memory, _Recorder)
        assert isinstance(machine, _Recorder)
        machine.stimulus, machine.lines = stimulus, lines
        return closing(machine)

    Player(config, opened, name=name, on_command=lines.append, expectation=_Checks).play(trace)
    return stimulus


def multiply_stimulus(config: CoreConfig) -> Stimulus:
    """A multiply of random operands, its result stored and loaded back, compared with the golden machine."""
    stimulus, machine = Stimulus(), golden_machine(config, Memory(1 << _MIN_MEMORY_BITS, 0))
    before = np.random.default_rng(1).integers(0, 1 << 32, (_USED, LANES), np.uint32) & np.uint32(_KEPT)
    stimulus.registers(Kind.HOST_WRITE, 0, before)
    machine.write_registers(0, before)
    for command in _commands(config):
        machine.execute(command)
        stimulus.add(Kind.COMMAND, data=encode(command), line=type(command).__name__)
    stimulus.add(Kind.WAIT)
    words = machine.memory.data.view("<u4")
    stored = slice(_PLACE // 4, int(np.flatnonzero(words)[-1]) + 1)
    stimulus.add(Kind.CHECK, _PLACE, words[stored], Store.__name__)
    after = machine.read_registers()[:_USED]
    if np.array_equal(after, before):
        raise AssertionError("the commands of a testbench must change registers")
    stimulus.registers(Kind.HOST_CHECK, 0, after)
    return stimulus


def _commands(config: CoreConfig) -> list[Command]:
    """A multiply, and its result to memory and back."""
    fragments = set(legal_fragments(config))
    multiply = next(
        item
        for item in config.multiplies()
        if {(use, item.types["d"], item.shape, "row") for use in ("c", "d")} <= fragments
    )
    result = multiply.types["d"]
    store = StoreInstruction(layout="row", shape=multiply.shape, type=result)
    load = LoadInstruction(use="c", layout="col", shape=multiply.shape, type=result)
    return [Mma(multiply, _D, _A, _B, _C), Store(store, _D, _PLACE, 32), Load(load, _C, _PLACE, 32)]


TESTBENCH: Final = "openwmma_testbench"
"""Name of the testbench's module."""

_SOURCE: Final = Path(__file__).with_name("testbench.sv")
_IN_A_ROW: Final = 4


def generate_testbench(config: CoreConfig, stimulus: Stimulus, file: str | None = None) -> str:
    """Generate a testbench that drives the core through its host port, and the example's memory directly.

    It queues commands as fast as the core takes them, compares registers and memory with what the golden
    model has computed, and prints ``PASS``, or ends with ``$fatal`` and the first difference. `file`
    names what ``$readmemh`` reads the words from; None for words within the testbench. Core and example
    are in files of their own.
    """
    status, words = REGISTER_MAP["STATUS"], stimulus.words
    values = {
        **{kind.name: kind.value for kind in Kind},
        "IDENTITY": IDENTITY,
        "ADDRESS_BITS": HOST_ADDRESS_BITS,
        "COMMAND_REGISTER": REGISTERS["COMMAND"],
        "COMMAND_WORDS": COMMAND_WORDS,
        "STATUS": status.offset,
        "BUSY": status["busy"].low,
        "FAULT": status["fault"].low,
        "FREE_SHIFT": status["free"].low,
        "FREE_MASK": status["free"].mask >> status["free"].low,
        "WARP": REGISTERS["WARP"],
        "WARPS": config.warps,
        "WINDOW": WINDOW,
        "SHARED_WINDOW": SHARED_WINDOW,
        "MEMORY_WORDS": 1 << stimulus.memory_bits - 2,
        "ROW_WORDS": config.data_bits // 32,
        "WORDS": words.size,
    }
    data = f"  initial $readmemh({json.dumps(file)}, stimulus);" if file else _assigned(words.tolist())
    parts = {
        "  // PARAMETERS": "\n".join(f"  localparam {name} = {value};" for name, value in values.items()),
        "  // STIMULUS": data,
        "      // LINES": "\n".join(
            f"      {number}: text = {_quoted(line)};" for number, line in enumerate(stimulus.lines)
        ),
    }
    text = _SOURCE.read_text()
    for mark, part in parts.items():
        text = text.replace(mark, part, 1)
    return text


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.encode("ascii", "replace").decode().split()))


def _assigned(words: list[int]) -> str:
    """Assignments of words, several in a row."""
    rows = []
    for place in range(0, len(words), _IN_A_ROW):
        row = words[place : place + _IN_A_ROW]
        names = ", ".join(f"stimulus[{place + number}]" for number in range(len(row)))
        values = "_".join(f"{word:08x}" for word in row)
        rows.append(f"    {{{names}}} = {32 * len(row)}'h{values};")
    return "\n".join(("  initial begin", *rows, "  end"))
