"""A core in IP-XACT (IEEE 1685-2009, with Vivado's bus types), as Vivado's catalogue reads it."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from openwmma.fusesoc import identifier

_SPIRIT: Final = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
_XILINX: Final = "http://www.xilinx.com"
_MEMORY: Final = "m_axi"
_HOST: Final = "s_axil"
_FILES: Final = "rtl"
_VIEWS: Final = {
    "synthesis": "xilinx_anylanguagesynthesis",
    "simulation": "xilinx_anylanguagebehavioralsimulation",
}
_FAMILIES: Final = (
    *("artix7", "kintex7", "spartan7", "virtex7", "zynq", "kintexu", "virtexu"),
    *("artixuplus", "kintexuplus", "virtexuplus", "zynquplus", "versal"),
)
"""Names of Vivado for the FPGAs it offers the core for: the Verilog has no cell of any."""


def ip_component(description: dict[str, Any], rdl: str, version: str, rtl: str) -> str:
    """Describe a core with its bus interfaces, ports, registers and files.

    Parameters
    ----------
    description : dict
        Of the core, from `hdl.verilog.core_verilog.describe`.
    rdl : str
        Its registers, from `hdl.verilog.systemrdl.systemrdl`.
    version : str
        Of this software.
    rtl : str
        Name of the Verilog file, in the folder of the description.

    Returns
    -------
    str
        XML: an AXI4-Lite slave with the registers as its memory map, an AXI4 master with the address space of
        global memory, clock, reset and interrupt.
    """
    ElementTree.register_namespace("spirit", _SPIRIT)
    ElementTree.register_namespace("xilinx", _XILINX)
    vendor, library, name = identifier(description)
    component = _registers(rdl, vendor=vendor, library=library, name=f"{library}_{name}", version=version)
    maps = _found(component, "memoryMaps")
    # The exporter ends with the last register; a bus decodes all bits of the address.
    _found(maps, "memoryMap/addressBlock/range").text = str(1 << description["host"]["address_bits"])
    place = list(component).index(maps)
    component.insert(place, _address_spaces(description))
    component.insert(place, _bus_interfaces(description, _found(maps, "memoryMap/name").text or ""))
    _model(component, description)
    _add(_add(component, "fileSets"), "fileSet", name=_FILES).append(_file(rtl))
    _add(component, "description", "An open tensor core with an AXI4 master and an AXI4-Lite host port")
    _parameters(component, "PARAM_VALUE", {"Component_Name": description["top"]})
    extensions = _extension(_add(component, "vendorExtensions"), "coreExtensions")
    families = _extension(extensions, "supportedFamilies")
    for family in _FAMILIES:
        _extension(families, "family", family).set(f"{{{_XILINX}}}lifeCycle", "Production")
    _extension(_extension(extensions, "taxonomies"), "taxonomy", "/UserIP")
    _extension(extensions, "displayName", f"openwmma tensor core, {name}")
    ElementTree.indent(component)
    return ElementTree.tostring(component, encoding="unicode", xml_declaration=True) + "\n"


def _registers(rdl: str, *, name: str, **identity: str) -> Element:
    """A component with nothing but its memory map."""
    # They take a third of a second to load, which every command would wait for.
    from peakrdl_ipxact import IPXACTExporter, Standard  # noqa: PLC0415
    from systemrdl.compiler import RDLCompiler  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        source, result = Path(folder) / "core.rdl", Path(folder) / "core.xml"
        source.write_text(rdl, encoding="utf-8")
        compiler = RDLCompiler()
        compiler.compile_file(str(source))
        exporter = IPXACTExporter(standard=Standard.IEEE_1685_2009, **identity)
        exporter.export(compiler.elaborate(), str(result), component_name=name)
        return ElementTree.parse(result).getroot()


def _bus_interfaces(description: dict[str, Any], memory_map: str) -> Element:
    interfaces = Element(_tag("busInterfaces"))
    ports = [port["name"] for port in description["ports"]]
    clock, reset, interrupt = description["clock"], description["reset"]["name"], description["interrupt"]
    for name, mode, reference, to in (
        (_HOST, "slave", "memoryMapRef", memory_map),
        (_MEMORY, "master", "addressSpaceRef", _MEMORY),
    ):
        logical = {
            port.removeprefix(f"{name}_").upper(): port for port in ports if port.startswith(f"{name}_")
        }
        interface, role = _interface(interfaces, name, "interface", "aximm", mode, logical)
        _add(role, reference).set(_tag(reference), to)
        protocol = "AXI4LITE" if name == _HOST else "AXI4"
        _parameters(interface, f"BUSIFPARAM_VALUE.{name.upper()}", {"PROTOCOL": protocol})
    for port, kind, mode, logical_port, parameters in (
        (
            clock,
            "clock",
            "slave",
            "CLK",
            {"ASSOCIATED_BUSIF": f"{_HOST}:{_MEMORY}", "ASSOCIATED_RESET": reset},
        ),
        (reset, "reset", "slave", "RST", {"POLARITY": "ACTIVE_LOW"}),
        (interrupt, "interrupt", "master", "INTERRUPT", {"SENSITIVITY": "LEVEL_HIGH"}),
    ):
        interface, _ = _interface(interfaces, port, "signal", kind, mode, {logical_port: port})
        _parameters(interface, f"BUSIFPARAM_VALUE.{port.upper()}", parameters)
    return interfaces


def _interface(
    parent: Element, name: str, library: str, kind: str, mode: str, ports: Mapping[str, str]
) -> tuple[Element, Element]:
    """A bus interface, and the element of its mode."""
    interface = _add(parent, "busInterface", name=name)
    for element, suffix in (("busType", ""), ("abstractionType", "_rtl")):
        reference = _add(interface, element)
        values = {"vendor": "xilinx.com", "library": library, "name": kind + suffix, "version": "1.0"}
        for key, value in values.items():
            reference.set(_tag(key), value)
    role = _add(interface, mode)
    maps = _add(interface, "portMaps")
    for logical, physical in ports.items():
        port_map = _add(maps, "portMap")
        _add(port_map, "logicalPort", name=logical)
        _add(port_map, "physicalPort", name=physical)
    return interface, role


def _address_spaces(description: dict[str, Any]) -> Element:
    spaces = Element(_tag("addressSpaces"))
    space = _add(spaces, "addressSpace", name=_MEMORY)
    _add(space, "range", str(1 << description["parameters"]["address_bits"]))
    _add(space, "width", str(description["parameters"]["data_bits"]))
    return spaces


def _model(component: Element, description: dict[str, Any]) -> None:
    model = _add(component, "model")
    views = _add(model, "views")
    for use, name in _VIEWS.items():
        view = _add(views, "view", name=name)
        _add(view, "envIdentifier", f":vivado.xilinx.com:{use}")
        _add(view, "language", "verilog")
        _add(view, "modelName", description["top"])
        _add(_add(view, "fileSetRef"), "localName", _FILES)
    ports = _add(model, "ports")
    for port in description["ports"]:
        wire = _add(_add(ports, "port", name=port["name"]), "wire")
        _add(wire, "direction", port["direction"].removesuffix("put"))
        if port["width"] > 1:
            vector = _add(wire, "vector")
            _add(vector, "left", str(port["width"] - 1))
            _add(vector, "right", "0")


def _file(name: str) -> Element:
    file = Element(_tag("file"))
    _add(file, "name", name)
    _add(file, "fileType", "verilogSource")
    return file


def _parameters(parent: Element, prefix: str, values: Mapping[str, str]) -> None:
    parameters = _add(parent, "parameters")
    for name, value in values.items():
        _add(_add(parameters, "parameter", name=name), "value", value).set(_tag("id"), f"{prefix}.{name}")


def _tag(name: str) -> str:
    return f"{{{_SPIRIT}}}{name}"


def _add(parent: Element, element: str, text: str | None = None, *, name: str | None = None) -> Element:
    """A new element with a text, or with the element ``name`` inside."""
    added = SubElement(parent, _tag(element))
    added.text = text
    if name is not None:
        SubElement(added, _tag("name")).text = name
    return added


def _extension(parent: Element, element: str, text: str | None = None) -> Element:
    added = SubElement(parent, f"{{{_XILINX}}}{element}")
    added.text = text
    return added


def _found(parent: Element, path: str) -> Element:
    found = parent.find("/".join(_tag(name) for name in path.split("/")))
    if found is None:
        raise AssertionError(f"the exporter must write {path}")
    return found
