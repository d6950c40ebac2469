"""Command words that are nearly legal, and why the golden tables refuse a word."""

import random
from typing import Any

from amaranth.lib import data

from cocotb_tests.packing import Packing
from golden.tables.commands import MATRIX_COUNTS, MATRIX_SPACES
from golden.tables.faults import Cause
from golden.tables.formats import FORMATS, FloatFormat
from golden.tables.instruction_set import (
    LAYOUTS,
    ROUNDINGS,
    SCALE_VECS,
    SHAPES,
    SPACES,
    USES,
    WGMMA_FAMILIES,
    Family,
    Shape,
)
from golden.tables.layouts import fragment
from golden.tables.matrix_instructions import (
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
    multiplies_of,
    warp_tile,
)
from golden.tables.scales import BYTE_IDS, THREAD_IDS
from golden.tables.sparsity import Sparsity
from hdl.command import (
    COMMAND_BITS,
    OPCODES,
    MatrixCommand,
    MatrixMove,
    MemoryCommand,
    MmaCommand,
    Opcode,
    RegisterCommand,
    WgmmaCommand,
)
from hdl.config import CoreConfig

MEMORY, MULTIPLY = Packing(MemoryCommand), Packing(MmaCommand)
MATRIX, REGISTER = Packing(MatrixCommand), Packing(RegisterCommand)
WGMMA = Packing(WgmmaCommand)
_UNUSED = {
    (Opcode.FILL, "source"),
    (Opcode.MOVE, "value"),
    (Opcode.MMA, "metadata"),
    (Opcode.MMA, "selector"),
}
"""Fields that another opcode with the same fields uses."""

_MULTIPLIES = (Opcode.MMA.value, Opcode.SPARSE.value)
_OF_SCALES = ("scale_a", "byte_a", "thread_a", "scale_b", "byte_b", "thread_b")
_SCALE_BITS = sum(
    ((1 << field.width) - 1) << field.offset
    for name, field in data.Layout.cast(MmaCommand)
    if name in _OF_SCALES
)
"""Without meaning where there are no block scales."""

_IGNORED = {
    opcode.value: sum(
        ((1 << field.width) - 1) << field.offset
        for name, field in data.Layout.cast(struct)
        if name.startswith(("reserved", "unused")) or (opcode, name) in _UNUSED
    )
    for struct, opcodes in OPCODES.items()
    for opcode in opcodes
}
"""The bits of a command that have no meaning."""


def with_noise(bits: int, rng: random.Random) -> int:
    """A command with any values of the bits that have no meaning."""
    ignored = _IGNORED[bits & 7]
    if bits & 7 in _MULTIPLIES and not scale_of(MULTIPLY.unpack(bits)):
        ignored |= _SCALE_BITS
    return bits ^ rng.getrandbits(COMMAND_BITS) & ignored


def scale_of(command: Any) -> tuple[str, str] | None:
    """The block scales that a multiply asks for: vector size and type."""
    if not command.rounding or list(FORMATS)[command.a_type] == "f64":
        return None
    return SCALE_VECS[command.rounding - 1], "ue4m3" if command.bitwise_and else "ue8m0"


def near_legal(rng: random.Random, opcode: int, config: CoreConfig, warp: int) -> int:
    """A word whose fields are likely, but not sure, to be legal together."""
    in_memory = opcode in (Opcode.LOAD.value, Opcode.STORE.value)
    is_sparse = opcode == Opcode.SPARSE.value and config.sparse
    able = (item.mnemonic == "wmma" if in_memory else item.is_sparse == is_sparse for item in config.families)
    family = rng.choice([item for item, is_able in zip(config.families, able, strict=True) if is_able])
    names, registers = list(FORMATS), config.registers
    shapes = [SHAPES.index(shape) for shape in family.shapes]
    multiplicands = [names.index(name) for name in family.multiplicands]
    accumulators = [names.index(name) for name in family.accumulators]

    def pick(likely: Any, bits: int) -> int:
        return rng.choice(list(likely)) if rng.random() < 0.93 else rng.getrandbits(bits)

    place = range(registers + 1)
    if in_memory:
        use = 3 if opcode == Opcode.STORE.value else rng.randrange(3)
        fields = {
            "use": pick([use], 2),
            "layout": rng.getrandbits(1),
            "tile_shape": pick(shapes, 4),
            "element_type": pick(multiplicands if use < 2 else accumulators, 4),
            "space": pick(range(3) if config.shared_bytes else (0, 2), 2),
            "has_stride": rng.getrandbits(1),
            "reserved": rng.getrandbits(11),
            "warp": pick([warp], 4),
            "register": pick(place, 8),
            "reserved_registers": rng.getrandbits(24),
            "address": rng.getrandbits(64),
            "stride": rng.getrandbits(32),
        }
        return MEMORY.pack(fields)
    if opcode in _MULTIPLIES:
        vec, type_ = rng.choice(family.scales) if family.scales else ("", "")
        code = SCALE_VECS.index(vec) + 1 if vec else 0
        fields = {
            "tile_shape": pick(shapes, 4),
            "a_type": pick(multiplicands, 4),
            "b_type": pick(multiplicands, 4),
            "c_type": pick(accumulators, 4),
            "d_type": pick(accumulators, 4),
            "saturate": rng.random() < 0.2 if code else rng.getrandbits(1),
            "rounding": pick([code], 2),
            "bitwise_and": pick([type_ == "ue4m3"], 1) if code else rng.getrandbits(1),
            "is_wgmma": pick([family.mnemonic == "wgmma"], 1),
            "warp": pick([warp], 4),
            **{use: pick(range(registers - 2), 8) for use in "dabc"},
            "metadata": pick(place, 8),
            "selector": pick((0, 0, 1), 2),
            **{name: pick(place, 8) for name in ("scale_a", "scale_b")},
            **{f"byte_{use}": pick(BYTE_IDS.get(vec, (0,)), 2) for use in "ab"},
            **{f"thread_{use}": pick(THREAD_IDS[use], 2) for use in "ab"},
            "unused": rng.getrandbits(62),
        }
        return MULTIPLY.pack(fields)
    if opcode == Opcode.WGMMA.value:
        family = rng.choice([item for item in WGMMA_FAMILIES if item.formats <= config.formats])
        tile = warp_tile(rng.choice(list(multiplies_of(family))))
        fields = {
            "tile_shape": pick([SHAPES.index(tile.shape)], 4),
            **{f"{use}_type": pick([names.index(name)], 4) for use, name in tile.types.items()},
            "saturate": pick([tile.saturate], 1),
            "rounding": pick([0], 2),
            "bitwise_and": pick([1], 1),
            "is_wgmma": pick([tile.mnemonic == "wgmma"], 1),
            "warp": pick([warp], 4),
            "d": pick(place, 8),
            "a": pick(place, 8),
            "tiles_less_one": rng.getrandbits(5) >> rng.randrange(5),
            "a_in_registers": rng.getrandbits(1),
            "scale_d": rng.getrandbits(1),
            "negated": pick([0], 2),
            "transposed": pick([0], 2),
        }
        return WGMMA.pack(fields) | rng.getrandbits(96) << 64
    if opcode == Opcode.MATRIX.value:
        fields = {
            "move": rng.randrange(len(MatrixMove)),
            "count_log2": rng.choice((0, 0, 1, 1, 2, 2, 3)),
            "transposed": rng.getrandbits(1),
            "space": pick((1, 2), 2),
            "reserved": rng.getrandbits(18),
            "warp": pick([warp], 4),
            "register": pick(place, 8),
            "source": pick(place, 8),
            "reserved_registers": rng.getrandbits(16),
            "unused": rng.getrandbits(96),
        }
        return MATRIX.pack(fields)
    fields = {
        "reserved": rng.getrandbits(13),
        "count": pick(range(registers // 2), 12) | (rng.random() < 0.2) << rng.randrange(12),
        "warp": pick([warp], 4),
        "destination": pick(place, 8),
        "source": pick(place, 8),
        "reserved_registers": rng.getrandbits(16),
        "value": rng.getrandbits(32),
        "unused": rng.getrandbits(64),
    }
    return REGISTER.pack(fields)


def expected_cause(bits: int, config: CoreConfig, warp: int) -> int:
    """Why the golden tables refuse a word; 0 where they do not. Reserved bits do not count."""
    opcode = bits & 7
    if bits >> 28 & 15 != warp:
        return Cause.WARP_RANGE
    if opcode in (Opcode.LOAD.value, Opcode.STORE.value):
        return expected_memory_cause(bits, config)
    if opcode in _MULTIPLIES and (opcode == Opcode.MMA.value or config.sparse):
        return expected_multiply_cause(bits, config)
    if opcode in (Opcode.FILL.value, Opcode.MOVE.value):
        command = REGISTER.unpack(bits)
        ends = [command.destination + command.count]
        if opcode == Opcode.MOVE.value:
            ends.append(command.source + command.count)
        return Cause.REGISTER_RANGE if max(ends) > config.registers else 0
    if opcode == Opcode.MATRIX.value and config.shared_bytes:
        return expected_matrix_cause(bits, config)
    if opcode == Opcode.WGMMA.value and config.wgmma:
        return expected_share_cause(bits, config)
    return Cause.ILLEGAL_INSTRUCTION


def expected_matrix_cause(bits: int, config: CoreConfig) -> int:
    command = MATRIX.unpack(bits)
    moves = [item.value for item in MatrixMove]
    move = bits >> 3 & 3
    if move not in moves:
        return Cause.ILLEGAL_INSTRUCTION
    count = 1
    if move != MatrixMove.REGISTER.value:
        spaces = [SPACES.index(space) for space in MATRIX_SPACES]
        if command.count_log2 > 2 or command.space not in spaces:
            return Cause.ILLEGAL_INSTRUCTION
        count = MATRIX_COUNTS[command.count_log2]
    beyond = command.register + count > config.registers or command.source >= config.registers
    return Cause.REGISTER_RANGE if beyond else 0


def expected_share_cause(bits: int, config: CoreConfig) -> int:
    command = WGMMA.unpack(bits)
    words = (command.d_type, command.a_type, command.b_type, command.c_type)
    tiles: list[MmaInstruction] = [
        warp_tile(instruction)
        for family in WGMMA_FAMILIES
        if family.formats <= config.formats
        for instruction in multiplies_of(family)
    ]
    names = list(FORMATS)
    found = [
        tile
        for tile in tiles
        if tuple(names.index(name) for name in tile.types.values()) == words
        and SHAPES.index(tile.shape) == command.tile_shape
        and (tile.mnemonic == "wgmma") == command.is_wgmma
        and tile.saturate == command.saturate
        and (tile.a_type != "b1" or command.bitwise_and)
    ]
    if not found or command.rounding:
        return Cause.ILLEGAL_INSTRUCTION
    element, count = FORMATS[found[0].a_type], command.tiles_less_one + 1
    registers = count * (2 if found[0].d_type == "f16" else 4)
    is_float = isinstance(element, FloatFormat)
    in_registers = bool(command.a_in_registers)
    if (
        (command.negated and not is_float)
        or (command.transposed and not (is_float and element.bits == 16))
        or (in_registers and (command.transposed & 1 or -4 < command.a - command.d < registers))
    ):
        return Cause.ILLEGAL_INSTRUCTION
    ends = [command.d + registers, *([command.a + 4] if in_registers else [])]
    return Cause.REGISTER_RANGE if max(ends) > config.registers else 0


def expected_memory_cause(bits: int, config: CoreConfig) -> int:
    command = MEMORY.unpack(bits)
    use = USES[command.use]
    if (use == "d") != (bits & 7 == Opcode.STORE.value):
        return Cause.ILLEGAL_INSTRUCTION
    try:
        shape, name = SHAPES[command.tile_shape], list(FORMATS)[command.element_type]
        space = SPACES[command.space]
        common = {"layout": LAYOUTS[command.layout], "shape": shape, "type": name, "space": space}
        _ = StoreInstruction(**common) if use == "d" else LoadInstruction(use=use, **common)
    except (IndexError, IllegalInstruction):
        return Cause.ILLEGAL_INSTRUCTION
    held = any(
        shape in family.shapes and name in (family.multiplicands if use in "ab" else family.accumulators)
        for family in config.families
        if family.mnemonic == "wmma"
    )
    if not held or (space == "shared" and not config.shared_bytes):
        return Cause.ILLEGAL_INSTRUCTION
    end = command.register + fragment(use, name, shape).registers
    return Cause.REGISTER_RANGE if end > config.registers else 0


def expected_multiply_cause(bits: int, config: CoreConfig) -> int:
    command = MULTIPLY.unpack(bits)
    is_sparse = bits & 7 == Opcode.SPARSE.value
    names = list(FORMATS)
    has_tiles = any(family.mnemonic == "wgmma" for family in config.families)
    try:
        types = {
            use: names[code]
            for use, code in zip(
                "abcd", (command.a_type, command.b_type, command.c_type, command.d_type), strict=True
            )
        }
        shape = SHAPES[command.tile_shape]
    except IndexError:
        return Cause.ILLEGAL_INSTRUCTION
    if not any(
        is_legal(family, shape, types, command)
        for family in config.families
        if shape in family.shapes and types["a"] in family.multiplicands and family.is_sparse == is_sparse
        # Where there are no tiles of wgmma, the bit that tells them is reserved.
        if not has_tiles or (family.mnemonic == "wgmma") == command.is_wgmma
    ):
        return Cause.ILLEGAL_INSTRUCTION
    first = {"a": command.a, "b": command.b, "c": command.c, "d": command.d}
    fits = all(
        first[use] + fragment(use, name, shape, sparse=is_sparse).registers <= config.registers
        for use, name in types.items()
    )
    if is_sparse:
        sparsity = Sparsity(fragment("a", types["a"], shape, sparse=True).element_bits, shape.k)
        if command.selector not in sparsity.selectors:
            return Cause.ILLEGAL_INSTRUCTION
        fits = fits and command.metadata < config.registers
    scale = scale_of(command)
    if scale:
        for use in "ab":
            byte, thread = (getattr(command, f"{name}_{use}") for name in ("byte", "thread"))
            if byte not in BYTE_IDS[scale[0]] or thread not in THREAD_IDS[use]:
                return Cause.ILLEGAL_INSTRUCTION
        fits = fits and max(command.scale_a, command.scale_b) < config.registers
    return 0 if fits else Cause.REGISTER_RANGE


def is_legal(family: Family, shape: Shape, types: dict[str, str], command: Any) -> bool:
    """Whether the tables have the multiply in this family."""
    scale = scale_of(command) or ("", "")
    has_rounding = command.rounding and not scale[0]
    try:
        instruction = MmaInstruction(
            mnemonic=family.mnemonic,
            shape=shape,
            a_layout="row",
            b_layout="col",
            **{f"{use}_type": name for use, name in types.items()},
            saturate=bool(command.saturate),
            rounding=ROUNDINGS[command.rounding] if has_rounding else None,
            kind=family.kind,
            scale_vec=scale[0],
            scale_type=scale[1],
            operation=family.operations[command.bitwise_and] if family.operations else None,
        )
    except IllegalInstruction:
        return False
    return instruction.family == family
