"""Tops whose ports also show what goes on inside: stages of the dot-product unit, the sequencer of a core."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Shape, Value
from amaranth.lib import wiring

from hdl.config import CoreConfig, DotProductConfig
from hdl.core import Core
from hdl.dot_product.unit import DotProductUnit
from hdl.stream.pipeline import stage_name
from hdl.verilog.core_verilog import TOP as CORE_TOP
from hdl.verilog.top import Top

__all__ = ["CORE_TOP", "UNIT_TOP", "Observation", "observed_core", "observed_unit"]

UNIT_TOP = "openwmma_dot_product_unit"
"""Name of the dot-product unit's top module."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What one output port of a top shows.

    Parameters
    ----------
    port : str
    stage, field : str
        Of the pipeline's stage and its output; of a core, the unit and its port.
    start, cycle : int
        Cycles from the acceptance of operands to the stage's input and to this output; 0 in a core.
    width, count : int
        Bits of an element, and how many elements the port has, the first in the low bits.
    signed : bool
    """

    port: str
    stage: str
    field: str
    start: int
    cycle: int
    width: int
    count: int
    signed: bool


def observed_unit(config: DotProductConfig) -> tuple[Top, list[Observation]]:
    """Make a dot-product unit that shows the output of every stage.

    Parameters
    ----------
    config : DotProductConfig

    Returns
    -------
    top : Top
        It has the unit's ports ``operands_...`` and ``result_...``.
    observations : list of Observation
        In the order of the stages.
    """
    unit = DotProductUnit(config)
    inside = _elaborated(unit)
    top = Top(unit)
    top.input("operands_payload", unit.operands.payload.as_value())
    top.input("operands_valid", unit.operands.valid)
    top.output("operands_ready", unit.operands.ready)
    top.output("result_payload", unit.result.payload.as_value())
    top.output("result_valid", unit.result.valid)
    top.input("result_ready", unit.result.ready)
    observations = []
    pipeline = inside.submodules.arithmetic
    for stage, begin in pipeline.schedule:
        name, start = stage_name(stage), pipeline.cycle(begin)
        cycle = start + stage.latency
        observations += [
            _observe(top, name, field, getattr(stage.output, field), start=start, cycle=cycle)
            for field in stage.produces
        ]
    return top, observations


_CORE = {
    "sequencer": ("stall_registers", "stall_memory", "stall_unit", "queue_empty", "fetched", "done"),
    "scoreboard": ("unit", "footprint", "full", "allocate"),
    "tile": ("busy_units",),
}
"""What a core shows, by unit: names of the units' ports."""


def observed_core(config: CoreConfig) -> tuple[Top, list[Observation]]:
    """Make a core that shows the sequencer of warp 0, its scoreboard and what is written to its registers.

    Parameters
    ----------
    config : CoreConfig

    Returns
    -------
    top : Top
        The ports of `hdl.verilog.core_verilog.core_top`, and a port for each observation.
    observations : list of Observation
    """
    core = Core(config)
    inside = _elaborated(core)
    (write,) = inside.submodules.registers.write
    sequencer = _elaborated(inside.submodules.warps).submodules.sequencer_0
    scoreboard = _elaborated(sequencer).submodules.scoreboard
    top = Top(core)
    top.memory(core.memory, config)
    top.host(core.host)
    top.output("irq", core.irq)
    units = {"sequencer": sequencer, "scoreboard": scoreboard, "tile": inside.submodules.tile}
    taken = sequencer.commands.valid & sequencer.commands.ready
    requests = (sequencer.load, sequencer.store, sequencer.tile, sequencer.f64, sequencer.move)
    given = Cat(request.valid for request in requests).any()
    return top, [
        *(_observe(top, unit, name, getattr(units[unit], name)) for unit in _CORE for name in _CORE[unit]),
        _observe(top, "sequencer", "taken", taken),
        _observe(top, "sequencer", "given", given),
        *(
            _observe(top, "registers", name, getattr(write, name))
            for name in ("enable", "address", "lanes", "data")
        ),
    ]


def _elaborated(component: wiring.Component) -> Any:
    """A component's module, made now, so that its submodules can be observed; it is made only once."""
    module: Module = component.elaborate(None)
    component.elaborate = lambda platform: module
    return module


def _observe(top: Top, stage: str, field: str, value: Any, *, start: int = 0, cycle: int = 0) -> Observation:
    elements = list(value) if isinstance(value, (list, tuple)) else [value]
    shape = Shape.cast(Value.cast(elements[0]).shape())
    port = f"{stage}_{field}"
    top.output(port, Cat(Value.cast(element) for element in elements))
    return Observation(
        port=port,
        stage=stage,
        field=field,
        start=start,
        cycle=cycle,
        width=shape.width,
        count=len(elements),
        signed=shape.signed,
    )
