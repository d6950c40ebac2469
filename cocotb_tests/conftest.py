"""Options of the testbenches, and the fixture that runs one."""

from collections.abc import Callable

import pytest

Simulate = Callable[..., None]

SLOW = (pytest.mark.long, pytest.mark.coverage)
"""Marks of a size that takes long to build; `make test` simulates smaller ones."""

COVERAGE = "testbench-coverage"
"""Name under which a plugin registers a `sim.testbench.runner.Coverage`, for all designs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the testbenches."""
    from sim.testbench.runner import SIMULATORS  # noqa: PLC0415  simulations import this module too

    group = parser.getgroup("testbenches")
    group.addoption("--waves", action="store_true", help="write dump.vcd beside each testbench's log")
    group.addoption("--seed", type=int, default=1, help="seed of the testbenches' randomness (default 1)")
    group.addoption(
        "--simulator",
        choices=SIMULATORS,
        default=SIMULATORS[0],
        help="which simulator runs the testbenches (default verilator; icarus needs the program iverilog)",
    )


@pytest.fixture
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """`sim.testbench.runner.run` with what the command line says: seed, waves and simulator.

    In a test that is marked ``icarus`` the simulator is that one.
    """
    from sim.testbench.runner import run  # noqa: PLC0415  simulations import this module too

    seed: int = request.config.getoption("--seed")
    waves: bool = request.config.getoption("--waves")
    chosen: str = request.config.getoption("--simulator")
    simulator = "icarus" if request.node.get_closest_marker("icarus") else chosen
    coverage = request.config.pluginmanager.get_plugin(COVERAGE)

    def simulate_with_options(*arguments: object, **keywords: object) -> None:
        options = {"seed": seed, "waves": waves, "simulator": simulator, "coverage": coverage}
        run(*arguments, **options, **keywords)  # type: ignore[arg-type]

    return simulate_with_options
