"""What is claimed of a unit: conditions that hold in every cycle, and what is assumed of its inputs."""

from collections.abc import Iterator
from typing import Any

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Assert,
    Assume,
    Const,
    Elaboratable,
    Fragment,
    MemoryInstance,
    Module,
    ShapeLike,
    Signal,
    Value,
    ValueLike,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from formal.trace import ASSUMED, CLAIMED
from hdl.stream.pipeline import delay


class Opened(Elaboratable):
    """A component of which the signals inside can be named, as an invariant needs them.

    Parameters
    ----------
    component : wiring.Component
    """

    def __init__(self, component: wiring.Component) -> None:
        self._fragment = Fragment.get(component, None)

    def signal(self, path: str) -> Signal:
        """The signal that is assigned in the unit, or in one inside it, under a name.

        Ports of the units inside of that one are not looked at.

        Parameters
        ----------
        path : str
            The names of the units from outside in, and of the signal, with dots between them.

        Raises
        ------
        LookupError
            If there is none, or more than one.
        """
        *units, wanted = path.split(".")
        fragment = self.inside(units)
        ports = {id(port) for part, *_ in fragment.subfragments for port in _ports(part)}
        named = [signal for signal in _assigned(fragment) if signal.name == wanted]
        found = {id(signal): signal for signal in named if id(signal) not in ports}
        if len(found) != 1:
            raise LookupError(f"A path must name one signal, but {path} names {len(found)}")
        return next(iter(found.values()))

    def inside(self, units: list[str]) -> Fragment:
        """What became of a unit inside, by the names from outside in."""
        fragment = self._fragment
        for unit in units:
            parts = {str(name): part for part, name, *_ in fragment.subfragments}
            if unit not in parts:
                raise LookupError(f"Units inside are {', '.join(parts) or 'none'}, not {unit}")
            fragment = parts[unit]
        return fragment

    def elaborate(self, platform: object) -> Fragment:
        """Return what became of the component."""
        return self._fragment


class Claim:
    """A design of units and of conditions on them; `formal.runner.prove` shows that it holds.

    Every input port of a unit is free: it has any value in any cycle that the assumptions allow. There is no
    reset but that before the first cycle.

    Attributes
    ----------
    module : Module
        For signals of the claim's own.
    ports : list of Signal
        The free inputs.
    """

    def __init__(self) -> None:
        self.module = Module()
        self.ports: list[Signal] = []
        self._started: Signal | None = None

    def include(self, component: wiring.Component, name: str = "unit") -> Opened:
        """Add a unit; its input ports become free inputs."""
        opened = Opened(component)
        self.module.submodules[name] = opened
        for _, member, signal in component.signature.flatten(component):
            if member.flow == In:
                self.ports.append(Value.cast(signal))
        return opened

    def free(self, shape: ShapeLike, name: str) -> Any:
        """A further input, with any value in any cycle."""
        signal = Signal(shape, name=name)
        self.ports.append(Value.cast(signal))
        return signal

    def chosen(self, shape: ShapeLike, name: str) -> Any:
        """Any value, the same in all cycles."""
        signal = Signal(shape, name=name)
        self.module.d.comb += Value.cast(signal).eq(AnyConst(len(Value.cast(signal))))
        return signal

    def word(self, opened: Opened, memory: str, address: ValueLike) -> Signal:
        """What a memory inside a unit holds at an address, read through a port that the unit does not have.

        Parameters
        ----------
        opened : Opened
        memory : str
            The names of the units from outside in, the last one the memory's.
        address : value-like

        Raises
        ------
        LookupError
            If there is no such memory.
        """
        fragment = opened.inside(memory.split("."))
        if not isinstance(fragment, MemoryInstance):
            raise LookupError(f"A path must name a memory, but {memory} names none")  # noqa: TRY004
        shape, depth = fragment._data.shape, fragment._data.depth
        name = memory.replace(".", "_")
        word = Signal(shape, name=f"{name}_word")
        place = Signal(range(depth), name=f"{name}_place")
        self.module.d.comb += place.eq(address)
        fragment.read_port(domain="comb", addr=place, data=Value.cast(word), en=Const(1), transparent_for=())
        return word

    def counter(self, name: str, most: int, *, more: ValueLike, fewer: ValueLike = 0) -> Signal:
        """A register that counts events up and others down, from 0 and as far as `most`."""
        count = Signal(range(most + 1), name=name)
        self.module.d.sync += count.eq(count + Value.cast(more) - Value.cast(fewer))
        return count

    def past(self, value: ValueLike, cycles: int = 1, *, name: str = "past") -> Any:
        """A value as it was some cycles ago; anything, while there were not as many."""
        return delay(self.module, Value.cast(value), cycles, name)

    @property
    def started(self) -> Signal:
        """Low in the first cycle, which has no past."""
        if self._started is None:
            self._started = Signal(name="started")
            self.module.d.sync += self._started.eq(1)
        return self._started

    def assume(self, name: str, condition: ValueLike) -> None:
        """Consider only what satisfies a condition in every cycle."""
        self.module.d.comb += Assume(self._named(ASSUMED + name, condition))

    def always(self, name: str, condition: ValueLike) -> None:
        """Claim that a condition holds in every cycle."""
        self.module.d.comb += Assert(self._named(CLAIMED + name, condition))

    def _named(self, name: str, condition: ValueLike) -> Signal:
        signal = Signal(name=name)
        self.module.d.comb += signal.eq(Value.cast(condition).any())
        return signal


def _assigned(fragment: Fragment) -> Iterator[Signal]:
    for statements in fragment.statements.values():
        for statement in statements:
            yield from statement._lhs_signals()


def _ports(fragment: Fragment) -> Iterator[Signal]:
    for origin in fragment.origins or ():
        if isinstance(origin, wiring.Component):
            for _, _, port in origin.signature.flatten(origin):
                yield Value.cast(port)


def implies(condition: ValueLike, consequence: ValueLike) -> Value:
    """Whether a consequence holds where its condition does."""
    return ~Value.cast(condition).any() | Value.cast(consequence).any()
