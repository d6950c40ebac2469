"""The command line, from its own parser, and the targets of the Makefile."""

import re
from pathlib import Path
from typing import Any

import typer

from docs.tables.markdown import table
from openwmma.cli import COMMANDS, app
from regression.campaign.__main__ import app as campaign_app
from regression.fuzz.__main__ import app as fuzz_app

_ROOT = Path(__file__).parents[2]


def command_line() -> str:
    """A section for each command of `openwmma`: usage, description, arguments and options."""
    group: Any = typer.main.get_command(app)
    return "\n".join(
        _section(f"openwmma {name}", group.get_command(None, name)) for name in COMMANDS if name != "campaign"
    )


def campaigns() -> str:
    """The same for `openwmma campaign`, which is a program of its own."""
    return _section("openwmma campaign", typer.main.get_command(campaign_app))


def fuzzing() -> str:
    """The same for ``python -m regression.fuzz``."""
    return _section("python -m regression.fuzz", typer.main.get_command(fuzz_app))


def make_targets() -> str:
    """What `make` prints: the targets with their meaning."""
    lines = re.findall(r"^([a-z-]+):.*?## (.*)$", (_ROOT / "Makefile").read_text(), re.MULTILINE)
    return table(("target", "what it does"), [(f"`make {name}`", text) for name, text in lines])


def _section(name: str, command: Any) -> str:
    context = typer.Context(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [(f"`{record[0]}`", record[1].replace("<", "&lt;")) for record in records if record]
    options = table(("option", "meaning"), rows) if rows else ""
    return f"## `{name}`\n\n```text\n{usage}\n```\n\n{command.help}\n\n{options}"
