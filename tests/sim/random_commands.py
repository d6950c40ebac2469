"""Random commands that are legal: every multiply, load and store of the tables, in every space."""

from dataclasses import replace
from itertools import product

import numpy as np

from golden.lines import gather_lines
from golden.memory import Memory
from golden.tables.commands import Load, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import CORE_FAMILIES, LAYOUTS, ROUNDINGS
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from hdl.config import PRESETS
from hdl.memory.fragment_geometry import legal_fragments
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

BASE, SIZE = 0x10000, 1 << 16
SPACES = ("global", "shared", "generic to global", "generic to shared")


def modifiers(family):
    """Every choice of the optional qualifiers of a family."""
    if family.roundings:
        return [{"rounding": rounding} for rounding in (None, *ROUNDINGS)]
    if family.operations:
        return [{"operation": operation} for operation in family.operations]
    return [
        {"saturate": saturate} for saturate in ((False,) if family.saturate == "never" else (False, True))
    ]


def multiplies():
    """Every legal multiply of a dense A."""
    for family in CORE_FAMILIES:
        if family.is_sparse:
            continue
        layouts = [("row", "col")] if family.fixed_layout else list(product(LAYOUTS, repeat=2))
        pairs = [(one, other) for one, other in product(family.multiplicands, repeat=2)]
        for shape, (a_layout, b_layout), (a, b), c, d, modifier in product(
            family.shapes, layouts, pairs, family.accumulators, family.accumulators, modifiers(family)
        ):
            if (a == b or family.mixed) and (c == d or not family.same_accumulators):
                yield MmaInstruction(
                    mnemonic=family.mnemonic,
                    shape=shape,
                    a_layout=a_layout,
                    b_layout=b_layout,
                    a_type=a,
                    b_type=b,
                    c_type=c,
                    d_type=d,
                    **modifier,
                )


MULTIPLIES = list(multiplies())
FRAGMENTS = list(legal_fragments(PRESETS["small"]))
"""Every (use, type, shape, layout) that can be loaded or stored."""


def seeded(*parts):
    return np.random.default_rng(sum(i * ord(c) for i, c in enumerate(" ".join(map(str, parts)), 1)))


def machines_of_noise(config, **options):
    """A golden machine and a core that hold the same random bytes in both memories."""
    golden, rtl = (
        golden_machine(config, Memory(SIZE, BASE)),
        RtlMachine(config, Memory(SIZE, BASE), **options),
    )
    random = np.random.default_rng(8)
    data = random.integers(0, 256, SIZE, dtype=np.uint8)
    shared = random.integers(0, 256, config.shared_bytes, dtype=np.uint8)
    for machine in (golden, rtl):
        machine.memory.data[:] = data
        machine.shared.write(config.shared_base, shared)
    return golden, rtl


def legal_stride(random, instruction):
    """Elements from line to line: more than the default, less, or 0."""
    unit = 8 * instruction.core_alignment // FORMATS[instruction.type].bits
    default = instruction.shape.default_stride(instruction.use, instruction.layout)
    longer = default + unit * int(random.integers(1, 5))
    return int(random.choice([longer, longer, unit * int(random.integers(0, default // unit))]))


def address_of(random, config, space, unit, extent, window):
    """A random aligned address from which `extent` bytes are in the first `window` of what a space names."""
    size = min(window, config.shared_bytes if "shared" in space else SIZE)
    base = {"shared": 0, "generic to shared": config.shared_base}.get(space, BASE)
    return base + unit * int(random.integers(0, (size - extent) // unit))


def access(instruction, random, config, space, register, window=SIZE):
    """A load or store at a random place within `window` bytes, with a stride that is not the default.

    With the default stride it lies within them too.
    """
    instruction = replace(instruction, space=space.split()[0])
    stride = legal_stride(random, instruction)
    strides = stride, instruction.shape.default_stride(instruction.use, instruction.layout)
    extent = max(sum(gather_lines(instruction, 0, each)[-1]) for each in strides)
    address = address_of(random, config, space, instruction.core_alignment, extent, window)
    kind = Store if instruction.use == "d" else Load
    return kind(instruction, register, address, stride)


def fragment_instruction(row):
    """The load or store of one of `FRAGMENTS`."""
    use, name, shape, layout = row
    if use == "d":
        return StoreInstruction(layout=layout, shape=shape, type=name)
    return LoadInstruction(use=use, layout=layout, shape=shape, type=name)
