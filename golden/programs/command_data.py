"""Commands as plain data, for files of JSON."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from golden.ptx.mnemonic import parse_instruction
from golden.tables.commands import Command, Wgmma

_KINDS: Final[Mapping[str, type[Command]]] = {kind.__name__: kind for kind in get_args(Command)}


def command_data(command: Command) -> dict[str, Any]:
    """The kind of a command and its fields; of an instruction, its text."""
    fields = dict(vars(command))
    if "instruction" in fields:
        fields["instruction"] = str(fields["instruction"])
    return {"kind": type(command).__name__, **fields}


def command_of(data: Mapping[str, Any]) -> Command:
    """The command of some `command_data`."""
    fields = dict(data)
    kind: Any = _KINDS[fields.pop("kind")]
    if "instruction" in fields:
        whole = kind is Wgmma
        fields["instruction"] = parse_instruction(fields["instruction"], warp_tile=not whole)
        fields |= {name: tuple(fields[name]) for name in ("negated", "transposed") if whole}
    command: Command = kind(**fields)
    return command
