"""Configurations: what cannot work is refused with the value and the rule."""

import re

import pytest

from golden.tables.profiles import PROFILES
from hdl.config import CoreConfig, DotProductConfig

REFUSED = {
    "Dot-product units must be a power of two from 1 to 64, not 3": {"dot_product_units": 3},
    "Dot-product units must be a power of two from 1 to 64, not 128": {"dot_product_units": 128},
    "Dot-product units must be a power of two from 1 to 64, not 0": {"dot_product_units": 0},
    "f64 units must be 0, 1, 2 or 4 (they divide four lanes), not 3": {"f64_units": 3},
    "Registers must be a power of two from 32 to 256, not 48": {"registers": 48},
    "Registers must be a power of two from 32 to 256, not 16": {"registers": 16},
    "Queue depth must be a power of two from 4 to 256, not 2": {"queue_depth": 2},
    "Address bits must be from 16 to 64, not 65": {"address_bits": 65},
    "Data bits must be a power of two from 64 to 512, not 32": {"data_bits": 32},
    "Data bits must be a power of two from 64 to 512, not 96": {"data_bits": 96},
    "Outstanding reads must be from 1 to 64, not 0": {"outstanding_reads": 0},
    "Shared bytes must be a multiple of 4096 up to 233472, not 1000": {"shared_bytes": 1000},
    "Shared bytes must be a multiple of 4096 up to 233472, not 237568": {"shared_bytes": 232 * 1024},
    "Shared base must be a multiple of 4096, not 0x800": {"shared_bytes": 4096, "shared_base": 0x800},
    "Shared base must leave room for 8192 bytes below 2**32": {
        "shared_bytes": 8192,
        "shared_base": (1 << 32) - 4096,
    },
    "Sparse needs f16, bf16, tf32, i8, i4, mxf4, or fp8 of blackwell, not b1, f64 alone": {
        "dot_product": DotProductConfig(formats=frozenset({"b1"})),
        "f64_units": 1,
        "sparse": True,
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_work_is_refused(message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        CoreConfig(**REFUSED[message])


@pytest.mark.parametrize(
    ("formats", "message"),
    [
        (frozenset(), "Formats must name at least one format, not none"),
        (
            frozenset({"f16", "f8"}),
            "Formats must be among f16, bf16, tf32, i8, i4, b1, fp8, fp6, fp4, not f8",
        ),
    ],
)
def test_formats_are_checked(formats, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        DotProductConfig(formats=formats)


@pytest.mark.parametrize("name", ["Sparse", "mxf4", "wgmma"])
def test_an_option_is_true_or_false(name):
    with pytest.raises(TypeError, match=f"^{name} must be True or False, not of type int$"):
        CoreConfig(**{name.lower(): 1})


def test_options_are_among_the_formats():
    unit = DotProductConfig(
        formats=frozenset({"f16", "fp8"}), profile=PROFILES["blackwell"], block_scale=True
    )
    config = CoreConfig(dot_product=unit, sparse=True, mxf4=True)
    assert config.formats == {"f16", "fp8", "sparse", "block_scale", "mxf4"}


def test_mxf4_needs_its_profile():
    with pytest.raises(ValueError, match=r"^mxf4 needs a profile that has it \(blackwell\), not hopper$"):
        CoreConfig(mxf4=True)


def test_the_edges_are_allowed():
    CoreConfig(dot_product_units=1, f64_units=0, registers=32, queue_depth=4, address_bits=16)
    CoreConfig(
        dot_product_units=64,
        f64_units=4,
        registers=256,
        queue_depth=256,
        address_bits=64,
        data_bits=512,
        outstanding_reads=64,
        shared_bytes=228 * 1024,
    )


def test_a_word_per_cycle_supplies_up_to_sixteen_units():
    words = {units: CoreConfig(dot_product_units=units).word_quads for units in (1, 2, 4, 8, 16, 32, 64)}
    assert words == {1: 1, 2: 2, 4: 2, 8: 4, 16: 8, 32: 8, 64: 8}


def test_a_beat_is_as_wide_as_the_bus_but_no_wider_than_a_word():
    beats = {
        (units, bits): CoreConfig(dot_product_units=units, data_bits=bits).beat_quads
        for units, bits in ((1, 64), (1, 512), (4, 128), (4, 512), (8, 256), (16, 512), (64, 128), (64, 512))
    }
    assert beats == {
        (1, 64): 1,
        (1, 512): 1,
        (4, 128): 1,
        (4, 512): 2,
        (8, 256): 2,
        (16, 512): 4,
        (64, 128): 1,
        (64, 512): 4,
    }
