"""Serial ports that cannot be opened."""

import errno
import fcntl
import os
import pty
from pathlib import Path
from types import SimpleNamespace

import pytest
import serial

from openwmma.cli import main

pytestmark = pytest.mark.soc

KERNEL = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("k.ptx").write_text(KERNEL)


def complaint(capsys, port):
    assert main(["run", "k.ptx", "--on", "board", "--port", port]) == 2
    return capsys.readouterr().err


def test_a_port_that_does_not_exist(capsys, monkeypatch):
    monkeypatch.setattr(
        "boards.host.bridges.litex_bridges.comports", lambda: [SimpleNamespace(device="/dev/ttyUSB7")]
    )
    assert complaint(capsys, "/dev/openwmma-none") == (
        "openwmma: cannot open the serial port /dev/openwmma-none: there is no such device; "
        "found: /dev/ttyUSB7\n"
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, "no permission; on most systems its group, dialout or uucp, must be one of yours"),
        (errno.EBUSY, "another program has it open"),
        (errno.EIO, "[Errno 5] refused"),
    ],
)
def test_a_port_that_cannot_be_opened(capsys, monkeypatch, number, reason):
    def refuse(*_, **__):
        raise serial.SerialException(number, "refused")

    monkeypatch.setattr(serial, "serial_for_url", refuse)
    assert complaint(capsys, "/dev/ttyUSB0") == (
        f"openwmma: cannot open the serial port /dev/ttyUSB0: {reason}\n"
    )


def test_a_port_that_another_program_has(capsys):
    far, near = pty.openpty()
    port = os.ttyname(near)
    with Path(port).open("rb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert complaint(capsys, port) == (
            f"openwmma: cannot open the serial port {port}: another program has it open\n"
        )
    os.close(near)
    os.close(far)
