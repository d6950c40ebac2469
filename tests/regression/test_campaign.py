"""Campaigns lose nothing: workers, scheduler and client are killed, and the store is as without that."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from distributed import KilledWorker
from junitparser import JUnitXml
from planted_kinds import COUNT, Squares, planted

from openwmma.gpu.certify import Line
from openwmma.usage_error import UsageError
from regression.campaign.__main__ import main
from regression.campaign.client import Amount, Campaign
from regression.campaign.kind import Case, Outcome, Report, Task
from regression.campaign.kinds import chip
from regression.campaign.store import Store, StoreError
from regression.identity import Identity, identity

ROOT = Path(__file__).parents[2]
LIMIT = 240
# Each of the two signals ends a campaign in one quick test.
LONG_SIGINT, LONG_SIGTERM = (
    pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGINT, signal.SIGTERM)
)

# What a shell starts in the background ignores SIGINT, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


def environment(**variables):
    paths = [str(ROOT), str(Path(__file__).parent)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"} | variables


def start(*arguments, **variables):
    """Start a process of Python in a group of its own."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def campaign(folder, *options, kind="squares", **variables):
    """Start a campaign with its store and report in a folder."""
    places = ("--store", folder / "store.sqlite", "--report", folder / "report", "--jobs", "2")
    seed = () if "--seed" in options else ("--seed", "5")
    return start("-m", "planted_kinds", kind, *map(str, places), *seed, *options, **variables)


def ended(process):
    """Exit code, output and errors of a process."""
    try:
        output, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        pytest.fail(f"it hangs: {output}{errors}")
    return process.returncode, output, errors


def rows(folder):
    """What the store has of each task that no time or place can change."""
    found = []
    # Not read-only: a client that was killed may have left a journal to be rolled back.
    with sqlite3.connect(folder / "store.sqlite") as database:
        for key, arguments, packed in database.execute("select key, arguments, outcome from task"):
            outcome = Outcome.unpacked(packed)
            failed = [(case.name, case.failure.splitlines()[-1]) for case in outcome.failures]
            found.append((key, arguments, outcome.results, outcome.data, failed))
    return sorted(found)


def wait_for(process, condition):
    """Wait until something holds of a campaign that goes on."""
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit and process.poll() is None:
        if condition():
            return
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    output, errors = process.communicate()
    pytest.fail(f"it did not come to {condition.__name__} in {LIMIT} s: {output}{errors}")


def wait_for_rows(process, folder, count):
    """Wait until a campaign has recorded so many tasks; it has the file locked, so the bytes are searched."""
    place = folder / "store.sqlite"

    def rows_of_tasks():
        content = place.read_bytes() if place.exists() else b""
        return len(set(re.findall(rb"square (\d\d)", content))) >= count

    wait_for(process, rows_of_tasks)


def workers(pid):
    """Worker processes of a local cluster: another child of the client forks them."""
    return [worker.pid for child in psutil.Process(pid).children() for worker in child.children()]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    code, output, errors = ended(campaign(folder))
    assert code == 1, output + errors
    return folder, output


def test_every_task_is_recorded_once_with_its_outcome(undisturbed):
    folder, output = undisturbed
    found = rows(folder)
    assert [key for key, *_ in found] == [f"square {number:02}" for number in range(COUNT)]
    assert [data for *_, data, _ in found if data is not None] == [
        5 + number**2 for number in range(COUNT) if number != 11
    ]
    assert [failed for *_, failed in found if failed] == [
        [("square 07", "wrong")],
        [("square 11", "ArithmeticError: eleven")],
    ]
    assert f"squares, seed 5: {COUNT} tasks, {COUNT - 1} squares, 2 failures" in output
    assert "openwmma campaign squares --seed 5 --only 'square 07'" in output


def test_the_report_and_the_junit_file_name_each_failure_and_its_command(undisturbed):
    folder, _ = undisturbed
    page = (folder / "report" / "index.html").read_text()
    assert page.count('<pre class="command">') == 2
    assert "--only &#39;square 07&#39;" in page
    assert page.count("data:image/png;base64,") == 2
    (suite,) = JUnitXml.fromfile(str(folder / "report" / "junit.xml"))
    assert (suite.tests, suite.failures) == (COUNT, 2)
    failed = {case.name: case.result[0].text for case in suite if case.result}
    assert failed["square 07"] == "wrong\nopenwmma campaign squares --seed 5 --only 'square 07'"


def test_the_same_command_does_nothing_again(undisturbed):
    folder, _ = undisturbed
    before = rows(folder)
    code, output, _ = ended(campaign(folder))
    assert code == 1
    assert f"{COUNT} tasks recorded" in output
    assert rows(folder) == before


def test_the_printed_command_repeats_a_failure(undisturbed):
    code, output, _ = ended(start("-m", "planted_kinds", "squares", "--seed", "5", "--only", "square 07"))
    assert (code, output) == (1, "square 07: wrong\n")


def test_killed_workers_and_clients_change_nothing(undisturbed, tmp_path):
    """All workers at once, and Dask drops them before they can come back by themselves."""
    process = campaign(tmp_path, DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT="0.1s")
    wait_for_rows(process, tmp_path, 4)
    for worker in workers(process.pid):
        os.kill(worker, signal.SIGKILL)
    wait_for_rows(process, tmp_path, 12)
    os.kill(workers(process.pid)[0], signal.SIGKILL)
    wait_for_rows(process, tmp_path, 18)
    os.killpg(process.pid, signal.SIGKILL)
    ended(process)
    assert 18 <= len(rows(tmp_path)) < COUNT
    code, output, errors = ended(campaign(tmp_path))
    assert code == 1, output + errors
    assert not output.count(" 0 tasks recorded")
    assert rows(tmp_path) == rows(undisturbed[0])


@pytest.mark.parametrize("number", [signal.SIGINT, LONG_SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_campaign_says_so_in_a_sentence_and_resumes(number, undisturbed, tmp_path):
    process = campaign(tmp_path)
    wait_for_rows(process, tmp_path, 1)
    os.kill(process.pid, number)
    code, _, errors = ended(process)
    assert code == 130
    assert re.fullmatch(r"interrupted; \d+ tasks are recorded, and --seed 5 resumes\n", errors)
    assert ended(campaign(tmp_path))[0] == 1
    assert rows(tmp_path) == rows(undisturbed[0])


@pytest.mark.parametrize("number", [LONG_SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_what_tasks_have_started_ends_with_the_campaign(number, tmp_path):
    log = tmp_path / "started"
    process = campaign(tmp_path, "--path", "0", "--path", str(log), kind="starting")

    def two_processes():
        return log.exists() and len(log.read_text().splitlines()) == 2

    wait_for(process, two_processes)
    started = [psutil.Process(int(line)) for line in log.read_text().splitlines()]
    os.kill(process.pid, number)
    assert ended(process)[0] == 130
    # Those whose parent has ended may not have been waited for.
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in started)


def test_a_command_that_is_terminated_ends_its_campaign(tmp_path):
    options = ("--time", "10m", "--seed", "5", "--jobs", "1", "--store", str(tmp_path / "store.sqlite"))
    process = start("-m", "openwmma", "campaign", "random", "--preset", "tiny", *options)
    assert process.stdout.readline().startswith("random: seed 5")
    time.sleep(1)
    (child,) = psutil.Process(process.pid).children()
    process.terminate()
    code, _, errors = ended(process)
    assert code == 130
    assert "tasks are recorded, and --seed 5 resumes\n" in errors
    assert not child.is_running()


def test_a_campaign_runs_from_any_folder(tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from openwmma.cli import main; sys.exit(main())"
    )
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", program, str(ROOT), "campaign", "random", "--preset", "none"]
    ran = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert re.fullmatch(r"openwmma: --preset: expected one of [^\n]+, not none\n", ran.stderr), ran.stderr


class Killed:
    status = "finished"

    def result(self):
        self.status = "error"
        raise KilledWorker("work", None, 0)

    def exception(self):
        return KilledWorker("work", None, 0)


class Lost:
    status = "lost"


@pytest.mark.parametrize("ended", [Killed, Lost])
def test_a_task_is_done_again_whose_worker_dies_before_the_result_is_fetched(ended, tmp_path):
    kind = Squares(1, Squares.options)
    one = Campaign(kind, Store(tmp_path / "store.sqlite", kind, HERE), Amount())
    assert one._report(ended(), next(kind.tasks())) is None, "to be done again"


def test_a_task_that_kills_three_workers_is_a_failure_and_the_others_go_on(tmp_path):
    options = ("--path", "0.01", "--path", str(tmp_path / "deaths"))
    code, output, errors = ended(campaign(tmp_path, *options, kind="deadly"))
    assert code == 1, output + errors
    assert len((tmp_path / "deaths").read_text().splitlines()) == 3
    failed = [item for *_, failed in rows(tmp_path) for item in failed]
    assert ("square 03", "ended its worker 3 times") in failed
    assert len(failed) == 3
    assert len(rows(tmp_path)) == COUNT
    assert "--seed 5" in output


@pytest.fixture
def cluster():
    """Starts schedulers and workers by hand, as the documentation says, and ends them."""
    started = []

    def launch(program, *options, **variables):
        process = start("-m", f"distributed.cli.dask_{program}", *options, **variables)
        started.append(process)
        return process

    yield launch
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def scheduler_of(launch, port="0"):
    process = launch("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    for line in process.stderr:
        if match := re.search(r"Scheduler at: +(tcp://\S+)", line):
            return process, match[1]
    pytest.fail("the scheduler has no address")


def add_worker(launch, address, **variables):
    """Start a worker, and wait until the scheduler has it."""
    options = ("--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--no-nanny")
    process = launch("worker", address, *options, **variables)
    if not any("Registered to" in line for line in process.stderr):
        pytest.fail(f"the worker ended with {process.wait()}")


def test_a_campaign_survives_its_scheduler(undisturbed, cluster, tmp_path):
    scheduler, address = scheduler_of(cluster)
    for _ in range(2):
        add_worker(cluster, address)
    process = campaign(tmp_path, "--scheduler", address)
    wait_for_rows(process, tmp_path, 8)
    os.killpg(scheduler.pid, signal.SIGKILL)
    code, _, errors = ended(process)
    assert code == 2
    assert re.search(
        r"^openwmma: the scheduler is gone; \d+ tasks are recorded, and .*resumes$", errors, re.M
    )
    assert "Traceback" not in errors
    assert 8 <= len(rows(tmp_path)) < COUNT
    _, address = scheduler_of(cluster)
    add_worker(cluster, address)
    code, output, errors = ended(campaign(tmp_path, "--scheduler", address))
    assert code == 1, output + errors
    assert rows(tmp_path) == rows(undisturbed[0])


def test_an_unreachable_scheduler_is_told_in_a_sentence(tmp_path):
    settings = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    code, _, errors = ended(campaign(tmp_path, "--scheduler", "tcp://127.0.0.1:9", **settings))
    assert code == 2
    assert re.fullmatch(r"openwmma: scheduler tcp://127.0.0.1:9 cannot be reached: [^\n]+\n", errors)


def test_a_worker_of_another_commit_is_refused_in_a_sentence(undisturbed, cluster, tmp_path):
    """Beside it one of this commit does all tasks; alone it ends the campaign."""
    _, address = scheduler_of(cluster)
    other = {"DASK_DISTRIBUTED__WORKER__PRELOAD": "planted_commit"}
    add_worker(cluster, address, **other)
    code, _, errors = ended(campaign(tmp_path, "--scheduler", address))
    assert code == 2
    sentence = r"worker tcp://\S+ is refused: its sources must be \S+, not another-commit"
    assert re.search(sentence, errors)
    assert "openwmma: no worker is left; 0 tasks are recorded" in errors
    add_worker(cluster, address)
    add_worker(cluster, address, **other)
    code, output, errors = ended(campaign(tmp_path, "--scheduler", address))
    assert code == 1, output + errors
    assert re.search(sentence, errors)
    assert rows(tmp_path) == rows(undisturbed[0])


def test_a_full_disk_is_told_in_a_sentence_and_the_store_resumes(undisturbed, tmp_path):
    process = start(
        "-c",
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20480, 20480));"
        "import planted_kinds; sys.exit(planted_kinds.main())",
        *("squares", "--seed", "5", "--jobs", "1"),
        *("--store", str(tmp_path / "store.sqlite"), "--report", str(tmp_path / "report")),
    )
    code, _, errors = ended(process)
    assert code == 2, errors
    assert re.search(
        r"^openwmma: store \S+: .+; what is recorded stays, and the same command resumes$", errors, re.M
    )
    assert "Traceback" not in errors
    assert 0 < len(rows(tmp_path)) < COUNT
    assert ended(campaign(tmp_path))[0] == 1
    assert rows(tmp_path) == rows(undisturbed[0])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), r"expected a kind of campaign, one of random, .*, not nothing"),
        (("random", "--unit", "uart"), "--unit: random takes --preset, --set, --type"),
        (("random", "--preset", "huge"), r"--preset: expected one of .*, not huge"),
        (("random", "--type", "f128"), r"--type: expected one of .*, not f128"),
        (("results", "--family", "mma.f128"), r"--family: expected one of .*, not mma.f128"),
        (("mutation", "--unit", "uarts"), r"--unit: unit must be one of .*, not uarts"),
        (("kernels",), "--launch: expected at least one launch file"),
        (("kernels", "--launch", "none.json"), r"there is no launch file none.json"),
        (("kernels", "--launch", "."), r"there is no launch file \."),
        (("kernels", "--launch", os.devnull), rf"{os.devnull}: not JSON .*"),
        (("tests", "--until-covered"), r"--until-covered: expected a kind with coverage, .*, not tests"),
        (("random", "--time", "soon"), "--time: expected a number with s, m, h or d, as in 30m, not soon"),
        (
            ("random", "--seed", str(1 << 64)),
            f"Invalid value for '--seed': expected less than or equal to {(1 << 63) - 1}, not {1 << 64}",
        ),
        (("squares", "--only", "square 99"), "--only: squares has no task square 99"),
    ],
)
@pytest.mark.usefixtures(planted.__name__)
def test_what_cannot_be_done_is_told_before_anything_runs(capsys, arguments, sentence):
    assert main(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert re.fullmatch(f"openwmma: {sentence}\n", errors)


def report(number):
    return Report(outcome=Outcome(cases=(Case(name="a"),), results=number), seconds=1, worker="w")


HERE = Identity(commit="c", tools={"python": "3"})


def test_a_store_holds_a_task_once_and_keeps_campaigns_apart(tmp_path):
    place = tmp_path / "store.sqlite"
    first = Store(place, Squares(1, Squares.options), HERE)
    task = Task(key="a", arguments={})
    first.add([(task, report(1))])
    with pytest.raises(StoreError, match="UNIQUE"):
        first.add([(Task(key="b", arguments={}), report(2)), (task, report(3))])
    assert [(item.key, outcome.results) for item, outcome in first.outcomes()] == [("a", 1)]
    with pytest.raises(StoreError, match="another campaign writes it; what is recorded stays"):
        Store(place, Squares(1, Squares.options), HERE)
    first.close()
    others = [
        (Squares(2, Squares.options), HERE),
        (Squares(1, {"path": ["1"]}), HERE),
        (Squares(1, Squares.options), Identity(commit="d", tools=HERE.tools)),
        (Squares(1, Squares.options), Identity(commit="c", tools={"python": "4"})),
    ]
    for kind, other in others:
        store = Store(place, kind, other)
        assert list(store.outcomes()) == []
        store.close()
    store = Store(place, *others[0])
    assert [row[2] for row in store.history()] == [1, 0, 0, 0, 0]
    store.close()


def test_a_file_that_is_no_store_is_refused(tmp_path):
    place = tmp_path / "store.sqlite"
    place.write_text("something else, and longer than the header of a database" * 20)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(place, Squares(1, Squares.options), HERE)
    assert place.read_text().startswith("something else")


def test_identities_differ_by_one_thing_told():
    assert HERE.difference(HERE) is None
    other = Identity(commit="c", tools={"python": "4"})
    assert HERE.difference(other) == "its python must be 3, not 4"
    assert identity() == identity()
    assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]{12}", identity().commit)


@pytest.mark.parametrize("wrong", [0, 2])
def test_a_chip_is_compared_by_instruction(monkeypatch, wrong):
    def compared(text, seed, profile):
        assert (seed, profile) == (7, "ampere")
        return text, Line(100, wrong, ("example",) * wrong)

    monkeypatch.setattr(chip, "compare", compared)
    kind = chip.Chip(7, {"profile": "ampere"})
    kind.require()
    task = next(kind.tasks())
    outcome = kind.run(task)
    assert outcome.results == 100
    assert [case.failure for case in outcome.cases] == ["2 of 100 differ: example" if wrong else ""]
    assert len(outcome.failures) == (wrong > 0)
    with pytest.raises(UsageError, match="--profile pascal"):
        chip.Chip(7, {"profile": "pascal"}).require()
