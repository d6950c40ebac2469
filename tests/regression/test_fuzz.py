"""The fuzzing suite finds planted defects, repeats its inputs, and finds nothing in a thousand."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import planted
import pytest

from openwmma import read_launches
from regression.campaign.kinds.fuzzing import Fuzz, shrink
from regression.fuzz.calls import NOT_CALLED, targets
from regression.fuzz.launches import launch_files
from regression.fuzz.saved import load, save
from regression.fuzz.worker import KINDS, Input, Limits, Worker, make

ROOT = Path(__file__).parents[2]
SMALL = Limits(seconds=1, memory=1 << 29)
TO_DEVICE = Input("array", files={"call.py": b"same(through_device, np.arange(3, dtype='>i4'))"})


def outcome(drawn, prepare=None, limits=SMALL):
    with Worker(replace(limits, prepare=prepare)) as worker:
        return worker.run(drawn)


def run(*command):
    """Exit code and output of a campaign in a process of its own, where planted kinds are known."""
    paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
    ran = subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("defect", "found"),
    [
        (planted.raises, "KeyError in golden/simt/buffers.py:device"),
        (planted.hangs, "takes too long: golden/simt/buffers.py:device"),
        (planted.eats_memory, "(Memory|_ArrayMemory)Error in golden/simt/buffers.py:device"),
        (planted.kills, "ends the process with -6: .*"),
        (planted.ignores_byte_order, "through_device gives one result for arrays of one content"),
    ],
)
def test_planted_defect_is_a_failure_of_its_input_alone(defect, found):
    other = Input("array", files={"call.py": b"golden.fragment_layout('a', 'f16', 'm16n16k16')"})
    with Worker(replace(SMALL, prepare=defect)) as worker:
        failure, result = worker.run(TO_DEVICE), worker.run(other)
    assert failure.is_failure
    assert re.fullmatch(found, failure.what), failure
    assert result.kind == "result"
    assert outcome(TO_DEVICE).kind == "result"


def test_an_input_that_waits_is_ended():
    limits = replace(SMALL, waiting=3)
    assert outcome(TO_DEVICE, planted.waits, limits).what == "waits too long: golden/simt/buffers.py:device"


def test_results_that_change_are_a_failure():
    twice = Input("array", files={"call.py": b"through_device(0)"}, times=2)
    assert outcome(twice, planted.gives_another_result_each_time).what == "two outcomes of one array input"
    assert outcome(twice).kind == "result"


@pytest.mark.parametrize(
    ("kind", "defect", "rule"),
    [
        ("valid", planted.confuses_xor, r"xor\.\S+ gives the result of the manual"),
        ("control", planted.confuses_xor, "a program gives the variables of the reference"),
        (
            "control",
            planted.ignores_guards,
            "a program gives the variables of the reference|atomic additions of all threads arrive",
        ),
    ],
)
def test_wrong_arithmetic_is_found(kind, defect, rule):
    campaign = Fuzz(1, {"family": [kind]})
    with Worker(replace(SMALL, seconds=5, prepare=defect)) as worker:
        outcomes = [worker.run(campaign.drawn(number)) for number in range(40)]
    found = {item.what for item in outcomes if item.is_failure}
    assert found
    assert all(re.fullmatch(rule, what) for what in found), found


def test_calls_that_disturb_each_other_are_found():
    text = b"in_threads(lambda: through_device([1, 2]), lambda: through_device([3, 4]))"
    drawn = Input("api", files={"call.py": text})
    assert outcome(drawn).kind == "result"
    found = outcome(drawn, planted.shares_a_buffer)
    assert found.what == "calls give in threads what they give alone"


def test_the_undamaged_launch_is_as_recorded(tmp_path):
    for name, content in launch_files().items():
        (tmp_path / name).write_bytes(content)
    (launch,) = read_launches(tmp_path / "k.json")
    launch.launch()
    assert not launch.differences()


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_functions_of_seed_kind_and_number(kind):
    drawn = [make(kind, seed, number) for seed, number in ((1, 3), (1, 3), (1, 4), (2, 3))]
    assert [item == drawn[0] for item in drawn] == [True, True, False, False]


def test_outcomes_are_the_same_in_any_number_of_workers(monkeypatch):
    """One worker runs 60 inputs, and two at once run 20 each until all have run."""
    campaign = Fuzz(3, {"family": ["valid", "array", "ptx"]})
    verdicts = []
    for workers, inputs in ((1, 60), (2, 20)):
        monkeypatch.setattr(Fuzz, "inputs", inputs)
        tasks = list(islice(campaign.tasks(), 60 // inputs))
        with ThreadPoolExecutor(workers) as pool:
            verdicts.append(campaign.verdict(zip(tasks, pool.map(campaign.run, tasks), strict=True)))
    assert verdicts[0] == verdicts[1]
    assert sum(int(count) for _, *counts in verdicts[0].tables[0].rows for count in counts) == 60


def test_every_public_name_is_called_or_has_a_reason():
    called = " ".join(targets())
    missing = [name for name in NOT_CALLED if re.search(rf"\bopenwmma\.{name}$", called)]
    assert not missing
    for name in (
        "golden.mma",
        "openwmma.device",
        "openwmma.empty",
        "openwmma.Module",
        "openwmma.read_launches",
    ):
        assert name in targets()


def test_failures_are_shrunk_and_saved(tmp_path):
    text = "same(through_device, [np.zeros((2, 3)) + 1, 5, (1, 2)])"
    drawn = Input("array", 1, 7, {"call.py": text.encode()})
    with_defect = partial(outcome, prepare=planted.raises)
    failure = with_defect(drawn)
    assert failure.is_failure
    files, last = shrink(drawn, failure, replace(SMALL, prepare=planted.raises))
    assert len(files["call.py"]) < 40 < len(text)
    place = save(tmp_path, drawn, files, last)
    assert with_defect(load(place)).what == failure.what
    assert outcome(load(place)).what != failure.what


def test_a_campaign_reports_each_failure_once_and_how_to_repeat_it(tmp_path):
    options = ("--family", "array", "--results", "40", "--seed", "1", "--jobs", "2")
    place = ("--store", tmp_path / "store.sqlite", "--report", tmp_path / "report")
    code, said = run("planted_kinds", "broken-fuzz", *options, *place)
    assert code == 1
    assert "KeyError in golden/simt/buffers.py:device" in said
    (repeated,) = re.findall(r"python -m (regression.fuzz) (--replay) (\S+)", said)
    found = outcome(load(Path(repeated[2])), planted.raises)
    assert found.what == "KeyError in golden/simt/buffers.py:device"
    code, said = run(*repeated)
    assert (code, said.startswith("result: ")) == (0, True), "without the defect it is none"


@pytest.mark.parametrize("first", [0, pytest.param(25, marks=pytest.mark.long)])
def test_a_thousand_inputs_find_nothing(monkeypatch, first):
    monkeypatch.setattr(Fuzz, "inputs", 40)
    campaign, kinds, ran = Fuzz(1, Fuzz.options), set(), 0
    for task in islice(campaign.tasks(), first, first + 25):
        found = campaign.run(task)
        assert not found.failures, found.failures
        kinds |= {kind for _, kind, _, _ in found.data}
        ran += found.results
    assert kinds == set(KINDS)
    assert ran == 1000
