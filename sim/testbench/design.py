"""A design to be simulated: converted to Verilog when its text is first read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from hdl.verilog.modules import Conversion, convert


@dataclass(frozen=True, kw_only=True)
class Design:
    """Verilog to be simulated."""

    name: str
    """Folder of the build; designs that differ need different names."""
    top: str
    """The top module; only its ports can be seen from Python."""
    write: Callable[[Conversion], str]
    """Takes a `Conversion` and returns the text of all modules. It is called once for each conversion."""

    @classmethod
    def of_text(cls, name: str, verilog: str, top: str) -> "Design":
        """Make a design of finished Verilog, which no conversion changes."""
        return cls(name=name, top=top, write=lambda _: verilog)

    @cached_property
    def verilog(self) -> str:
        """Text of all modules."""
        return self.write(convert)

    def converted(self, conversion: Conversion) -> "Design":
        """The same design with another conversion."""
        return replace(self, write=lambda _: self.write(conversion))
