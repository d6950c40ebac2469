"""Ports of a top module, under the names by which other tools recognise AXI."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from amaranth.hdl import ClockDomain, Const, Elaboratable, Module, Signal
from amaranth.lib import wiring

from hdl.config import CoreConfig
from hdl.memory.axi import beat_bytes
from hdl.verilog.modules import Conversion, convert, to_rtlil


@dataclass(frozen=True)
class Port:
    """A port of a top module: its signal, and which way it points."""

    signal: Signal
    direction: Literal["input", "output"]


ADDRESS_CONSTANTS: Final = {
    "id": Const(0, 1),
    "burst": Const(1, 2),  # INCR
    "lock": Const(0, 1),
    "cache": Const(0b0011, 4),  # normal memory, not cached, may be buffered
    "prot": Const(0, 3),
    "qos": Const(0, 4),
    "region": Const(0, 4),
}
"""What is the same for every AXI4 burst; answers come in order, and their ids are not looked at."""


class Top(Elaboratable):
    """A component as a top module, clocked by `aclk` and reset by `aresetn` (active low, synchronous).

    Testbench: cocotb_tests/test_core.py, through `core_top`.

    Parameters
    ----------
    component : wiring.Component
        What is inside; its ports are connected by the methods below.

    Attributes
    ----------
    ports : dict
        Name to `Port`.
    """

    def __init__(self, component: wiring.Component) -> None:
        self._component = component
        self.ports: dict[str, Port] = {}
        self._statements: list[Any] = []
        self._clock = self._input("aclk", 1)
        self._reset_n = self._input("aresetn", 1)

    def memory(self, axi: Any, config: CoreConfig) -> None:
        """Give the AXI4 master port `axi` its names."""
        size = Const(beat_bytes(config).bit_length() - 1, 3)
        for name, channel in (("ar", axi.ar), ("aw", axi.aw)):
            burst = channel.payload
            fields = {"addr": burst.address, "len": burst.length, "size": size}
            self._drive(f"m_axi_{name}", channel, fields | ADDRESS_CONSTANTS)
        read, write = axi.r.payload, axi.w.payload
        answer = {"id": Signal(1), "data": read.data, "resp": read.resp, "last": read.last}
        self._receive("m_axi_r", axi.r, answer)
        self._drive("m_axi_w", axi.w, {"data": write.data, "strb": write.strb, "last": write.last})
        self._receive("m_axi_b", axi.b, {"id": Signal(1), "resp": axi.b.payload})

    def host(self, axi: Any) -> None:
        """Give the AXI4-Lite slave port `axi` its names; any protection of an access will do."""
        write, read = axi.w.payload, axi.r.payload
        self._receive("s_axil_aw", axi.aw, {"addr": axi.aw.payload, "prot": Signal(3)})
        self._receive("s_axil_w", axi.w, {"data": write.data, "strb": write.strb})
        self._drive("s_axil_b", axi.b, {"resp": axi.b.payload})
        self._receive("s_axil_ar", axi.ar, {"addr": axi.ar.payload, "prot": Signal(3)})
        self._drive("s_axil_r", axi.r, {"data": read.data, "resp": read.resp})

    def output(self, name: str, value: Any) -> None:
        """Make a port of something that the component drives."""
        self.ports[name] = Port(signal := Signal(len(value), name=name), "output")
        self._statements.append(signal.eq(value))

    def input(self, name: str, value: Any) -> None:
        """Make a port of something that the component reads."""
        self._statements.append(value.eq(self._input(name, len(value))))

    def _input(self, name: str, width: int) -> Signal:
        self.ports[name] = Port(signal := Signal(width, name=name), "input")
        return signal

    def _drive(self, prefix: str, channel: Any, fields: dict[str, Any]) -> None:
        for name, value in (fields | {"valid": channel.valid}).items():
            self.output(prefix + name, value)
        self.input(f"{prefix}ready", channel.ready)

    def _receive(self, prefix: str, channel: Any, fields: dict[str, Any]) -> None:
        for name, value in (fields | {"valid": channel.valid}).items():
            self.input(prefix + name, value)
        self.output(f"{prefix}ready", channel.ready)

    def convert(self, name: str, conversion: Conversion = convert) -> str:
        """Convert to Verilog, as a module called `name` whose ports stand in the order they were made.

        Parameters
        ----------
        name : str
        conversion : Conversion
            For example one that keeps the places of the sources.
        """
        return re.sub(
            rf"^module {name}\(([^)]*)\);\n",
            lambda header: f"module {name}(\n  {self._in_order(header[1])}\n);\n",
            conversion(self, name, self._connections()),
            flags=re.MULTILINE,
        )

    def rtlil(self, name: str) -> str:
        """Convert to RTLIL, as a module called `name`."""
        return to_rtlil(self, name, self._connections())

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        m.domains.sync = domain = ClockDomain("sync")
        domain.clk = self._clock
        m.submodules.core = self._component
        m.d.comb += [domain.rst.eq(~self._reset_n), *self._statements]
        return m

    def _in_order(self, written: str) -> str:
        """The list of ports in the order they were made, each as it is `written`: keywords are escaped."""
        names = {name.lstrip("\\"): name for name in re.findall(r"\\\S+ |\w+", written)}
        return ",\n  ".join(names.get(f"{name} ", name) for name in self.ports)

    def _connections(self) -> dict[str, Any]:
        return {name: (port.signal, None) for name, port in self.ports.items()}
