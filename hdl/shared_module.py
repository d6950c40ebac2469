"""Modules that are converted once, however many instances there are."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped


class ModuleLibrary:
    """What a design is converted for, in place of a platform: it gathers the modules that stand once.

    Attributes
    ----------
    components : dict of str to Component
        By the name of their module.
    repeated : set of str
        Names of modules with more than one instance.
    """

    def __init__(self) -> None:
        self.components: dict[str, wiring.Component] = {}
        self.repeated: set[str] = set()


class SharedModule(wiring.Component):
    """An instance of a component whose equals have one module in common.

    Amaranth elaborates and writes every instance anew; of 64 dot-product units that takes minutes. Where the
    design is converted for a `ModuleLibrary`, only an instance is made of this one, and the component is
    converted by itself, once for all of its name. Everywhere else the component stands in the design itself.

    A module with several instances has the attribute ``keep_hierarchy``. Otherwise synthesis makes one of
    registers that are equal in all of them, such as those of control, and lets it drive them across the FPGA.

    Testbench: cocotb_tests/test_core.py, through `core_top`.

    Parameters
    ----------
    name : str
        Of the module; the same for equal components only.
    signature : Signature
        Of the component, which is clocked by ``sync`` and has ports only.
    make : callable
        Makes the component; called when it is elaborated.

    Members
    -------
    Those of the signature.
    """

    def __init__(self, name: str, signature: wiring.Signature, make: Callable[[], wiring.Component]) -> None:
        self._name = name
        self._make = make
        super().__init__(signature)

    def elaborate(self, platform: object) -> Module:
        """Return the module."""
        m = Module()
        if isinstance(platform, ModuleLibrary):
            if self._name in platform.components:
                platform.repeated.add(self._name)
            else:
                platform.components[self._name] = self._make()
            ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
            for path, member, signal in self.signature.flatten(self):
                direction = "i" if member.flow == In else "o"
                ports[f"{direction}_{'__'.join(map(str, path))}"] = Value.cast(signal)
            m.submodules.shared = Instance(self._name, **ports)
            return m
        m.submodules.inner = component = self._make()
        connect(m, flipped(self), component)
        return m
