"""What the golden tables say of a command: whether it is legal, and the constants of its operands."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data

from golden.tables.formats import FORMATS, IntegerFormat
from golden.tables.instruction_set import (
    FP4_KINDS,
    SPACES,
    USES,
    WGMMA_FAMILIES,
    Layout,
    Shape,
    Use,
    multiplicand_formats,
)
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import MmaInstruction, multiplies_of, warp_tile
from hdl.command import (
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    WgmmaCommand,
    scale_code,
    shape_code,
    type_code,
)
from hdl.config import CoreConfig
from hdl.dot_product.operands import GROUPS, Multiplicand, Result
from hdl.memory.fragment_geometry import (
    FragmentGeometry,
    block_order,
    fragment_geometry,
    legal_fragments,
    log2_exact,
)
from hdl.multiply.f64.request import F64Request
from hdl.multiply.tile.chains import passes
from hdl.multiply.tile.request import TileRequest, TileShape

MORE_BITS = 13
"""Of what a command says of that, with a sign."""

_MORE_BITS = 4
"""Of the registers of a fragment but its first: at most 15, in A of m16n8k16 in f64."""


class Constants(data.Struct):
    """What the tables say of a command: as a load or store, as a multiply, and as a move of registers."""

    accessible: unsigned(1)
    """It is a legal load or store."""
    geometry: FragmentGeometry
    multiplies: unsigned(1)
    """It is a legal multiply."""
    fragment_more: unsigned(_MORE_BITS)
    more: data.ArrayLayout(_MORE_BITS, len(USES))
    move_more: signed(MORE_BITS)
    """Registers but the first of the fragment in memory, of each fragment in the order of `USES`, and of a
    move; -1 for none."""
    is_f64: unsigned(1)
    tile: TileRequest
    f64: F64Request
    """Both without registers."""


def fragment_key(use: Use, name: str, shape: Shape, layout: Layout) -> int:
    """What `MemoryCommand.fragment` is in loads and stores of a fragment, for tables of fragments."""
    return USES.index(use) | (layout == "col") << 2 | shape_code(shape) << 3 | type_code(name) << 7


def multiply_key(instruction: MmaInstruction) -> int:
    """`MmaCommand.multiply`, `is_wgmma`, whether A is sparse, and `scale_code`."""
    types = (type_code(instruction.types[use]) for use in USES)
    codes = (shape_code(instruction.shape), *types)
    key = sum(code << 4 * place for place, code in enumerate(codes))
    more = (instruction.mnemonic == "wgmma") | instruction.is_sparse << 1 | scale_code(instruction) << 2
    return key | more << 4 * len(codes)


def drive_all(m: Module, signal: data.View, command: Value) -> None:
    """Let a signal be zero where nothing that follows drives it.

    Fields that no statement drives would become Verilog processes without inputs, which Icarus Verilog never
    executes. A condition gives them an input, the command; synthesis removes it.
    """
    with m.If(command.any()):
        m.d.comb += signal.as_value().eq(0)


def look_up(m: Module, config: CoreConfig, command: Value) -> data.View:
    """Look up the constants of a command, by levels of look-up tables alone.

    Parameters
    ----------
    m : Module
    config : CoreConfig
    command : Value
        160 bits.

    Returns
    -------
    View of Constants
    """
    found = Signal(Constants, name="looked_up")
    drive_all(m, found, command)
    access, multiply = MemoryCommand(command), MmaCommand(command)
    spaces = {"global", "generic"} | ({"shared"} if config.shared_bytes else set())
    in_space = Signal()
    m.d.comb += found.move_more.eq(RegisterCommand(command).count - 1)
    is_store = access.opcode == Opcode.STORE
    with m.Switch(access.space):
        with m.Case(*(SPACES.index(space) for space in sorted(spaces))):
            m.d.comb += in_space.eq(1)
    with m.Switch(access.fragment):
        for use, name, shape, layout in legal_fragments(config):
            with m.Case(fragment_key(use, name, shape, layout)):
                fields = fragment_geometry(use, name, shape, layout)
                m.d.comb += [
                    *(found.geometry[field].eq(item) for field, item in fields.items()),
                    found.fragment_more.eq(fragment(use, name, shape).registers - 1),
                    found.accessible.eq((is_store if use == "d" else ~is_store) & in_space),
                ]
    # `wmma` and `mma` share a few shapes and types.
    instructions = list({multiply_key(item): item for item in config.multiplies()}.values())
    has_wgmma = any(item.mnemonic == "wgmma" for item in instructions)
    key = Cat(multiply.multiply, multiply.is_wgmma & has_wgmma)
    if config.sparse:
        key = Cat(key, multiply.opcode == Opcode.SPARSE)
    if config.scales:
        key = Cat(key, *(() if config.sparse else (Const(0, 1),)), _code_of_scales(config, multiply))
    with m.Switch(key):
        for instruction in instructions:
            with m.Case(multiply_key(instruction)):
                _multiply(m, config, multiply, instruction, found)
    return found


def is_share(m: Module, config: CoreConfig, command: Value) -> Signal:
    """Whether the types of a command are legal for `wgmma`, on a core that has it; see `look_up`."""
    found = Signal(name="is_share")
    multiply = WgmmaCommand(command)
    keys = {
        multiply_key(warp_tile(instruction))
        for family in WGMMA_FAMILIES
        if family.formats <= config.formats
        for instruction in multiplies_of(family)
    }
    key = Cat(
        *(multiply[name] for name in ("tile_shape", "a_type", "b_type", "c_type", "d_type", "is_wgmma"))
    )
    with m.Switch(key):
        for each in sorted(keys):
            with m.Case(each):
                m.d.comb += found.eq((multiply.a_type != type_code("b1")) | multiply.bitwise_and)
    return found


def _code_of_scales(config: CoreConfig, command: data.View) -> Value:
    """What `multiply_key` has of block scales; 0 where the rounding is one, or the command no multiply."""
    has_rounding = [command.a_type == type_code("f64")] if config.f64_units else []
    is_other = Cat(*has_rounding, *([command.opcode == Opcode.WGMMA] if config.wgmma else [])).any()
    code = Cat(command.rounding, command.bitwise_and & command.rounding.any())
    return Mux(is_other, 0, code)


def _multiply(
    m: Module, config: CoreConfig, command: data.View, instruction: MmaInstruction, found: data.View
) -> None:
    """The constants of one multiply."""
    tile, layouts = found.tile, instruction.fragments
    a, b = layouts["a"], layouts["b"]
    x, y = (a, b) if a.wide else (b, a)
    # The key has the scales, and what takes the place of the rounding without them is 0.
    any_rounding = bool(instruction.family.roundings or instruction.scales)
    m.d.comb += [
        found.multiplies.eq(
            (any_rounding | (command.rounding == 0))
            & ~(command.saturate & (instruction.family.saturate == "never"))
        ),
        *(found.more[index].eq(layouts[use].registers - 1) for index, use in enumerate(USES)),
    ]
    if instruction.a_type == "f64":
        m.d.comb += [
            found.is_f64.eq(1),
            found.f64.tile.two_blocks.eq(a.x_blocks == 2),
            found.f64.tile.k_blocks_log2.eq(log2_exact(a.y_blocks)),
        ]
        return
    converted = None if config.dot_product.profile.narrow_block else instruction.family.converted_to
    m.d.comb += [
        tile.tile_shape.eq(_TILE_SHAPES[x.x_blocks, y.x_blocks]),
        tile.halves.eq(x.y_blocks == 2),
        tile.passes.eq(passes(instruction, config.dot_product.profile) - 1),
        tile.converted.eq(converted is not None or instruction.scales > 0),
        tile.x_is_b.eq(b.wide),
        tile.x_order.eq(block_order(x)),
        tile.y_order.eq(block_order(y)),
        Value.cast(tile.operation.multiplicand).eq(
            GROUPS if instruction.kind in FP4_KINDS else _multiplicand(converted or instruction.a_type)
        ),
        tile.operation.a_e5m2.eq(
            instruction.a_type in _TWO_FRACTION_BITS or instruction.scale_type == "ue4m3"
        ),
        tile.operation.b_e5m2.eq(instruction.b_type in _TWO_FRACTION_BITS),
        tile.operation.a_signed.eq(_is_signed(instruction.a_type) or instruction.a_type in _SMALL),
        tile.operation.b_signed.eq(_is_signed(instruction.b_type) or instruction.b_type in _SMALL),
        tile.operation.c_is_f16.eq(instruction.c_type == "f16"),
        tile.operation.result.eq(_result(instruction)),
    ]
    if config.dot_product.small and instruction.kind not in FP4_KINDS:
        m.d.comb += [
            tile.operation.saturate.eq(instruction.a_type == "e2m1"),
            tile.operation.bitwise_and.eq(instruction.b_type == "e2m1"),
        ]


_SMALL = ("e3m2", "e2m3", "e2m1")
_TWO_FRACTION_BITS = ("e5m2", "e3m2")

_TILE_SHAPES = {
    (2, 2): TileShape.SQUARE_16,
    (4, 1): TileShape.WIDE_32,
    (2, 1): TileShape.WIDE_16,
    (1, 1): TileShape.SQUARE_8,
}
"""By the blocks of eight rows of X and Y."""


def _multiplicand(name: str) -> Multiplicand:
    """What multiplicands of an element type are to a dot-product unit."""
    (format_,) = multiplicand_formats(("e4m3" if name in _SMALL else name,))
    return Multiplicand[format_.upper()]


def _is_signed(name: str) -> bool:
    """Whether an element type is of integers with a sign."""
    item = FORMATS[name]
    return isinstance(item, IntegerFormat) and item.signed


def _result(instruction: MmaInstruction) -> Result:
    if instruction.d_type != "f16":
        return Result.F32
    return Result.F16 if instruction.c_type == "f16" else Result.F16_FROM_F32
