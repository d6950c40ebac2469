"""Rules that say for a class of signals when nobody looks at them; each is proven with every mutant."""

import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_name("equivalent.toml")
_SAID: Final = ("unless", "while_valid", "only_while", "values")
"""Fields of a rule, of which one says what may differ."""

_CORE: Final = "core"
_PARTS: Final = {
    "sequencer": r"warps\.",
    "decoder": r"warps\.sequencer_0\.decoder\.",
    "access check": r"warps\.sequencer_0\.check\.",
}
"""Units whose rules hold in the whole core too, and where they are in it."""

_PAYLOAD: Final = r"(.*\b|.*_)payload\b.*"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What may differ between a unit and a mutant of it that is no fault.

    A rule of outputs is a contract of the interface. One of registers is an invariant of the two: the proof
    assumes it of a state, and shows it of the next one. At first both have the same state.
    """

    units: tuple[str, ...]
    """Names of `regression.mutation.units.Unit`."""
    signals: str
    """A regular expression of names of single bits, from the unit's top on."""
    reason: str
    unless: str = ""
    r"""Another one, where ``\1`` stands for the first group of `signals`: the signals count only while all of
    these are zero."""
    while_valid: str = ""
    """Likewise: the signals count only while one of these is one."""
    only_while: str = ""
    """Likewise: the signals are zero but while one of these is one."""
    codes: tuple[int, ...] = ()
    """Instead of "one is one": these, as one number, have one of these values."""
    of_ports: bool = False
    """A contract of outputs alone, where a guarded one is a register too."""
    of_part: bool = False
    """The rule of a part, which may have no such signals in the whole core."""
    values: tuple[int, ...] = ()
    """The only numbers that the signals of one name ever are; of inputs, an assumption. Zero is one of them,
    with which registers begin."""

    def bits(self, names: Iterable[str]) -> list[str]:
        """The names that it is about."""
        return list(filter(re.compile(self.signals).fullmatch, names))

    def guard(self, bit: str) -> str:
        """The regular expression of the names on which one depends; empty if on none."""
        pattern = self.unless or self.while_valid or self.only_while
        match = re.fullmatch(self.signals, bit)
        return re.sub(r"\\(\d)", lambda place: re.escape(match[int(place[1])]) if match else "", pattern)


def rules(path: Path = _FILE) -> tuple[Rule, ...]:
    """Read the rules; ValueError for one without a reason, or that says nothing or more than one thing."""
    found = []
    for entry in tomllib.loads(path.read_text()).get("rule", []):
        given: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in entry.items()
        }
        rule = Rule(**given)
        if not rule.reason.strip():
            raise ValueError(f"reason must say something, not nothing, for {rule.signals}")
        said = sum(bool(getattr(rule, name)) for name in _SAID)
        if said != 1:
            raise ValueError(f"a rule must say one thing, not {said}: {rule.signals}")
        if rule.values and 0 not in rule.values:
            raise ValueError(f"values must have 0, with which registers begin: {rule.signals}")
        found.append(rule)
    return tuple(found)


def rules_of(unit: str) -> list[Rule]:
    """The rules of a unit; of the whole core also what its parts' rules say of registers."""
    every = rules()
    found = [rule for rule in every if unit in rule.units]
    for part, place in _PARTS.items() if unit == _CORE else ():
        for rule in every:
            # Contracts of a part's ports are nothing to assume of wires.
            if part in rule.units and not rule.values:
                names = "signals", "unless", "while_valid", "only_while"
                own, whole = r"core\.", rf"inner\.core\.{place}"
                patterns = {name: getattr(rule, name).replace(own, whole) for name in names}
                found.append(replace(rule, units=(_CORE,), of_part=True, **patterns))
    return found


def stream_rules(names: Collection[str]) -> list[Rule]:
    """Nobody looks at a payload that is not offered, whether an output or in a register.

    The names are of single bits.
    """
    rule = Rule(units=(), signals=_PAYLOAD, while_valid=r"\1valid", reason="a payload without its valid")
    return [rule] if rule.bits(names) else []
