"""What a reader of a page runs: its shell lines and its blocks of Python, in the order of the page."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(
        path.relative_to(ROOT).as_posix()
        for kind in ("tutorials", "how-to")
        for path in sorted((ROOT / "docs" / kind).rglob("*.md"))
    ),
)
SHELL, PYTHON = "shell", "python"
_OTHER_LANGUAGES = {"c", "diff", "sql", "tcl", "toml", "verilog"}
_PROGRAMS = r"(?:\. |(?:\w+=\S+ )*(?:apt-get|cd|dask|fusesoc|git|make|openwmma|pip|pre-commit|python) )"
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*).*\n(?P<fenced>(?:.*\n)*?)(?P=indent)```$"
    r"|(?<=\n\n)(?P<indented>(?:    .*\n|\n(?=    ))+)",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that a reader runs."""

    kind: str
    text: str
    shown: str = ""
    """What the page says that it prints; empty if it says nothing."""

    @property
    def name(self) -> str:
        """A shell line without comment and spaces, or the first line of a block of Python."""
        if self.kind == PYTHON:
            return self.text.splitlines()[0]
        return " ".join(re.sub(r"\s+#\s.*$", "", self.text.replace("\\\n", ""), flags=re.MULTILINE).split())


def steps_of(page: str) -> list[Step]:
    """The steps of a page; ValueError for a block in a language that is not known."""
    steps: list[Step] = []
    for match in _BLOCK.finditer((ROOT / page).read_text()):
        language, content = _content(match)
        if language == "sh":
            steps += [Step(kind=SHELL, text=line) for line in _lines(content)]
        elif language == "console":
            for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
                line, *shown = _lines(part)
                steps.append(Step(kind=SHELL, text=line, shown="\n".join(shown)))
        elif language == "python":
            steps.append(Step(kind=PYTHON, text=content))
        elif language == "text" and steps and not steps[-1].shown and match["fenced"] is not None:
            steps[-1] = Step(kind=steps[-1].kind, text=steps[-1].text, shown=content)
        elif language not in ("text", *_OTHER_LANGUAGES) and not language.startswith("{"):
            raise ValueError(f"{page}: a block must be in a known language, not {language}")
    return steps


def _content(match: re.Match[str]) -> tuple[str, str]:
    """Language and lines of a block; a block without language is a shell's if it begins with a program."""
    content = dedent(match["fenced"] if match["indented"] is None else match["indented"])
    language = match["language"] or ""
    if language in ("", "text"):
        if content.startswith("$ "):
            return "console", content
        if re.match(_PROGRAMS, content) and not language:
            return "sh", content
        return ("python" if content.startswith(("import ", "from ")) and not language else "text"), content
    return language, content


def _lines(content: str) -> Iterator[str]:
    """Whole commands: lines that bash takes together are one."""
    text = ""
    for line in content.splitlines():
        text += line
        if text.strip() and not text.lstrip().startswith("#"):
            if text.endswith("\\") or (re.search(r"[\"']|^for ", text) and not _is_whole(text)):
                text += "\n"
                continue
            yield text
        text = ""
    if text:
        raise ValueError(f"a command must be whole, not {text}")


@cache
def _is_whole(text: str) -> bool:
    return subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0
