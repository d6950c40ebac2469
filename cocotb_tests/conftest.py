"""Options of the testbenches, and the fixture that runs one."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hdl.verilog.top
from cocotb_tests.runner import SIMULATORS, run
from regression.code_coverage.sources import convert_with_sources

Simulate = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the testbenches."""
    group = parser.getgroup("testbenches")
    group.addoption("--waves", action="store_true", help="write dump.vcd beside each testbench's log")
    group.addoption("--seed", type=int, default=1, help="seed of the testbenches' randomness (default 1)")
    group.addoption(
        "--simulator",
        choices=SIMULATORS,
        default=SIMULATORS[0],
        help="which simulator runs the testbenches (default verilator; icarus needs the program iverilog)",
    )
    group.addoption(
        "--code-coverage",
        type=Path,
        metavar="DIR",
        help="keep there what the testbenches reach of the hardware",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With counts to be kept, leave out what simulates nothing that counts."""
    if config.getoption("--code-coverage") is not None:
        items[:] = [item for item in items if "simulate" in getattr(item, "fixturenames", ())]


@pytest.fixture
def coverage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """Where counts are kept; then all designs are converted with the places of their sources."""
    folder: Path | None = request.config.getoption("--code-coverage")
    if folder is not None:
        monkeypatch.setattr(hdl.verilog.top, "convert", convert_with_sources)
    return folder


@pytest.fixture
def simulate(request: pytest.FixtureRequest, coverage: Path | None) -> Simulate:
    """`cocotb_tests.runner.run` with what the command line says: seed, waves, coverage and simulator.

    In a test that is marked ``icarus`` the simulator is that one.
    """
    seed: int = request.config.getoption("--seed")
    waves: bool = request.config.getoption("--waves")
    chosen: str = request.config.getoption("--simulator")
    simulator = "icarus" if request.node.get_closest_marker("icarus") else chosen

    def simulate_with_options(*arguments: object, **keywords: object) -> None:
        options = {"seed": seed, "waves": waves, "simulator": simulator, "coverage": coverage}
        run(*arguments, **options, **keywords)  # type: ignore[arg-type]

    return simulate_with_options
