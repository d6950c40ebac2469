"""`openwmma campaign`: verification of this repository on many processes.

It is no part of the package, which needs neither the tests nor Dask; this command starts it.
"""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from golden.installation import install_command
from openwmma.usage import INTERRUPTED
from openwmma.usage_error import UsageError

ROOT = Path(__file__).parents[2]

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Options are for the program that is started, `--help` too."""


def campaign(context: typer.Context) -> int:
    """Run random programs, mutants, coverage, tests or launches on all cores or a Dask cluster.

    Of a clone of the repository, with the extra `campaign`. All options:

        openwmma campaign --help
    """
    if not (ROOT / "regression" / "campaign").is_dir():
        raise UsageError(
            "campaign: expected a clone of the repository, which has the tests; a wheel has none"
        )
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(f"campaign: expected Dask; install it with: {install_command('test', 'campaign')}")
    return run_campaign(context.args)


def run_campaign(arguments: Sequence[str]) -> int:
    """Run ``python -m regression.campaign`` of the clone, from any folder, and return its exit code."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "regression.campaign", *arguments]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths})
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                continue  # the campaign was interrupted as well, and ends by itself
            return code if code >= 0 else INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
