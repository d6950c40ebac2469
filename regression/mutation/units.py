"""The units whose hardware is mutated, and the tests that have to notice it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final

from hdl.verilog.modules import convert
from sim.testbench.design import Design

_MUTANTS: Final = 45
_STAGE_MUTANTS: Final = 30
"""Of a stage of a pipeline, of which there are many."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit and its tests."""

    name: str
    bench: str
    """Import path of the module with the unit's tests."""
    test: str
    """The pytest function there that simulates the unit."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Those of its parameters beside the fixture."""
    sources: tuple[str, ...]
    """Only cells that these files made are mutated; a path from the root, or its beginning."""
    mutants: int = _MUTANTS
    """How many."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What a unit's pytest function asks to be simulated."""

    design: Design
    module: str
    """Import path of the module with the cocotb tests."""
    values: Mapping[str, Any]
    """What they find in `sim.testbench.parameters.parameters`."""
    cases: tuple[str, ...]
    """Names of the tests to run; none stands for all."""


def simulation_of(unit: Unit) -> Simulation:
    """Find out what a unit's pytest function simulates, without doing so.

    The Verilog says of each cell which line made it. ValueError unless the function simulates exactly one
    design.
    """
    asked: list[Simulation] = []

    def simulate(
        design: Design, module: str, *, values: Mapping[str, Any] | None = None, cases: tuple[str, ...] = ()
    ) -> None:
        located = design.converted(partial(convert, sources=True))
        asked.append(Simulation(design=located, module=module, values=dict(values or {}), cases=cases))

    function = getattr(import_module(unit.bench), unit.test)
    function(simulate, **unit.arguments)
    if len(asked) != 1:
        raise ValueError(f"{unit.bench}.{unit.test} must simulate one design, not {len(asked)}")
    return asked[0]


def units_named(names: list[str]) -> tuple[Unit, ...]:
    """The units of these names, of which one is the whole core; all of `UNITS` where none is given.

    ValueError for a name that no unit has.
    """
    known = {unit.name: unit for unit in (*UNITS, CORE)}
    for name in names:
        if name not in known:
            raise ValueError(f"unit must be one of {', '.join(known)}, not {name}")
    return tuple(known[name] for name in names) if names else UNITS


def _unit(
    name: str, bench: str, sources: str, *, test: str = "", mutants: int = _MUTANTS, **arguments: Any
) -> Unit:
    return Unit(
        name=name,
        bench=f"cocotb_tests.{bench}",
        test=test or bench.rpartition(".")[2],
        arguments=arguments,
        sources=tuple(f"hdl/{source}" for source in sources.split()),
        mutants=mutants,
    )


def _stage(
    name: str, bench: str = "", sources: str = "", *, mutants: int = _STAGE_MUTANTS, **arguments: Any
) -> Unit:
    """A stage of the dot-product unit, whose testbench and source have its name unless they are named."""
    own = name.replace(" ", "_")
    files = " ".join(f"dot_product/{source}.py" for source in (sources or own).split())
    return _unit(
        f"dot product: {name}", f"dot_product.test_{bench or own}", files, mutants=mutants, **arguments
    )


UNITS: Final = (
    _unit("credit queue", "stream.test_elastic", "stream/elastic.py", depth=8, latency=6),
    _unit("decoder", "control.test_decoder", "control/decoder.py control/lookup.py", config="f16"),
    _unit(
        "decoder, all formats", "control.test_decoder", "control/decoder.py control/lookup.py", config="all"
    ),
    _unit(
        "sequencer",
        "control.test_sequencer",
        "control/sequencer.py control/warps.py control/dispatch.py",
        count=2,
    ),
    _unit("scoreboard", "control.test_scoreboard", "control/scoreboard.py"),
    _unit("host interface", "control.test_host", "control/host/ stream/stream_buffer.py", preset="small"),
    _unit(
        "register file",
        "registers.test_register_file",
        "registers/file.py registers/register_ports.py",
        config="pairs",
    ),
    _unit("register mover", "registers.test_register_mover", "registers/mover.py", units=4),
    _unit("row addresses", "memory.test_row_addresses", "memory/row_addresses.py"),
    _unit("access check", "memory.test_access", "memory/access.py", config="wide"),
    _unit("burst generator", "memory.test_burst_generator", "memory/burst_generator.py", quads=4),
    _unit(
        "load crossbar",
        "memory.test_load_crossbar",
        "memory/load_crossbar.py memory/bank memory/line_walk.py memory/assembly_queue.py",
        preset="small",
    ),
    _unit(
        "load crossbar of four quads",
        "memory.test_load_crossbar",
        "memory/load_crossbar.py memory/bank memory/line_walk.py",
        preset="four_quads",
    ),
    _unit(
        "store crossbar",
        "memory.test_store_crossbar",
        "memory/store_crossbar.py memory/bank memory/line_walk.py memory/assembly_queue.py",
        preset="small",
    ),
    _unit(
        "store crossbar of four quads",
        "memory.test_store_crossbar",
        "memory/store_crossbar.py memory/bank memory/line_walk.py",
        preset="four_quads",
    ),
    _unit("banks", "memory.test_banks", "memory/banks.py"),
    _unit(
        "load engine",
        "memory.test_load_engine",
        "memory/load_engine.py memory/fragment_writer.py memory/beats.py",
        preset="large",
        cases=(),
    ),
    _unit(
        "store engine",
        "memory.test_store_engine",
        "memory/store_engine.py memory/fragment_reader.py memory/beats.py",
        preset="standard",
        cases=(),
    ),
    _unit(
        "memory port",
        "memory.test_memory_port",
        "memory/port.py memory/axi_",
        mutants=75,
        data_bits=256,
        shared_bytes=8192,
        outstanding_reads=5,
        dot_product_units=1,
    ),
    _unit("burst router", "memory.test_burst_router", "memory/burst_router.py", mutants=20),
    _unit("shared memory", "memory.test_shared_memory", "memory/shared_memory.py"),
    _unit(
        "tile multiplier",
        "multiply.test_tile",
        " ".join(
            f"multiply/tile/{name}.py"
            for name in ("chains", "collect", "fetch", "issue", "multiplier", "request", "rows", "tile_steps")
        ),
        mutants=90,
        units=2,
    ),
    _unit("row conversion", "multiply.test_row_conversion", "multiply/tile/conversion.py"),
    _unit("rounded addition", "multiply.test_rounded_addition", "multiply/tile/addition.py"),
    _unit("f64 multiplier", "multiply.test_f64_multiplier", "multiply/f64/", units=2, words=2),
    _stage("decode"),
    _stage("decode C", "decode", "decode_c", test="test_decode_c"),
    _stage("product special", "decode", "special", test="test_product_special", mutants=10),
    _stage("special values", "decode", "special", test="test_special_values", mutants=10),
    _stage(
        "product maximum", "maximum_exponent", "maximum_exponent", test="test_product_maximum", mutants=20
    ),
    _stage("maximum exponent", mutants=5),
    _stage(
        "maximum exponent of fp8",
        "maximum_exponent",
        "maximum_exponent",
        test="test_fp8_maximum",
        mutants=10,
        where="alone",
    ),
    _stage("distance", mutants=20),
    _stage("decode fp8", "fp8_decode", "fp8_decode special", where="beside"),
    _stage("distance of fp8", "fp8_distance", "fp8_distance", mutants=20, where="beside"),
    _stage("align fp8", "fp8_align", "fp8_align align multiply", where="beside"),
    _stage("multiply", sources="factors multiply"),
    _stage("align"),
    _stage("popcount", mutants=20),
    _stage("reduce"),
    _stage("limit", "normalize", "normalize", test="test_limit", mutants=5, config="volta"),
    _stage("normalize", config="hopper"),
    _stage("round", profile="hopper"),
    _unit(
        "dot product: flow",
        "dot_product.test_unit",
        "dot_product/unit.py dot_product/integers.py dot_product/words.py stream/elastic.py "
        "stream/pipeline.py",
        mutants=_STAGE_MUTANTS,
        depth=16,
    ),
    *(
        _unit(f"fma64: {name}", f"fma64.test_fma64_{name}", f"fma64/{name}.py", mutants=_STAGE_MUTANTS)
        for name in ("decode", "multiply", "add", "normalize", "round")
    ),
    _unit(
        "fma64: flow",
        "fma64.test_fma64_unit",
        "fma64/ stream/elastic.py stream/pipeline.py",
        test="test_fma64",
        mutants=_STAGE_MUTANTS,
        depth=16,
    ),
)
"""Every datapath and control unit with a testbench of its own."""

CORE: Final = Unit(
    name="core",
    bench="regression.mutation.core_programs",
    test="core_programs",
    arguments={"preset": "tiny"},
    sources=("hdl/",),
    mutants=500,
)
"""The whole core with all that connects its units, under random programs; tried when it is named."""
