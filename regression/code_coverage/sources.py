"""Verilog in which every conditional statement says where in the Amaranth sources it stands.

Amaranth writes the source of signals, operators and modules into its output, but not of assignments.
The netlist before it still has that, in the order in which the assignments are written.

As a plugin of pytest, for `make coverage`, the module lets testbenches and cores convert so and keep counts.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Elaboratable

from hdl.verilog.modules import convert
from sim.build import counting
from sim.testbench.runner import Coverage

NAME: Final = "testbench-coverage"
"""Under which the testbenches look for a `Coverage`."""

SEPARATOR: Final = "|"
"""Between the places of a block's statements, each a file, a colon and a line."""


def convert_with_sources(elaboratable: Elaboratable, name: str, ports: Mapping[str, Any]) -> str:
    """Convert as `hdl.verilog.modules.convert`, with an attribute ``src`` at all that has a source.

    That of a conditional block names the assignments that stand in it directly.
    """
    with mock.patch.object(rtlil.ModuleEmitter, "emit_assignment_list", _emit_located):
        return convert(elaboratable, name, ports, sources=True)


_emit: Final[Callable[..., None]] = rtlil.ModuleEmitter.emit_assignment_list


def _emit_located(self: Any, index: int, cell: Any) -> None:
    _emit(self, index, cell)
    contents = reversed(list(self.builder.contents.values()))
    process = next(item for item in contents if isinstance(item, rtlil.Process))
    places = iter(cell.assignments)
    # The first assignment of a process gives the value that holds without any other.
    _locate(process.contents[1:], places)
    assert next(places, None) is None, "every assignment of the netlist is written once"


class _LocatedCase:
    """A case of a switch in RTLIL, with an attribute in front of it and a constant 1 before its patterns."""

    def __init__(self, case: Any, places: list[str]) -> None:
        case.patterns = tuple(f"1{pattern}" for pattern in case.patterns)
        self.contents = case.contents
        self._case = case
        self._places = places

    def emit(self, line: Any) -> None:
        if self._places:
            places = SEPARATOR.join(dict.fromkeys(self._places))
            line(f'attribute \\src "{places}"')
        self._case.emit(line)


def _locate(contents: list[Any], assignments: Iterator[Any]) -> list[str]:
    """Give all cases in `contents` their places; returns the places of the assignments beside them."""
    places = []
    for item in contents:
        if isinstance(item, rtlil.Assignment):
            file, line = next(assignments).src_loc
            places.append(f"{file}:{line}")
        elif isinstance(item, rtlil.Switch):
            # yosys writes switches of single bits as if and else, and leaves their attributes out.
            item.sel = f"{{ 1'1 {item.sel} }}"
            item.cases = [_LocatedCase(case, _locate(case.contents, assignments)) for case in item.cases]
    return places


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that the plugin needs."""
    parser.addoption(
        "--code-coverage",
        type=Path,
        required=True,
        metavar="DIR",
        help="keep there what the testbenches reach of the hardware",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Offer the testbenches a folder and a conversion, and let cores count until the tests have ended."""
    folder: Path = config.getoption("--code-coverage")
    config.pluginmanager.register(Coverage(folder=folder, conversion=convert_with_sources), NAME)
    stack = ExitStack()
    built = stack.enter_context(counting(convert_with_sources))
    stack.callback(lambda: _keep_counts(built, folder))
    config.add_cleanup(stack.close)


def _keep_counts(built: Mapping[Path, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for library, verilog in built.items():
        counts = folder / f"{library.stem}.dat"
        ctypes.CDLL(str(library)).openwmma_write_counts(str(counts).encode())
        counts.with_suffix(".v").write_text(verilog)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the testbenches that simulate nothing that counts."""
    items[:] = [
        item
        for item in items
        if "simulate" in getattr(item, "fixturenames", ()) or "cocotb_tests" not in item.path.parts
    ]
