"""What all decoders of instructions share: names to registers and addresses, and complaints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from golden.ptx.scalar_types import TYPES, float_bits, float_value
from golden.ptx.source import PtxError, Source
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
    parts,
)
from golden.tables.matrix_instructions import Instruction as MatrixInstruction


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One decoded instruction."""

    instruction: Instruction
    index: int
    """Its number in the kernel: what reports name."""
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    """Registers, the guard among those read."""
    guard: tuple[int, bool] | None = None
    """Register of the guard, and whether it is negated."""


@dataclass(frozen=True, kw_only=True)
class Step(Statement):
    """One that ends no block."""

    write_code: Callable[[Any], Any]
    """Writes its code into a `golden.simt.code.Writer`."""
    select: bool = True
    """Whether a guarded instruction is computed in all threads, with its results kept where the guard holds;
    otherwise it is executed for the threads alone whose guard holds."""
    pure: bool = False
    """Whether nothing is lost by leaving it out when its results are not used."""
    loads: bool = False
    """Whether it reads memory, so that leaving it out is worth a note."""
    collective: Mapping[str, Any] | None = None
    """The details of an instruction that the lanes of a mask execute together, as of a `Terminator`."""
    whole: int = 0
    """How many threads must execute it together: 32 of a warp, 128 of a warpgroup; 0 where each may alone."""
    matrix: MatrixInstruction | None = None
    """What the engine is asked to execute."""


@dataclass
class Context:
    """The registers and names of one kernel, while it is decoded."""

    source: Source
    version: tuple[int, int]
    symbols: Mapping[str, tuple[Variable, int]]
    """Each variable and parameter by its key, with its address within its state space."""
    decoder: "Decoder"
    """Decodes what ends no block, without its guard."""
    frames: Mapping[str, Register] = field(default_factory=dict)
    """The register that is added to the address of a variable on the stack, by the variable's key."""
    slots: dict[str, int] = field(default_factory=dict)
    """Number of each register that has been met, by key."""
    widths: list[int] = field(default_factory=list)
    """Bits of each."""

    def decode(self, instruction: Instruction, index: int) -> Step:
        """Decode an instruction that ends no block, by its number in the kernel.

        The guard of one that lanes execute together is left out.
        """
        step = self.decoder(self, instruction, index)
        if instruction.guard is None or step.whole or step.collective is not None:
            return step
        slot = self.slot(instruction.guard.register)
        return replace(step, guard=(slot, instruction.guard.negated), reads=(*step.reads, slot))

    def check(self, instruction: Instruction) -> None:
        """Refuse operands of kinds that the opcode does not take, and a part of its name out of place.

        Predefined registers are read by moves alone.
        """
        name, *qualifiers = instruction.opcode
        if name.startswith("call"):
            return
        for word in _NAMES.get(name, ()):
            if word in qualifiers[1:]:
                message = f".{word} must stand directly after {name}"
                raise self.error(instruction, f"{instruction.name} is not an instruction: {message}")
        self._require_discardable(instruction)
        if name in ("mov", "cvt"):
            return
        for part in (part for operand in instruction.operands for part in parts(operand)):
            if isinstance(part, SpecialRegister):
                message = f"{part.name} cannot be an operand of {instruction.name}; only mov and cvt read it"
                raise self.error(part, message)

    def _require_discardable(self, instruction: Instruction) -> None:
        """Refuse ``_`` where the instruction must have a destination."""
        name = instruction.opcode[0]
        first = instruction.operands[0] if instruction.operands else None
        refused: Iterable[Operand | None] = ()
        if isinstance(first, Pair):
            refused = {"shfl": (first.first,), "lop3": (first.second,), "elect": (first.second,)}.get(
                name, ()
            )
        elif isinstance(first, Vector) and (
            name == "atom" or (name != "mov" and all(map(_is_sink, first.elements)))
        ):
            refused = first.elements
        elif name not in ("setp", "atom") and not {"arrive", "arrive_drop"} & {*instruction.opcode}:
            refused = (first,)
        for operand in filter(_is_sink, refused):
            assert operand is not None
            raise self.error(operand, f"{instruction.name} must have a destination, not _")

    def error(self, about: Operand | Instruction, message: str) -> PtxError:
        """The error about something that stands in the text."""
        return self.source.error(about.location, message)

    def unsupported(self, instruction: Instruction, detail: str = "") -> PtxError:
        """The error that an instruction is not supported."""
        reason = f": {detail}" if detail else ""
        return self.error(instruction, f"{instruction.name} is not supported{reason}")

    def slot(self, register: Register) -> int:
        """The number of a register."""
        if register.key not in self.slots:
            self.slots[register.key] = len(self.widths)
            self.widths.append(register.type.bits)
        return self.slots[register.key]

    def registers(self, operands: Iterable[Operand]) -> tuple[int, ...]:
        """The numbers of all registers in some operands."""
        named = (part for operand in operands for part in parts(operand))
        found = (self.frames.get(part.key) if isinstance(part, Symbol) else part for part in named)
        return tuple(dict.fromkeys(self.slot(part) for part in found if isinstance(part, Register)))

    def step(
        self,
        instruction: Instruction,
        index: int,
        sources: Iterable[Operand],
        targets: Iterable[Operand],
        write_code: Callable[[Any], Any],
        **kind: Any,
    ) -> Step:
        """A decoded instruction, by its number in the kernel.

        It reads and writes the registers of `sources` and of `targets`; `kind` are further fields of `Step`.
        """
        reads, writes = self.registers(sources), self.registers(targets)
        return Step(
            instruction=instruction, index=index, reads=reads, writes=writes, write_code=write_code, **kind
        )

    def operands(
        self,
        instruction: Instruction,
        least: int,
        most: int | None = None,
        operands: tuple[Operand, ...] | None = None,
        what: str = "",
    ) -> tuple[Operand, ...]:
        """The operands of an instruction, or those that are given; refuse another number of them.

        `what` names them in the message.
        """
        operands = instruction.operands if operands is None else operands
        given, most = len(operands), most or least
        if not least <= given <= most:
            expected = str(least) if least == most else f"{least} to {most}"
            told = f"{what}, not {given} operands" if what else f"{expected} operands, not {given}"
            raise self.error(instruction, f"{instruction.name} takes {told}")
        return operands

    def require_source(
        self, operand: Operand, bits: int, kind: str = "integer", *, wider: bool = False
    ) -> None:
        """Refuse an operand that cannot be a source of this width and type.

        The `kind` is a type of any width, or ``integer``; with `wider`, a register may be wider.
        """
        if isinstance(operand, Negated) and bits == 1:
            operand = operand.register
        if isinstance(operand, Register):
            self._require_type(operand, bits, kind, "an operand", wider=wider)
        elif isinstance(operand, SpecialRegister):
            have = SPECIAL[operand.name].bits
            if have < bits:
                raise self.error(operand, f"{operand.name} has {have} bits, not {bits}")
        elif isinstance(operand, Immediate):
            if constant_bits(operand, bits) < 0:
                raise self.error(operand, f"the constant does not fit an operand of {_bits(bits)}")
            taken = _constants(kind, bits)
            if operand.kind not in taken:
                found = "an integer" if operand.kind == "integer" else f"a constant of .{operand.kind}"
                needed = "an integer" if kind == "integer" else f".{kind}"
                choices = " or ".join(taken) or "registers alone"
                raise self.error(operand, f"{found} cannot stand for {needed}, which takes {choices}")
        elif isinstance(operand, Symbol):
            raise self.error(operand, f"{operand.name} cannot stand here; only mov and cvta take an address")
        else:
            raise self.error(operand, f"expected a register or a constant of {_bits(bits)}")

    def require_constant(self, operand: Operand, what: str, allowed: Sequence[int]) -> int:
        """The value of an operand that must be one of some constants; `what` names it in the message."""
        if not isinstance(operand, Immediate) or operand.kind != "integer":
            raise self.error(operand, f"{what} must be a constant")
        value = TYPES["s64"].interpret(operand.value)
        if value not in allowed:
            if isinstance(allowed, range) and len(allowed) > 2:
                told = f"a multiple of {allowed.step} from " if allowed.step > 2 else ""
                told += f"{allowed[0]} to {allowed[-1]}"
            else:
                told = " or ".join(map(str, allowed))
            raise self.error(operand, f"{what} is {told}, not {value}")
        return value

    def require_destination(
        self, operand: Operand, bits: int, kind: str = "integer", *, wider: bool = False
    ) -> None:
        """As `require_source`, of a destination."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise self.error(operand, "the destination must be a register")
        self._require_type(operand, bits, kind, "a destination", wider=wider)

    def _require_type(self, register: Register, bits: int, kind: str, what: str, *, wider: bool) -> None:
        have = register.type.bits
        if have != bits and not (wider and have > bits > 1):
            found = f"{register.name} is {register.type}"
            raise self.error(register, f"expected {what} of {_bits(bits)}, but {found}")
        if not register.type.agrees_with(kind):
            allowed = "an integer type" if kind == "integer" else f".{kind}"
            found = f"{register.name} is {register.type}"
            raise self.error(register, f"expected {what} of {allowed}, or of bits, but {found}")

    def symbol(self, symbol: Symbol) -> tuple[Variable, int]:
        """The variable or parameter of a name, and its address in its state space, without the offset."""
        found = self.symbols.get(symbol.key)
        if found is None:
            raise self.error(symbol, f"{symbol.name} is not a variable or parameter")
        return found

    def require_address(self, operand: Operand, space: str = "") -> Address:
        """The operand, which must be an address in brackets, in a state space if one is given."""
        if not isinstance(operand, Address):
            raise self.error(operand, "the address must be in brackets, as in [%rd1]")
        base = operand.base
        if isinstance(base, Register) and (
            base.type.bits not in (32, 64) or not base.type.agrees_with("integer")
        ):
            raise self.error(base, f"an address cannot be in {base.name}, which is {base.type}")
        if isinstance(base, Immediate) and space not in ("", "local"):
            message = f"the address [{base.value}] is a number, which only .local takes, not .{space}"
            raise self.error(operand, message)
        if isinstance(base, Register) and base.type.bits == 32 and space in ("global", "generic"):
            raise self.error(base, f"an address in .{space} has 64 bits, but {base.name} is {base.type}")
        if isinstance(base, Symbol):
            self.symbol(base)
        return operand

    def require_space(self, address: Address, space: str) -> None:
        """Refuse an address of a variable that accesses of a state space do not reach."""
        named = self.space_of(address)
        if named in (None, space) or (space == "generic" and named in ("global", "const")):
            return
        assert isinstance(address.base, Symbol)
        named = "param" if named == "entry" else named
        what = "generic addresses" if space == "generic" else f".{space}"
        message = f"{address.base.name} is in .{named}, but the instruction accesses {what}"
        raise self.error(address.base, message)

    def space_of(self, address: Address) -> str | None:
        """The state space of the variable or parameter that an address names; None if it names none."""
        return self.symbol(address.base)[0].space if isinstance(address.base, Symbol) else None


_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("mul", "mad", "madc", "mul24", "mad24"), ("lo", "hi", "wide")),
    **{"dp2a": ("lo", "hi"), "shf": ("l", "r"), "cvta": ("to",)},
    **dict.fromkeys(("bar", "barrier"), ("cta",)),
}
"""Words that belong to the name of an instruction; qualifiers stand in any order behind them."""

Decoder = Callable[[Context, Instruction, int], Step]
"""From an instruction and its number to a step."""


def constant_bits(operand: Immediate, bits: int) -> int:
    """The bits of a constant where an operand of this width stands; -1 where it does not fit."""
    if operand.kind == "integer":
        return int(operand.value != 0) if bits == 1 else operand.value & ((1 << bits) - 1)
    if operand.kind == f"f{bits}":
        return operand.value
    return float_bits(float_value(operand.value, 96 - bits), bits) if bits in (32, 64) else -1


def split_qualifiers(
    context: Context,
    instruction: Instruction,
    groups: Mapping[str, Iterable[str]],
    ignored: Iterable[str] = (),
) -> dict[str, str]:
    """Sort the qualifiers of an instruction by what they say: the one given of each group, if any is.

    Of each of the `groups`, at most one qualifier may be given. The `ignored` ones have no effect on values.
    """
    found: dict[str, str] = {}
    without = frozenset(ignored)
    for part in instruction.opcode[1:]:
        if part in without:
            continue
        fitting = [name for name, allowed in groups.items() if part in allowed and name not in found]
        if not fitting:
            open_groups = groups.keys() - found.keys() - {"type"}
            kinds = (
                ("type",) if part in TYPES and "type" in groups else filter(open_groups.__contains__, groups)
            )
            left = (f".{item}" for name in kinds for item in groups[name])
            choices = ", ".join(dict.fromkeys(left)) or "nothing"
            raise context.unsupported(instruction, f"qualifier .{part}; allowed: {choices}")
        found[fitting[0]] = part
    return found


def _is_sink(operand: Operand | None) -> bool:
    return isinstance(operand, Sink)


def _constants(kind: str, bits: int) -> tuple[str, ...]:
    """The kinds of constants where a type is needed."""
    if kind in ("f32", "f64"):
        return ("f32", "f64")
    if kind not in ("integer", "pred") and (not kind[1:].isdecimal() or kind == "f16"):
        return ()
    return ("integer", f"f{bits}") if kind[0] == "b" and bits in (32, 64) else ("integer",)


def _bits(bits: int) -> str:
    return "one bit (a predicate)" if bits == 1 else f"{bits} bits"
