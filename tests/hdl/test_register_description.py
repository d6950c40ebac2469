"""The declaration of the registers: what is derived from it agrees with the simulated core."""

import re
import subprocess
import sys

import numpy as np
import pytest
from amaranth.hdl import Const, Signal
from systemrdl import RDLCompiler
from systemrdl.node import RegNode

from golden.memory import Memory
from golden.tables.faults import Cause
from hdl.config import PRESETS
from hdl.control.host.register_map import COUNTERS, REGISTER_MAP, REGISTERS
from hdl.control.host.register_types import Access, Field, Register
from hdl.control.host.register_views import readable_words
from hdl.verilog.systemrdl import systemrdl
from sim.build import build_core, core_description
from sim.simulation import BusTiming, HostRefusal, Simulation

SMALL = PRESETS["small"]
ADDRESSES = {
    "IDENTITY": 0x000,
    "VERSION": 0x004,
    "FORMATS": 0x008,
    "CONFIGURATION": 0x00C,
    "CONTROL": 0x010,
    "STATUS": 0x014,
    "FAULT_CAUSE": 0x018,
    "FAULT_INDEX": 0x01C,
    "FAULT_PROGRESS": 0x020,
    "INTERRUPT_ENABLE": 0x024,
    "MODE": 0x028,
    "WARP": 0x02C,
    "INSTRUCTIONS": 0x030,
    "CYCLES": 0x038,
    "DOT_PRODUCT_CYCLES": 0x040,
    "READ_BEATS": 0x048,
    "WRITE_BEATS": 0x050,
    "COMMAND": 0x060,
    "FAULTS": 0x074,
    "UNITS": 0x080,
    "MEMORY": 0x084,
    "SHARED_SIZE": 0x088,
    "SHARED_BASE": 0x08C,
    "SHARED_BASE_HIGH": 0x090,
    "PROFILE": 0x094,
    "STALL_REGISTERS": 0x0A0,
    "STALL_MEMORY": 0x0A8,
    "STALL_UNIT": 0x0B0,
    "QUEUE_EMPTY_CYCLES": 0x0B8,
}
"""Written out by hand: software built for version 0.5.0 of the map depends on each."""
CONSTANTS = [
    *("IDENTITY", "VERSION", "FORMATS", "CONFIGURATION", "UNITS"),
    *("MEMORY", "SHARED_SIZE", "SHARED_BASE", "SHARED_BASE_HIGH", "PROFILE"),
]
HEADER_LIMIT = 0x100


@pytest.fixture(scope="module")
def rdl_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rdl") / "core.rdl"
    path.write_text(systemrdl(SMALL))
    return path


@pytest.fixture(scope="module")
def compiled(rdl_file):
    """The registers as systemrdl-compiler understands them, windows apart."""
    compiler = RDLCompiler()
    compiler.compile_file(str(rdl_file))
    top = compiler.elaborate().top
    nodes = [node for node in top.children(unroll=False) if isinstance(node, RegNode)]
    return {node.inst_name: node for node in nodes}


@pytest.fixture
def core():
    """A core just after its reset."""
    simulation = Simulation(build_core(SMALL), Memory(4096), timing=BusTiming())
    yield simulation
    simulation.close()


def registers_of(compiled):
    return {name: node for name, node in compiled.items() if node.raw_address_offset < HEADER_LIMIT}


def read(core, address):
    """A word, or None where the core refuses."""
    try:
        return int(core.read(address)[0])
    except HostRefusal:
        return None


def write(core, address, value):
    """Whether the core accepts a word."""
    try:
        core.write(address, np.array([value], dtype=np.uint32))
    except HostRefusal:
        return False
    return True


def test_json_is_as_before():
    host = core_description(SMALL)["host"]
    assert list(host["registers"].items()) == list(ADDRESSES.items())
    assert list(host["constants"]) == CONSTANTS
    wide = [name for name in ADDRESSES if name.startswith("STALL") or name.endswith(("CYCLES", "BEATS"))]
    assert sorted(host["counters"]) == sorted([*wide, "INSTRUCTIONS"])
    assert (host["window"], host["shared_window"], host["command_words"]) == (0x8000, 0x40000, 5)
    assert (host["identity"], host["version"]) == (0x4F574D4D, 0x500)


@pytest.mark.parametrize("config", PRESETS.values())
def test_every_configuration_compiles(tmp_path, config):
    path = tmp_path / "core.rdl"
    path.write_text(systemrdl(config))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    windows = {node.inst_name: node for node in top.children() if node.raw_address_offset >= HEADER_LIMIT}
    assert windows["FRAGMENTS"].array_dimensions == [config.registers, 32]
    assert windows["FRAGMENTS"].raw_address_offset == 0x8000
    assert ("SHARED" in windows) == bool(config.shared_bytes)
    if config.shared_bytes:
        assert windows["SHARED"].total_size == config.shared_bytes
        assert windows["SHARED"].raw_address_offset == 0x40000


def test_the_simulated_core_answers_as_systemrdl_says(compiled, core):
    """Fields read their reset values, other bits 0, and other addresses are refused."""
    expected = {}
    for node in registers_of(compiled).values():
        if not node.has_sw_readable:
            continue
        value = sum(field.get_property("reset") << field.low for field in node.fields())
        for word in range(node.get_property("regwidth") // 32):
            expected[node.raw_address_offset + 4 * word] = value >> 32 * word & 0xFFFF_FFFF
    assert len(expected) == len(ADDRESSES) - 1 + 9
    assert {address: read(core, address) for address in range(0, 0x100, 4)} == {
        address: expected.get(address) for address in range(0, 0x100, 4)
    }


def test_writes_do_what_systemrdl_says(compiled, core):
    """Ones in every bit: read-only registers refuse them, reserved bits and self-clearing fields read 0."""
    registers = registers_of(compiled)
    before = {address: read(core, address) for address in range(0, 0x100, 4)}
    written = {}
    for node in registers.values():
        if not node.has_sw_writable or not node.has_sw_readable or node.inst_name == "WARP":
            continue  # a core of one warp refuses the number of another
        fields = [field for field in node.fields() if not field.get_property("singlepulse")]
        written[node.raw_address_offset] = sum((1 << field.width) - 1 << field.low for field in fields)
    assert set(written) == {ADDRESSES[name] for name in ("CONTROL", "INTERRUPT_ENABLE", "MODE")}
    command = registers["COMMAND"]
    assert not command.has_sw_readable
    words = [command.raw_address_offset + 4 * word for word in range(*command.array_dimensions)]
    for address in range(0, 0x100, 4):
        if address != words[0]:
            assert write(core, address, 0xFFFF_FFFF) == (address in {*written, *words}), hex(address)
    assert {address: read(core, address) for address in before} == before | written
    for address in written:
        assert write(core, address, 0)
    assert {address: read(core, address) for address in before} == before


def test_clear_drops_the_fault_and_fields_of_the_status_change(core):
    status = REGISTER_MAP["STATUS"]
    for word in (4, 3, 2, 1, 0):
        assert write(core, ADDRESSES["COMMAND"] + 4 * word, 0)
    for _ in range(50):
        fields = status.unpack(read(core, status.offset))
        if fields["fault"] and not fields["busy"]:
            break
    assert fields == {"busy": 0, "fault": 1, "free": SMALL.queue_depth}
    cause = REGISTER_MAP["FAULT_CAUSE"].unpack(read(core, ADDRESSES["FAULT_CAUSE"]))["cause"]
    assert REGISTER_MAP["FAULT_CAUSE"]["cause"].values["ILLEGAL_INSTRUCTION"] == cause == 1
    assert write(core, ADDRESSES["CONTROL"], 1)
    assert status.unpack(read(core, status.offset)) == {"busy": 0, "fault": 0, "free": SMALL.queue_depth}
    assert read(core, ADDRESSES["FAULT_CAUSE"]) == 0


def test_causes_have_the_values_of_the_golden_table(compiled):
    encoding = compiled["FAULT_CAUSE"].fields()[0].get_property("encode")
    names = {name: int(member.value) for name, member in encoding.members.items()}
    assert names == {"NONE": 0} | {cause.name: cause.value for cause in Cause}


def test_the_c_header_compiles_and_has_the_same_offsets(rdl_file, tmp_path):
    header = tmp_path / "core.h"
    command = [sys.executable, "-m", "peakrdl", "c-header", str(rdl_file), "-o", str(header)]
    subprocess.run(command, check=True, capture_output=True)
    masks = dict(re.findall(r"#define OPENWMMA_CORE__(\w+)_bm (0x[0-9a-f]+)", header.read_text()))
    offsets = "".join(
        f'    printf("{name} %zu\\n", offsetof(openwmma_core_t, {name}));\n' for name in ADDRESSES
    )
    source = tmp_path / "offsets.c"
    source.write_text(
        '#include <stdio.h>\n#include <stddef.h>\n#include "core.h"\n'
        f"int main(void) {{\n{offsets}"
        '    printf("LANE %zu\\n", offsetof(openwmma_core_t, FRAGMENTS[3][5]));\n'
        '    printf("SHARED %zu\\n", offsetof(openwmma_core_t, SHARED[7]));\n'
        '    printf("COMMAND_4 %zu\\n", offsetof(openwmma_core_t, COMMAND[4]));\n    return 0;\n}\n'
    )
    program = tmp_path / "offsets"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-o", str(program), str(source)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = {name: int(value) for name, value in map(str.split, printed.splitlines())}
    assert found == ADDRESSES | {
        "LANE": 0x8000 + 3 * 128 + 5 * 4,
        "SHARED": 0x40000 + 7 * 4,
        "COMMAND_4": 0x60 + 4 * 4,
    }
    assert int(masks["STATUS__FREE"], 16) == 0x1FF00
    assert int(masks["CONFIGURATION__QUEUE_DEPTH_LESS_ONE"], 16) == 0xFF000000
    assert int(masks["MEMORY__DATA_BYTES"], 16) == 0xFF00


def test_counters_have_the_names_of_the_description():
    assert set(COUNTERS) < set(REGISTERS) == {*ADDRESSES, "BANK_CONFLICTS"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"offset": 6}, "Offset of X must be a multiple of 4, not 0x6"),
        ({"width": 16}, "Width of X must be 32 or 64, not 16"),
        (
            {"fields": (Field("a", 0, 4, ""), Field("b", 3, 1, ""))},
            "Field b of X must begin at bit 4 or above",
        ),
        ({"fields": (Field("a", 31, 2, ""),)}, "Fields of X must end at bit 32 or below, not at 33"),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_refused(values, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Register(
            **{"name": "X", "offset": 4, "meaning": "", "fields": (), "access": Access.READ_ONLY} | values
        )


def test_a_register_without_a_field_of_that_name():
    with pytest.raises(KeyError, match="STATUS has no field full"):
        REGISTER_MAP["STATUS"]["full"]


def dynamic(**changed):
    """Values of every register that changes, of the right width."""
    values = {
        item.name: {field.name: Signal(field.width) for field in item.fields if not field.self_clearing}
        for item in REGISTER_MAP.values()
        if item.readable and item.width == 32 and not item.constant and item.exists(SMALL)
    }
    return values | changed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"MODE": {}}, "Fields of MODE must be ['serial'], not []"),
        ({"MODE": {"serial": Const(0, 2)}}, "MODE.serial must have at most 1 bits, not 2"),
        ({"COMMAND": {"word": Const(0, 32)}}, "Registers must be as declared; ['COMMAND'] differ"),
    ],
)
def test_hardware_that_is_not_as_declared_is_refused(values, message):
    assert len(readable_words(SMALL, dynamic())) == len(ADDRESSES) - 1 - len(COUNTERS)
    with pytest.raises(ValueError, match=re.escape(message)):
        readable_words(SMALL, dynamic(**values))
