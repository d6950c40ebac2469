"""Writes the numpy code of the basic blocks of a kernel, and compiles each when it first runs.

In the code, ``r7`` is the value of register 7 in the threads at hand, one element each; ``ix`` are those
threads; ``n`` is their number; ``B`` is the block (`golden.simt.block.BlockRun`). Arrays are never changed in
place, so registers may share them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from golden.ptx.blocks import Block, Terminator
from golden.ptx.decoding import Context, Statement, Step, constant_bits
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Immediate,
    Negated,
    Operand,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
)
from golden.simt.arrays import Access
from golden.simt.mbarrier_access import pending_count
from golden.simt.warp_operations import active_mask
from golden.tables.layouts import LANES

DTYPES: Final[Mapping[int, Any]] = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
"""The dtype of the raw bits of a register, by its width."""

Widths = Sequence[tuple[Operand, int]]
"""Operands, each with the bits of its value."""


class BlockCode(NamedTuple):
    """The compiled code of a block, and of those behind it as long as all threads stay together."""

    run: Callable[[Any, NDArray[np.int64]], Any]
    """From the running block and its threads to what the terminator needs: a predicate or operands."""
    last: int
    """Number of the last block."""
    size: int
    """Instructions."""
    meets: bool
    """Whether threads exchange something in it."""


@dataclass
class Writer:
    """The code of one block, as it grows."""

    slots: Mapping[str, int]
    """Number of each register, by its key."""
    widths: Sequence[int]
    """Bits of each register."""
    lines: list[str] = field(default_factory=list)
    namespace: dict[str, Any] = field(default_factory=dict)
    inputs: dict[int, None] = field(default_factory=dict)
    defined: dict[int, None] = field(default_factory=dict)
    _constants: dict[tuple[Any, ...], str] = field(default_factory=dict)
    _specials: dict[str, str] = field(default_factory=dict)
    _count: int = 0
    _index: int = 0
    _subset: str = ""
    _select: str = ""
    _indent: str = "    "

    @property
    def threads(self) -> str:
        """The threads that execute the instruction."""
        return f"ix[{self._subset}]" if self._subset else "ix"

    @property
    def count(self) -> str:
        """How many they are."""
        return f"{self._subset}.size" if self._subset else "n"

    def line(self, text: str) -> None:
        """Add a line of code."""
        self.lines.append(self._indent + text)

    def name(self) -> str:
        """A new name for a value in between."""
        self._count += 1
        return f"t{self._count}"

    def bind(self, value: Any) -> str:
        """A name for an object that the code uses."""
        return self._constant(("object", id(value)), value)

    def constant(self, value: int, bits: int) -> str:
        """A numpy scalar: the low bits of a number."""
        low = value & ((1 << bits) - 1)
        return self._constant((low, bits), DTYPES[bits](low))

    def uniform(self, value: int, bits: int) -> str:
        """The low bits of a number in every thread."""
        return f"full({self.count}, {self.constant(value, bits)})"

    def broadcast(self, operand: object, bits: int) -> str:
        """As `read`, with a constant as an array of one element."""
        if not isinstance(operand, Immediate):
            return self.read(operand, bits)
        value = constant_bits(operand, bits)
        return self._constant((value, bits, "array"), np.full(1, value, dtype=DTYPES[bits]))

    def _constant(self, key: tuple[Any, ...], value: Any) -> str:
        """The name of an object; the same one for the same key."""
        name = self._constants.setdefault(key, f"k{len(self._constants)}")
        self.namespace.setdefault(name, value)
        return name

    def write_code(self, step: Step) -> None:
        """Add the code of an instruction, under its guard."""
        self._index = step.index
        if step.guard is None:
            step.write_code(self)
            return
        slot, negated = step.guard
        guard = ("~" if negated else "") + self.slot(slot)
        name = self.name()
        if step.select:
            self.line(f"{name} = {guard}")
            self._select = name
            step.write_code(self)
            self._select = ""
            return
        for written in step.writes:
            self.slot(written)
        self.line(f"{name} = ({guard}).nonzero()[0]")
        self.line(f"if {name}.size:")
        self._subset, self._indent = name, self._indent + "    "
        specials, self._specials, before = self._specials, {}, len(self.lines)
        step.write_code(self)
        if len(self.lines) == before:
            self.line("pass")
        self._specials = specials
        self._subset, self._indent = "", self._indent[:-4]

    def watch(self, statement: Statement, watched: frozenset[int]) -> None:
        """Tell the block which of some registers a statement uses, before it does."""
        reads, writes = (tuple(watched.intersection(slots)) for slots in (statement.reads, statement.writes))
        if getattr(statement, "whole", 0) > LANES or not (reads or writes):
            return
        threads = "ix"
        if statement.guard is not None:
            slot, negated = statement.guard
            threads = f"ix[{'~' if negated else ''}{self.slot(slot)}]"
        self.line(f"B.check_registers({threads}, {reads}, {writes}, {statement.index})")

    def announce(self, statement: Statement, writes: Sequence[int] = ()) -> None:
        """Tell `LaunchState.on_step` what an instruction has written; before a terminator takes effect."""
        values = "".join(f"{self.slot(slot)}, " for slot in writes)
        self.line(f"B.launch.on_step(B, {self.bind(statement)}, ix, {tuple(writes)}, ({values}))")

    def read(self, operand: object, bits: int) -> str:
        """The code of a source operand, as raw bits of this width."""
        if isinstance(operand, Negated):
            return f"(~{self.read(operand.register, 1)})"
        if isinstance(operand, Register):
            slot = self.slots[operand.key]
            text = self.slot(slot)
            if self._subset:
                text = f"{text}[{self._subset}]"
            return self.resize(text, self.widths[slot], bits)
        if isinstance(operand, SpecialRegister):
            return self.resize(self._special(operand.name), SPECIAL[operand.name].bits, bits)
        assert isinstance(operand, Immediate), operand
        return self.constant(constant_bits(operand, bits), bits)

    def array(self, operand: object, bits: int) -> str:
        """As `read`, with one element for each thread even of a constant."""
        if isinstance(operand, Immediate):
            return self.uniform(constant_bits(operand, bits), bits)
        return self.read(operand, bits)

    def address(self, context: Context, operand: Address) -> str:
        """The code of an address within its state space: an array of uint64."""
        base = operand.base
        offset = operand.offset
        if isinstance(base, Symbol):
            return self.place(context, base, offset, 64)
        if isinstance(base, Immediate):
            return self.uniform(base.value + offset, 64)
        bits = base.type.bits
        text = self.read(base, bits)
        if offset:
            text = f"({text} + {self.constant(offset, bits)})"
        return text if bits == 64 else f"{text}.astype('u8')"

    def place(self, context: Context, symbol: Symbol, offset: int, bits: int) -> str:
        """The code of the address of a variable or function, with an offset added."""
        offset += context.symbol(symbol)[1] + symbol.offset
        frame = context.frames.get(symbol.key)
        if frame is None:
            return self.uniform(offset, bits)
        return self.resize(f"({self.read(frame, 64)} + {self.constant(offset, 64)})", 64, bits)

    def access(self, context: Context, operand: Address, base: int = 0) -> str:
        """The code of a `golden.simt.arrays.Access`, with `base` added to the addresses."""
        where = self.address(context, operand)
        where = f"({where} + {self.constant(base, 64)})" if base else where
        return f"Access({self.threads}, {where}, {self._index})"

    def write(self, operand: object, value: str, bits: int, *, signed: bool = False) -> None:
        """Assign a value of this width to a destination operand; a narrower one is extended."""
        if isinstance(operand, Sink):
            return
        assert isinstance(operand, Register), operand
        slot = self.slots[operand.key]
        self.assign(slot, self.resize(value, bits, self.widths[slot], signed=signed))

    def results(self, call: str, targets: Widths, *, signed: bool = False) -> None:
        """Call something, and assign what it returns to destinations: one value, or one for each."""
        if len(targets) == 1 and not isinstance(targets[0][0], Sink):
            self.write(targets[0][0], call, targets[0][1], signed=signed)
            return
        names = [self.name() for _ in targets]
        self.line(f"{', '.join(names)} = {call}" if names else call)
        for (operand, bits), name in zip(targets, names, strict=True):
            self.write(operand, name, bits, signed=signed)

    def assign(self, slot: int, value: str) -> None:
        """Assign a value of its width to a register, by its number."""
        if self._select:
            old = self.slot(slot)
            self.line(f"r{slot} = where({self._select}, {value}, {old})")
        elif self._subset:
            self.line(f"r{slot} = merge(r{slot}, {self._subset}, {value})")
        else:
            self.line(f"r{slot} = {value}")
        self.defined[slot] = None

    def resize(self, text: str, bits: int, wanted: int, *, signed: bool = False) -> str:
        """The code of a value of `bits` bits as one of `wanted` bits."""
        if bits == wanted:
            return text
        if wanted == 1:
            return f"({text} != 0)"
        if signed and wanted > bits > 1:
            return f"{text}.view('i{bits // 8}').astype('i{wanted // 8}').view('u{wanted // 8}')"
        return f"{text}.astype('u{wanted // 8}')"

    def slot(self, slot: int) -> str:
        """The name of a register's value."""
        if slot not in self.defined:
            self.inputs[slot] = None
        return f"r{slot}"

    def _special(self, name: str) -> str:
        if SPECIAL[name].varies or name not in self._specials:
            variable = self.name()
            self.line(f"{variable} = B.special({name!r}, {self.threads})")
            self._specials[name] = variable
        return self._specials[name]


def _merge(old: NDArray[Any], where: NDArray[np.int64], new: NDArray[Any]) -> NDArray[Any]:
    result = old.copy()
    result[where] = new
    return result


_GLOBALS: Final = {
    **{"Access": Access, "where": np.where, "full": np.full, "merge": _merge},
    **{"active_mask": active_mask, "pending_count": pending_count},
    "every_lane": np.full(1, 0xFFFFFFFF, dtype=np.uint32),
}


def compile_block(kernel: Any, number: int, everyone: bool) -> BlockCode:
    """Compile a block of a `golden.simt.compiled.CompiledKernel`, by its number.

    With `everyone`, all threads of the block take part: registers are used and replaced as a whole, and
    collectives of whole warps do not end the code.
    """
    writer = Writer(kernel.slots, kernel.widths)
    last, size = number, 0
    while True:
        block: Block = kernel.blocks[last]
        size += block.size
        for step in block.steps:
            if kernel.watched:
                writer.watch(step, kernel.watched)
            writer.write_code(step)
            if kernel.is_stepped:
                writer.announce(step, step.writes)
        if not everyone or not kernel.goes_on(last):
            break
        _exchange(writer, block.terminator)
        if kernel.is_stepped and block.terminator is not None:
            writer.announce(block.terminator, block.terminator.writes)
        last += 1
    if kernel.is_stepped and block.terminator is not None:
        writer.announce(block.terminator)
    if kernel.watched and block.terminator is not None:
        writer.watch(block.terminator, kernel.watched)
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
    return BlockCode(namespace["code"], last, size, kernel.blocks[number].whole > 0 or last > number)


def _exchange(writer: Writer, collective: Terminator | None) -> None:
    """The code of a collective of whole warps."""
    assert collective is not None
    details = collective.details
    if details["compute"] is not None:
        names = [writer.name() for _ in details["targets"]]
        values = ", ".join(writer.array(operand, bits) for operand, bits in details["sources"])
        writer.line(f"{', '.join(names)}, = {writer.bind(details['compute'])}(ix, every_lane, {values})")
        for slot, name in zip(details["targets"], names, strict=True):
            if slot is not None:
                writer.assign(slot, name)


_OUTCOMES: Final[Mapping[str, Sequence[tuple[str, int]]]] = {
    "indexed": [("choice", 32)],
    "barrier": [("barrier", 32), ("count", 32), ("value", 1)],
    "call": [("callee", 64)],
}
"""The details of terminators that blocks return, with their bits, by kind."""


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
    operands = [(details[name], bits) for name, bits in _OUTCOMES.get(terminator.kind, ())]
    if terminator.kind == "collective":
        operands = [(details["mask"], 32), *details["sources"]]
    texts = ["None" if operand is None else writer.array(operand, bits) for operand, bits in operands]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
