"""A kernel ready to run: its blocks, its registers, and where its variables are."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Final

from golden.integers import shortened
from golden.limits import CLUSTER, LOCAL_BYTES, MAX_CLUSTER, PARAMETER_BYTES, SHARED_BYTES, THREADS
from golden.locks import LOCK
from golden.ptx.blocks import Block, build_blocks
from golden.ptx.contraction.passes import contract_blocks
from golden.ptx.declarations import Placement, place_shared
from golden.ptx.decoding import Context, Decoder, Step
from golden.ptx.liveness import remove_unused
from golden.ptx.source import Source, SourceLine
from golden.ptx.special_registers import SPECIAL
from golden.ptx.syntax import (
    Body,
    Function,
    Immediate,
    Instruction,
    Operand,
    Register,
    SpecialRegister,
    Variable,
    named,
)
from golden.simt import decode_matrix, decode_memory, decode_scalar, decode_warp, printing
from golden.simt.address_map import LOCAL_PARAMETERS
from golden.simt.call_graph import passes
from golden.simt.code import BlockCode, compile_block
from golden.simt.decode_lines import decode_line
from golden.simt.errors import LaunchError
from golden.simt.inlining import ENTRY
from golden.simt.instruction_lines import LINES
from golden.simt.names import readable
from golden.simt.stack import STACK_POINTER
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import Instruction as MatrixInstruction

_LOCAL_ALIGNMENT: Final = 16

_DECODERS: Final[Mapping[str, Decoder]] = {
    **{name.partition(".")[0]: decode_line for name in LINES},
    **decode_scalar.DECODERS,
    **decode_memory.DECODERS,
    **decode_warp.DECODERS,
    **decode_matrix.DECODERS,
    **printing.DECODERS,
}
"""By first word of the opcode."""


def _decode(context: Context, instruction: Instruction, index: int) -> Step:
    return _DECODERS.get(instruction.opcode[0], decode_scalar.decode_scalar)(context, instruction, index)


def _copied(blocks: Iterable[Block]) -> dict[int, Operand | None]:
    """The registers that are written, each with the operand that one ``mov`` alone puts there, if it does."""
    found: dict[int, Operand | None] = {}
    for block in blocks:
        for statement in (*block.steps, block.terminator):
            if statement is None:
                continue
            for slot in statement.writes:
                is_copy = statement.instruction.opcode[0] == "mov" and statement.guard is None
                found[slot] = statement.instruction.operands[1] if is_copy and slot not in found else None
    return found


class CompiledKernel:
    """An entry, decoded; PtxError for what is malformed or not supported.

    `flat` is its body without calls. `placed` are the module's functions and its variables in global memory
    and constants with their addresses, `declared` all its variables. With `contract`, multiplications and
    additions are joined as the assembler does.
    """

    def __init__(
        self,
        source: Source,
        version: tuple[int, int],
        entry: Function,
        flat: Body,
        placed: Mapping[str, tuple[Variable, int]],
        declared: Iterable[Variable],
        *,
        contract: bool = True,
    ) -> None:
        self.name = entry.name
        """As mangled."""
        self.readable = readable(entry.name)
        """For messages."""
        self.directives = entry.directives
        self._source = source
        self._locations = [instruction.location for instruction in flat.instructions] or [entry.location]
        self.passing = {i for i, item in enumerate(flat.instructions) if passes(item)}
        """The instructions that copy structures from caller to function and back."""
        parameters, local = Placement(), Placement()
        self.parameters = tuple((item, parameters.place(item)) for item in entry.parameters)
        """With their offsets."""
        self.parameter_bytes = parameters.size
        self._limit(entry, "of parameters", self.parameter_bytes, PARAMETER_BYTES)
        symbols = {item.key: (replace(item, space="entry"), offset) for item, offset in self.parameters}
        symbols |= placed
        names = named(flat.instructions)
        used = [variable for variable in declared if variable.key in names]
        shared = [variable for variable in (*used, *flat.variables.values()) if variable.space == "shared"]
        addresses, self.shared_base = place_shared(shared)
        """Bytes of static shared memory, behind which dynamic shared memory begins."""
        symbols |= {variable.key: (variable, addresses[variable.key]) for variable in shared}
        self._shared = sorted(
            (addresses[variable.key], variable.size or 0, variable.name) for variable in shared
        )
        for variable in flat.variables.values():
            if variable.space in ("local", "param"):
                _, offset = flat.frames.get(variable.key) or (None, local.place(variable))
                window = LOCAL_PARAMETERS if variable.space == "param" else 0
                symbols[variable.key] = (variable, window + offset)
        frames = {key: base for key, (base, _) in flat.frames.items()}
        context = Context(source, version, symbols, _decode, frames)
        self.blocks = build_blocks(context, flat)
        ends = ":entry"
        begins = {index: key.removesuffix(ends) for key, index in flat.labels.items() if key.endswith(ends)}
        self._functions = sorted({**begins, flat.labels[ENTRY]: entry.name}.items())
        """Where the bodies of functions and of the kernel begin."""
        firsts = [block.first for block in self.blocks]
        starts = [bisect_left(firsts, index) for index, _ in self._functions]
        self.start = starts[-1]
        """The block at which the kernel begins; before it are the functions that are called."""
        self.contractions = contract_blocks(context, self.blocks, flat.calls, starts) if contract else ()
        """The additions that are joined with multiplications."""
        self.unused_loads = tuple(self.source_line(step.index) for step in remove_unused(self.blocks))
        """Loads that were removed because nobody uses their results."""
        pointer = context.slots.get(STACK_POINTER.key)
        self.saved = {
            number + 1: tuple(slot for slot in self.blocks[number + 1].live_in if slot != pointer)
            if number < self.start
            else ()
            for number, block in enumerate(self.blocks)
            if block.terminator is not None and block.terminator.kind == "call"
        }
        """The registers that a call in a function saves, by the block to which it returns."""
        self.has_stack = pointer is not None
        """Whether it moves the stack pointer."""
        steps = [step for block in self.blocks for step in block.steps]
        self.matrix = tuple((step.index, step.matrix) for step in steps if step.matrix is not None)
        """The matrix instructions with their numbers."""
        self.traced: dict[int, tuple[str, str]] = {}
        """Text and line of the matrix instructions that have been traced, by their numbers."""
        self.local_bytes = -(-local.size // _LOCAL_ALIGNMENT) * _LOCAL_ALIGNMENT
        self._limit(entry, "of local memory a thread", self.local_bytes, LOCAL_BYTES)
        self._copied = _copied(self.blocks)
        self.slots = context.slots
        self.widths = context.widths
        operands = (operand for instruction in flat.instructions for operand in instruction.operands)
        special = {operand.name for operand in operands if isinstance(operand, SpecialRegister)}
        self.reads_clock = any(SPECIAL[name].varies for name in special)
        """Whether it uses a predefined register that changes with time."""
        self.is_cooperative = "%envreg2" in special
        """Whether it takes the workspace of ``grid.sync``."""
        self.is_stepped = False
        """Whether its code announces each instruction."""
        self.watched: frozenset[int] = frozenset()
        """Registers of which the code tells uses."""
        self.codes = self._no_codes()
        """The compiled blocks for some and for all threads; None where not compiled yet."""

    def _no_codes(self) -> tuple[list[BlockCode | None], list[BlockCode | None]]:
        return [None] * len(self.blocks), [None] * len(self.blocks)

    @cached_property
    def checked(self) -> "CompiledKernel":
        """The same kernel, whose code tells the block what uses the registers of multiplies of warpgroups."""
        steps = [step for block in self.blocks for step in block.steps if step.whole > LANES]
        slots = frozenset(slot for step in steps for slot in (*step.reads, *step.writes))
        if not slots:
            return self
        found = copy(self)
        found.watched, found.codes = slots, self._no_codes()
        return found

    def stepped(self) -> "CompiledKernel":
        """The same kernel, whose code announces each instruction to `LaunchState.on_step`."""
        found = copy(self)
        found.is_stepped, found.codes = True, self._no_codes()
        return found

    def block_bytes(self, threads: int, shared: int) -> int:
        """About the bytes that a block takes while it runs, `shared` of them in shared memory."""
        registers = sum(max(8, bits) for bits in self.widths) // 8
        return (1 << 14) + threads * (registers + self.local_bytes) + shared

    def code(self, number: int, everyone: bool) -> BlockCode:
        """The compiled block, for all threads of the block or for some."""
        with LOCK:
            code = self.codes[everyone][number] or compile_block(self, number, everyone)
            self.codes[everyone][number] = code
        return code

    def goes_on(self, number: int) -> bool:
        """Whether a block ends with a collective of whole warps, and no matrix instruction follows."""
        end = self.blocks[number].terminator
        if end is None or end.kind != "collective" or self.blocks[number + 1].whole:
            return False
        mask = end.details["mask"]
        if isinstance(mask, Register):
            mask = self._copied.get(self.slots[mask.key])
        return isinstance(mask, Immediate) and mask.value & 0xFFFFFFFF == 0xFFFFFFFF

    def require(self, missing: Callable[[MatrixInstruction], str | None]) -> None:
        """Refuse the kernel where something cannot execute its matrix instructions.

        `missing` says why, as `golden.simt.grid.GoldenEngine.missing`. LaunchError for the first
        such instruction, with its line.
        """
        for index, instruction in self.matrix:
            problem = missing(instruction)
            if problem is not None:
                raise LaunchError(f"{problem}, needed at {self.source_line(index)}")

    def require_threads(self, block: tuple[int, int, int]) -> None:
        """Refuse a block that has too many threads, or not those that the kernel is compiled for."""
        threads = block[0] * block[1] * block[2]
        if threads > THREADS:
            raise LaunchError(f"a block has at most {THREADS} threads, not {threads}")
        most = self.directives.get(".maxntid")
        if most is not None and threads > math.prod(most):
            raise LaunchError(
                f"{self.readable} is compiled for at most {math.prod(most)} threads, not {threads}"
            )
        required = self.directives.get(".reqntid")
        if required is not None and tuple([*required, 1, 1][:3]) != block:
            raise LaunchError(f"{self.readable} is compiled for blocks of {required}, not {block}")

    def cluster(
        self, grid: tuple[int, int, int], given: tuple[int, int, int] | None
    ) -> tuple[int, int, int] | None:
        """The blocks of a cluster, None where the launch has no clusters; `given` is the cluster asked for.

        LaunchError for too many, for others than the kernel is compiled for, and for a grid that is not made
        of clusters.
        """
        required = self.directives.get(".reqnctapercluster")
        if ".blocksareclusters" in self.directives:
            raise LaunchError(f"{self.readable} has .blocksareclusters, grids of clusters, which are not run")
        x, y, z = tuple([*required, 1, 1][:3]) if required is not None else given or (1, 1, 1)
        told = (
            f"{self.readable} is compiled for clusters" if required is not None else "the launch has clusters"
        )
        if given is not None and given != (x, y, z):
            raise LaunchError(f"{told} of {(x, y, z)}, not {given}")
        (most,) = self.directives.get(".maxclusterrank", (CLUSTER,))
        most = min(most, MAX_CLUSTER)
        if x * y * z > most:
            blocks = f"a cluster has at most {most} blocks, not {x * y * z}"
            raise LaunchError(f"{told} of {(x, y, z)}, but {blocks}")
        for axis, extent, whole in zip("xyz", grid, (x, y, z), strict=True):
            if extent % whole:
                raise LaunchError(
                    f"{told} of {(x, y, z)}, so grid.{axis} must be a multiple of {whole}, not {extent}"
                )
        return None if required is given is None else (x, y, z)

    def require_shared(self, shared: int) -> None:
        """Refuse dynamic shared memory beyond what a block has."""
        base = self.shared_base
        if base + shared > SHARED_BYTES:
            raise LaunchError(
                f"{self.readable} needs {shortened(base + shared)} bytes of shared memory "
                f"({base} static, {shortened(shared)} dynamic), but a block has at most {SHARED_BYTES}"
            )

    def shared_variable(self, offset: int) -> str:
        """The variable at a byte of shared memory, or the last one before it, for a message."""
        before = [item for item in self._shared if item[0] <= offset]
        if not before:
            return "outside of all variables"
        start, size, name = before[-1]
        if offset < start + size or not size:
            return f"byte {offset - start} of {readable(name)}"
        return f"{offset - start - size} bytes past the end of {readable(name)}"

    def function_at(self, index: int) -> str:
        """The function with a body of its own, or the kernel, that has an instruction; for a message."""
        place = bisect_right(self._functions, index, key=itemgetter(0))
        return readable(self._functions[place - 1][1])

    @property
    def lines(self) -> set[int]:
        """The lines of the file on which an instruction begins."""
        return {location.line for location in self._locations}

    def source_line(self, index: int) -> SourceLine:
        """File, line and text of an instruction, by its number."""
        return self._source.line(self._locations[min(index, len(self._locations) - 1)])

    @property
    def signature(self) -> str:
        """Name and parameters, for messages."""
        parameters = []
        for parameter, _ in self.parameters:
            type_ = f"{parameter.size} bytes" if parameter.is_array else parameter.type
            parameters.append(f"{type_} {parameter.name}")
        return f"{self.readable}({', '.join(parameters)})"

    def _limit(self, entry: Function, what: str, given: int, most: int) -> None:
        if given > most:
            message = f"{self.readable} needs {given} bytes {what}, but has at most {most}"
            raise self._source.error(entry.location, message)
