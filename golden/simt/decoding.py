"""What all decoders of instructions share: names to registers and addresses, and complaints."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from golden.ptx.source import Location, PtxError, Source
from golden.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    parts,
)
from golden.simt.special_registers import SPECIAL
from golden.simt.writer import Step, Writer, constant_bits

__all__ = ["LOCAL_PARAMETERS", "Context", "split_qualifiers"]

LOCAL_PARAMETERS: Final = 1 << 20
"""Where a thread's local memory begins in parameter space: the parameters of calls are in it."""


class Context:
    """The registers and names of one kernel, while it is decoded.

    Parameters
    ----------
    source : Source
    version : (int, int)
        PTX ISA version.
    symbols : mapping of str to (Variable, int)
        Each variable and parameter by its key, with its address within its state space.

    Attributes
    ----------
    slots : dict of str to int
        Number of each register that has been met, by key.
    widths : list of int
        Bits of each.
    """

    def __init__(
        self, source: Source, version: tuple[int, int], symbols: Mapping[str, tuple[Variable, int]]
    ) -> None:
        self.source = source
        self.version = version
        self.symbols = symbols
        self.slots: dict[str, int] = {}
        self.widths: list[int] = []

    def error(self, location: Location, message: str) -> PtxError:
        """The error about something at `location`."""
        return self.source.error(location, message)

    def unsupported(self, instruction: Instruction, detail: str = "") -> PtxError:
        """The error that an instruction is not supported."""
        return self.error(
            instruction.location, f"{instruction.name} is not supported" + (f": {detail}" if detail else "")
        )

    def slot(self, register: Register) -> int:
        """The number of a register."""
        return self._slot(register.key, register.type.bits)

    def carry(self) -> int:
        """The number of the carry flag, a predicate without a name."""
        return self._slot("%cc", 1)

    def _slot(self, key: str, bits: int) -> int:
        if key not in self.slots:
            self.slots[key] = len(self.widths)
            self.widths.append(bits)
        return self.slots[key]

    def registers(self, operands: Iterable[Operand]) -> tuple[int, ...]:
        """The numbers of all registers in some operands."""
        found: list[int] = []
        for operand in operands:
            found += [self.slot(part) for part in parts(operand) if isinstance(part, Register)]
        return tuple(dict.fromkeys(found))

    def step(
        self,
        instruction: Instruction,
        index: int,
        sources: Iterable[Operand],
        targets: Iterable[Operand],
        emit: Callable[[Writer], None],
        **kind: Any,
    ) -> Step:
        """A decoded instruction.

        Parameters
        ----------
        instruction : Instruction
        index : int
            Its number in the kernel.
        sources, targets : iterable of Operand
            Whose registers it reads and writes.
        emit : callable
            Writes its code.
        **kind
            Further fields of `golden.simt.writer.Step`.
        """
        reads, writes = self.registers(sources), self.registers(targets)
        return Step(instruction=instruction, index=index, reads=reads, writes=writes, emit=emit, **kind)

    def require_count(
        self,
        instruction: Instruction,
        least: int,
        most: int | None = None,
        operands: tuple[Operand, ...] | None = None,
    ) -> None:
        """Refuse an instruction with another number of operands, or of operands that are given."""
        given, most = len(instruction.operands if operands is None else operands), most or least
        if not least <= given <= most:
            expected = str(least) if least == most else f"{least} to {most}"
            raise self.error(
                instruction.location, f"{instruction.name} takes {expected} operands, not {given}"
            )

    def require_source(self, operand: Operand, bits: int, *, wider: bool = False) -> None:
        """Refuse an operand that cannot be a source of this width.

        Parameters
        ----------
        operand : Operand
        bits : int
        wider : bool
            Whether a register may be wider than that.
        """
        if isinstance(operand, Negated) and bits == 1:
            operand = operand.register
        if isinstance(operand, Register):
            have = operand.type.bits
            if have != bits and not (wider and have > bits > 1):
                raise self.error(
                    operand.location,
                    f"expected an operand of {_bits(bits)}, but {operand.name} is {operand.type}",
                )
        elif isinstance(operand, SpecialRegister):
            have = SPECIAL[operand.name].bits
            if have < bits:
                raise self.error(operand.location, f"{operand.name} has {have} bits, not {bits}")
        elif isinstance(operand, Immediate):
            if constant_bits(operand, bits) < 0:
                raise self.error(operand.location, f"the constant does not fit an operand of {_bits(bits)}")
        else:
            raise self.error(operand.location, f"expected a register or a constant of {_bits(bits)}")

    def require_destination(self, operand: Operand, bits: int, *, wider: bool = False) -> None:
        """Refuse an operand that cannot be a destination of this width."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise self.error(operand.location, "the destination must be a register")
        have = operand.type.bits
        if have != bits and not (wider and have > bits > 1):
            raise self.error(
                operand.location,
                f"expected a destination of {_bits(bits)}, but {operand.name} is {operand.type}",
            )

    def symbol(self, symbol: Symbol) -> tuple[Variable, int]:
        """The variable or parameter of a name, and its address in its state space, without the offset."""
        found = self.symbols.get(symbol.key)
        if found is None:
            raise self.error(symbol.location, f"{symbol.name} is not a variable or parameter")
        return found

    def require_address(self, operand: Operand) -> Address:
        """The operand, which must be an address in brackets."""
        if not isinstance(operand, Address):
            raise self.error(operand.location, "expected an address in brackets")
        base = operand.base
        if isinstance(base, Register) and (base.type.bits not in (32, 64) or base.type.kind == "float"):
            raise self.error(base.location, f"an address cannot be in {base.name}, which is {base.type}")
        if isinstance(base, Symbol):
            self.symbol(base)
        return operand

    def space_of(self, address: Address) -> str | None:
        """The state space of the variable or parameter that an address names; None if it names none."""
        return self.symbol(address.base)[0].space if isinstance(address.base, Symbol) else None

    def address(self, writer: Writer, operand: Address) -> str:
        """The code of an address within its state space: an array of uint64."""
        base = operand.base
        offset = operand.offset
        if isinstance(base, Symbol):
            offset += self.symbol(base)[1] + base.offset
            return writer.uniform(offset, 64)
        if isinstance(base, Immediate):
            return writer.uniform(base.value + offset, 64)
        bits = base.type.bits
        text = writer.read(base, bits)
        if offset:
            text = f"({text} + {writer.constant(offset, bits)})"
        return text if bits == 64 else f"{text}.astype('u8')"


def split_qualifiers(
    context: Context,
    instruction: Instruction,
    groups: Mapping[str, Iterable[str]],
    ignored: Iterable[str] = (),
) -> dict[str, str]:
    """Sort the qualifiers of an instruction by what they say.

    Parameters
    ----------
    context : Context
    instruction : Instruction
    groups : mapping of str to iterable of str
        What each group of qualifiers may be; at most one of each group may be given.
    ignored : iterable of str
        Qualifiers without effect on values; cache hints need not be listed.

    Returns
    -------
    dict of str to str
        The qualifier given of each group, where there is one.
    """
    found: dict[str, str] = {}
    without = frozenset(ignored)
    for part in instruction.opcode[1:]:
        if part in without or part.startswith(("L1::", "L2::")):
            continue
        group = next(
            (name for name, allowed in groups.items() if part in allowed and name not in found), None
        )
        if group is None:
            raise context.unsupported(instruction, f"qualifier .{part}")
        found[group] = part
    return found


def _bits(bits: int) -> str:
    return "one bit (a predicate)" if bits == 1 else f"{bits} bits"
