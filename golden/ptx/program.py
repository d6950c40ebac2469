"""PTX modules as programs: kernels that give commands for a machine."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from golden.integers import checked_text, integer_of, shortened
from golden.ptx.allocation import RAW_REGISTERS, allocate, allocate_raw
from golden.ptx.blocks import Block, build_blocks
from golden.ptx.body import parse_body
from golden.ptx.contraction.passes import Contraction, contract_blocks
from golden.ptx.declarations import place_parameters, place_shared
from golden.ptx.decoding import Step
from golden.ptx.evaluation import Evaluation, Provenance, run
from golden.ptx.fragments import WarpContext
from golden.ptx.liveness import live_registers, needed
from golden.ptx.matrix import MNEMONICS, decode_matrix_statement
from golden.ptx.opcodes import decode_statement
from golden.ptx.parser import parse_syntax
from golden.ptx.source import Location, PtxError, Source, SourceLine
from golden.ptx.special_registers import Geometry
from golden.ptx.syntax import Body, Function, Module, Register, Variable, elements, named
from golden.tables.commands import Elementwise, Fill, Move, Uniform, Work

STEP_LIMIT = 10_000_000
"""Statements that an entry may evaluate, unless its caller says otherwise."""


class Entry:
    """One kernel of a module, checked and ready to run on one warp.

    With `contract`, multiplications and additions are joined as the assembler does.
    """

    def __init__(self, module: Module, definition: Function, body: Body, *, contract: bool) -> None:
        self.name = definition.name
        self.parameters = definition.parameters
        """With names and types, in order."""
        self._source = module.source
        self._definition = definition
        self._raw = RAW_REGISTERS in definition.pragmas
        names = named(body.instructions)
        variables = {**module.variables, **body.variables}
        used = [variable for key, variable in variables.items() if key in names]
        self.variables = tuple(variable for variable in used if variable.space == "global")
        """Those in ``.global`` whose address it takes: arguments give their addresses too."""
        taken = set()
        for variable in self.variables:
            if variable.name in taken:
                message = f"{variable.name} is the name of another variable in .global; arguments go by name"
                raise self._source.error(variable.location, message)
            taken.add(variable.name)
        shared = [variable for variable in used if variable.space == "shared"]
        self._shared, self.shared_bytes = place_shared(shared)
        """The addresses of its variables in shared memory, and the bytes that they take."""
        self._placed = place_parameters(definition)
        context = WarpContext(
            module.source,
            module.version,
            {
                **{key: (variable, 0) for key, variable in variables.items()},
                **{parameter.key: (parameter, offset) for parameter, offset in self._placed},
            },
            decode_statement,
            raw=self._raw,
        )
        _find_fragments(context, body)
        self._blocks = build_blocks(context, body)
        for block in self._blocks:
            end = block.terminator
            if end is not None and (end.kind in ("trap", "indexed") or end.writes):
                raise context.unsupported(end.instruction, "a program of one warp has no such statement")
        self.contractions = _contract(context, self._blocks) if contract and not self._raw else ()
        """The additions that are joined with multiplications."""
        if self._raw:
            self._allocation = allocate_raw(module.source, context.matrix, context.fragments)
        else:
            self._allocation = allocate(self._blocks, context.slots, context.matrix, context.fragments)
        self.registers = self._allocation.registers
        """32-bit registers per lane that its fragments need."""

    def require(self, arguments: Mapping[str, int | float], *, registers: int = 64) -> None:
        """Refuse with a PtxError what `commands` would at once, but for a shared memory that is too small."""
        self._pack(arguments)
        self._addresses(arguments)
        if self.registers > registers:
            needs = f"the fragments of {self.name} need {self.registers} registers per lane"
            raise self._error(f"{needs}; the machine has {registers}")

    def commands(
        self,
        arguments: Mapping[str, int | float],
        *,
        registers: int = 64,
        shared: range = range(0),
        step_limit: int = STEP_LIMIT,
    ) -> Iterator[tuple[Work, SourceLine]]:
        """Evaluate the kernel, and yield its commands while it runs, each with the line it comes from.

        What a fragment's registers must have in common with an instruction is checked as they are yielded.

        Parameters
        ----------
        arguments : mapping of str to int or float
            A value for each parameter: an address, an integer, a float, or the bit pattern of a float; and
            the address of each of `variables`.
        registers : int
            32-bit registers per lane of the machine.
        shared : range
            Generic addresses of the machine's shared memory; empty where it has none.
        step_limit : int
            PTX instructions after which the kernel is stopped, so that an endless loop ends.

        Raises
        ------
        PtxError
            At once for wrong arguments, too few registers or too little shared memory; from the iterator
            for what turns out while the kernel runs.
        """
        self.require(arguments, registers=registers)
        if self.shared_bytes > len(shared):
            needs = f"the .shared variables of {self.name} need {self.shared_bytes} bytes"
            raise self._error(f"{needs}; the machine has {len(shared)} bytes of shared memory")
        addresses = {**self._shared, **self._addresses(arguments)}
        packed, provenance = self._pack(arguments), Provenance(self._source, checked=not self._raw)
        geometry = Geometry((1, 1, 1), (32, 1, 1), (0, 0, 0), 0, self.shared_bytes)
        evaluation = Evaluation(
            self._source, packed, self._allocation, addresses, shared.start, geometry, provenance
        )
        return _merged(run(evaluation, self._blocks, step_limit))

    def _error(self, message: str) -> PtxError:
        return self._source.error(self._definition.location, message)

    def _pack(self, arguments: Mapping[str, int | float]) -> bytes:
        """The bytes of the parameters."""
        names = [parameter.name for parameter in self.parameters]
        names += [variable.name for variable in self.variables]
        for name in arguments:
            if name not in names:
                message = f"{self.name} has no parameter {name}; its parameters: {', '.join(names) or 'none'}"
                raise self._error(message)
        data = bytearray()
        for parameter, offset in self._placed:
            pattern = self._pattern(parameter, arguments)
            data += bytes(offset - len(data)) + pattern.to_bytes(parameter.type.size, "little")
        return bytes(data)

    def _addresses(self, arguments: Mapping[str, int | float]) -> dict[str, int]:
        addresses = {}
        for variable in self.variables:
            refuse = partial(self._source.error, variable.location)
            if variable.name not in arguments:
                raise refuse(f"variable {variable.name} in .global has no argument: its address")
            address = arguments[variable.name]
            number = integer_of(address)
            if number is None or not 0 <= number < 1 << 64 or number % variable.alignment:
                what = f"the address {shortened(address)} of variable {variable.name}"
                raise refuse(f"{what} is no 64-bit multiple of {variable.alignment}, its alignment")
            addresses[variable.key] = number
        return addresses

    def _pattern(self, parameter: Variable, arguments: Mapping[str, int | float]) -> int:
        name, type_ = parameter.name, parameter.type
        refuse = partial(self._source.error, parameter.location)
        if parameter.is_array:
            raise refuse(f"parameter {name} is an array, which is not supported")
        if name not in arguments:
            raise refuse(f"parameter {name} ({type_}) has no argument")
        value = arguments[name]
        if isinstance(value, float):
            if type_.kind != "float":
                raise refuse(f"argument {name} must be an integer, as {type_} is, not {value}")
            bits = type_.float_bits(value)
            if math.isfinite(value) and bits in (type_.float_bits(math.inf), type_.float_bits(-math.inf)):
                raise refuse(f"argument {name} is {value}, which {type_} cannot hold")
            return bits
        number = integer_of(value)
        if number is None:
            raise refuse(f"argument {name} must be a number, not {type(value).__name__}")
        least, greatest = type_.range
        if not least <= number <= greatest:
            raise refuse(f"argument {name} is {shortened(number)}, outside {least} to {greatest} of {type_}")
        return type_.wrap(number)


class Program:
    """A parsed module; functions in it are refused, but for declarations."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._bodies: dict[str, Body] = {}
        for function in module.functions.values():
            refuse = partial(module.source.error, function.location)
            if function.kind == "entry":
                if not function.tokens:
                    raise refuse(f"entry {function.name} is declared, but has no body")
                self._bodies[function.name] = parse_body(module, function)
            elif function.tokens:
                raise refuse("functions are not supported; only .entry")
        self.entries = tuple(self._bodies)
        """Names of the kernels, in the order written."""

    def entry(self, name: str | None = None, *, contract: bool = True) -> Entry:
        """Make one kernel ready to run; its name may be left out where there is only one.

        With `contract`, multiplications and additions are joined as the assembler does, but in a raw entry.
        """
        written = ", ".join(self.entries) or "none"
        if name is None and len(self.entries) != 1:
            raise self._error(f"name one of the module's entries: {written}")
        for entry, body in self._bodies.items():
            if name in (None, entry):
                return Entry(self.module, self.module.functions[entry], body, contract=contract)
        raise self._error(f"no entry {name}; entries: {written}")

    def _error(self, message: str) -> PtxError:
        return self.module.source.error(Location(1, 1), message)


def _joined(first: Work, second: Work) -> Work | None:
    """One command that does what two in a row do, if there is one."""
    match first:
        case Fill(register, count):
            following: Fill | Move | Elementwise = replace(first, register=register + count)
        case Move(destination, source, count):
            following = replace(first, destination=destination + count, source=source + count)
        case Elementwise(_, _, destination, sources, count):
            moved = tuple(item if isinstance(item, Uniform) else item + count for item in sources)
            following = replace(first, destination=destination + count, sources=moved)
        case _:
            return None
    if not isinstance(second, type(first)) or replace(following, count=second.count) != second:
        return None
    return replace(first, count=count + second.count)


def _merged(commands: Iterator[tuple[Work, SourceLine]]) -> Iterator[tuple[Work, SourceLine]]:
    """The same commands, but the same fill, move or arithmetic of successive registers as one."""
    waiting: tuple[Work, SourceLine] | None = None
    for command, line in commands:
        if waiting is not None:
            joined = _joined(waiting[0], command)
            if joined is not None:
                waiting = (joined, waiting[1])
                continue
            yield waiting
        waiting = (command, line)
    if waiting is not None:
        yield waiting


def _find_fragments(context: WarpContext, body: Body) -> None:
    """Note the registers that are the machine's.

    Those are all that stand in a vector of a matrix statement, and all that one of them is moved to or that
    is computed from one of them; of a raw entry all of 32 bits.
    """
    if context.raw:
        written = (item for item in elements(body.instructions) if isinstance(item, Register))
        context.fragments.update({item.key: item for item in written if item.type.bits == 32})
        return
    for statement in body.instructions:
        if statement.opcode[0] in MNEMONICS:
            for operands in decode_matrix_statement(context, statement).fragments.values():
                registers = {item.key: item for item in operands if isinstance(item, Register)}
                context.fragments.update(registers)
    spreading = True
    while spreading:
        spreading = False
        for statement in body.instructions:
            spreading |= context.spread(statement)


def _contract(context: WarpContext, blocks: list[Block]) -> tuple[Contraction, ...]:
    """Join multiplications and additions, and leave out what is not needed any more."""
    before = _needed(blocks)
    found = contract_blocks(context, blocks)
    unused = {id(step) for step in before} - {id(step) for step in _needed(blocks)}
    for block in blocks:
        block.steps = [step for step in block.steps if id(step) not in unused]
    return found


def _needed(blocks: list[Block]) -> list[Step]:
    _, behind = live_registers(blocks)
    return [step for block, live in zip(blocks, behind, strict=True) for step in needed(block, live)]


def parse_module(text: str, filename: str = "<ptx>") -> Program:
    """Parse a module; its file name is for messages. `Program.entry` refuses illegal instructions."""
    return Program(parse_syntax(Source(checked_text("PTX", text), filename)))
