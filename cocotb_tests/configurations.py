"""Configurations that several benches share."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from hdl.config import PRESETS, CoreConfig, DotProductConfig

__all__ = ["ALL_FORMATS", "MEMORY_PATHS"]

ALL_FORMATS = CoreConfig(
    dot_product=DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"})),
    f64_units=1,
)
"""Every format of the instruction set."""

MEMORY_PATHS: Final[Mapping[str, CoreConfig]] = MappingProxyType(
    {
        **PRESETS,
        "two_quads": replace(ALL_FORMATS, dot_product_units=8, data_bits=256, shared_bytes=4096),
        "four_quads": replace(ALL_FORMATS, dot_product_units=16, data_bits=512, shared_bytes=4096),
    }
)
"""By name: the presets, and cores whose beats have two quads, or four and words of one register."""
