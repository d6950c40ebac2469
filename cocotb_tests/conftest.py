"""Options of the testbenches, and the fixture that runs one."""

from collections.abc import Callable

import pytest

from cocotb_tests.runner import run

Simulate = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the testbenches."""
    group = parser.getgroup("testbenches")
    group.addoption("--waves", action="store_true", help="write dump.vcd beside each testbench's log")
    group.addoption("--seed", type=int, default=1, help="seed of the testbenches' randomness (default 1)")


@pytest.fixture
def simulate(request: pytest.FixtureRequest) -> Simulate:
    """`cocotb_tests.runner.run` with the seed and the waves of the command line."""
    seed: int = request.config.getoption("--seed")
    waves: bool = request.config.getoption("--waves")

    def simulate_with_options(*arguments: object, **keywords: object) -> None:
        run(*arguments, seed=seed, waves=waves, **keywords)  # type: ignore[arg-type]

    return simulate_with_options
