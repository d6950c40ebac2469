"""What all components of the core have in common."""

from collections.abc import Callable

from amaranth.hdl import Module
from amaranth.lib import wiring


class Component(wiring.Component):
    """Base of the components: `elaborate` makes the module, and `_logic` of the class fills it."""

    _logic: Callable[..., None]

    def elaborate(self, platform: object) -> Module:
        """Return the component's module."""
        m = Module()
        self._logic(m)
        return m
