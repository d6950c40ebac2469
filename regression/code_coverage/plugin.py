"""The pytest plugin of `make coverage`: testbenches convert designs with their sources, and keep counts."""

from pathlib import Path
from typing import Final

import pytest

from regression.code_coverage.sources import convert_with_sources
from sim.testbench.runner import Coverage

NAME: Final = "testbench-coverage"
"""Under which the testbenches look for a `Coverage`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that the plugin needs."""
    parser.addoption(
        "--code-coverage",
        type=Path,
        required=True,
        metavar="DIR",
        help="keep there what the testbenches reach of the hardware",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Offer the testbenches a folder and a conversion."""
    folder: Path = config.getoption("--code-coverage")
    config.pluginmanager.register(Coverage(folder=folder, conversion=convert_with_sources), NAME)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what simulates nothing that counts."""
    items[:] = [item for item in items if "simulate" in getattr(item, "fixturenames", ())]
