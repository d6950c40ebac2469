"""The host's side of the core: its register map, and the AXI4-Lite port that serves it."""

from hdl.control.host.host_interface import HostInterface
from hdl.control.host.register_map import IDENTITY, REGISTERS, SHARED_WINDOW, VERSION, WINDOW

__all__ = ["IDENTITY", "REGISTERS", "SHARED_WINDOW", "VERSION", "WINDOW", "HostInterface"]
