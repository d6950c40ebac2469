"""The words of `words.toml`, and those too long to write down."""

import tomllib
from pathlib import Path
from typing import Any, Final

_READ: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text())

WORDS: Final[dict[str, list[str]]] = {name: item for name, item in _READ.items() if isinstance(item, list)}
"""By the language they belong to."""

ARGUMENTS: Final[dict[str, list[str]]] = _READ["arguments"]
"""Values by option or argument of the command line."""

LONG: Final = (
    "x" * 3000,
    "9" * 4400,
    "0x" + "f" * 3000,
    "(" * 3000 + "1",
    "[" * 5000,
    '{"a":' * 2000,
    "{" * 30_000,
)
"""Text that is long or deeply nested, for any language."""
