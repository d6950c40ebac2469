"""Which ports of the units within a component feed which, from its elaboration."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from amaranth.hdl import Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out

_NUMBERED: Final = re.compile(r"^(.+)_\d+$")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A submodule, or several equal ones.

    Parameters
    ----------
    name : str
        Of the submodule, without its number.
    kind : str
        Name of its class.
    count : int
        Submodules of that name.
    """

    name: str
    kind: str
    count: int


@dataclass(frozen=True, kw_only=True, order=True)
class Connection:
    """A port of a unit that feeds a port of another one.

    Parameters
    ----------
    source, target : str
        Names of the units; the component's own ports have theirs behind a colon, as in ``:memory``.
    port, target_port : str
        Of the source and of the target, without their numbers.
    bits, target_bits : int
        Of the payload of a stream, of the widest member of another interface, or of the signal, at either end
        the narrower.
    kind : {"stream", "interface", "signal"}
        A stream; another interface of several signals; a single signal.
    """

    source: str
    target: str
    port: str
    bits: int
    target_port: str
    target_bits: int
    kind: str


@dataclass(frozen=True)
class _Port:
    """One port of a unit: a member of its signature."""

    unit: str
    name: str
    kind: str
    bits: int


def units(component: wiring.Component) -> list[Unit]:
    """The submodules of a component, equal ones together."""
    found: dict[str, list[Any]] = defaultdict(list)
    for name, submodule in _submodules(_elaborated(component)).items():
        found[_unnumbered(name)].append(submodule)
    return [
        Unit(name=name, kind=type(members[0]).__name__, count=len(members)) for name, members in found.items()
    ]


def connections(component: wiring.Component) -> list[Connection]:
    """What the submodules and the ports of a component hand to one another, directly or through logic.

    An interface goes from the side that drives its ``Out`` members to the other one. Logic in between counts
    as a wire: a port that an arbiter shares is fed by all its users.
    """
    module = _elaborated(component)
    ports: dict[_Port, list[tuple[Signal, bool]]] = defaultdict(list)
    for name, submodule in _submodules(module).items():
        if isinstance(submodule, wiring.Component):
            _list_ports(ports, _unnumbered(name), submodule, outside=True)
    _list_ports(ports, "", component, outside=False)

    sources: dict[int, _Port] = {}
    for port, signals in ports.items():
        for signal, driven in signals:
            if driven:
                sources[id(signal)] = port
    drivers = _drivers(module)
    found = set[Connection]()
    for port, signals in ports.items():
        feeding = (
            source
            for signal, driven in signals
            if not driven
            for source in _feeding(signal, drivers, sources)
            if source.unit != port.unit
        )
        for source in feeding:
            is_signal = "signal" in (source.kind, port.kind)
            found.add(
                Connection(
                    source=source.unit or f":{_unnumbered(source.name)}",
                    target=port.unit or f":{_unnumbered(port.name)}",
                    port=_unnumbered(source.name),
                    bits=min(source.bits, port.bits) if is_signal else source.bits,
                    target_port=_unnumbered(port.name),
                    target_bits=port.bits,
                    kind="signal" if is_signal else source.kind,
                )
            )
    return sorted(found)


def mark_used(*components: Any) -> None:
    """Have Amaranth not warn of components that are drawn and not elaborated."""
    for component in components:
        component._MustUse__used = True


def _elaborated(component: wiring.Component) -> Any:
    module = component.elaborate(None)
    module._flush()  # an open m.If becomes a statement
    mark_used(component, module, *_submodules(module).values())
    return module


def _submodules(module: Any) -> dict[str, Any]:
    return {name: submodule for name, (submodule, _) in module._named_submodules.items()}


def _unnumbered(name: str) -> str:
    match = _NUMBERED.match(name)
    return match[1] if match else name


def _list_ports(
    ports: dict[_Port, list[tuple[Signal, bool]]], unit: str, component: wiring.Component, *, outside: bool
) -> None:
    """Add the signals of each port that go its own way, and whether the unit drives them.

    The answers of an interface, such as the ready of a stream, are left out. Seen from within, what comes
    into the component is driven by its port.
    """
    members = component.signature.members
    leaves: dict[str, list[tuple[bool, Signal]]] = defaultdict(list)
    for path, leaf, value in component.signature.flatten(component):
        name = str(path[0])
        if path[-1] != "valid":
            leaves[name].append((leaf.flow == members[name].flow, Value.cast(value)))
    for name, signals in leaves.items():
        member = members[name]
        forward = [signal for is_forward, signal in signals if is_forward]
        is_stream = member.is_signature and isinstance(member.signature, stream.Signature)
        kind = "stream" if is_stream else "interface" if member.is_signature else "signal"
        bits = max(len(signal) for _, signal in signals) if kind == "interface" else sum(map(len, forward))
        driven = (member.flow == Out) == outside
        ports[_Port(unit, name, kind, bits)].extend((signal, driven) for signal in forward)


def _drivers(module: Any) -> dict[int, list[Signal]]:
    """The signals that each signal depends on combinationally, by its identity."""
    found: dict[int, list[Signal]] = defaultdict(list)

    def visit(statements: Iterable[Any], conditions: tuple[Signal, ...]) -> None:
        for statement in statements:
            if hasattr(statement, "rhs"):
                read = (*statement.rhs._rhs_signals(), *conditions)
                for target in statement.lhs._lhs_signals():
                    found[id(target)].extend(read)
            else:
                tests = (*conditions, *statement.test._rhs_signals())
                for _, body, *_ in statement.cases:
                    visit(body, tests)

    visit(module._statements["comb"], ())
    return found


def _feeding(signal: Signal, drivers: dict[int, list[Signal]], sources: dict[int, _Port]) -> set[_Port]:
    """The ports whose signals reach a signal without a register in between."""
    found, seen, new = set[_Port](), set[int](), [signal]
    while new:
        current = new.pop()
        for driver in drivers.get(id(current), ()):
            if id(driver) in sources:
                found.add(sources[id(driver)])
            elif id(driver) not in seen:
                seen.add(id(driver))
                new.append(driver)
    return found
