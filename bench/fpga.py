"""The clocks of whole cores and units on an ECP5-85F that the README states: placer, target, seed.

    python -m bench.fpga [NAME ...]

Every seed of a row is synthesised, placed and routed within the time limit of its row. Whatever has ended is
kept in ``build/bench/fpga.json`` with a digest of the design, so a run that was stopped goes on where it was,
and a design that has changed is measured anew. A figure that differs from the stated one is marked, as is a
row without an end in its time.
"""

import hashlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from amaranth.lib import wiring
from rich.console import Console

from bench.area import CORES
from bench.measurement import BUILD, named, number_table, write_results
from boards.flow.ecp5 import PLACE, TOP, place_and_route, synthesise, write_wrapped
from hdl.config import PRESETS
from hdl.core import Core
from hdl.dot_product.unit import DotProductUnit
from hdl.fma64.unit import FusedMultiplyAdd64

STATED: Final = Path(__file__).parent / "data" / "fpga.json"
"""What the README states: of each row TRELLIS_COMB and the clocks of its seeds."""

_SMALL: Final = PRESETS["small"]
_STANDARD: Final = PRESETS["standard"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is placed and routed, and how.

    Parameters
    ----------
    make : callable
        Makes the component.
    placer, router : str
        Of nextpnr; its defaults are ``heap`` and ``router1``.
    target : int
        MHz asked for.
    minutes : int
        Of place and route of a seed at most.
    """

    make: Callable[[], wiring.Component]
    placer: str = "static"
    router: str = "router1"
    target: int = 125
    minutes: int = 60


ROWS: Final = {
    "dot-product": Row(make=lambda: DotProductUnit(_STANDARD.dot_product), placer="heap", target=200),
    "fma64": Row(make=lambda: FusedMultiplyAdd64(_SMALL.f64_depth), placer="heap", target=200),
    "tiny": Row(make=lambda: Core(PRESETS["tiny"])),
    "small": Row(make=lambda: Core(_SMALL), placer="heap", target=110),
    "small static": Row(make=lambda: Core(_SMALL)),
    "small sparse": Row(make=lambda: Core(CORES["small-sparse"])),
    "small block-scale": Row(make=lambda: Core(CORES["small-block-scale"])),
    "small mxf4": Row(make=lambda: Core(CORES["small-mxf4"])),
    "standard": Row(make=lambda: Core(_STANDARD), router="router2", target=90, minutes=240),
}


def measure(folder: Path, row: Row, seed: int) -> dict[str, Any]:
    """TRELLIS_COMB and MHz of one seed, or ``{"ended": False}``."""
    options = ("--placer", row.placer, "--router", row.router)
    command = [*PLACE, "--lpf-allow-unconstrained", *options]
    try:
        used, mhz = place_and_route(folder, command, seed, row.target, seconds=60 * row.minutes)
    except subprocess.TimeoutExpired:
        return {"ended": False}
    return {"ended": True, "trellis_comb": used["TRELLIS_COMB"], "mhz": mhz}


def verdict(found: dict[str, Any], stated: float | None) -> str:
    """What is said of a figure beside the stated one."""
    if not found["ended"]:
        return "NOT REPRODUCED: no end in its time"
    if stated is None:
        return "not stated"
    return "as stated" if found["mhz"] == stated else f"NOT REPRODUCED: {stated} stated"


def main() -> None:
    """Measure what is missing, print the table, write ``build/bench/fpga.json``."""
    file, stated = BUILD / "fpga.json", json.loads(STATED.read_text())
    kept = json.loads(file.read_text()) if file.exists() else {}
    table = number_table("ECP5-85F, speed 8", "", "placer, router, target", "seed", "COMB", "MHz", "")
    for name in named(__doc__, ROWS):
        row, folder = ROWS[name], BUILD / "fpga" / name.replace(" ", "_")
        wrapped = write_wrapped(row.make(), folder)
        digest = hashlib.sha256((folder / "wrapped.v").read_bytes()).hexdigest()
        for seed in (1, 2, 3):
            key = f"{name}, {row.placer}, {row.router}, {row.target} MHz, seed {seed}"
            if kept.get(key, {}).get("design") != digest:
                if not (folder / digest).exists():
                    synthesise(folder, f"synth_ecp5 -top {TOP}")
                    (folder / digest).touch()
                kept[key] = {"design": digest, **measure(folder, row, seed)}
                write_results("fpga", kept)
            found = kept[key]
            said = dict(enumerate(stated.get(name, {}).get("mhz", ()), 1)).get(seed)
            comb = str(found["trellis_comb"] - wrapped.look_up_tables) if found["ended"] else ""
            how = f"{row.placer}, {row.router}, {row.target} MHz"
            table.add_row(name, how, str(seed), comb, str(found.get("mhz", "")), verdict(found, said))
    Console(width=max(100, Console().width)).print(table)


if __name__ == "__main__":
    main()
