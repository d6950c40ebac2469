"""What the tests of the simulated core share: small machines, and commands in short."""

import numpy as np

from golden.memory import Memory
from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import PRESETS
from regression.random_programs.program import config_named
from sim import machines
from sim.rtl_machine import RtlMachine

BASE = 0x4000
SQUARE = Shape(16, 16, 16)
CONFIG = PRESETS["small"]
TINY = PRESETS["tiny"]
"""f16 alone, so that there is something to refuse."""
OBSERVED = "tiny formats=f16,bf16 warps=4 registers=64 shared_bytes=16384"
FOUR_WARPS = config_named(OBSERVED)
"""Built once, with waves, for all tests that look into a core."""
OPTIONS = (
    "small sparse=true wgmma=true warps=4 dot_product_units=4 data_bits=256 queue_depth=4 registers=128 "
    "shared_bytes=65536"
)
WIDE = config_named(OPTIONS)
"""Two rows lie in a beat, all warps want all units, and each option of Hopper is there; built once for
several tests."""


def memory_of_noise(seed=1, size=1 << 14):
    memory = Memory(size, BASE)
    memory.data[:] = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    return memory


def golden_machine(seed=1, config=CONFIG):
    return machines.golden_machine(config, memory_of_noise(seed))


def rtl_machine(seed=1, config=CONFIG, **options):
    return RtlMachine(config, memory_of_noise(seed), **options)


def load(use="a", register=0, address=BASE, stride=None, *, layout="row", type="f16", shape=SQUARE):
    instruction = LoadInstruction(use=use, layout=layout, shape=shape, type=type, space="global")
    return Load(instruction, register, address, stride)


def store(register=0, address=BASE, stride=None, *, layout="row", type="f32", shape=SQUARE):
    instruction = StoreInstruction(layout=layout, shape=shape, type=type, space="global")
    return Store(instruction, register, address, stride)


def multiply(d=16, a=0, b=8, c=16, *, d_type="f32", c_type="f32", shape=SQUARE, a_type="f16"):
    instruction = MmaInstruction(
        shape=shape,
        a_layout="row",
        b_layout="col",
        a_type=a_type,
        b_type=a_type,
        c_type=c_type,
        d_type=d_type,
    )
    return Mma(instruction, d=d, a=a, b=b, c=c)


def fill(register=0, count=8, value=0x3C003C00):
    return Fill(register, count, value)
