"""A crossbar or an engine with a memory of banks, as a unit of its own."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from hdl.config import CoreConfig
from hdl.memory.banks import Banks


class WithBanks(wiring.Component):  # type: ignore[misc]  # Amaranth has no types
    """The ports of a unit but its port ``banks``, which are within."""

    def __init__(self, config: CoreConfig, unit: Any) -> None:
        self._config, self._unit = config, unit
        super().__init__({name: item for name, item in unit.signature.members.items() if name != "banks"})

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        m.submodules.unit = unit = self._unit
        m.submodules.banks = banks = Banks(self._config, 1)
        connect(m, unit.banks, banks.users[0])
        for name, item in self.signature.members.items():
            inner, outer = getattr(unit, name), getattr(self, name)
            if item.is_signature:
                connect(m, inner, flipped(outer))
            else:
                m.d.comb += outer.eq(inner) if item.flow == Out else inner.eq(outer)
        return m
