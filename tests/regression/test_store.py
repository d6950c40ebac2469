"""The store of campaigns: what is damaged is told in a sentence, and the rest is kept."""

import random
import re
import sqlite3
from contextlib import closing

import pytest
from dask import config
from planted_kinds import Squares, planted

from regression.campaign.__main__ import main
from regression.campaign.kind import Case, Outcome, Report, Task
from regression.campaign.store import _NAMED, _TASK, Store, StoreError
from regression.identity import Identity

HERE = Identity(commit="c", tools={"python": "3"})
EARLIER = Identity(commit="b", tools={"python": "3"})
KIND = Squares(5, Squares.options)
TASKS = [Task(key=f"square {number}", arguments={"number": number}) for number in range(6)]
VALUES = (
    "'soon'",
    "x'00ff80'",
    "cast(x'ff41' as text)",
    "9e999",
    "-1e300",
    "9223372036854775807",
    "''",
    "2.5",
)
COLUMNS = {
    "task": [*_TASK.split(", "), "checksum"],
    "campaign": [*_NAMED.split(", "), "began", "checksum"],
}


pytestmark = pytest.mark.usefixtures(planted.__name__)


def report(number):
    return Report(outcome=Outcome(cases=(Case(name="a"),), results=number), seconds=1, worker="w")


def damages(table):
    """Each column with each value; one in eight in the quick suite, every column and value among them."""
    for place, column in enumerate(COLUMNS[table]):
        for number, value in enumerate(VALUES):
            is_quick = number == place % len(VALUES)
            yield pytest.param(column, value, marks=() if is_quick else pytest.mark.long)


def opened(place, identity=HERE):
    return closing(Store(place, KIND, identity))


def add(store, tasks):
    store.add((task, report(10 + task.arguments["number"])) for task in tasks)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a store with two campaigns."""
    place = tmp_path_factory.mktemp("whole") / "store.sqlite"
    for identity in (EARLIER, HERE):
        with opened(place, identity) as store:
            add(store, TASKS)
    return place.read_bytes()


def found_in(place):
    """Results by task, the results in the history, and what is told of damage."""
    with opened(place) as store:
        results = {task.key: outcome.results for task, outcome in store.outcomes()}
        history = store.history()
        return results, [row[2] for row in history], list(store.damaged.values())


def test_a_whole_store_is_read_as_it_was_written(whole, tmp_path):
    place = tmp_path / "store.sqlite"
    place.write_bytes(whole)
    assert found_in(place) == ({f"square {n}": 10 + n for n in range(6)}, [75, 75], [])


@pytest.mark.parametrize(("column", "value"), [*damages("task")])
def test_a_damaged_task_is_told_and_runs_again_and_the_others_are_kept(whole, tmp_path, column, value):
    place = tmp_path / "store.sqlite"
    place.write_bytes(whole)
    with closing(sqlite3.connect(place)) as database:
        database.execute(f"update task set {column} = {value} where campaign = 2 and key = 'square 3'")
        database.commit()
    results, _, told = found_in(place)
    expected = {task.key: 10 + task.arguments["number"] for task in TASKS}
    assert results == {key: count for key, count in expected.items() if key != "square 3"}
    if column != "campaign":  # of another campaign, or of none
        assert re.fullmatch(
            r"store \S+: the row of task .{1,60} is damaged; the task runs again", told[0], re.DOTALL
        )
    with opened(place) as store:
        assert len(list(store.outcomes())) == 5
        add(store, [TASKS[3]])
    assert found_in(place)[0] == expected


@pytest.mark.parametrize(("column", "value"), [*damages("campaign")])
def test_a_damaged_campaign_is_left_out_of_the_history(whole, tmp_path, column, value):
    place = tmp_path / "store.sqlite"
    place.write_bytes(whole)
    with closing(sqlite3.connect(place)) as database:
        database.execute(f"update campaign set {column} = {value} where id = 1")
        database.commit()
    results, history, told = found_in(place)
    assert (len(results), history) == (6, [75])
    if column != "kind":
        (sentence,) = told
        assert re.search(
            r"the row of the campaign with seed .* is damaged; the history is without it$", sentence
        )


def test_values_that_were_swapped_between_two_tasks_are_noticed(whole, tmp_path):
    place = tmp_path / "store.sqlite"
    place.write_bytes(whole)
    with closing(sqlite3.connect(place)) as database:
        rows = dict(database.execute("select key, outcome from task where campaign = 2"))
        for key, other in (("square 1", "square 2"), ("square 2", "square 1")):
            database.execute("update task set outcome = ? where campaign = 2 and key = ?", (rows[other], key))
        database.commit()
    results, _, told = found_in(place)
    assert len(results) == 4
    assert len(told) == 2


def test_any_bytes_of_the_file_may_be_damaged(whole, tmp_path):
    """What is read is right, whatever is damaged: some bytes, a page, or the end of the file."""
    dice, place = random.Random(7), tmp_path / "store.sqlite"
    kept, refused = 0, 0
    for turn in range(60):
        damaged = bytearray(whole)
        if turn % 3 == 0:
            for _ in range(dice.randrange(1, 9)):
                damaged[dice.randrange(len(whole))] = dice.randrange(256)
        elif turn % 3 == 1:
            page = 4096 * dice.randrange(len(whole) // 4096)
            damaged[page : page + 4096] = dice.choice([bytes(4096), dice.randbytes(4096)])
        else:
            del damaged[dice.randrange(1, len(whole)) :]
        for left in tmp_path.glob("store.sqlite*"):
            left.unlink()
        place.write_bytes(damaged)
        try:
            results, _, told = found_in(place)
        except StoreError as error:
            refused += re.fullmatch(r"store \S+: [^\n]+; [^\n]+", str(error)) is not None
        else:
            assert all(results[key] == 10 + int(key[-1]) for key in results)
            assert len(told) <= 12
            kept += 1
    assert kept + refused == 60
    assert min(kept, refused) > 10


def test_numbers_beyond_what_a_store_holds_are_refused(capsys, tmp_path):
    for option in ("--seed", "--results"):
        assert main(["squares", option, str(1 << 63), "--store", str(tmp_path / "s")]) == 2
        assert option in capsys.readouterr().err
    assert main(["squares", "--seed", "-1"]) == 2
    assert main(["squares", "--time", "9" * 400 + "d"]) == 2
    assert "expected at most ten years" in capsys.readouterr().err
    with pytest.raises(StoreError, match="too large"):
        Store(tmp_path / "s", Squares(1 << 63, Squares.options), HERE)


def test_an_older_file_without_checksums_is_refused_in_a_sentence(tmp_path):
    place = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(place)) as database:
        database.execute("create table task (campaign integer, key text)")
        database.execute("create table campaign (id integer primary key, kind text, seed integer)")
    with pytest.raises(StoreError, match="names another file"):
        Store(place, KIND, HERE)


@pytest.mark.parametrize(
    "address", ["nonsense", "", "tcp://", "http://127.0.0.1:9", "tcp://127.0.0.1:9", "inproc://1"]
)
def test_no_address_of_a_scheduler_ends_in_a_traceback(address, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(config.get("distributed.comm.timeouts"), "connect", "0.3s")
    places = ("--store", str(tmp_path / "s.sqlite"), "--report", str(tmp_path / "r"))
    assert main(["squares", "--scheduler", address, *places]) == 2
    assert re.fullmatch(
        rf"openwmma: scheduler {re.escape(address)} cannot be reached: [^\n]+\n", capsys.readouterr().err
    )
