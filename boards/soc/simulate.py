"""A SoC in LiteX's simulation: built once, run with a program and watched."""

import hashlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from boards.boards import Board
from boards.soc.program import build_program
from boards.soc.toolchain import environment, litex_command, require_soc_tools, run_logged
from sim.files import locked
from sim.verilate import BuildError

_EXIT: Final = re.compile(rb"\[openwmma exit (-?\d+)\]\r?\n")
_LOADED: Final = re.compile(rb"(?:\[[a-z0-9_]+\] [^\n]*\n|Found port \d+\n|<DUMP ON>|<DUMP OFF>)*")
"""What the modules of the simulation say before the SoC runs."""

_HASHED: Final = ("*.v", "*.cpp", "*.h", "build_*.sh")
_DATE: Final = re.compile(rb"^//.*$", re.MULTILINE)
_CHUNK: Final = 4096
_END_SECONDS: Final = 10.0
_JUMP_TO_ITSELF: Final = bytes.fromhex("6f000000")
"""An instruction of RISC-V."""


class ProgramError(RuntimeError):
    """A program that did not end by itself."""


def simulate_program(
    board: Board,
    source: Path,
    folder: Path,
    *,
    data: str | None = None,
    waves: Path | None = None,
    limit: float = 600.0,
    on_step: Callable[[str], None],
    on_output: Callable[[str], None],
) -> int:
    """Build a SoC and a program, and run the program in simulation.

    Parameters
    ----------
    board : Board
    source : Path
        C with a ``main`` that returns the exit code.
    folder : Path
        Takes what is built; the next program of the same board finds the SoC built.
    data : str or None
        A Python file with its arguments; what it prints becomes ``data.h``.
    waves : Path or None
        A VCD file for the signals of the whole SoC, from the beginning of ``main`` on.
    limit : float
        Seconds after which the program is ended.
    on_step : callable
        Called with the name of each step as it begins.
    on_output : callable
        Called with what the processor's console prints, as it comes.

    Returns
    -------
    int
        What ``main`` returned.

    Raises
    ------
    BuildError
        When a tool is missing or fails.
    ProgramError
        When the simulation ended without an exit code, or had to be ended.
    """
    require_soc_tools(simulation=True)
    soc = folder.absolute() / board.name
    with ExitStack() as stack:
        with _built(board, soc, on_step):
            on_step("program")
            program = build_program(board, soc, source, data, soc / "program", dumps=waves is not None)
            on_step("SoC with the program")
            _generate(board, soc, program)
            _compile(soc, on_step)
            place = stack.enter_context(_simulation_folder(soc / "gateware", _free_port()))
        on_step("simulation")
        code = _run(soc / "gateware", place, limit, on_output)
        if waves is not None:
            shutil.move(place / "sim.vcd", waves)
    return code


@contextmanager
def simulated_board(board: Board, folder: Path, on_step: Callable[[str], None]) -> Iterator[int]:
    """A simulated SoC whose host's serial line is a TCP port of this computer; its processor waits.

    Parameters
    ----------
    board : Board
    folder : Path
        As for `simulate_program`.
    on_step : callable
        As for `simulate_program`.

    Yields
    ------
    int
        The port; the simulation ends with the block.
    """
    require_soc_tools(simulation=True)
    soc, port = folder.absolute() / board.name, _free_port()
    with ExitStack() as stack:
        with _built(board, soc, on_step):
            _generate(board, soc, _waiting(soc))
            _compile(soc, on_step)
            place = stack.enter_context(_simulation_folder(soc / "gateware", port))
        process = _start(soc / "gateware", place)
        stack.callback(_end, process)
        _await_port(process, port)
        yield port


@contextmanager
def _built(board: Board, soc: Path, on_step: Callable[[str], None]) -> Iterator[None]:
    """The folder of a SoC for this process alone, with LiteX's libraries for the processor."""
    soc.mkdir(parents=True, exist_ok=True)
    with locked(soc / "lock"):
        if not (soc / "software" / "bios" / "bios.bin").exists():
            on_step("SoC and its libraries")
            _generate(board, soc, _waiting(soc))
        yield


def _waiting(soc: Path) -> Path:
    """A program that does nothing, for ever."""
    program = soc / "waiting.bin"
    program.write_bytes(_JUMP_TO_ITSELF)
    return program


def _generate(board: Board, soc: Path, program: Path) -> None:
    command = litex_command(board.name, str(soc), "--simulated", str(program))
    run_logged("LiteX", command, soc, soc / "generate.log")


def _compile(soc: Path, on_step: Callable[[str], None]) -> None:
    """Build the simulator, unless it was built from the same sources."""
    gateware = soc / "gateware"
    digest = hashlib.sha256((soc / "openwmma_core.v").read_bytes())
    for pattern in _HASHED:
        for path in sorted(gateware.glob(pattern)):
            # The folder may have been moved, and LiteX writes the date.
            text = _DATE.sub(b"", path.read_bytes())
            digest.update(text.replace(str(soc).encode(), b""))
    built = soc / "simulator.sha256"
    if (
        built.exists()
        and built.read_text() == digest.hexdigest()
        and (gateware / "obj_dir" / "Vsim").exists()
    ):
        return
    on_step("simulator")
    built.unlink(missing_ok=True)
    run_logged("Verilator", ["sh", "build_sim.sh"], gateware, soc / "simulator.log")
    built.write_text(digest.hexdigest())


def _run(gateware: Path, folder: Path, limit: float, on_output: Callable[[str], None]) -> int:
    process = _start(gateware, folder)
    end = time.monotonic() + limit
    text, shown, output = b"", 0, process.stdout
    if output is None:
        raise AssertionError("the simulation's output is a pipe")
    try:
        while (found := _EXIT.search(text)) is None:
            if time.monotonic() > end:
                raise ProgramError(f"the program did not end within {limit:g} s")
            if not select.select([output], [], [], 0.2)[0]:
                continue
            part = os.read(output.fileno(), _CHUNK)
            if not part:
                raise ProgramError("the simulation ended before the program")
            text += part
            begin = max(shown, _LOADED.match(text).end())  # type: ignore[union-attr]
            line = text.rfind(b"\n") + 1
            if line > begin:
                # LiteX ends a line with a line feed and a carriage return.
                on_output(_EXIT.sub(b"", text[begin:line]).replace(b"\r", b"").decode(errors="replace"))
                shown = line
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        return int(found[1])
    finally:
        _end(process)


def _start(gateware: Path, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [gateware / "obj_dir" / "Vsim"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        restore_signals=False,  # a host that goes away must not end the simulation by SIGPIPE
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.communicate()


@contextmanager
def _simulation_folder(gateware: Path, port: int) -> Iterator[Path]:
    """A folder to run in, with the memories' contents and the port in its configuration."""
    place = gateware.parent / f"run-{port}"
    place.mkdir()
    try:
        (place / "modules").symlink_to(gateware / "modules")
        for path in gateware.glob("*.init"):
            shutil.copyfile(path, place / path.name)
        config = json.loads((gateware / "sim_config.js").read_text())
        for module in config:
            if module.get("module") == "serial2tcp":
                module["args"] = {"port": port}
        (place / "sim_config.js").write_text(json.dumps(config))
        yield place
    finally:
        shutil.rmtree(place)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the simulation listens; its modules are loaded then."""
    end = time.monotonic() + _END_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise BuildError("the simulated board", f"it ended with exit code {process.returncode}")
        listening = Path("/proc/net/tcp").read_text()
        if f":{port:04X} 00000000:0000 0A" in listening:
            return
        time.sleep(0.05)
    raise BuildError("the simulated board", f"it does not listen at port {port}")
