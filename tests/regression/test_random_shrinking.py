"""Failing programs become short, are saved as PTX, and fail again when they are replayed."""

from itertools import islice

import numpy as np
import pytest
from typer.testing import CliRunner
from wrong import WrongMachine

from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.programs.kernel_run import run_program
from golden.ptx.program import parse_module
from golden.tables.commands import Fill, Mma, Move
from regression.campaign.kind import Case
from regression.campaign.kinds import random_programs
from regression.campaign.kinds.random_programs import RandomPrograms
from regression.random_programs import __main__ as command
from regression.random_programs.failing import load_program, minimise, ptx_text, save_program, shrink
from regression.random_programs.generator import make_program
from regression.random_programs.running import difference
from sim.lockstep import LockstepMachine
from sim.machines import golden_machine
from sim.mismatch import Mismatch


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
        assert (folder / "program.ptx").read_text().startswith("// wrong\n// in two lines\n")


@pytest.mark.parametrize("number", range(4))
def test_the_ptx_of_a_program_gives_its_commands(number):
    program = make_program("small", 5, number, multiplies=30)
    entry = parse_module(ptx_text(program)).entry()
    found = [item for item, _ in entry.commands({"memory": BASE}, registers=64)]
    one_by_one = [item for command in program.commands for item in pieces(command)]
    assert [item for command in found for item in pieces(command)] == one_by_one


def pieces(command):
    """Fills and moves register by register, for the program joins what follows each other."""
    if isinstance(command, Fill):
        return [Fill(command.register + i, 1, command.value) for i in range(command.count)]
    if isinstance(command, Move):
        return [Move(command.destination + i, command.source + i, 1) for i in range(command.count)]
    return [command]


def test_the_saved_ptx_fails_as_the_program_did(failing, tmp_path):
    """What ``openwmma run --on lockstep`` does with the two files, on a machine that is wrong."""
    _, short = failing
    save_program(tmp_path, short, "wrong")
    memory = np.load(tmp_path / "memory.npy")

    def open_machine(size):
        assert size == short.memory.size
        machine = WrongMachine(short)
        machine.memory.data[:] = 0
        return LockstepMachine(golden_machine(short.config, Memory(size, BASE)), machine)

    entry = parse_module((tmp_path / "program.ptx").read_text()).entry()
    with pytest.raises(Mismatch) as mismatch:
        run_program(entry, open_machine, arguments={"memory": memory}, outputs=[], registers=64)
    assert mismatch.value.command == short.commands[0]
    assert mismatch.value.difference in difference(short, WrongMachine, lockstep=True)


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
    assert "bf16" in (folder / "program.ptx").read_text()
    monkeypatch.setattr(command, "difference", wrong)
    assert CliRunner().invoke(command.app, [str(folder)]).exit_code == 1
    monkeypatch.setattr(command, "difference", difference)
    assert CliRunner().invoke(command.app, [str(folder)]).exit_code == 0
    monkeypatch.setattr(random_programs, "difference", difference)
    assert kind.save(case, task, tmp_path).failure == "on a worker, but not here: wrong"
