# Amaranth comes without types; only its enumerations are worth them here, for they are enumerations.
from typing import Any

def __getattr__(name: str) -> Any: ...
