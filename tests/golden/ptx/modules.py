"""Modules for the tests, and what their kernels do."""

from golden.simt import Module
from golden.simt.device_memory import DeviceMemory

FIRST_BODY_LINE = 6
"""Line of a module's first line of body."""

MARK = "§"
"""Stands in a body where the error should be."""


def marked(text):
    """A body without its mark, and where in the module the mark was."""
    before, after = text.split(MARK)
    line = FIRST_BODY_LINE + before.count("\n")
    return before + after, f"k.ptx:{line}:{len(before) - before.rfind(chr(10))}"


def module(body, parameters="", version="8.0"):
    """The text of a module with one entry `k`; the body's first line is line `FIRST_BODY_LINE`."""
    head = f".version {version}\n.target sm_90\n.address_size 64\n.visible .entry k({parameters})\n{{\n"
    return f"{head}{body}\n}}\n"


def kernels(text, name="k.ptx"):
    """All kernels of a module, checked; by name."""
    loaded = Module(text, name, memory=DeviceMemory())
    return {entry: loaded.kernel(entry) for entry in loaded.entries}


def entry(body, parameters="", version="8.0"):
    """The kernel of `module`, from a file ``k.ptx``."""
    return kernels(module(body, parameters, version))["k"]


def vector(prefix, count, first=0):
    """Consecutive registers in braces."""
    return "{" + ", ".join(f"{prefix}{first + index}" for index in range(count)) + "}"
