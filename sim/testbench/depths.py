"""The depths of the units at which they are tested and measured."""

from typing import Final

from hdl.config import CoreConfig, DotProductConfig

SETTINGS: Final = (4, 8, 16, DotProductConfig.depths[-1])
"""Of the dot-product unit."""

F64_SETTINGS: Final = (4, 8, 16, CoreConfig.f64_depths[-1])
"""Of the f64 unit."""
