"""What every run of the tests says about itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "golden"))

from golden_captures import described


def pytest_report_header() -> str:
    return described()
