"""Configurations of the core, numerics profiles, boards and causes of faults."""

import inspect
from dataclasses import MISSING, fields

from boards.boards import BOARDS
from docs.tables.markdown import code, table
from golden.tables.faults import Cause
from golden.tables.profiles import PROFILES
from hdl.config import PRESETS, CoreConfig
from hdl.control.host.register_map import PROFILE_CODES


def preset_table() -> str:
    """The fields of every preset."""
    rows = [
        (f"`{name}`", *(_value(config, name) for config in PRESETS.values()))
        for name in (
            "formats",
            "depth",
            *(field.name for field in fields(CoreConfig)),
            "word_quads",
            "beat_quads",
        )
        if name != "dot_product"
    ]
    return table(("field", *(f"`{name}`" for name in PRESETS)), rows)


def core_fields() -> str:
    """The parameters of `CoreConfig`: default and rule, in the words of its docstring."""
    meanings = _parameters(inspect.getdoc(CoreConfig) or "")
    rows = []
    for field in fields(CoreConfig):
        default = "f16, hopper" if field.default is MISSING else f"{field.default}"
        if field.name == "shared_base":
            default = f"{field.default:#x}"
        rows.append((f"`{field.name}`", default, meanings[field.name]))
    return table(("field", "default", "meaning"), rows)


def profile_table() -> str:
    """The constants of every profile, and its code in the register PROFILE."""
    rows = [
        (
            f"`{name}`",
            PROFILE_CODES[name],
            profile.fraction_bits,
            profile.half_block,
            _or_none(profile.tf32_block),
            _or_none(profile.tf32_mma_block),
            _or_none(profile.exponent_margin),
            profile.half_exponent_margin,
        )
        for name, profile in PROFILES.items()
    ]
    heads = ("profile", "code", "fraction bits", "products of f16, bf16", "of tf32 in wmma", "of tf32 in mma")
    return table((*heads, "margin, f32", "margin, f16"), rows)


def board_table() -> str:
    """The boards that `openwmma build` knows."""
    rows = [
        (
            f"`{name}`",
            board.title,
            code(sorted(board.core.formats)),
            f"{board.clock_hz / 1e6:g} MHz",
            f"{board.memory.module}, {board.memory.data_bits} bits",
        )
        for name, board in BOARDS.items()
    ]
    return table(("name", "board", "formats", "clock", "memory"), rows)


def fault_causes() -> str:
    """The causes of faults with their codes and docstrings."""
    meanings = _enum_docstrings(inspect.getsource(Cause))
    return table(
        ("code", "cause", "meaning"),
        [(cause.value, f"`{cause.name}`", meanings[cause.name]) for cause in Cause],
    )


def _value(config: CoreConfig, name: str) -> object:
    value = getattr(config.dot_product if name == "depth" else config, name)
    if name == "formats":
        return " ".join(sorted(value))
    return f"{value:#x}" if name == "shared_base" else value


def _or_none(value: int | None) -> object:
    return "none" if value is None else value


def _parameters(docstring: str) -> dict[str, str]:
    """What a numpydoc docstring says of each parameter."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if not line.startswith(" "):
            name = line.partition(" : ")[0]
            found[name] = ""
        else:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return {name: text.replace("``", "`") for name, text in found.items()}


def _enum_docstrings(source: str) -> dict[str, str]:
    """The strings below the members of an enumeration."""
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, source.splitlines()):
        if " = " in line and line.split(" = ")[1].isdigit():
            name = line.split(" = ")[0]
        elif name and line.startswith('"""'):
            found[name] = line.strip('"')
            name = ""
    return found
