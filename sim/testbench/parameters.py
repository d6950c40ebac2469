"""What a testbench is given from outside its simulation; apart from the runner, which no simulation needs."""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["parameter_variables", "parameters"]

_PARAMETERS: Final = "OPENWMMA_BENCH_PARAMETERS"


def parameters() -> dict[str, Any]:
    """Within the simulation: what `sim.testbench.runner.run` was given."""
    return dict(json.loads(os.environ[_PARAMETERS]))


def parameter_variables(values: Mapping[str, Any] | None) -> dict[str, str]:
    """The environment variables through which `parameters` returns these values in a simulation."""
    return {_PARAMETERS: json.dumps(dict(values or {}))}
