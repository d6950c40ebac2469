"""`openwmma build`: what it refuses, and how it ends."""

from collections.abc import Callable
from pathlib import Path

import pytest

from boards.boards import BOARDS, Board
from boards.flow.devices import DEVICES
from boards.flow.flow import STEPS
from boards.flow.netlist import Utilisation
from boards.flow.report import BuildReport
from boards.flow.timing import CriticalPath, Step, Timing
from openwmma.cli import main

PATH = CriticalPath(steps=(Step(kind="logic", nanoseconds=1.0, name="board.sum"),))


def builder(mhz: float) -> Callable[..., BuildReport]:
    """A build that has ended with a clock of so many MHz where 50 are required."""

    def build(board: Board, folder: Path, on_step: Callable[[str], None], *, seed: int) -> BuildReport:
        for step in STEPS:
            on_step(step)
        device = DEVICES[board.device]
        return BuildReport(
            board=board,
            utilisation=Utilisation(device=device, units={"": (seed, 2, 3, 4)}, cells={}),
            timing=Timing(clock="clock", mhz=mhz, required_mhz=50.0, path=PATH),
            result=folder / "x.bit",
        )

    return build


@pytest.mark.parametrize(("mhz", "code", "verdict"), [(50.0, 0, "timing met"), (49.9, 1, "timing NOT MET")])
def test_exit_code_says_whether_timing_is_met(
    mhz: float,
    code: int,
    verdict: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("openwmma.commands.build.build_board", builder(mhz))
    assert main(["build", "--board", "ulx3s", "--seed", "7"]) == code
    printed = capsys.readouterr()
    assert verdict in printed.out
    assert printed.out.splitlines()[4].split() == ["everything", "7", "2", "3", "4"]
    assert f"written: {Path('build/ulx3s/x.bit')}" in printed.out
    assert [line.split(": ")[1] for line in printed.err.splitlines()] == list(STEPS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--board", "de10"], f"--board de10: expected one of {', '.join(BOARDS)}"),
        (
            ["--board", "arty", "--out", "no/such/folder"],
            "--out no/such/folder: expected a folder inside one",
        ),
        (["--board", "arty", "--seed", "0"], "--seed"),
        ([], "--board"),
    ],
)
def test_bad_usage(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", *options]) == 2
    assert message in capsys.readouterr().err
