"""What a core says of itself must be what the software was prepared for."""

from dataclasses import replace

import numpy as np
import pytest

from golden.memory import Memory
from golden.tables.profiles import PROFILES
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from hdl.control.host import IDENTITY, REGISTERS, VERSION
from sim import rtl_machine as machine_module
from sim.build import build_core
from sim.capabilities import Capabilities, CapabilityError
from sim.rtl_machine import RtlMachine

LARGE = CoreConfig(
    dot_product=DotProductConfig(formats=frozenset({"f16", "i4", "b1"})),
    dot_product_units=64,
    f64_units=4,
    registers=256,
    queue_depth=256,
    address_bits=64,
    data_bits=512,
    outstanding_reads=64,
    shared_bytes=228 * 1024,
    shared_base=0x1234_5678_9000,
)

OPTIONS = CoreConfig(
    dot_product=DotProductConfig(
        formats=frozenset({"f16", "fp8", "fp6", "fp4"}), profile=PROFILES["blackwell"], block_scale=True
    ),
    sparse=True,
    mxf4=True,
)

PROFILE_CODES = ["other", "hopper", "blackwell", "ada", "ampere", "turing", "volta"]


def words_of(config):
    """The registers, written out by hand: the tables of the register map, not the software under test."""
    bits = {"f16": 0, "bf16": 1, "tf32": 2, "i8": 3, "i4": 4, "b1": 5, "f64": 6, "fp8": 7, "sparse": 8}
    bits |= {"fp6": 9, "fp4": 10, "block_scale": 11, "mxf4": 12}
    words = {
        "IDENTITY": IDENTITY,
        "VERSION": VERSION,
        "FORMATS": sum(1 << bits[name] for name in config.formats),
        "CONFIGURATION": config.registers
        + config.dot_product_units * 0x10000
        + (config.queue_depth - 1) * 0x1000000,
        "UNITS": config.f64_units
        + config.word_quads * 0x100
        + config.warps * 0x10000
        + config.wgmma * 0x1000000,
        "MEMORY": config.address_bits + config.data_bits // 8 * 0x100 + config.outstanding_reads * 0x10000,
        "SHARED_SIZE": config.shared_bytes,
        "SHARED_BASE": config.shared_base % (1 << 32),
        "SHARED_BASE_HIGH": config.shared_base // (1 << 32),
        "PROFILE": PROFILE_CODES.index(config.dot_product.profile.name),
    }
    return {REGISTERS[name]: value for name, value in words.items()}


def reader(words):
    return lambda address, count: np.array(
        [words[address + 4 * place] for place in range(count)], dtype=np.uint32
    )


@pytest.mark.parametrize("config", [*PRESETS.values(), LARGE, OPTIONS], ids=[*PRESETS, "extremes", "options"])
def test_the_registers_of_a_configuration_are_read_as_that_configuration(config):
    found = Capabilities.read(reader(words_of(config)))
    assert found == Capabilities.of(config)
    found.require(Capabilities.of(config))


@pytest.mark.parametrize("config", [*PRESETS.values(), LARGE, OPTIONS], ids=[*PRESETS, "extremes", "options"])
def test_a_core_tells_its_configuration(config):
    deepest = replace(
        config,
        dot_product=replace(config.dot_product, depth=DotProductConfig.depths[-1]),
        f64_depth=CoreConfig.f64_depths[-1],
    )
    assert Capabilities.read(reader(words_of(config))).configuration() == deepest


@pytest.mark.parametrize("name", PROFILES)
def test_a_core_tells_its_profile(name):
    config = CoreConfig(dot_product=DotProductConfig(profile=PROFILES[name]))
    found = Capabilities.read(reader(words_of(config)))
    assert (found.profile, found.configuration()) == (name, config)
    found.require(Capabilities.of(config))


def test_a_profile_of_its_own_has_no_name():
    config = CoreConfig(dot_product=DotProductConfig(profile=replace(PROFILES["hopper"], fraction_bits=24)))
    words = {**words_of(config), REGISTERS["PROFILE"]: 0}
    found = Capabilities.read(reader(words))
    assert found == Capabilities.of(config)
    with pytest.raises(CapabilityError) as error:
        found.configuration()
    assert str(error.value) == (
        "the core has profile other; this software knows hopper, blackwell, ada, ampere, turing, volta"
    )


@pytest.mark.parametrize(
    ("register", "value", "message"),
    [
        (
            "FORMATS",
            1 << 13 | 1,
            "Formats must be among f16, bf16, tf32, i8, i4, b1, fp8, fp6, fp4, not bit 13",
        ),
        ("CONFIGURATION", 0x0F010041, "Registers must be a power of two from 32 to 256, not 65"),
    ],
)
def test_a_core_of_no_configuration_is_refused(register, value, message):
    words = {**words_of(PRESETS["small"]), REGISTERS[register]: value}
    with pytest.raises(CapabilityError) as error:
        Capabilities.read(reader(words)).configuration()
    assert str(error.value) == f"the core's account of itself is of no configuration: {message}"


@pytest.mark.parametrize(
    ("register", "value", "message"),
    [
        ("IDENTITY", 0xDEAD, "the core has identity 0xdead, but the configuration says 0x4f574d4d"),
        ("VERSION", 0x100, f"the core has version 0x100, but the configuration says {VERSION:#x}"),
        ("FORMATS", 0b1000001, "the core has formats f16 f64, but the configuration says b1 f16 f64 i4"),
        (
            "FORMATS",
            0b10000001110001,
            "the core has formats b1 bit 13 f16 f64 i4, but the configuration says b1 f16 f64 i4",
        ),
        ("PROFILE", 4, "the core has profile ampere, but the configuration says hopper"),
        ("PROFILE", 9, "the core has profile code 9, but the configuration says hopper"),
        ("CONFIGURATION", 0xFF400080, "the core has registers 128, but the configuration says 256"),
        ("CONFIGURATION", 0xFF200100, "the core has dot product units 32, but the configuration says 64"),
        ("CONFIGURATION", 0x0F400100, "the core has queue depth 16, but the configuration says 256"),
        ("UNITS", 0x10801, "the core has f64 units 1, but the configuration says 4"),
        ("UNITS", 0x10404, "the core has word quads 4, but the configuration says 8"),
        ("UNITS", 0x30804, "the core has warps 3, but the configuration says 1"),
        ("MEMORY", 0x404020, "the core has address bits 32, but the configuration says 64"),
        ("MEMORY", 0x401040, "the core has data bits 128, but the configuration says 512"),
        ("MEMORY", 0x014040, "the core has outstanding reads 1, but the configuration says 64"),
        ("SHARED_SIZE", 4096, "the core has shared bytes 4096, but the configuration says 233472"),
        (
            "SHARED_BASE_HIGH",
            0,
            "the core has shared base 0x56789000, but the configuration says 0x123456789000",
        ),
    ],
)
def test_every_difference_is_named(register, value, message):
    words = {**words_of(LARGE), REGISTERS[register]: value}
    with pytest.raises(CapabilityError) as error:
        Capabilities.read(reader(words)).require(Capabilities.of(LARGE))
    assert str(error.value) == message


def test_nothing_is_read_beyond_the_version_of_an_unknown_core():
    words = {REGISTERS["IDENTITY"]: IDENTITY, REGISTERS["VERSION"]: 0x600}
    with pytest.raises(CapabilityError, match="version 0x600"):
        Capabilities.read(reader(words))


def test_a_machine_refuses_a_core_of_another_configuration(monkeypatch):
    built = PRESETS["small"]
    monkeypatch.setattr(machine_module, "build_core", lambda config, **options: build_core(built, **options))
    RtlMachine(built, Memory(4096)).close()
    with pytest.raises(CapabilityError) as error:
        RtlMachine(replace(built, registers=128), Memory(4096))
    assert str(error.value) == "the core has registers 64, but the configuration says 128"
