"""The fuzzing suite finds planted defects, repeats its inputs, and finds nothing in a minute."""

import re
from dataclasses import replace
from functools import partial

import planted
import pytest
from typer.testing import CliRunner

import regression.fuzz.__main__ as command_line
from openwmma import read_launches
from regression.fuzz.calls import NOT_CALLED, targets
from regression.fuzz.campaign import Campaign, Tally, command
from regression.fuzz.kinds import KINDS
from regression.fuzz.launches import launch_files
from regression.fuzz.reducing import load, save, shrink
from regression.fuzz.workers import Limits, Task, make, run_tasks

SMALL = Limits(seconds=1, memory=1 << 29)
TO_DEVICE = Task("array", files={"call.py": b"same(through_device, np.arange(3, dtype='>i4'))"})


def outcome(task, prepare=None, limits=SMALL):
    [(_, found)] = run_tasks([task], limits=limits, prepare=prepare)
    return found


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
    other = Task("array", files={"call.py": b"golden.fragment_layout('a', 'f16', 'm16n16k16')"})
    failure, result = [item for _, item in run_tasks([TO_DEVICE, other], limits=SMALL, prepare=defect)]
    assert failure.is_failure
    assert re.fullmatch(found, failure.what), failure
    assert result.kind == "result"
    assert outcome(TO_DEVICE).kind == "result"


def test_an_input_that_waits_is_ended():
    limits = replace(SMALL, waiting=3)
    assert outcome(TO_DEVICE, planted.waits, limits).what == "waits too long: golden/simt/buffers.py:device"


def test_results_that_change_are_a_failure():
    twice = Task("array", files={"call.py": b"through_device(0)"}, times=2)
    assert outcome(twice, planted.gives_another_result_each_time).what == "two outcomes of one array input"
    assert outcome(twice).kind == "result"


@pytest.mark.parametrize(
    ("kind", "defect", "rule"),
    [
        ("valid", planted.confuses_xor, r"xor\.\S+ gives the result of the manual"),
        ("control", planted.confuses_xor, "a program gives the variables of the reference"),
        ("control", planted.ignores_guards, "a program gives the variables of the reference"),
    ],
)
def test_wrong_arithmetic_is_found(kind, defect, rule):
    campaign = Campaign(seed=1, kinds=(kind,), limits=replace(SMALL, seconds=5), prepare=defect)
    tally = Tally()
    for task, found in campaign.run(40):
        tally.add(task, found)
    assert tally.findings
    assert all(re.fullmatch(rule, what) for what in tally.findings), tally.findings


def test_calls_that_disturb_each_other_are_found():
    text = b"in_threads(lambda: through_device([1, 2]), lambda: through_device([3, 4]))"
    task = Task("api", files={"call.py": text})
    assert outcome(task).kind == "result"
    found = outcome(task, planted.shares_a_buffer)
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


def test_outcomes_are_the_same_in_any_number_of_workers():
    tallies = []
    for jobs in (1, 2):
        tally = Tally()
        for task, found in Campaign(seed=3, kinds=("valid", "array", "ptx")).run(60, jobs=jobs):
            tally.add(task, found)
        tallies.append(tally)
    assert tallies[0].digest == tallies[1].digest
    assert sum(tallies[0].counts.values()) == 60


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
    task = Task("array", 1, 7, {"call.py": text.encode()})
    with_defect = partial(outcome, prepare=planted.raises)
    failure = with_defect(task)
    assert failure.is_failure
    files, last = shrink(task, failure, SMALL, prepare=planted.raises)
    assert len(files["call.py"]) < 40 < len(text)
    place = save(tmp_path, task, files, last)
    assert with_defect(load(place)).what == failure.what
    assert outcome(load(place)).what != failure.what


def test_command_line_reports_the_failure_and_how_to_repeat_it(tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "Campaign", partial(Campaign, prepare=planted.raises))
    options = ["--kind", "array", "--inputs", "30", "--seed", "1", "--save", str(tmp_path), "--shrink", "0"]
    result = CliRunner().invoke(command_line.app, options)
    assert result.exit_code == 1
    assert "KeyError in golden/simt/buffers.py:device" in result.output
    repeated = re.search(r"python -m regression.fuzz --seed 1 --kind array --only (\d+)", result.output)
    again = CliRunner().invoke(command_line.app, repeated[0].split()[3:])
    assert (again.exit_code, again.output.splitlines()[0]) == (
        1,
        "failure: KeyError in golden/simt/buffers.py:device",
    )


def test_a_minute_of_fuzzing_finds_nothing():
    tally = Tally()
    for task, found in Campaign(seed=1).run(2000, seconds=60):
        tally.add(task, found)
    told = [f"{command(item.task)}\n{item.outcome.detail}" for item in tally.findings.values()]
    assert not told, "\n\n".join(told)
    assert {kind for kind, _ in tally.counts} == set(KINDS)
    assert sum(tally.counts.values()) > 400
