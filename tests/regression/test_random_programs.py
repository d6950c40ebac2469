"""The generator of random programs: deterministic, legal, even; and a run of them on the Verilated core."""

from collections import Counter
from itertools import count

import numpy as np
import pytest

from golden.memory import Memory
from golden.programs.buffers import BASE
from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.faults import Cause, Fault
from golden.tables.instruction_set import Shape
from golden.tables.matrix_instructions import LoadInstruction, MmaInstruction, StoreInstruction
from golden.warp import GoldenMachine
from hdl.command import encode
from hdl.config import PRESETS
from regression.campaign.kinds.functional_coverage import SPARSE_CORE, WGMMA_CORE
from regression.random_programs.choices import accesses_of, deck, multiplies_of
from regression.random_programs.faulting import FaultSession
from regression.random_programs.generator import make_program
from regression.random_programs.illegal import WAYS, illegal_commands
from regression.random_programs.operands import FLOAT_KINDS, INTEGER_KINDS, draw_operands
from regression.random_programs.program import HOT_BYTES, Program, config_named, observations
from regression.random_programs.running import compared_results, difference
from regression.random_programs.shares import SHARED_WINDOW

SQUARE = Shape(16, 16, 16)
COLD = BASE + HOT_BYTES


def test_a_program_is_the_same_for_the_same_seed_and_number_only():
    programs = [make_program("small", *seed, multiplies=4) for seed in ((3, 5), (3, 5), (3, 6), (4, 5))]
    same = [
        (one.commands, one.timing) == (programs[0].commands, programs[0].timing)
        and np.array_equal(one.memory, programs[0].memory)
        for one in programs
    ]
    assert same == [True, True, False, False]


@pytest.mark.parametrize("preset", ["tiny", "small", "standard"])
def test_programs_are_legal_and_leave_room_for_the_observations(preset):
    for number in range(2):
        program = make_program(preset, 11, number, multiplies=24)
        machine = program.golden()
        room = 128 * program.config.registers + SHARED_WINDOW
        before = machine.memory.data[-room:].copy()
        for command in program.commands:
            machine.execute(command)
        np.testing.assert_array_equal(machine.memory.data[-room:], before)
        for command in observations(program.config, BASE + program.memory.size - room):
            machine.execute(command)
        registers = machine.memory.data[-room:][: 128 * program.config.registers]
        assert registers.any()


def test_every_command_of_a_program_can_be_encoded():
    """A command cannot name the register behind the last of 256, at which a move of none might begin."""
    for number in range(16):
        for command in make_program("large", 5, number, multiplies=24).commands:
            encode(command)


def test_a_crowded_program_multiplies_what_is_there_too():
    """And is still legal, with the multiplies of its own."""
    plain, crowded = (make_program("tiny", 5, multiplies=6, crowded=crowded) for crowded in (False, True))
    assert sum(isinstance(command, Mma) for command in plain.commands) == 6
    others = sum(isinstance(command, Mma) for command in crowded.commands) - 6
    assert len(crowded.commands) / 3 < others < len(crowded.commands) * 3 / 4
    assert difference(crowded) is None


def test_observations_bring_every_register_into_memory():
    config = PRESETS["small"]
    values = np.random.default_rng(4).integers(0, 1 << 32, (config.registers, 32), dtype=np.uint32)
    images = []
    for register in range(0, config.registers, 3):
        machine = GoldenMachine(
            registers=config.registers,
            memory=Memory(1 << 16, BASE),
            shared=Memory(config.shared_bytes, config.shared_base),
        )
        machine.write_registers(0, values)
        changed = values[register : register + 1].copy()
        changed[0, register % 32] ^= np.uint32(1)
        machine.write_registers(register, changed)
        for command in observations(config, BASE):
            machine.execute(command)
        images.append(machine.memory.data.tobytes())
    assert len(set(images)) == len(images) == 22


def test_a_deck_deals_everything_before_anything_again():
    dealt = [next(deck(range(10), 7, start)) for start in range(30)]
    assert [sorted(dealt[first : first + 10]) for first in (0, 10, 20)] == [list(range(10))] * 3
    assert dealt[:10] != dealt[10:20]


def test_the_programs_of_a_run_go_through_every_multiply():
    config = PRESETS["small"]
    seen = Counter(
        command.instruction
        for number in range(7)
        for command in make_program("small", 2, number).commands
        if isinstance(command, Mma)
    )
    assert set(seen) == set(multiplies_of(config))
    assert max(seen.values()) <= 2


@pytest.mark.parametrize("instruction", multiplies_of()[::9], ids=str)
def test_every_kind_of_operands_has_the_shape_and_type_of_the_multiply(instruction):
    random = np.random.default_rng(1)
    kinds = INTEGER_KINDS if instruction.c_type == "s32" else FLOAT_KINDS
    for kind in kinds:
        operands = draw_operands(random, instruction, kind)
        assert [item.shape for item in operands] == [instruction.shape.extent(use) for use in ("a", "b", "c")]


def multiply(d):
    instruction = MmaInstruction(
        shape=SQUARE, a_layout="row", b_layout="col", a_type="f16", b_type="f16", c_type="f32", d_type="f32"
    )
    return Mma(instruction, d=d, a=0, b=8, c=16)


def store(register, address):
    instruction = StoreInstruction(layout="row", shape=SQUARE, type="f32", space="global")
    return Store(instruction, register, address)


LOAD = Load(LoadInstruction(use="a", layout="row", shape=SQUARE, type="f16", space="global"), 28, BASE)


@pytest.mark.parametrize(
    ("commands", "results"),
    [
        ((multiply(24), store(24, COLD)), 256),
        ((multiply(24), store(24, COLD), store(24, COLD + 1024)), 256),
        ((multiply(24), store(24, BASE)), 0),
        ((multiply(24), LOAD, store(24, COLD)), 0),
        ((multiply(24), Fill(31, 1, 0), store(24, COLD)), 0),
        ((multiply(24), store(25, COLD)), 0),
        ((store(24, COLD), multiply(24)), 0),
        ((multiply(24), multiply(32), store(24, COLD), store(32, COLD + 1024)), 512),
    ],
)
def test_a_result_counts_when_all_of_it_is_stored_where_it_stays(commands, results):
    assert compared_results(commands) == results


def test_every_way_to_a_fault_is_open_on_one_of_four_cores():
    found = set()
    for core in ("tiny", "small", SPARSE_CORE, WGMMA_CORE):
        config = config_named(core)
        memory = Memory(1 << 16, BASE)
        for illegal in illegal_commands(np.random.default_rng(3), config, memory, 3):
            found.add((illegal.cause, illegal.kind, illegal.way))
    assert found == set(WAYS)


@pytest.mark.parametrize("preset", [*PRESETS, SPARSE_CORE, WGMMA_CORE])
def test_illegal_commands_are_refused_by_the_golden_machine(preset):
    program = make_program(preset, 3, multiplies=2)
    random = np.random.default_rng(9)
    for seed in range(4):
        for illegal in illegal_commands(random, program.config, program.fresh_memory(), seed):
            if illegal.command is None or illegal.marked is not None:
                continue
            machine = program.golden()
            if illegal.held is not None and illegal.register < program.config.registers:
                machine.write_registers(illegal.register, illegal.held[None])
            with pytest.raises(Fault) as fault:
                machine.execute(illegal.command)
            assert fault.value.cause == illegal.cause, illegal


@pytest.mark.parametrize(("preset", "seed"), [("tiny", 5), pytest.param("small", 6, marks=pytest.mark.long)])
def test_the_core_refuses_illegal_commands_and_changes_nothing(preset, seed):
    verdicts = list(FaultSession(preset, seed).run())
    assert [(illegal, mode, found) for illegal, mode, found in verdicts if found] == []
    assert {illegal.cause for illegal, _, _ in verdicts} == set(Cause) - {Cause.UNDEFINED_METADATA}
    assert len(verdicts) > 100


def compare(preset, seed, results, lockstep_every=0):
    """Run programs until so many results have been compared."""
    compared = 0
    for number in count():
        program = make_program(preset, seed, number)
        lockstep = bool(lockstep_every) and number % lockstep_every == lockstep_every - 1
        assert difference(program, lockstep=lockstep) is None, f"program {number} of seed {seed}"
        compared += compared_results(program.commands)
        if compared >= results:
            return


@pytest.mark.parametrize(("preset", "results"), [("tiny", 10_000), ("small", 25_000), ("standard", 10_000)])
def test_random_programs_end_as_on_the_golden_machine(preset, results):
    compare(preset, 1, results)


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_random_programs_are_as_on_the_golden_machine_after_each_command(preset):
    assert difference(make_program(preset, 1, multiplies=2), lockstep=True) is None


@pytest.mark.long
@pytest.mark.parametrize(("preset", "results"), [("small", 10_000_000), ("standard", 2_000_000)])
def test_millions_of_results(preset, results):
    compare(preset, 2026, results, lockstep_every=50)


def test_accesses_of_a_core_are_those_of_its_families():
    assert {access.type for access in accesses_of(PRESETS["tiny"])} == {"f16", "f32"}
    assert isinstance(make_program("tiny", 1, multiplies=2), Program)
