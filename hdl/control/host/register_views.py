"""The declared registers in hardware: fields of a written word, and words made of fields."""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Const, Value, ValueLike, unsigned
from amaranth.lib import data

from hdl.config import CoreConfig
from hdl.control.host.register_map import REGISTER_MAP, constants
from hdl.control.host.register_types import WORD_BITS, WORD_BYTES


def word_index(name: str, word: int = 0) -> int:
    """Address of a word of a register, in words."""
    return REGISTER_MAP[name].addresses[word] // WORD_BYTES


def fields_of(name: str, value: Value) -> Any:
    """A view of a word that is written to a register; each field is an attribute."""
    fields = {item.name: data.Field(unsigned(item.width), item.low) for item in REGISTER_MAP[name].fields}
    return data.View(data.FlexibleLayout(WORD_BITS, fields), value)


def readable_words(config: CoreConfig, values: Mapping[str, Mapping[str, ValueLike]]) -> dict[str, Value]:
    """What each register of one word reads.

    Parameters
    ----------
    config : CoreConfig
    values : mapping
        Of each register that changes, a mapping of its fields to values as wide as the field or narrower.
        Self-clearing fields read 0 and are left out.

    Returns
    -------
    dict of str to Value
        The constant registers and the registers in `values`, up to 32 bits wide.

    Raises
    ------
    ValueError
        When the registers or the fields are not those that are declared, or a value is too wide.
    """
    words: dict[str, Value] = {name: Const(value, WORD_BITS) for name, value in constants(config).items()}
    for name, fields in values.items():
        words[name] = _word(name, fields)
    existing = [item for item in REGISTER_MAP.values() if item.exists(config)]
    declared = {item.name for item in existing if item.readable and item.width == WORD_BITS}
    if words.keys() != declared:
        raise ValueError(f"Registers must be as declared; {sorted(words.keys() ^ declared)} differ")
    return words


def _word(name: str, values: Mapping[str, ValueLike]) -> Value:
    register = REGISTER_MAP[name]
    fields = [item for item in register.fields if not item.self_clearing]
    if values.keys() != {item.name for item in fields}:
        raise ValueError(f"Fields of {name} must be {[item.name for item in fields]}, not {list(values)}")
    if not fields:
        return Const(0, WORD_BITS)
    parts: list[Value] = []
    for item in fields:
        value = Value.cast(values[item.name])
        if len(value) > item.width:
            raise ValueError(f"{name}.{item.name} must have at most {item.width} bits, not {len(value)}")
        if gap := item.low - sum(len(part) for part in parts):
            parts.append(Const(0, gap))
        parts.append(value)
    return Cat(*parts)
