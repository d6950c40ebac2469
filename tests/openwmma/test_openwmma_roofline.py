"""`openwmma run --roofline`: the limits are those worked out by hand, and launches lie where they are."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from golden.machine import Counters
from hdl.config import PRESETS
from openwmma.cli import main
from openwmma.roofline import Point, roofline_svg

SVG = "{http://www.w3.org/2000/svg}"
STANDARD = PRESETS["standard"]
"""Four units; 16 bytes in a beat, so that 1/4 of a dot product for each byte keeps them busy."""

POINTS = [
    (Counters(cycles=1000, dot_product_cycles=2000, read_beats=100, write_beats=50), 1.25, 2, (4, "units")),
    (Counters(cycles=2000, dot_product_cycles=1000, read_beats=1000), 1 / 16, 0.5, (1, "bus")),
    (Counters(cycles=2000, dot_product_cycles=1000, write_beats=1000), 1 / 16, 0.5, (1, "bus")),
    (Counters(cycles=2000, dot_product_cycles=1000), None, 0.5, (4, "units")),
]


@pytest.mark.parametrize(("counters", "intensity", "rate", "limit"), POINTS)
def test_limits(counters, intensity, rate, limit):
    point = Point("k", counters, STANDARD)
    assert (point.intensity, point.rate, point.limit) == (intensity, rate, limit)
    assert str(point) == f"k: {rate} in a cycle, {rate / limit[0]:.0%} of what the {limit[1]} can"


def drawn(*counters):
    found = ET.fromstring(roofline_svg([Point(f"k{at}", item, STANDARD) for at, item in enumerate(counters)]))
    lines = [line.attrib for line in found.iter(f"{SVG}line") if line.get("stroke-width") == "2"]
    circles = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in found.iter(f"{SVG}circle")]
    return lines, circles, [text.text for text in found.iter(f"{SVG}text")]


def test_launches_at_their_limit_lie_on_the_roof():
    bus = Counters(cycles=1000, dot_product_cycles=1000, read_beats=1000)
    units = Counters(cycles=1000, dot_product_cycles=4000, read_beats=100)
    none = Counters(cycles=1000)
    (slope, flat), (first, second), texts = drawn(bus, units, none)
    assert float(flat["y1"]) == float(flat["y2"]) == pytest.approx(second[1])
    assert float(flat["x1"]) < second[0] < float(flat["x2"])
    x1, x2, y1, y2 = (float(slope[name]) for name in ("x1", "x2", "y1", "y2"))
    assert first[1] == pytest.approx(y1 + (y2 - y1) * (first[0] - x1) / (x2 - x1))
    assert "3 k2: no dot products" in texts


def test_a_launch_is_drawn(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path = Path(__file__).parents[1] / "data" / "kernels" / "public_kernels.json"
    command = ["run", "--launch", str(path), "--case", "single_warp.gemm_tile", "--roofline"]
    assert main([*command, "k.svg", "--on", "golden"]) == 2
    assert (
        "--roofline: expected rtl, lockstep or board, which have cycles, not golden"
        in capsys.readouterr().err
    )
    assert main([*command, "k.png", "--on", "rtl"]) == 2
    assert "--roofline k.png: expected a file that ends in .svg" in capsys.readouterr().err
    assert main([*command, "k.svg", "--on", "rtl", "--preset", "small"]) == 0
    (text,) = (text for text in ET.parse("k.svg").iter(f"{SVG}text") if "gemm_tile" in text.text)
    assert "in a cycle, " in text.text
    assert main([*command, "k.svg", "--on", "rtl", "--preset", "small"]) == 2
