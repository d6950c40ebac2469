"""Ports of a top module, under the names by which other tools recognise AXI."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal
from amaranth.lib import wiring

from hdl.config import CoreConfig
from hdl.memory.axi import HOST_ADDRESS_BITS, beat_bytes
from hdl.verilog.modules import Conversion, convert, to_rtlil

__all__ = ["Port", "Top"]


@dataclass(frozen=True)
class Port:
    """A port of a top module: its signal, and which way it points."""

    signal: Signal
    direction: Literal["input", "output"]


_BURST_INCR: Final = 1


class Top(Elaboratable):
    """A component as a top module, clocked by `aclk` and reset by `aresetn` (active low, synchronous).

    Parameters
    ----------
    component : wiring.Component
        What is inside; its ports are connected by the methods below.

    Attributes
    ----------
    ports : dict
        Name to `Port`.

    Testbench
    ---------
    cocotb_tests/test_core.py, through `core_top`.
    """

    def __init__(self, component: wiring.Component) -> None:
        self._component = component
        self.ports: dict[str, Port] = {}
        self._statements: list[Any] = []
        self._clock = self._input("aclk", 1)
        self._reset_n = self._input("aresetn", 1)

    def memory(self, axi: Any, config: CoreConfig) -> None:
        """Give the AXI4 master port `axi` its names."""
        for name, channel in (("ar", axi.ar), ("aw", axi.aw)):
            fields = {
                "addr": (channel.payload.address, config.address_bits),
                "len": (channel.payload.length, 8),
                "size": (beat_bytes(config).bit_length() - 1, 3),
                "burst": (_BURST_INCR, 2),
            }
            self._drive(f"m_axi_{name}", channel, fields)
        read, write = axi.r.payload, axi.w.payload
        width = config.data_bits
        fields = {"data": (read.data, width), "resp": (read.resp, 2), "last": (read.last, 1)}
        self._receive("m_axi_r", axi.r, fields)
        fields = {"data": (write.data, width), "strb": (write.strb, width // 8), "last": (write.last, 1)}
        self._drive("m_axi_w", axi.w, fields)
        self._receive("m_axi_b", axi.b, {"resp": (axi.b.payload, 2)})

    def host(self, axi: Any) -> None:
        """Give the AXI4-Lite slave port `axi` its names."""
        write, read = axi.w.payload, axi.r.payload
        self._receive("s_axil_aw", axi.aw, {"addr": (axi.aw.payload, HOST_ADDRESS_BITS)})
        self._receive("s_axil_w", axi.w, {"data": (write.data, 32), "strb": (write.strb, 4)})
        self._drive("s_axil_b", axi.b, {"resp": (axi.b.payload, 2)})
        self._receive("s_axil_ar", axi.ar, {"addr": (axi.ar.payload, HOST_ADDRESS_BITS)})
        self._drive("s_axil_r", axi.r, {"data": (read.data, 32), "resp": (read.resp, 2)})

    def output(self, name: str, value: Any) -> None:
        """Make a port of something that the component drives."""
        self._statements.append(self._output(name, len(value)).eq(value))

    def input(self, name: str, value: Any) -> None:
        """Make a port of something that the component reads."""
        self._statements.append(value.eq(self._input(name, len(value))))

    def _input(self, name: str, width: int) -> Signal:
        self.ports[name] = Port(signal := Signal(width, name=name), "input")
        return signal

    def _output(self, name: str, width: int) -> Signal:
        self.ports[name] = Port(signal := Signal(width, name=name), "output")
        return signal

    def _drive(self, prefix: str, channel: Any, fields: dict[str, tuple[Any, int]]) -> None:
        for name, (value, width) in fields.items():
            self._statements.append(self._output(prefix + name, width).eq(value))
        self._statements.append(self._output(f"{prefix}valid", 1).eq(channel.valid))
        self._statements.append(channel.ready.eq(self._input(f"{prefix}ready", 1)))

    def _receive(self, prefix: str, channel: Any, fields: dict[str, tuple[Any, int]]) -> None:
        for name, (value, width) in fields.items():
            self._statements.append(value.eq(self._input(prefix + name, width)))
        self._statements.append(channel.valid.eq(self._input(f"{prefix}valid", 1)))
        self._statements.append(self._output(f"{prefix}ready", 1).eq(channel.ready))

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
