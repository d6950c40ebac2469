"""Kind ``cli``: any command with any options, in this process."""

import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import typer.main

from golden.tables.profiles import PROFILES
from openwmma.cli import COMMANDS, app, main
from openwmma.output_files import array_bytes
from openwmma.usage import FAILURE, MISUSE
from regression.fuzz.kind import Files, Kind, PropertyError
from regression.fuzz.launches import archive, damaged_array, launch_files
from regression.fuzz.ptx import damaged_text
from regression.fuzz.values import LAUNCH_PTX, LONG, PROGRAM_PTX, WORDS, number_text

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_ODD: Final = (*WORDS["odd_arguments"], *LONG[:2], "\udcff")


@cache
def commands() -> dict[str, list[Any]]:
    """The parameters of each command, as the parser has them."""
    group: Any = typer.main.get_command(app)
    return {name: list(group.get_command(None, name).params) for name in COMMANDS}


def _value(random: Random, name: str) -> str:
    meant = (*WORDS["arguments"].get(name, ("a.npy",)), *(PROFILES if name == "--profile" else ()))
    way = random.random()
    if way < 0.85:
        return str(random.choice(meant))
    if way < 0.93:
        return number_text(random)[:3000]
    return damaged_text(random, random.choice(meant))[:3000] if way < 0.96 else random.choice(_ODD)


def _make(random: Random) -> Files:
    name = random.choices(list(commands()), [8 if name == "run" else 1 for name in commands()])[0]
    line: list[str] = [name]
    for parameter in commands()[name]:
        option = parameter.opts[0]
        often = 0.95 if parameter.required or option == "file" else 0.5 if option == "--arg" else 0.13
        for _ in range(3 if parameter.multiple and option == "--arg" else 1):
            if random.random() < often:
                line += [] if not option.startswith("-") else [option]
                line += [] if getattr(parameter, "is_bool_flag", False) else [_value(random, option)]
    if random.random() < 0.05:
        line[random.randrange(len(line))] = random.choice(("--help", *_ODD))
    tile = np.ones((16, 16), np.float16)
    kernel = damaged_text(random, LAUNCH_PTX if random.random() < 0.5 else PROGRAM_PTX)
    files = {
        "arguments.json": json.dumps(line, indent=0).encode(),
        "kernel.ptx": LAUNCH_PTX.encode(),
        "program.ptx": PROGRAM_PTX.encode(),
        "bad.ptx": kernel.encode("utf-8", "surrogatepass"),
        "x.cu": b"__global__ void k() {}\n",
        "bad.npy": damaged_array(random, tile),
        **launch_files(),
    }
    for name, array in (("a", tile), ("b", tile), ("c", tile), ("s", np.zeros(16, np.uint8))):
        files[f"{name}.npy"] = array_bytes(array)
    if random.random() < 0.1:
        files["k.npz"] = archive({"k/a.npy": files["bad.npy"]})
    return files


def _run(files: Files) -> Any:
    Path("folder").mkdir()
    line = json.loads(files["arguments.json"])
    if not isinstance(line, list) or not all(isinstance(item, str) for item in line):
        return "no command line"
    code, out, complaint = _captured(lambda: main(line))
    text = out + complaint
    if code not in (0, FAILURE, MISUSE):
        raise PropertyError("an exit code is 0, 1 or 2", f"{code}: {text[:500]}")
    if "Traceback" in text or "<frozen" in text or ("None:" in text and "None" not in str(line)):
        raise PropertyError("output is for users", text[:500])
    if (found := _CONTROL.search(text)) is not None:
        raise PropertyError("control characters are escaped", repr(text[max(0, found.start() - 200) :][:500]))
    if code == MISUSE and (len(complaint) > 3000 or not complaint.strip()):
        raise PropertyError("a complaint is a sentence", f"{len(complaint)} characters: {complaint[:300]!r}")
    return (
        code,
        re.sub(r"[0-9.,]+ (s|ms|µs)\b|0x[0-9a-f]+", "", out),
        sorted(path.name for path in Path().iterdir()),
    )


def _captured(run: Callable[[], int]) -> tuple[int, str, str]:
    """Exit code and output, encoded as a terminal's would be."""
    buffers = io.BytesIO(), io.BytesIO()
    out = io.TextIOWrapper(buffers[0], "utf-8", write_through=True)
    err = io.TextIOWrapper(buffers[1], "utf-8", errors="backslashreplace", write_through=True)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else -1
    return code, buffers[0].getvalue().decode(), buffers[1].getvalue().decode()


COMMAND_LINES: Final = Kind(make=_make, run=_run, errors=(), pieces=None)
