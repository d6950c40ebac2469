"""What a testbench is given from outside its simulation; apart from the runner, which no simulation needs."""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

_MODULE: Final = "OPENWMMA_BENCH_MODULE"
_PARAMETERS: Final = "OPENWMMA_BENCH_PARAMETERS"


def parameters() -> dict[str, Any]:
    """Within the simulation: what `sim.testbench.runner.run` was given."""
    return dict(json.loads(os.environ[_PARAMETERS]))


def bench_module() -> str:
    """Within the simulation: import path of the module with the tests; empty anywhere else."""
    return os.environ.get(_MODULE, "")


def bench_variables(module: str, values: Mapping[str, Any] | None) -> dict[str, str]:
    """The environment variables through which `bench_module` and `parameters` return these."""
    return {_MODULE: module, _PARAMETERS: json.dumps(dict(values or {}))}
