"""Where campaigns keep what they have done: one SQLite file, written by the client alone.

Only the client writes, so a file on shared storage serves any cluster, and Python's own `sqlite3` suffices.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from openwmma.usage_error import UsageError
from regression.campaign.identity import Identity
from regression.campaign.kind import Kind, Outcome, Report, Task

_SCHEMA: Final = """
create table if not exists campaign (
    id integer primary key, kind text not null, seed integer not null, configuration text not null,
    sources text not null, tools text not null, began real not null,
    unique (kind, seed, configuration, sources, tools));
create table if not exists task (
    campaign integer not null references campaign, key text not null, arguments text not null,
    results integer not null, failures integer not null, seconds real not null, worker text not null,
    ended real not null, outcome blob not null, primary key (campaign, key)) without rowid;
"""


class StoreError(UsageError):
    """A store that cannot be opened or written."""


class Store:
    """A campaign in a store.

    The campaign of the same kind, seed, configuration, sources and tools is resumed, or a new one begins.
    Another process that opens the file meanwhile is refused. StoreError for a file that is no store, that
    another campaign writes, or that cannot be written.
    """

    def __init__(self, path: Path, kind: Kind, identity: Identity) -> None:
        self._path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, isolation_level=None, timeout=0)
            self._database.execute("pragma locking_mode = exclusive")
            self._database.execute("pragma synchronous = full")
            self._database.execute("begin exclusive")
            for statement in _SCHEMA.split(";"):
                self._database.execute(statement)
            named = (kind.name, kind.seed, _text(kind.configuration), identity.commit, _text(identity.tools))
            self._database.execute(
                "insert or ignore into campaign (kind, seed, configuration, sources, tools, began) "
                "values (?, ?, ?, ?, ?, ?)",
                (*named, time.time()),
            )
            ((self._campaign,),) = self._database.execute(
                "select id from campaign where kind = ? and seed = ? and configuration = ? and sources = ? "
                "and tools = ?",
                named,
            )
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
                report.seconds,
                report.worker,
                now,
                report.outcome.packed(),
            )
            for task, report in ended
        ]
        with self._explained(), self._database:
            self._database.execute("begin")
            self._database.executemany("insert into task values (?,?,?,?,?,?,?,?,?)", rows)

    def outcomes(self) -> Iterator[tuple[Task, Outcome]]:
        """All tasks of the campaign with their outcomes, in the order of their keys."""
        with self._explained():
            rows = self._database.execute(
                "select key, arguments, outcome from task where campaign = ? order by key", (self._campaign,)
            )
            for key, arguments, outcome in rows:
                yield Task(key=key, arguments=json.loads(arguments)), Outcome.unpacked(outcome)

    def history(self) -> list[tuple[str, float, int, int, float]]:
        """Sources, begin, results, failures and seconds of all campaigns of this kind, the oldest first."""
        with self._explained():
            return self._database.execute(
                "select sources, began, coalesce(sum(results), 0), coalesce(sum(failures), 0), "
                "coalesce(sum(seconds), 0) from campaign left join task on campaign = id "
                "where kind = (select kind from campaign where id = ?) group by id order by began, id",
                (self._campaign,),
            ).fetchall()

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            reason = "another campaign writes it" if busy else str(error)
            raise StoreError(
                f"store {self._path}: {reason}; what is recorded stays, and the same command resumes"
            ) from None


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
