"""From Amaranth to RTLIL, and to Verilog in which equal modules stand once and words are not taken apart."""

import gc
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import Elaboratable

from hdl.shared_module import ModuleLibrary
from hdl.verilog.memories import with_initial_loops, with_wide_writes

_DROPPED = ("generator", "top", "amaranth.hierarchy", "amaranth.decoding")
_LEAST_YOSYS = (0, 40)

MODULE = re.compile(r"^(?:\(\*[^\n]*\*\)\n)*module (\\\S+|\w+) ?\(.*?^endmodule\n", re.MULTILINE | re.DOTALL)
_INSTANCE_BLOCK = re.compile(r"^  (\\\S+|\w+) +\S+ +\(\n(?:    .*\n)*  \);\n", re.MULTILINE)
_OWN_PORT = re.compile(r"(?<!\.)\\port\$(\d+\$\d+) ")
_CONNECTED_PORT = re.compile(r"\.\\port\$(\d+\$\d+) ")
_DUMMY = re.compile(r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$\d+ ")
_VALUED = re.compile(r"^  reg (\[\d+:0\] )?(\\\S+ |\w+) = ([^;\n]+);\n", re.MULTILINE)
"""A declaration with a value: Verilator warns of it, and in SystemVerilog it is no event for `always @*`."""

_UNORDERED = re.compile(r"^(?:  \(\*.*\*\)\n)*  (?:input|output|wire|reg|assign) .*;\n", re.MULTILINE)
INSTANCE = re.compile(r"^(  )(\\\S+|\w+)( +\S+ +\(\n)", re.MULTILINE)


class Conversion(Protocol):
    """A function from a design, the name of its top module and its ports to Verilog; `convert` is one."""

    def __call__(self, elaboratable: Elaboratable, name: str, ports: Mapping[str, Any], /) -> str:
        """Convert a design to Verilog."""


def convert(elaboratable: Elaboratable, name: str, ports: Mapping[str, Any], *, sources: bool = False) -> str:
    """Convert a design to Verilog: `to_rtlil`, then `to_verilog`."""
    return to_verilog(to_rtlil(elaboratable, name, ports, sources=sources), sources=sources)


def to_rtlil(
    elaboratable: Elaboratable, name: str, ports: Mapping[str, Any], *, sources: bool = False
) -> str:
    """Convert a design to RTLIL, the language of yosys itself, in which it reads a design soonest.

    Parameters
    ----------
    elaboratable : Elaboratable
    name : str
        Of the top module.
    ports : mapping
        As for `amaranth.back.rtlil.convert`.
    sources : bool
        Whether cells say in their attribute ``src`` which line of Python made them. Equal modules made by
        different lines then stand as often as they are used.

    Returns
    -------
    str
        The same design gives the same text.
    """
    library = ModuleLibrary()
    with _no_garbage_collection():
        text = str(
            rtlil.convert(elaboratable, name=name, ports=dict(ports), platform=library, emit_src=sources)
        )
        for shared, component in library.components.items():
            text += "attribute \\keep_hierarchy 1\n" if shared in library.repeated else ""
            text += rtlil.convert(component, name=shared, emit_src=sources)
    return text


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep Python from searching the millions of live objects of a netlist: a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def to_verilog(text: str, *, sources: bool = False) -> str:
    """Convert a design from RTLIL to Verilog.

    As `amaranth.back.verilog.convert`, but without the optimisation that yosys does on the way. That one
    takes an AND with a constant mask apart into slices, for which a simulator needs many more instructions;
    synthesis optimises anyway.

    Parameters
    ----------
    text : str
        From `to_rtlil`.
    sources : bool
        Whether the attributes ``src`` stay.

    Returns
    -------
    str
        The same text gives the same text.
    """
    dropped = _DROPPED if sources else (*_DROPPED, "src")
    removals = " ".join(f"-remove {attribute}" for attribute in dropped)
    script = (
        f"read_rtlil <<rtlil\n{text}\nrtlil\n"
        "delete s:0\n"  # no wire, no port: Verilog has no signal without bits
        "proc -nomux -norom -noopt\n"
        "memory_collect\n"
        f"attrmap {removals}\n"
        f"attrmap -modattr {removals}\n"
        "write_verilog -norename\n"
    )
    yosys = find_yosys(lambda version: version >= _LEAST_YOSYS)
    # Its one warning says that not every process can be written as Verilog; Amaranth makes none of those.
    verilog = str(yosys.run(["-q", "-"], script, ignore_warnings=True))
    return with_wide_writes(with_initial_loops(with_separate_values(merge_modules(verilog))))


def with_separate_values(verilog: str) -> str:
    """Give registers their initial values apart from their declarations."""
    return _VALUED.sub(r"  reg \1\2;\n  initial \2 = \3;\n", verilog)


def merge_modules(text: str) -> str:
    """Keep of modules that differ in nothing but their name the first, and let all instances be of that.

    Instances keep their names, so hierarchical paths stay as they are. Modules that are equal because those
    inside them are become one too. Names that were numbered over the whole design, of ports without a name
    of their own and of yosys' dummy registers, are numbered anew in each module.

    Parameters
    ----------
    text : str
        Verilog as yosys writes it: instances indented by two spaces, their connections on the lines below.

    Returns
    -------
    str
    """
    text = _numbered_by_module(text)
    while replaced := _duplicates(text):
        text = MODULE.sub(lambda match: "" if match[1] in replaced else match[0], text)
        text = INSTANCE.sub(lambda match: match[1] + replaced.get(match[2], match[2]) + match[3], text)
    return text


def _numbered_by_module(text: str) -> str:
    ports = {match[1]: _port_numbers(match[0]) for match in MODULE.finditer(text)}

    def connections(match: re.Match[str]) -> str:
        numbers = ports.get(match[1], {})
        block = _CONNECTED_PORT.sub(lambda port: f".\\port$0${numbers[port[1]]} ", match[0])
        first, *connected, last = block.splitlines()
        return "\n".join((first, ",\n".join(sorted(line.rstrip(",") for line in connected)), last, ""))

    def module(match: re.Match[str]) -> str:
        numbers = ports[match[1]]
        body = _INSTANCE_BLOCK.sub(connections, match[0])
        body = _OWN_PORT.sub(lambda port: f"\\port$0${numbers[port[1]]} ", body)
        return _DUMMY.sub(r"\\$initial ", body)

    return MODULE.sub(module, text)


def _port_numbers(module: str) -> dict[str, int]:
    """Of a module's ports without a name, each one's place among them."""
    numbers: dict[str, int] = {}
    for match in _OWN_PORT.finditer(module):
        numbers.setdefault(match[1], len(numbers))
    return numbers


def _duplicates(text: str) -> dict[str, str]:
    """The modules to drop, each with the one that takes its place."""
    kept: dict[tuple[str, ...], str] = {}
    replaced: dict[str, str] = {}
    for match in MODULE.finditer(text):
        # yosys sorts declarations and assignments by the names as they were, which means nothing.
        before, after = text[match.start() : match.start(1)], text[match.end(1) : match.end()]
        content = (before, _UNORDERED.sub("", after), *sorted(_UNORDERED.findall(after)))
        first = kept.setdefault(content, match[1])
        if first != match[1]:
            replaced[match[1]] = first
    return replaced
