"""Failing programs become short, are saved, and fail again when they are replayed."""

import json
from itertools import islice

import numpy as np
import pytest
from typer.testing import CliRunner
from wrong import WrongMachine

from golden.tables.commands import Mma
from regression.campaign.kind import Case
from regression.campaign.kinds import random_programs
from regression.campaign.kinds.random_programs import RandomPrograms
from regression.random_programs import __main__ as command
from regression.random_programs.failing import load_program, minimise, save_program, shrink
from regression.random_programs.generator import make_program
from regression.random_programs.running import difference


@pytest.mark.parametrize(
    ("needed", "count"), [((3,), 50), ((0, 49), 50), ((7, 8, 30, 31), 64), ((), 9), ((0,), 1)]
)
def test_minimise_keeps_what_is_needed_and_nothing_else(needed, count):
    tried = []

    def fails(items):
        tried.append(items)
        return set(needed) <= set(items)

    assert minimise(range(count), fails) == needed
    assert len(tried) <= 12 * max(1, len(needed)) * max(1, count.bit_length())


def test_minimise_of_what_fails_only_together():
    assert minimise(range(32), lambda items: sum(items) >= 496) == tuple(range(1, 32))


@pytest.fixture(scope="module")
def failing():
    """A program on which the wrong machine is found, and the shortest of it."""
    program = make_program("small", 1, 0)
    assert "differ" in difference(program, WrongMachine)
    return program, shrink(program, lambda candidate: difference(candidate, WrongMachine) is not None)


def test_a_failing_program_is_shrunk_to_the_command_at_fault(failing):
    program, short = failing
    assert len(program.commands) > 300
    assert [type(item) for item in short.commands] == [Mma]
    assert short.commands[0].instruction.a_type == "bf16"
    assert not short.memory.any()
    assert "differ" in difference(short, WrongMachine)
    assert "1 of 2048 registers differ" in difference(short, WrongMachine, lockstep=True)


def test_a_saved_program_is_read_back_whole(failing, tmp_path):
    for number, program in enumerate(failing):
        folder = tmp_path / str(number)
        save_program(folder, program, "wrong\nin two lines")
        again = load_program(folder)
        assert (again.preset, again.seed, again.timing) == (program.preset, program.seed, program.timing)
        assert again.commands == program.commands
        np.testing.assert_array_equal(again.memory, program.memory)
        assert json.loads((folder / "program.json").read_text())["failure"] == "wrong\nin two lines"


def test_a_campaign_shrinks_and_saves_what_it_finds(monkeypatch, tmp_path):
    def wrong(program, *, lockstep=False):
        return difference(program, WrongMachine, lockstep=lockstep)

    kind = RandomPrograms(1, RandomPrograms.options)
    (task,) = islice(kind.tasks(), 1)
    case = Case(name="program 0", failure="wrong", command=kind.command(task))
    assert case.command == "openwmma campaign random --seed 1 --only 'program 00000000'"
    monkeypatch.setattr(random_programs, "difference", wrong)
    saved = kind.save(case, task, tmp_path)
    folder = tmp_path / "small-1-0"
    assert saved.failure.endswith("(1 commands are left)")
    assert saved.command == f"python -m regression.random_programs {folder}"
    assert "bf16" in (folder / "program.json").read_text()
    monkeypatch.setattr(command, "difference", wrong)
    assert CliRunner().invoke(command.app, [str(folder)]).exit_code == 1
    monkeypatch.setattr(command, "difference", difference)
    assert CliRunner().invoke(command.app, [str(folder)]).exit_code == 0
    monkeypatch.setattr(random_programs, "difference", difference)
    assert kind.save(case, task, tmp_path).failure == "on a worker, but not here: wrong"
