"""The registers of the host interface, from `hdl.control.host.register_map`."""

from collections.abc import Iterator

from docs.tables.markdown import table
from hdl.config import PRESETS
from hdl.control.host.register_map import REGISTER_MAP
from hdl.control.host.register_types import Field, Register

_STANDARD = PRESETS["standard"]


def register_map() -> str:
    """A line for each register."""
    rows = [
        (_addresses(item), f"`{item.name}`", item.access.value, item.width, item.meaning.replace("`", ""))
        for item in REGISTER_MAP.values()
    ]
    return table(("address", "register", "access", "bits", "meaning"), rows)


def register_fields() -> str:
    """A line for each field, with its value after reset in preset `standard`."""
    return table(
        ("register", "bits", "field", "reset", "meaning"),
        [row for item in REGISTER_MAP.values() for row in _field_rows(item)],
    )


def _addresses(item: Register) -> str:
    first = f"`{item.offset:#05x}`"
    return f"{first} to `{item.addresses[-1]:#05x}`" if item.count > 1 else first


def _field_rows(item: Register) -> Iterator[tuple[str, ...]]:
    for field in item.fields:
        high = field.low + field.width - 1
        bits = f"{high}:{field.low}" if field.width > 1 else f"{high}"
        reset = f"{field.reset_value(_STANDARD):#x}" if item.readable else ""
        yield (f"`{item.name}`", bits, f"`{field.name}`", reset, field.meaning + _values(field))


def _values(field: Field) -> str:
    if not field.values:
        return ""
    return " " + ", ".join(f"{value} {name}" for name, value in field.values.items()) + "."
