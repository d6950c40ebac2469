"""The binary form of a command: five 32-bit words, written by the host and decoded by the sequencer.

In every kind of command bits 28 to 31 of the first word are the number of the warp that executes it.
"""

from collections.abc import Mapping
from functools import cache
from struct import unpack

from amaranth.hdl import Cat, Value, unsigned
from amaranth.lib import data, enum

from golden.tables.commands import (
    MATRIX_COUNTS,
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
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import (
    BIT_OPERATIONS,
    ROUNDINGS,
    SCALE_VECS,
    SHAPES,
    SPACES,
    USES,
    Shape,
)
from golden.tables.matrix_instructions import (
    TILE_COLUMNS,
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
    warp_tile,
)

COMMAND_WORDS = 5
"""32-bit words of one command."""

COMMAND_BITS = 32 * COMMAND_WORDS
"""Bits of one command."""


class Opcode(enum.Enum, shape=3):
    """What kind of command follows."""

    LOAD = 1
    STORE = 2
    MMA = 3
    FILL = 4
    MOVE = 5
    MATRIX = 6
    SPARSE = 7
    WGMMA = 0
    """A command of zeros has no types of a `wgmma`, so it is refused."""


class MatrixMove(enum.Enum, shape=2):
    """Which way a matrix moves."""

    LOAD = 0
    STORE = 1
    REGISTER = 2


class MemoryCommand(data.Struct):
    """A load or store; `layout` is 1 for col, and `stride` counts elements where `has_stride` is set."""

    opcode: unsigned(3)
    use: unsigned(2)
    layout: unsigned(1)
    tile_shape: unsigned(4)
    element_type: unsigned(4)
    space: unsigned(2)
    has_stride: unsigned(1)
    reserved: unsigned(11)
    warp: unsigned(4)
    register: unsigned(8)
    reserved_registers: unsigned(24)
    address: unsigned(64)
    stride: unsigned(32)

    @property
    def fragment(self) -> Value:
        """The fields that are `fragment_key` of the fragment."""
        return Cat(self.use, self.layout, self.tile_shape, self.element_type)


class MmaCommand(data.Struct):
    """A multiply, dense or sparse; independent of the layouts of A and B in memory.

    `is_wgmma` distinguishes a warp's share of a `wgmma` from an `mma` of the same shape and types. A core
    with only one of them ignores it. `metadata` is the register with the metadata of a sparse A, `selector`
    selects its lanes. With block scales `rounding` is 1, 2 or 3 for `.scale_vec::1X`, 2X or 4X; their type is
    ue4m3 with `bitwise_and`, else ue8m0. Without block scales their registers are ignored.
    """

    opcode: unsigned(3)
    tile_shape: unsigned(4)
    a_type: unsigned(4)
    b_type: unsigned(4)
    c_type: unsigned(4)
    d_type: unsigned(4)
    saturate: unsigned(1)
    rounding: unsigned(2)
    bitwise_and: unsigned(1)
    is_wgmma: unsigned(1)
    warp: unsigned(4)
    d: unsigned(8)
    a: unsigned(8)
    b: unsigned(8)
    c: unsigned(8)
    metadata: unsigned(8)
    selector: unsigned(2)
    scale_a: unsigned(8)
    byte_a: unsigned(2)
    thread_a: unsigned(2)
    scale_b: unsigned(8)
    byte_b: unsigned(2)
    thread_b: unsigned(2)
    unused: unsigned(62)

    @property
    def multiply(self) -> Value:
        """The fields that are `multiply_key` of the instruction, but for its two highest bits."""
        return Cat(self.tile_shape, self.a_type, self.b_type, self.c_type, self.d_type)


class RegisterCommand(data.Struct):
    """A fill with `value`, or a move from `source`, of `count` registers from `destination` on."""

    opcode: unsigned(3)
    reserved: unsigned(13)
    count: unsigned(12)
    warp: unsigned(4)
    destination: unsigned(8)
    source: unsigned(8)
    reserved_registers: unsigned(16)
    value: unsigned(32)
    unused: unsigned(64)


class MatrixCommand(data.Struct):
    """A move of ``2**count_log2`` matrices from or to rows in memory, or of one from `source` to `register`.

    `source` is also the register of the rows' addresses. A move of registers has neither count nor space.
    """

    opcode: unsigned(3)
    move: MatrixMove
    count_log2: unsigned(2)
    transposed: unsigned(1)
    space: unsigned(2)
    reserved: unsigned(18)
    warp: unsigned(4)
    register: unsigned(8)
    source: unsigned(8)
    reserved_registers: unsigned(16)
    unused: unsigned(96)


class Descriptor(data.Struct):
    """A matrix descriptor of `wgmma`; addresses and offsets in units of 16 bytes."""

    start: unsigned(14)
    leading: unsigned(14)
    stride: unsigned(14)
    base: unsigned(3)
    swizzle: unsigned(2)


class WgmmaCommand(data.Struct):
    """A warp's share of a `wgmma`: the types are of its tiles, as in `MmaCommand`."""

    opcode: unsigned(3)
    tile_shape: unsigned(4)
    a_type: unsigned(4)
    b_type: unsigned(4)
    c_type: unsigned(4)
    d_type: unsigned(4)
    saturate: unsigned(1)
    rounding: unsigned(2)
    bitwise_and: unsigned(1)
    is_wgmma: unsigned(1)
    warp: unsigned(4)
    d: unsigned(8)
    a: unsigned(8)
    tiles_less_one: unsigned(5)
    """Columns of D / 8, less one."""
    a_in_registers: unsigned(1)
    scale_d: unsigned(1)
    negated: unsigned(2)
    transposed: unsigned(2)
    reserved: unsigned(5)
    a_matrix: Descriptor
    b_matrix: Descriptor
    unused: unsigned(2)


OPCODES = {
    MemoryCommand: (Opcode.LOAD, Opcode.STORE),
    MmaCommand: (Opcode.MMA, Opcode.SPARSE),
    RegisterCommand: (Opcode.FILL, Opcode.MOVE),
    MatrixCommand: (Opcode.MATRIX,),
    WgmmaCommand: (Opcode.WGMMA,),
}
"""Of each kind of command."""

_PLACES = {
    struct: {name: (field.offset, field.width) for name, field in data.Layout.cast(struct)}
    for struct in OPCODES
}
"""Of each kind of command the fields: the lowest bit, and how many there are."""

_SHAPE_CODES = {shape: code for code, shape in enumerate(SHAPES)}
_TYPE_CODES = {name: code for code, name in enumerate(FORMATS)}


def shape_code(shape: Shape) -> int:
    """The code of a tile shape: its place in `golden.tables.instruction_set.SHAPES`."""
    return _SHAPE_CODES[shape]


def type_code(name: str) -> int:
    """The code of an element type: its place in `golden.tables.formats.FORMATS`."""
    return _TYPE_CODES[name]


def scale_code(instruction: MmaInstruction) -> int:
    """`MmaCommand.rounding` of a multiply with block scales, above it `bitwise_and`; 0 without scales."""
    if not instruction.scale_vec:
        return 0
    return SCALE_VECS.index(instruction.scale_vec) + 1 | (instruction.scale_type == "ue4m3") << 2


@cache
def _of_multiply(instruction: MmaInstruction) -> int:
    """The bits that `MmaCommand` and `WgmmaCommand` have in common."""
    fields = {
        "tile_shape": shape_code(instruction.shape),
        **{f"{use}_type": type_code(name) for use, name in instruction.types.items()},
        "saturate": int(instruction.saturate),
        "rounding": scale_code(instruction) & 3 or ROUNDINGS.index(instruction.rounding or "rn"),
        "bitwise_and": scale_code(instruction) >> 2 or BIT_OPERATIONS.index(instruction.operation or "xor"),
        "is_wgmma": int(instruction.mnemonic == "wgmma"),
    }
    return _packed(MmaCommand, fields)


@cache
def _of_access(instruction: LoadInstruction | StoreInstruction) -> int:
    """The bits of a `MemoryCommand` that its instruction says."""
    fields = {
        "use": USES.index(instruction.use),
        "layout": int(instruction.layout == "col"),
        "tile_shape": shape_code(instruction.shape),
        "element_type": type_code(instruction.type),
        "space": SPACES.index(instruction.space),
    }
    return _packed(MemoryCommand, fields)


def _descriptor(bits: int) -> int:
    """The bits of a `Descriptor`, of the 64 bits of a matrix descriptor."""
    start, leading, stride = (bits >> low & 0x3FFF for low in (0, 16, 32))
    return start | leading << 14 | stride << 28 | (bits >> 49 & 7) << 42 | (bits >> 62 & 3) << 45


def encode(command: Command) -> tuple[int, ...]:
    """Encode a command as `COMMAND_WORDS` words.

    Parameters
    ----------
    command : Command

    Returns
    -------
    tuple of int
        The words, in the order of their registers at the host interface; word 0 is to be written last.

    Raises
    ------
    ValueError
        For an operand that has no place in its field, naming the operand, its value and the field's width.
    """
    struct, values = _fields(command)
    values["warp"] = command.warp
    bits = _fixed(command) | _packed(struct, values)
    return unpack(f"<{COMMAND_WORDS}I", bits.to_bytes(COMMAND_BITS // 8, "little"))


def _packed(struct: type[data.Struct], values: Mapping[str, int]) -> int:
    """The bits of a command that has values in some fields and zeros in others."""
    places, bits = _PLACES[struct], 0
    for name, value in values.items():
        first, width = places[name]
        if not 0 <= value < 1 << width:
            raise ValueError(f"{name} must be from 0 to {(1 << width) - 1}, not {value}")
        bits |= value << first
    return bits


def _fixed(command: Command) -> int:
    """The bits that follow from the instruction alone."""
    match command:
        case Load(instruction) | Store(instruction):
            return _of_access(instruction)
        case Mma(instruction):
            return _of_multiply(instruction)
        case Wgmma(instruction):
            return _of_multiply(warp_tile(instruction))
        case _:
            return 0


def _fields(command: Command) -> tuple[type[data.Struct], dict[str, int]]:
    """The kind of a command, and its other fields; what is left out is 0."""
    match command:
        case Load() | Store():
            opcode = Opcode.LOAD if isinstance(command, Load) else Opcode.STORE
            return MemoryCommand, {
                "opcode": opcode.value,
                "has_stride": int(command.stride is not None),
                "register": command.register,
                "address": command.address,
                "stride": command.stride or 0,
            }
        case Mma(instruction):
            return MmaCommand, {
                "opcode": (Opcode.SPARSE if instruction.is_sparse else Opcode.MMA).value,
                **{name: value for name, value in vars(command).items() if value and name != "instruction"},
            }
        case Wgmma(instruction):
            return WgmmaCommand, {
                "opcode": Opcode.WGMMA.value,
                "d": command.d,
                "a": command.a if command.a_in_registers else 0,
                "tiles_less_one": instruction.shape.n // TILE_COLUMNS - 1,
                "a_in_registers": int(command.a_in_registers),
                "scale_d": int(command.scale_d),
                **{
                    name: sum(bit << place for place, bit in enumerate(getattr(command, name)))
                    for name in ("negated", "transposed")
                },
                "a_matrix": 0 if command.a_in_registers else _descriptor(command.a),
                "b_matrix": _descriptor(command.b),
            }
        case LoadMatrix() | StoreMatrix():
            move = MatrixMove.LOAD if isinstance(command, LoadMatrix) else MatrixMove.STORE
            return MatrixCommand, {
                "opcode": Opcode.MATRIX.value,
                "move": move.value,
                "count_log2": MATRIX_COUNTS.index(command.count),
                "transposed": int(command.transposed),
                "space": SPACES.index(command.space),
                "register": command.register,
                "source": command.addresses,
            }
        case MoveMatrix(destination, source):
            return MatrixCommand, {
                "opcode": Opcode.MATRIX.value,
                "move": MatrixMove.REGISTER.value,
                "register": destination,
                "source": source,
            }
        case Fill(register, count, value):
            return RegisterCommand, {
                "opcode": Opcode.FILL.value,
                "count": count,
                "destination": register,
                "value": value,
            }
        case Move(destination, source, count):
            return RegisterCommand, {
                "opcode": Opcode.MOVE.value,
                "count": count,
                "destination": destination,
                "source": source,
            }
        case _:
            raise ValueError(f"no core executes {command}: expected a command of golden.tables.commands")
