"""The mutants that are no faults for a reason that `regression.mutation.equivalence` cannot see."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from regression.mutation.records import Record

__all__ = ["Listed", "listed_mutants", "match"]

_FILE: Final = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One entry.

    Parameters
    ----------
    unit : str
    what : str
        The fault, as a record says it.
    text : str
        The source line, without its number.
    reason : str
        Why no test can notice it.
    """

    unit: str
    what: str
    text: str
    reason: str


def listed_mutants(path: Path = _FILE) -> tuple[Listed, ...]:
    """Read the list.

    Raises
    ------
    ValueError
        For an entry without a reason, or of a mutant that is listed twice.
    """
    entries = tuple(Listed(**entry) for entry in tomllib.loads(path.read_text()).get("mutant", []))
    for entry in entries:
        if not entry.reason.strip():
            raise ValueError(f"reason must say something, not nothing, for {entry.unit}: {entry.what}")
    keys = [(entry.unit, entry.what, entry.text) for entry in entries]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"a mutant must be listed once, not {keys.count(key)} times: {key}")
    return entries


def match(entries: Iterable[Listed], records: Iterable[Record]) -> tuple[list[Record], list[Listed]]:
    """Find the survivors that are listed, and the entries that stand for none.

    Parameters
    ----------
    entries : iterable of Listed
    records : iterable of Record
        All mutants of the units that were tried.

    Returns
    -------
    excused : list of Record
    superfluous : list of Listed
        Of a unit among those tried, but killed, proven or not there.
    """
    records = list(records)
    open_records = {
        (record.unit, record.what, record.text): record
        for record in records
        if record.survived and record.proof != "equal"
    }
    units = {record.unit for record in records}
    excused, superfluous = [], []
    for entry in entries:
        if entry.unit not in units:
            continue
        record = open_records.get((entry.unit, entry.what, entry.text))
        if record is None:
            superfluous.append(entry)
        else:
            excused.append(record)
    return excused, superfluous
