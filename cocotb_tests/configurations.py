"""Configurations that several benches share."""

from hdl.config import CoreConfig, DotProductConfig

__all__ = ["ALL_FORMATS"]

ALL_FORMATS = CoreConfig(
    dot_product=DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1", "fp8"})),
    f64_units=1,
)
"""Every format of the instruction set."""
