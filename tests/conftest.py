"""What every run of the tests says about itself."""

import gc
import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "golden"))

from golden_captures import described

# Which compiler is fastest is measured by the tests of just that.
os.environ.setdefault("CXX", "c++")
# A loaded machine is slow, and code that is compiled on first use is slow once.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_report_header() -> str:
    return described()


def pytest_collection_finish() -> None:
    """Leave imported modules out of garbage collection, which the many objects of an elaboration trigger."""
    gc.freeze()
    gc.set_threshold(50_000)
