"""What a page must know of the unit and the core: where each signal lies, and how operations are packed."""

from typing import Any

from amaranth.lib import data
from observed import Observation

from golden.tables.layouts import LANES
from hdl.config import QUADS, CoreConfig, DotProductConfig
from hdl.control.scoreboard import COMMON_UNITS, Footprint
from hdl.dot_product.operands import DotProductOperands, Multiplicand, Operation, Result
from hdl.dot_product.widths import Widths
from hdl.dot_product.words import PLACE
from hdl.verilog.top import Top

__all__ = ["describe_core", "describe_unit"]

WORD = 4 * PLACE
"""Bits of a word of four lanes."""


def describe_unit(config: DotProductConfig, top: Top, observations: list[Observation]) -> dict[str, Any]:
    """Describe the observed dot-product unit.

    Parameters
    ----------
    config : DotProductConfig
    top : Top
        Of `observed.observed_unit`.
    observations : list of Observation

    Returns
    -------
    dict
        Only what JSON can hold. ``signals`` are in the order in which the harness writes them: `offset` is
        the index of a signal's first 32-bit word, `cycle` the cycles from an operation's acceptance.
        Each of the ``stages`` has its first cycle, counted likewise, and its latency.
    """
    widths = Widths(config)
    signals = []
    stages = {}
    offset = 0
    for item in observations:
        latency = item.cycle - item.start
        stages[item.stage] = {"name": item.stage, "start": item.start, "latency": latency}
        # A word of four lanes is shown lane by lane.
        lanes = WORD // PLACE if item.width == WORD else 1
        signals.append(
            {
                "stage": item.stage,
                "field": item.field,
                "cycle": item.cycle,
                "offset": offset,
                "width": item.width // lanes,
                "count": item.count * lanes,
                "signed": item.signed,
            }
        )
        offset += (item.width * item.count + 31) // 32
    return {
        "profile": config.profile.name,
        "formats": sorted(config.formats),
        "latency": config.depth,
        "words": offset,
        "stages": list(stages.values()),
        "signals": signals,
        "operands": _fields(DotProductOperands),
        "operand_bits": len(top.ports["operands_payload"].signal),
        "operation": _fields(Operation),
        "multiplicands": {item.name.lower(): item.value for item in Multiplicand},
        "results": {item.name.lower(): item.value for item in Result},
        "exponent_zero": {
            "narrow": widths.exponent_zero(narrow=True),
            "wide": widths.exponent_zero(narrow=False),
        },
        "integer_bit": widths.integer_bit,
        "window": widths.window,
        "fraction_bits": config.profile.fraction_bits,
    }


def describe_core(config: CoreConfig) -> dict[str, Any]:
    """Describe the observed core.

    Parameters
    ----------
    config : CoreConfig

    Returns
    -------
    dict
        Only what JSON can hold.
    """
    return {
        "profile": config.dot_product.profile.name,
        "formats": sorted(config.formats),
        "registers": config.registers,
        "lanes": LANES,
        "lanes_per_word": LANES // QUADS * config.word_quads,
        "queue_depth": config.queue_depth,
        "units": [item.name.lower() for item in COMMON_UNITS],
        "footprint": _ranges(),
    }


def _fields(struct: type[data.Struct]) -> dict[str, dict[str, int]]:
    return {name: {"offset": field.offset, "width": field.width} for name, field in data.Layout.cast(struct)}


def _ranges() -> list[dict[str, Any]]:
    """Bit offset of each range of a footprint: three that a command reads, one that it writes."""
    layout = data.Layout.cast(Footprint)
    reads, write = layout["reads"], layout["write"]
    each = reads.width // 3
    return [
        *({"offset": reads.offset + index * each, "is_write": False} for index in range(3)),
        {"offset": write.offset, "is_write": True},
    ]
