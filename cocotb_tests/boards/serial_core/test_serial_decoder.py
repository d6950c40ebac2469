"""The decoder of a serial core: what it accepts, with which constants, and what it refuses."""

import random
from collections import Counter
from itertools import product
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge, Timer

from boards.serial_core.decoder import SerialDecoder
from boards.serial_core.serial_config import SERIAL_FORMATS, SerialConfig
from boards.serial_core.walk_geometry import ProductGeometry, WalkGeometry, product_geometry, walk_geometry
from cocotb_tests.conftest import Simulate
from cocotb_tests.packing import Packing
from cocotb_tests.streams import start
from golden.memory import Memory
from golden.tables.commands import Fill, Load, Mma, Move, Store
from golden.tables.faults import Cause, Fault
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import BIT_OPERATIONS, LAYOUTS, ROUNDINGS, SHAPES, SPACES, USES
from golden.tables.matrix_instructions import (
    IllegalInstruction,
    LoadInstruction,
    MmaInstruction,
    StoreInstruction,
)
from hdl.command import MemoryCommand, MmaCommand, Opcode, RegisterCommand, encode
from hdl.config import DotProductConfig
from hdl.memory.fragment_geometry import legal_fragments
from hdl.multiply.multiplies import legal_multiplies
from sim.testbench.parameters import parameters
from sim.testbench.reference import golden_machine
from sim.testbench.unit import unit_design

WALK, PRODUCT = Packing(WalkGeometry), Packing(ProductGeometry)
MEMORY, MULTIPLY, REGISTER = Packing(MemoryCommand), Packing(MmaCommand), Packing(RegisterCommand)
TYPES = list(FORMATS)
REGISTERS = 32


def config() -> SerialConfig:
    formats = frozenset(parameters()["formats"])
    return SerialConfig(dot_product=DotProductConfig(formats=formats), registers=REGISTERS)


async def decode(dut: Any, bits: int) -> int:
    """The cause that is shown for a command."""
    dut.head.value, dut.operands.value = bits & 0xFFFF_FFFF, bits >> 32 & 0xFFFF_FFFF
    for _ in range(2):
        await RisingEdge(dut.aclk)
    await Timer(1, "ps")
    return int(dut.cause.value)


def item(items: Any, index: int) -> Any:
    """What a code stands for, or None."""
    return items[index] if index < len(items) else None


def golden_cause(machine: Any, command: Any) -> int:
    """Why golden refuses a command at address 0 with the default stride, or 0."""
    try:
        machine.execute(command)
    except Fault as fault:
        return fault.cause
    return 0


@cocotb.test
async def every_memory_command(dut: Any) -> None:
    """All values of the fields that say which fragment: what golden takes, with its walk, and no other."""
    rng = random.Random(cocotb.RANDOM_SEED)
    machine = golden_machine(config(), Memory(1 << 16))
    counts: Counter[int] = Counter()
    fields = product((Opcode.LOAD, Opcode.STORE), range(4), range(2), range(16), range(16))
    legal = set(legal_fragments(config()))
    await start(dut)
    for opcode, use, layout, shape, type_ in fields:
        names = (USES[use], item(TYPES, type_), item(SHAPES, shape), LAYOUTS[layout])
        registers = [0, *range(REGISTERS - 8, REGISTERS + 2), 255] if names in legal else [0]
        for register in registers:
            space = 0 if names in legal and rng.random() < 0.6 else rng.randrange(4)
            bits = MEMORY.pack(
                {
                    "opcode": opcode,
                    "use": use,
                    "layout": layout,
                    "tile_shape": shape,
                    "element_type": type_,
                    "space": space,
                    "register": register,
                    "has_stride": rng.randrange(2),
                }
            )
            command = memory_command(opcode, names, item(SPACES, space), register)
            expected = Cause.ILLEGAL_INSTRUCTION if command is None else golden_cause(machine, command)
            assert await decode(dut, bits) == expected, (opcode, names, space, register)
            counts[expected] += 1
            if not expected:
                assert int(dut.walk.value) == WALK.pack(walk_geometry(*names))
    assert all(counts[cause] > 5 for cause in (0, Cause.ILLEGAL_INSTRUCTION, Cause.REGISTER_RANGE)), counts


def memory_command(opcode: Opcode, names: tuple[Any, ...], space: Any, register: int) -> Load | Store | None:
    """The command of these fields, or None if there is no such instruction."""
    use, name, shape, layout = names
    if None in (name, shape, space) or (use == "d") != (opcode is Opcode.STORE):
        return None
    try:
        if opcode is Opcode.STORE:
            return Store(StoreInstruction(layout=layout, shape=shape, type=name, space=space), register, 0)
        load = LoadInstruction(use=use, layout=layout, shape=shape, type=name, space=space)
        return Load(load, register, 0)
    except IllegalInstruction:
        return None


@cocotb.test
async def multiplies(dut: Any) -> None:
    """Every legal multiply, and each with every other value in one of its fields."""
    rng = random.Random(cocotb.RANDOM_SEED)
    machine = golden_machine(config(), Memory(1 << 16))
    widths = {
        "tile_shape": 4,
        "a_type": 4,
        "b_type": 4,
        "c_type": 4,
        "d_type": 4,
        "saturate": 1,
        "rounding": 2,
    }
    counts: Counter[int] = Counter()
    await start(dut)
    for instruction in legal_multiplies(SerialConfig()):
        words = encode(Mma(instruction, d=0, a=0, b=0, c=0))
        original = MmaCommand.from_bits(sum(word << 32 * place for place, word in enumerate(words)))
        base = {name: int(getattr(original, name)) for name in widths}
        for name, width in widths.items():
            for value in (*range(1 << width), *[base[name]] * 16):
                registers = {use: rng.choice([0, 3, *range(24, 33), 255]) for use in "dabc"}
                if rng.random() < 0.7:
                    registers = {use: rng.randrange(25) for use in "dabc"}
                fields = {**base, name: value, "bitwise_and": rng.randrange(2)}
                bits = MULTIPLY.pack({**fields, **registers, "opcode": Opcode.MMA})
                changed = multiply_of(fields)
                expected = Cause.ILLEGAL_INSTRUCTION
                if changed is not None:
                    expected = golden_cause(machine, Mma(changed, **registers))
                assert await decode(dut, bits) == expected, (fields, registers)
                counts[expected] += 1
                if not expected:
                    assert int(dut.product.value) == PRODUCT.pack(product_geometry(changed))
    assert all(counts[cause] > 20 for cause in (0, Cause.ILLEGAL_INSTRUCTION, Cause.REGISTER_RANGE)), counts


def multiply_of(fields: dict[str, int]) -> MmaInstruction | None:
    """The multiply of these fields, or None if there is none; layouts do not matter to it."""
    shape = item(SHAPES, fields["tile_shape"])
    types = [item(TYPES, fields[f"{use}_type"]) for use in "abcd"]
    if shape is None or None in types:
        return None
    operation = BIT_OPERATIONS[fields["bitwise_and"]] if types[0] == "b1" else None
    rounding = ROUNDINGS[fields["rounding"]] if fields["rounding"] else None
    names = dict(zip(("a_type", "b_type", "c_type", "d_type"), types, strict=True))
    for mnemonic in ("wmma", "mma"):
        try:
            return MmaInstruction(
                mnemonic=mnemonic,
                shape=shape,
                a_layout="row",
                b_layout="col",
                saturate=bool(fields["saturate"]),
                rounding=rounding,
                operation=operation,
                **names,
            )
        except IllegalInstruction:
            continue
    return None


@cocotb.test
async def fills_moves_and_unknown_words(dut: Any) -> None:
    """Ranges at the end of the registers and far beyond; opcodes that do not exist."""
    rng = random.Random(cocotb.RANDOM_SEED)
    machine = golden_machine(config(), Memory(1 << 16))
    await start(dut)
    numbers = (0, 1, REGISTERS - 1, REGISTERS, REGISTERS + 1, 255)
    for first, second, count in product(numbers, numbers, (*numbers, 0xFFF, 256)):
        for opcode, command in (
            (Opcode.FILL, Fill(first, count, 0)),
            (Opcode.MOVE, Move(first, second, count)),
        ):
            bits = REGISTER.pack({"opcode": opcode, "count": count, "destination": first, "source": second})
            assert await decode(dut, bits) == golden_cause(machine, command), command
    for opcode in range(8):
        for warp in range(16):
            bits = rng.getrandbits(64) & ~(15 << 28 | 0b111) | opcode | warp << 28
            if warp:
                assert await decode(dut, bits) == Cause.WARP_RANGE
            elif opcode in (0, 6, 7):
                assert await decode(dut, bits) == Cause.ILLEGAL_INSTRUCTION


@pytest.mark.parametrize("formats", ["b1 i4 i8", "i4", "i8"])
def test_serial_decoder(simulate: Simulate, formats: str) -> None:
    chosen = frozenset(formats.split())
    assert chosen <= SERIAL_FORMATS
    decoder = SerialDecoder(SerialConfig(dot_product=DotProductConfig(formats=chosen), registers=REGISTERS))
    name = f"serial_decoder_{formats.replace(' ', '_')}"
    simulate(unit_design(name, decoder), __name__, values={"formats": sorted(chosen)})
