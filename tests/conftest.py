"""What every run of the tests says about itself."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "golden"))

from golden_captures import described


def pytest_report_header() -> str:
    return described()


def pytest_collection_finish() -> None:
    """Elaboration makes many objects: what is imported is not searched for garbage again and again."""
    gc.freeze()
    gc.set_threshold(50_000)
