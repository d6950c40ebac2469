"""One hardware unit as a design: every port of the component becomes a port of the top module."""

from collections.abc import Iterator
from typing import Any, Final

from amaranth.hdl import Cat, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hdl.config import CoreConfig
from hdl.memory.axi import Axi4LiteSignature, Axi4Signature
from hdl.verilog.modules import Conversion
from hdl.verilog.top import Top
from sim.testbench.design import Design

TOP: Final = "bench"


def unit_design(name: str, component: wiring.Component, config: CoreConfig | None = None) -> Design:
    """Make a design of one component; `name` is of the build.

    A port ``member.field`` becomes ``member_field``, in element 0 of an array ``member_0_field``. All bits of
    a structure, or of a one-dimensional array of plain ports, are in one port. An AXI4 member is named
    ``m_axi_...``, and needs the configuration; an AXI4-Lite member is named ``s_axil_...``; the clock
    ``aclk``, the reset ``aresetn``.
    """
    top = Top(component)
    for member_name, member in component.signature.members.items():
        value = getattr(component, member_name)
        if member.is_signature and isinstance(member.signature, Axi4Signature):
            if config is None:
                raise ValueError(f"{name} has an AXI4 port, so its design needs the configuration")
            top.memory(value, config)
        elif member.is_signature and isinstance(
            member.signature.flip() if member.flow == In else member.signature, Axi4LiteSignature
        ):
            top.host(value)
        else:
            _plain(top, member_name, member, value)

    def write(conversion: Conversion) -> str:
        return top.convert(TOP, conversion)

    return Design(name=name, top=TOP, write=write)


def _plain(top: Top, name: str, member: wiring.Member, value: Any) -> None:
    for port, leaf, signal in _leaves(name, member, value):
        if leaf.flow == In:
            top.input(port, signal)
        else:
            top.output(port, signal)


def _leaves(name: str, member: wiring.Member, value: Any) -> Iterator[tuple[str, wiring.Member, Value]]:
    """The ports of a member; an array of plain ports is one."""
    if member.is_port:
        yield name, member, Cat(value) if member.dimensions else Value.cast(value)
        return
    parts = (
        {f"{name}_{number}": part for number, part in enumerate(value)}
        if member.dimensions
        else {name: value}
    )
    for prefix, part in parts.items():
        for field, inner in member.signature.members.items():
            yield from _leaves(f"{prefix}_{field}", inner, getattr(part, field))
