"""The golden machine: a warp's registers and memory, and commands executed on them to the bit."""

from collections.abc import Iterable, Sequence
from functools import partial
from types import NoneType
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from golden.block_scales import unpack_scales, uses_of_scales
from golden.fragments import collect, distribute
from golden.integers import checked_integer, checked_object, checked_objects, shortened
from golden.invalid_argument import InvalidArgument
from golden.lines import gather_lines, matrix_of_lines, matrix_to_lines
from golden.machine import Counters
from golden.matrix_descriptors import CHUNK
from golden.matrix_moves import ldmatrix, movmatrix, stmatrix
from golden.memory import AddressSpaces, Memory, NoMemory
from golden.multiply import multiply_fragments
from golden.sparsity import first_undefined, unpack_metadata
from golden.tables.commands import (
    MATRIX_ROW_BYTES,
    Command,
    Fill,
    Load,
    LoadMatrix,
    Mma,
    Move,
    MoveMatrix,
    Store,
    StoreMatrix,
    Wgmma,
)
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import CORE_FAMILIES, CORE_NARROW_FAMILIES, WARP_FAMILIES, Family, Space
from golden.tables.layouts import LANES
from golden.tables.profiles import HOPPER, Profile
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from golden.warpgroup_share import (
    A_REGISTERS,
    accumulator_registers,
    descriptors,
    multiply_share,
    share_error,
)

MULTIPLICAND_FORMATS: Final = frozenset(
    name for family in (*CORE_FAMILIES, *CORE_NARROW_FAMILIES) for name in family.formats
)
"""What a machine may be able to multiply; i8 is s8 and u8, i4 is s4 and u4, fp8 is e4m3 and e5m2, fp6 is e3m2
and e2m3, fp4 is e2m1."""


class GoldenMachine:
    """Warps that execute commands as the specification says; implements `golden.machine.Machine`.

    Parameters
    ----------
    registers : int
        32-bit registers per lane of a warp; they start at zero.
    warps : int
    memory : Memory
        Global memory.
    shared : Memory or None
        Shared memory; `golden.memory.AddressSpaces` has the addresses that mean it. None for a
        machine that has none, and no moves of matrices either.
    address_bits : int
        Width of an address.
    formats : iterable of str
        Multiplicand formats it has, of `MULTIPLICAND_FORMATS`. A fragment that no multiply of these formats
        uses is an illegal instruction.
    families : iterable of Family
        Rows of the instruction tables it executes, as far as it has their formats.
    profile : Profile
        Constants of the arithmetic. Multiplies of fp8 are illegal instructions where it has none.

    Raises
    ------
    InvalidArgument
        For an unknown format, sizes below one, and objects of other classes.
    """

    def __init__(
        self,
        *,
        registers: int = 64,
        warps: int = 1,
        memory: Memory,
        shared: Memory | None = None,
        address_bits: int = 32,
        formats: Iterable[str] = MULTIPLICAND_FORMATS,
        families: Iterable[Family] = WARP_FAMILIES,
        profile: Profile = HOPPER,
    ) -> None:
        checked_object("memory", memory, Memory, "a Memory")
        checked_object("shared", shared, (Memory, NoneType), "a Memory or None")
        checked_object("profile", profile, Profile, "a Profile")
        families = checked_objects("families", families, Family, "a Family")
        chosen = frozenset(checked_objects("formats", formats, str, "a text"))
        unknown = sorted(chosen - MULTIPLICAND_FORMATS)
        if unknown:
            raise InvalidArgument("formats", ", ".join(unknown), ", ".join(sorted(MULTIPLICAND_FORMATS)))
        registers = checked_integer("registers", registers, 1)
        address_bits = checked_integer("address_bits", address_bits, 1)
        warps = checked_integer("warps", warps, 1)
        for name, value, most in (
            ("registers", registers, 1 << 16),
            ("warps", warps, 1 << 8),
            ("address_bits", address_bits, 64),
        ):
            if value > most:
                raise InvalidArgument(name, shortened(value), f"at most {most}")
        self.memory = memory
        self.shared = shared
        self.profile = profile
        self._spaces = AddressSpaces(memory, shared)
        self._address_bits = address_bits
        self._files = np.zeros((warps, registers, LANES), dtype=np.uint32)
        self._warp = 0
        self._families = tuple(
            family for family in families if family.formats <= chosen and profile.executes(family)
        )
        self._executed = [0] * warps

    @property
    def counters(self) -> Counters:
        """Commands executed; the golden machine has no cycles and no bus."""
        return Counters(instructions=sum(self._executed))

    @property
    def register_count(self) -> int:
        """Registers of a lane of a warp."""
        return int(self._files.shape[1])

    @property
    def warp_count(self) -> int:
        """Number of warps."""
        return len(self._files)

    def executed(self, warp: int = 0) -> int:
        """Commands that a warp has executed."""
        return self._executed[self._existing(warp)]

    def read_registers(
        self, first: int = 0, count: int | None = None, *, warp: int = 0
    ) -> NDArray[np.uint32]:
        """A copy of consecutive registers, all from `first` on unless `count` is given."""
        return self._files[self._existing(warp), first : None if count is None else first + count].copy()

    def inspect_registers(self) -> NDArray[np.uint32]:
        """All registers of all warps, not copied: the next command changes them."""
        return self._files.reshape(-1, LANES)

    def write_registers(self, first: int, values: NDArray[np.uint32], *, warp: int = 0) -> None:
        """Set consecutive registers of a warp; `values` has shape (count, 32 lanes).

        InvalidArgument for values of another shape or dtype, beyond the register file, or for a warp that
        does not exist.
        """
        file = self._files[self._existing(warp)]
        if values.dtype != np.uint32 or values.ndim != 2 or values.shape[1] != LANES:
            given = f"{values.dtype} of shape {values.shape}"
            raise InvalidArgument("values", given, f"uint32 of shape (count, {LANES})")
        if first < 0 or first + len(values) > len(file):
            given = f"registers {first} to {first + len(values) - 1}"
            raise InvalidArgument("first", given, f"0 to {len(file) - 1}")
        file[first : first + len(values)] = values

    def execute(self, command: Command) -> None:
        """Execute one command to its end.

        Fault as in `golden.machine.Machine.execute`; InvalidArgument for an object that is no command, and a
        fill value beyond 32 bits.
        """
        if not isinstance(command, Command):
            raise InvalidArgument("command", repr(command), "a command")
        self._warp = 0
        if not 0 <= command.warp < len(self._files):
            last = len(self._files) - 1
            self._fault(Cause.WARP_RANGE, f"the warp must be from 0 to {last}, not {command.warp}")
        self._warp = command.warp
        match command:
            case Load():
                self._load(command)
            case Store():
                self._store(command)
            case Mma():
                self._multiply(command)
            case Wgmma():
                self._multiply_share(command)
            case Fill():
                self._fill(command)
            case Move():
                self._move(command)
            case LoadMatrix() | StoreMatrix():
                self._move_matrices(command)
            case MoveMatrix():
                self._transpose(command)
        self._executed[self._warp] += 1

    def accepts(self, command: Load | Store | Wgmma) -> bool:
        """Whether a command passes every check that comes before memory is accessed."""
        try:
            if isinstance(command, Wgmma):
                self._checked_share(command)
            else:
                self._checked_access(command)
        except Fault:
            return False
        return True

    def queue(self, commands: Iterable[Command]) -> None:
        """Execute each command to its end, as `execute` does."""
        for command in commands:
            self.execute(command)

    def finish(self) -> None:
        """Everything queued has been executed already."""

    def close(self) -> None:
        """Nothing is held."""

    def _existing(self, warp: int) -> int:
        if not 0 <= warp < len(self._files):
            raise InvalidArgument("warp", str(warp), f"0 to {len(self._files) - 1}")
        return warp

    def _fault(self, cause: Cause, detail: str) -> NoReturn:
        raise Fault(cause, self._executed[self._warp], detail, warp=self._warp)

    def _load(self, command: Load) -> None:
        held = self._checked_access(command)
        instruction = command.instruction
        lines = gather_lines(instruction, command.address, command.stride)
        matrix = matrix_of_lines(self._read_lines(lines, instruction.space), instruction)
        held[:] = distribute(matrix, instruction.use, instruction.type, instruction.shape)

    def _store(self, command: Store) -> None:
        held = self._checked_access(command)
        instruction = command.instruction
        data = matrix_to_lines(collect(held, "d", instruction.type, instruction.shape), instruction)
        starts = (address for address, _ in gather_lines(instruction, command.address, command.stride))
        missing, written = self._spaces.write(zip(starts, data, strict=True), instruction.space)
        if missing is not None:
            detail = f"no memory at {missing:#x}; {written} of {data.size} bytes were written"
            self._fault(Cause.WRITE_DECODE_ERROR, detail)

    def _multiply(self, command: Mma) -> None:
        instruction = command.instruction
        if instruction.family not in self._families:
            what = instruction.summary
            if instruction.family.tiles > 1:
                what += f" of {instruction.shape}, which runs on golden alone"
            if not self.profile.executes(instruction.family):
                what += f": profile {self.profile.name} has none, as no measurement of its fp8 is known"
            self._fault(Cause.ILLEGAL_INSTRUCTION, f"this machine has no {what}")
        self._check_selectors(command)
        registers = {
            name: self._held(getattr(command, name), 1, f"the {name.replace('_', ' of ')}")[0]
            for name in instruction.side_registers
        }
        held = {
            use: self._held(getattr(command, use), layout.registers, f"fragment {use}")
            for use, layout in instruction.fragments.items()
        }
        extra = {
            f"scale_{use}": unpack_scales(
                instruction,
                use,
                registers[f"scale_{use}"],
                getattr(command, f"byte_{use}"),
                getattr(command, f"thread_{use}"),
            )
            for use in uses_of_scales(instruction)
        }
        if instruction.is_sparse:
            extra["metadata"] = unpack_metadata(instruction, registers["metadata"], command.selector)
            undefined = first_undefined(instruction.sparsity, extra["metadata"])
            if undefined is not None:
                self._fault(Cause.UNDEFINED_METADATA, str(undefined[1]))
        held["d"][:] = multiply_fragments(instruction, held["a"], held["b"], held["c"], self.profile, extra)

    def _check_selectors(self, command: Mma) -> None:
        """Which lanes and bytes of their registers have metadata and scales."""
        instruction = command.instruction
        allowed: dict[str, Sequence[int]] = {}
        if instruction.is_sparse:
            allowed["selector"] = instruction.sparsity.selectors
        for use in uses_of_scales(instruction):
            allowed[f"byte_{use}"] = BYTE_IDS[instruction.scale_vec]
            allowed[f"thread_{use}"] = THREAD_IDS[use]
        for name, values in allowed.items():
            given, last = getattr(command, name), values[-1]
            if given not in values:
                range_ = f"from 0 to {last}" if len(values) > last else " or ".join(map(str, values))
                self._fault(Cause.ILLEGAL_INSTRUCTION, f"the {name} must be {range_}, not {given}")

    def _multiply_share(self, command: Wgmma) -> None:
        held = self._checked_share(command)
        a = self._held(command.a, A_REGISTERS, "fragment a") if command.a_in_registers else held
        read = partial(self._spaces.read, count=CHUNK, space="shared")
        held[:] = multiply_share(command, a, held, read, self.profile)

    def _checked_share(self, command: Wgmma) -> NDArray[np.uint32]:
        """The accumulators, after every check."""
        instruction, shared = command.instruction, self.shared
        if shared is None or instruction.family not in self._families:
            self._fault(Cause.ILLEGAL_INSTRUCTION, f"this machine has no {instruction}")
        error = share_error(command)
        if error:
            self._fault(Cause.ILLEGAL_INSTRUCTION, error)
        held = self._held(command.d, accumulator_registers(command), "fragment d")
        if command.a_in_registers:
            self._held(command.a, A_REGISTERS, "fragment a")
        for found, rows, transposed in descriptors(command):
            if found.reach(rows, transposed) > shared.size:
                detail = f"{found} exceeds the {shared.size} bytes of shared memory"
                self._fault(Cause.ADDRESS_RANGE, detail)
        return held

    def _fill(self, command: Fill) -> None:
        if not 0 <= command.value < 1 << 32:
            raise InvalidArgument("value", f"{command.value:#x}", "a 32-bit pattern")
        self._held(command.register, command.count, "the filled range")[:] = command.value

    def _move(self, command: Move) -> None:
        destination = self._held(command.destination, command.count, "the destination")
        source = self._held(command.source, command.count, "the source")
        for offset in range(command.count):
            destination[offset] = source[offset]

    def _move_matrices(self, command: LoadMatrix | StoreMatrix) -> None:
        """`ldmatrix` and `stmatrix`; every check comes before the first row, in the order of the causes."""
        if self.shared is None:
            self._fault(Cause.ILLEGAL_INSTRUCTION, "this machine has no shared memory")
        held = self._held(command.register, command.count, "the matrices")
        addresses = self._held(command.addresses, 1, "the addresses")
        rows = [int(address) for address in addresses[0, : 8 * command.count]]
        for address in rows:
            if address % MATRIX_ROW_BYTES:
                detail = f"row address {address:#x} is not a multiple of {MATRIX_ROW_BYTES}"
                self._fault(Cause.MISALIGNED_ADDRESS, detail)
        for address in rows:
            if address + MATRIX_ROW_BYTES > 1 << self._address_bits:
                detail = f"row address {address:#x} exceeds {self._address_bits} address bits"
                self._fault(Cause.ADDRESS_RANGE, detail)
        if isinstance(command, LoadMatrix):
            data = self._read_lines([(row, MATRIX_ROW_BYTES) for row in rows], command.space)
            matrices = data.view("<u2").reshape(command.count, 8, 8).astype(np.uint16)
            held[:] = ldmatrix(matrices, transposed=command.transposed)
            return
        matrices = stmatrix(held, transposed=command.transposed)
        data = matrices.astype("<u2").reshape(len(rows), 8).view(np.uint8)
        missing, _ = self._spaces.write(zip(rows, data, strict=True), command.space)
        if missing is not None:
            self._fault(Cause.WRITE_DECODE_ERROR, f"no memory at {missing:#x}; the other rows were written")

    def _transpose(self, command: MoveMatrix) -> None:
        if self.shared is None:
            detail = "this machine has no shared memory, and so no matrix moves"
            self._fault(Cause.ILLEGAL_INSTRUCTION, detail)
        destination = self._held(command.destination, 1, "the destination")
        destination[:] = movmatrix(self._held(command.source, 1, "the source"))

    def _checked_access(self, command: Load | Store) -> NDArray[np.uint32]:
        """The fragment's registers, after every check that comes before the bus, in the order of causes."""
        instruction = command.instruction
        use, element, shape = instruction.use, instruction.type, instruction.shape
        if instruction.space == "shared" and self.shared is None:
            self._fault(Cause.ILLEGAL_INSTRUCTION, "this machine has no shared memory")
        if not any(
            family.mnemonic == "wmma" and shape in family.shapes and element in family.types(use)
            for family in self._families
        ):
            self._fault(Cause.ILLEGAL_INSTRUCTION, f"this machine has no .{element} fragment of {shape}")
        layout = instruction.fragment
        held = self._held(command.register, layout.registers, f"fragment {use}")
        stride = 0 if command.stride is None else command.stride
        if not 0 <= stride < 1 << 32:
            raise InvalidArgument("stride", shortened(stride), "an unsigned integer of 32 bits")
        unit = instruction.core_alignment
        if command.address % unit:
            detail = f"address {command.address:#x} is not a multiple of {unit} bytes"
            self._fault(Cause.MISALIGNED_ADDRESS, detail)
        if stride * layout.element_bits % (8 * unit):
            detail = (
                f"stride {stride} of {layout.element_bits}-bit elements is not a multiple of {unit} bytes"
            )
            self._fault(Cause.MISALIGNED_STRIDE, detail)
        last, count = gather_lines(instruction, command.address, command.stride)[-1]
        if command.address < 0 or last + count > 1 << self._address_bits:
            given = f"bytes {command.address:#x} to {last + count - 1:#x}"
            self._fault(Cause.ADDRESS_RANGE, f"{given} exceed {self._address_bits} address bits")
        return held

    def _held(self, first: int, count: int, what: str) -> NDArray[np.uint32]:
        """Registers of the warp whose command is executed, not copied."""
        file: NDArray[np.uint32] = self._files[self._warp]
        if first < 0 or count < 0 or first + count > len(file):
            given = f"{what}, {count} registers from {first} on"
            self._fault(Cause.REGISTER_RANGE, f"{given}, exceeds the {len(file)} there are")
        return file[first : first + count]

    def _read_lines(self, lines: Iterable[tuple[int, int]], space: Space) -> NDArray[np.uint8]:
        """The bytes of lines of one length, given as address and count."""
        try:
            return np.stack([self._spaces.read(address, count, space) for address, count in lines])
        except NoMemory as error:
            self._fault(Cause.READ_DECODE_ERROR, f"no memory at {error.address:#x}; no register was changed")
