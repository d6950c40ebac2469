"""`python -m docs.diagrams FOLDER`: every diagram of the documentation, as SVG files.

`python -m docs.diagrams --record` simulates the example of the timeline anew, and keeps its trace.
"""

import sys
from pathlib import Path
from typing import Final

from amaranth.lib import wiring

from docs.diagrams.depths import depths_svg, stored_depths
from docs.diagrams.pipelines import pipeline_svg
from docs.diagrams.timeline import read_stored, timeline_svg, write_stored
from docs.diagrams.units import units_svg
from hdl.config import PRESETS
from hdl.core import Core
from hdl.dot_product.arithmetic import Arithmetic
from hdl.fma64.unit import Arithmetic as Arithmetic64
from hdl.memory.load_engine import LoadEngine
from hdl.memory.store_engine import StoreEngine
from hdl.multiply.tile.multiplier import TileMultiplier
from openwmma.explanation_text import svg_picture
from openwmma.fragment_grid import fragment_grid
from openwmma.layout_drawing import layout_table
from sim.files import write_files

PRESET: Final = "standard"
"""The configuration whose hardware is drawn."""

FRAGMENTS: Final = (
    ("a", "f16", "m16n16k16"),
    ("b", "f16", "m16n16k16"),
    ("c", "f16", "m16n16k16"),
    ("c", "f32", "m16n16k16"),
    ("a", "f16", "m16n8k16"),
    ("b", "f16", "m16n8k16"),
    ("c", "f32", "m16n8k16"),
    ("a", "u8", "m16n16k16"),
    ("a", "b1", "m8n8k128"),
    ("a", "tf32", "m16n16k8"),
    ("c", "f64", "m8n8k4"),
)
"""Use, element type and shape."""

_CORE_NAMES: Final = {
    ":host": "AXI4-Lite of the host",
    ":memory": "AXI4 to global memory",
    "dot_product": "dot-product unit",
    "f64": "f64 multiplier",
    "fma": "f64 unit",
    "host": "host interface",
    "load": "load engine",
    "memory": "memory port",
    "mover": "register mover",
    "registers": "register file",
    "rows": "row addresses",
    "store": "store engine",
    "tile": "tile multiplier",
}


def diagrams() -> dict[str, str]:
    """The name of each file, and its text."""
    config = PRESETS[PRESET]
    components: dict[str, tuple[wiring.Component, str, dict[str, str]]] = {
        "core-units": (Core(config), "The units of the core", _CORE_NAMES),
        "load-engine-units": (LoadEngine(config), "The units of the load engine", {}),
        "store-engine-units": (StoreEngine(config), "The units of the store engine", {}),
        "tile-multiplier-units": (TileMultiplier(config), "The units of the tile multiplier", {}),
    }
    files = {f"{name}.svg": units_svg(*drawn) for name, drawn in components.items()}
    files["dot-product-pipeline.svg"] = pipeline_svg(
        Arithmetic(config.dot_product), "The pipeline of the dot-product unit"
    )
    files["dot-product-depths.svg"] = depths_svg(stored_depths(), "The dot-product unit by depth")
    files["f64-pipeline.svg"] = pipeline_svg(Arithmetic64(), "The pipeline of the f64 unit")
    files["timeline-matrix-multiply.svg"] = timeline_svg(read_stored(), "A matrix multiply on the core")
    for fragment in FRAGMENTS:
        grid = fragment_grid(*fragment)
        files[f"fragment-{'-'.join(fragment)}.svg"] = svg_picture(layout_table(grid), grid.title)
    return files


def main(arguments: list[str]) -> int:
    """Write all diagrams to the folder that is named, or record the trace of the timeline."""
    if arguments == ["--record"]:
        write_stored()
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m docs.diagrams FOLDER | --record", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    write_files({folder / name: text for name, text in diagrams().items()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
