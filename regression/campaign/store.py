"""Where campaigns keep what they have done: one SQLite file, written by the client alone.

Only the client writes, so a file on shared storage serves any cluster, and Python's own `sqlite3` suffices.
Each row has a checksum: SQLite notices a damaged structure, but takes any bytes for a value.
"""

import json
import math
import re
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from openwmma.usage_error import UsageError
from regression.campaign.kind import Kind, Outcome, Report, Task
from regression.identity import Identity

_SCHEMA: Final = """
create table if not exists campaign (
    id integer primary key, kind text not null, seed integer not null, configuration text not null,
    sources text not null, tools text not null, began real not null, checksum integer not null,
    unique (kind, seed, configuration, sources, tools));
create table if not exists task (
    campaign integer not null references campaign, key text not null, arguments text not null,
    results integer not null, failures integer not null, seconds real not null, worker text not null,
    ended real not null, outcome blob not null, checksum integer not null,
    primary key (campaign, key)) without rowid;
"""

_FOREIGN: Final = "schema|no such|no column|has .* columns"
"""In SQLite's words about a file whose tables are not these."""

_NAMED: Final = "kind, seed, configuration, sources, tools"
_TASK: Final = "campaign, key, arguments, results, failures, seconds, worker, ended, outcome"


class StoreError(UsageError):
    """A store that cannot be opened or written."""


class Store:
    """A campaign in a store.

    The campaign of the same kind, seed, configuration, sources and tools is resumed, or a new one begins.
    Another process that opens the file meanwhile is refused. StoreError for a file that is no store, that
    another campaign writes, that cannot be written, or in which SQLite finds its way no more.
    """

    def __init__(self, path: Path, kind: Kind, identity: Identity) -> None:
        self._path = path
        self._lost: set[Any] = set()
        self.damaged: dict[str, str] = {}
        """Rows found so far that are not as they were written, with a sentence about each."""
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, isolation_level=None, timeout=0)
            self._database.text_factory = lambda text: text.decode(errors="surrogateescape")
            self._database.execute("pragma locking_mode = exclusive")
            self._database.execute("pragma synchronous = full")
            self._database.execute("begin exclusive")
            for statement in _SCHEMA.split(";"):
                self._database.execute(statement)
            named = (kind.name, kind.seed, _text(kind.configuration), identity.commit, _text(identity.tools))
            self._kind, began = kind.name, time.time()
            self._database.execute(
                f"insert or ignore into campaign ({_NAMED}, began, checksum) values (?, ?, ?, ?, ?, ?, ?)",
                (*named, began, _checksum((*named, began))),
            )
            query = f"select id from campaign where ({_NAMED}) = (?, ?, ?, ?, ?)"
            found = self._database.execute(query, named)
            self._campaign = int(found.fetchone()[0])
            self._database.execute("commit")

    def add(self, ended: Iterable[tuple[Task, Report]]) -> None:
        """Record tasks that are not recorded yet, in one transaction; on the disk when this returns."""
        now = time.time()
        rows = [
            (
                self._campaign,
                task.key,
                _text(task.arguments),
                report.outcome.results,
                len(report.outcome.failures),
                float(report.seconds),
                report.worker,
                now,
                report.outcome.packed(),
            )
            for task, report in ended
        ]
        with self._explained(), self._database:
            self._database.execute("begin")
            lost = [row[:2] for row in rows if row[1] in self._lost]
            self._database.executemany("delete from task where campaign = ? and key = ?", lost)
            self._database.executemany(
                "insert into task values (?,?,?,?,?,?,?,?,?,?)", [(*row, _checksum(row)) for row in rows]
            )

    def outcomes(self) -> Iterator[tuple[Task, Outcome]]:
        """All tasks of the campaign with their outcomes, in the order of their keys; none that is damaged."""
        with self._explained():
            rows = self._database.execute(
                f"select {_TASK}, checksum from task where campaign = ? order by key", (self._campaign,)
            )
            for *row, checksum in rows:
                _, key, arguments, *_, outcome = row
                if _checksum(tuple(row)) == checksum:
                    yield Task(key=key, arguments=json.loads(arguments)), Outcome.unpacked(outcome)
                else:
                    self._lost.add(key)
                    self._note(f"of task {ascii(key)[:60]}", "the task runs again")

    def history(self) -> list[tuple[str, float, int, int, float]]:
        """Sources, begin, results, failures and seconds of all campaigns of this kind, the oldest first.

        Campaigns that are damaged are left out, and what is no number counts as none.
        """
        found = []
        with self._explained():
            rows = self._database.execute(
                f"select {_NAMED}, began, campaign.checksum, total(results), total(failures), total(seconds) "
                "from campaign left join task on campaign = id where kind = ? group by id order by began, id",
                (self._kind,),
            )
            for *row, checksum, results, failures, seconds in rows:
                is_whole = _checksum(tuple(row)) == checksum
                if is_whole and all(map(math.isfinite, (results, failures, seconds))):
                    found.append((row[3], row[5], int(results), int(failures), seconds))
                else:
                    self._note(f"of the campaign with seed {ascii(row[1])[:60]}", "the history is without it")
        return found

    def _note(self, row: str, consequence: str) -> None:
        self.damaged[row] = f"store {self._path}: the row {row} is damaged; {consequence}"

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OverflowError, UnicodeDecodeError, OSError) as error:
            reason, remedy = str(error), "what is recorded stays, and the same command resumes"
            if isinstance(error, sqlite3.OperationalError) and "locked" in reason:
                reason = "another campaign writes it"
            elif type(error) in (sqlite3.DatabaseError, UnicodeDecodeError) or re.search(_FOREIGN, reason):
                remedy = "sqlite3's .recover saves what can be read, and --store names another file"
            raise StoreError(f"store {self._path}: {reason}; {remedy}") from None


def _checksum(row: tuple[Any, ...]) -> int:
    """Of the values of a row and their types."""
    return zlib.crc32(ascii(row).encode())


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
