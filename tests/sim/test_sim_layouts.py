"""Loads and stores of the simulated core against the fragment layouts read off the chip, bit by bit."""

from pathlib import Path

import numpy as np
import pytest
from rtl import BASE, memory_of_noise

from golden.tables.commands import Load, Store
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import Shape
from golden.tables.layouts import LANES
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.config import PRESETS
from sim.rtl_machine import RtlMachine

REGISTER = 3
with np.load(Path(__file__).parents[1] / "data" / "layouts.npz") as _loaded:
    CAPTURED = {tuple(key.split("/")[1:]): _loaded[key] for key in _loaded.files}


@pytest.fixture(scope="module")
def core():
    machine = RtlMachine(PRESETS["small"], memory_of_noise(7))
    yield machine
    machine.close()


def elements_of_registers(registers, bits):
    """Shape (lanes, elements, bits): what each lane holds, in register order."""
    lanes = np.ascontiguousarray(registers.T).astype("<u4").view(np.uint8).reshape(LANES, -1)
    return np.unpackbits(lanes, axis=1, bitorder="little").reshape(LANES, -1, bits)


def elements_of_memory(memory, extent, layout, stride, bits):
    """Shape (rows, columns, bits): the matrix that begins at `BASE`."""
    rows, columns = np.indices(extent)
    line, place = (rows, columns) if layout == "row" else (columns, rows)
    first = (line * stride + place) * bits
    stream = np.unpackbits(memory.data, bitorder="little")
    return stream[first[..., None] + np.arange(bits)]


def wide_stride(use, element, shape, layout):
    """16 bytes more than the default."""
    return shape.default_stride(use, layout) + 128 // FORMATS[element].bits


def parsed(key):
    """Use, element type, shape, layout and 32-bit registers; the chip counts f64's in 64 bits."""
    use, element, shape, layout, registers, _ = key
    sizes = map(int, shape[1:].replace("n", " ").replace("k", " ").split())
    return use, element, Shape(*sizes), layout, int(registers) * (2 if element == "f64" else 1)


def keys(part):
    return [key for key in CAPTURED if key[-1] == part]


def test_all_layouts_are_here():
    assert {key[-1] for key in CAPTURED} == {"map", "source"}
    assert len(keys("map")) + len(keys("source")) == 114


@pytest.mark.parametrize("key", keys("map"), ids="-".join)
def test_a_load_fills_the_registers_of_the_chip(core, key):
    use, element, shape, layout, registers = parsed(key)
    bits = FORMATS[element].bits
    stride = wide_stride(use, element, shape, layout)
    instruction = LoadInstruction(use=use, layout=layout, shape=shape, type=element, space="global")
    core.execute(Load(instruction, REGISTER, BASE, stride))
    found = elements_of_registers(core.inspect_registers()[REGISTER : REGISTER + registers], bits)
    rows, columns = np.moveaxis(CAPTURED[key].astype(int), -1, 0)
    matrix = elements_of_memory(core.memory, shape.extent(use), layout, stride, bits)
    np.testing.assert_array_equal(found, matrix[rows, columns])


@pytest.mark.parametrize("key", keys("source"), ids="-".join)
def test_a_store_takes_the_registers_of_the_chip(core, key):
    use, element, shape, layout, registers = parsed(key)
    bits = FORMATS[element].bits
    stride = wide_stride(use, element, shape, layout)
    noise = np.random.default_rng(11).integers(0, 1 << 32, (registers, LANES), dtype=np.uint32)
    core.write_registers(REGISTER, noise)
    instruction = StoreInstruction(layout=layout, shape=shape, type=element, space="global")
    core.execute(Store(instruction, REGISTER, BASE, stride))
    held = elements_of_registers(noise, bits)
    lanes, elements = np.divmod(CAPTURED[key].astype(int), held.shape[1])
    found = elements_of_memory(core.memory, shape.extent(use), layout, stride, bits)
    np.testing.assert_array_equal(found, held[lanes, elements])
