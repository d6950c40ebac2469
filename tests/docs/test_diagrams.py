"""The diagrams of the documentation show all of the design that they are drawn from."""

import gc
import re
import xml.etree.ElementTree as ET

import pytest
from amaranth._unused import MustUse
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from docs.diagrams.__main__ import FRAGMENTS, diagrams, main
from docs.diagrams.dataflow import Connection, Unit, connections, mark_used, units
from docs.diagrams.pipelines import field_bits, pipeline_svg
from docs.diagrams.timeline import example_trace, read_stored, timeline_svg
from docs.diagrams.units import units_svg
from hdl.config import PRESETS
from hdl.core import Core
from hdl.fma64.unit import Arithmetic
from hdl.memory.store_engine import StoreEngine
from hdl.multiply.tile.multiplier import TileMultiplier
from hdl.stream.stream_buffer import StreamBuffer

SVG = "{http://www.w3.org/2000/svg}"
STANDARD = PRESETS["standard"]


class Chooser(wiring.Component):
    """Takes from one of two inputs through buffers and sends it on, with logic between."""

    def __init__(self):
        members = {f"input_{index}": In(stream.Signature(7)) for index in range(2)}
        super().__init__({**members, "output": Out(stream.Signature(7)), "chosen": In(1)})

    def elaborate(self, platform):
        m = Module()
        for index in range(2):
            m.submodules[f"side_{index}"] = side = StreamBuffer(7)
            connect(m, flipped(getattr(self, f"input_{index}")), side.input)
        m.submodules.last = last = StreamBuffer(7)
        sides = [m.submodules.side_0, m.submodules.side_1]
        with m.If(self.chosen):
            m.d.comb += [last.input.payload.eq(sides[1].output.payload), last.input.valid.eq(1)]
        with m.Else():
            m.d.comb += [last.input.payload.eq(~sides[0].output.payload), last.input.valid.eq(1)]
        connect(m, last.output, flipped(self.output))
        return m


def stream_ports(component):
    """Names of a component's streams: those it sends, and those it takes."""
    members = component.signature.members.items()
    names = {name: m.flow for name, m in members if m.is_signature and "payload" in m.signature.members}
    return {n for n, flow in names.items() if flow == Out}, {n for n, flow in names.items() if flow == In}


def connection(source, target, port, target_port, bits=7, kind="stream"):
    return Connection(
        source=source,
        target=target,
        port=port,
        bits=bits,
        target_port=target_port,
        target_bits=bits,
        kind=kind,
    )


def test_logic_between_units_is_a_wire():
    assert units(Chooser()) == [
        Unit(name="side", kind="StreamBuffer", count=2),
        Unit(name="last", kind="StreamBuffer", count=1),
    ]
    assert set(connections(Chooser())) - {
        item for item in connections(Chooser()) if item.kind == "signal"
    } == {
        connection(":input", "side", "input", "input"),
        connection("side", "last", "output", "input"),
        connection("last", ":output", "output", "output"),
    }


def test_every_stream_of_the_core_is_connected():
    core = Core(STANDARD)
    found = connections(core)
    module = core.elaborate(None)
    mark_used(module, *(submodule for submodule, _ in module._named_submodules.values()))
    names = [unit.name for unit in units(core)]
    assert {name for item in found for name in (item.source, item.target)} == {
        *names,
        ":host",
        ":memory",
        ":irq",
    }
    for name in names:
        component = getattr(module.submodules, name, None) or getattr(module.submodules, f"{name}_0")
        sent, taken = stream_ports(component)
        assert {re.sub(r"_\d+$", "", port) for port in sent} == {
            item.port for item in found if item.source == name and item.kind == "stream"
        }
        assert {re.sub(r"_\d+$", "", port) for port in taken} == {
            item.target_port for item in found if item.target == name and item.kind == "stream"
        }
    assert connection("host", "warps", "commands", "commands", 160) in found
    assert connection("warps", "host", "executed", "executed", 64, "signal") in found
    assert all(item.bits == 1 for item in found if (item.source, item.target) == ("memory", "host"))


def test_wide_signals_are_drawn_and_every_unit_has_an_arrow():
    drawn = units_svg(TileMultiplier(STANDARD), "tile", {})
    assert re.search(r"x_low \d+", drawn)
    assert "busy_units" not in drawn
    ends = re.findall(r"<title>(\S+)&#45;&gt;(\S+)</title>", units_svg(StoreEngine(STANDARD), "store", {}))
    assert {unit.name for unit in units(StoreEngine(STANDARD))} <= {name for pair in ends for name in pair}


def test_a_drawing_has_all_units_and_no_unknown_name():
    drawn = ET.fromstring(units_svg(Chooser(), "a < b", {"last": "the end", ":output": "out"}))
    texts = [element.text.strip() for element in drawn.iter(f"{SVG}text")]
    assert sorted(texts) == sorted(["side x 2", "the end", "input", "out", "input 7", "output 7", "output 7"])
    assert drawn.find(f"{SVG}title").text == "a < b"
    assert drawn.find(f"{SVG}style").text.count("prefers-color-scheme: dark") == 1
    with pytest.raises(ValueError, match="no unit or port of Chooser is called first"):
        units_svg(Chooser(), "", {"first": "x"})


def test_a_pipeline_shows_every_stage_for_its_cycles():
    pipeline = Arithmetic()
    drawn = ET.fromstring(pipeline_svg(pipeline, "f64"))
    titles = [element.find(f"{SVG}title").text for element in drawn.iter(f"{SVG}rect") if len(element)]
    assert len(titles) == len(pipeline.schedule)
    for (stage, start), title in zip(pipeline.schedule, titles, strict=True):
        assert title.startswith(f"{type(stage).__name__}: cuts {start + 1} to {start + stage.latency}; ")
    bits = field_bits(pipeline)
    assert (bits["a"], bits["product"], bits["d"]) == (64, 106, 64)
    ends = [start + stage.latency for stage, start in pipeline.schedule]
    assert max(ends) == pipeline.latency
    boxes = [element for element in drawn.iter(f"{SVG}rect") if len(element)]
    scale = {
        float(box.get("width")) / stage.latency
        for box, (stage, _) in zip(boxes, pipeline.schedule, strict=True)
    }
    assert max(scale) - min(scale) < 0.1


@pytest.mark.long
def test_the_timeline_is_that_of_the_core():
    """`make docs` runs it."""
    assert example_trace() == read_stored(), "write it anew with python -m docs.diagrams --record"


def test_the_timeline_shows_every_slice():
    document = read_stored()
    drawn = ET.fromstring(timeline_svg(document, "multiply"))
    titles = [element.find(f"{SVG}title").text for element in drawn.iter(f"{SVG}rect") if len(element)]
    events = [event for row in document["rows"].values() for event in row]
    assert len(titles) == len(events) > 100
    third = next(event for event in document["rows"]["tile multiplier/command 0"])
    first, last = third["ts"], third["ts"] + third["dur"] - 1
    expected = f"#3 mma m16n16k16 f32 f16: cycles {first} to {last}; {third['PTX']}"
    assert titles.count(expected) == 1
    assert "wmma.mma.sync" in expected


def test_components_that_are_drawn_count_as_used(monkeypatch):
    gc.collect()
    unused = []

    def note(item):
        if not getattr(item, "_MustUse__used", True):
            unused.append(item)

    monkeypatch.setattr(MustUse, "__del__", note)
    diagrams()
    gc.collect()
    assert unused == []
    Core(STANDARD)
    gc.collect()
    assert [type(item) for item in unused] == [Core]


def test_the_command_writes_every_diagram(tmp_path):
    assert main([str(tmp_path / "new")]) == 0
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert written == diagrams()
    assert {
        "core-units.svg",
        "dot-product-pipeline.svg",
        "f64-pipeline.svg",
        "timeline-matrix-multiply.svg",
    } <= set(written)
    assert sum(name.startswith("fragment-") for name in written) == len(FRAGMENTS)
    for text in written.values():
        drawn = ET.fromstring(text)
        assert "max-width:100%" in drawn.get("style")
        assert "http" not in text.replace('"http://www.w3.org/', "")


@pytest.mark.parametrize("arguments", [[], ["--recrod"], ["one", "two"]])
def test_the_command_needs_a_folder(capsys, arguments):
    assert main(arguments) == 2
    assert capsys.readouterr().err == "usage: python -m docs.diagrams FOLDER | --record\n"
