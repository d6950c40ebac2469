"""Kind ``ptx``: damaged kernels, as a module whose kernels are launched."""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from random import Random
from typing import Any, Final

import numpy as np

from golden.ptx.source import PtxError
from golden.ptx.syntax import Variable
from golden.simt.device_memory import DeviceMemory
from golden.simt.errors import SimtError
from golden.simt.module import Module
from regression.fuzz.kind import Files, Kind, attempt
from regression.fuzz.values import WORDS, kernels, number_text

TOKEN: Final = re.compile(r'"[^"\n]*"|[A-Za-z_$%.][\w$]*|\d[\w.]*|\s+|.', re.DOTALL)

_CLASSES: Final = ("%", ".", "0123456789", "()[]{}<>;,:@!|+-")
_DECLARATION: Final = re.compile(r"\s*\.(reg|shared|local|param|pragma)\b")
_LONGEST: Final = 120_000


def damaged_bytes(random: Random, data: bytes) -> bytes:
    """Bytes with one to three changes."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.randrange(len(found) + 1)
        span = random.choice((1, 1, 2, 4, 8, 50, 1000))
        new = random.choice((b"", random.randbytes(span), b"\0" * span, b"\xff" * span, bytes(found[:span])))
        found[place : place + random.choice((0, span))] = new
        if random.random() < 0.1:
            del found[place:]
    return bytes(found)


def damaged_text(random: Random, text: str) -> str:
    """Text of tokens and statements with one to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        way, weight = zip(*_WAYS.items(), strict=True)
        text = random.choices(way, weight)[0](random, text)[:_LONGEST]
    return text


def _token(random: Random, text: str) -> str:
    """Another token in the place of one: of its class, a word, a number."""
    tokens = TOKEN.findall(text) or [""]
    places = [index for index, token in enumerate(tokens) if not token.isspace()] or [0]
    numbers = [index for index in places if tokens[index][:1].isdigit()]
    if numbers and random.random() < 1 / 6:
        place, new = random.choice(numbers), number_text(random)
    else:
        place, word = random.choice(places), random.choice(WORDS["ptx"])
        old = tokens[place]
        alike = random.choice([tokens[index] for index in places if _class(tokens[index]) == _class(old)])
        changed = ("", old + old, f"{old} {old}", f"-{old}", f"({old}+1)", f"{old}:", f"{{{old}}}")
        start = old[: random.randrange(len(old) + 1)]
        new = random.choice((word, random.choice(changed), start + word, alike, alike))
    return "".join((*tokens[:place], new, *tokens[place + 1 :]))


def _class(token: str) -> int:
    return next((number for number, characters in enumerate(_CLASSES) if token[:1] in characters), -1)


def _qualifiers(random: Random, text: str) -> str:
    """A qualifier left out, written twice, exchanged with its neighbour, or one from another instruction."""
    found = list(re.finditer(r"(?<=[\w])\.[a-z]\w*", text))
    if not found:
        return text
    match, other = random.choice(found), random.choice(found)
    new = random.choice(("", match[0] * 2, other[0], other[0] + match[0]))
    return text[: match.start()] + new + text[match.end() :]


def _statements(random: Random, text: str) -> str:
    """Statements left out, repeated, moved, or from another kernel."""
    parts = re.split(r"(?<=[;{}])", text)
    first = random.randrange(len(parts))
    last = min(len(parts), first + random.choice((1, 1, 2, 5)))
    before, some, after = parts[:first], parts[first:last], parts[last:]
    place = random.randrange(len(before + after) + 1)
    other = random.choice(re.split(r"(?<=[;{}])", random.choice(kernels())))
    depth = random.choice((1, 3, 100, 3000, 30_000))
    ways = (
        before + after,
        before + some * random.choice((2, 2, 3, 3, 21, 301)) + after,
        (before + after)[:place] + some + (before + after)[place:],
        [*before, other, *some, *after],
        [*before, "{" * depth, *some, "}" * depth, *after],
    )
    return "".join(random.choice(ways))


def _name(random: Random, text: str) -> str:
    """A name, everywhere, made longer, mangled or strange."""
    names = sorted(set(re.findall(r"(?<![.%\w])[A-Za-z_$][\w$]*|%[A-Za-z]\w*", text))) or ["k"]
    old = random.choice(names)
    nested = f"_ZN{'1a' * random.choice((3, 100, 3000))}E{'v' if random.random() < 0.5 else ''}"
    pairs = f"_Z1fI{'SI_' * random.choice((5, 40, 80))}i{'E' * 40}v"
    new = random.choice(
        (old * random.choice((2, 40, 400)), nested, pairs, "_Z" + "9" * 30, "_Z3fooIJEEvv", "%", "$$", "_")
    )
    return re.sub(rf"(?<![\w$]){re.escape(old)}(?![\w$])", lambda _: new, text)[:_LONGEST]


def _bytes(random: Random, text: str) -> str:
    return damaged_bytes(random, text.encode()).decode(errors="replace")


_WAYS: Final[dict[Callable[[Random, str], str], int]] = {
    _token: 8,
    _qualifiers: 4,
    _statements: 5,
    _name: 1,
    _bytes: 1,
}


@cache
def _split(text: str) -> tuple[str, Sequence[str], Sequence[str]]:
    """Head, declarations and instructions of a kernel."""
    start = text.index("{", text.index(".entry")) + 1
    parts = re.split(r"(?<=;)", text[start : text.rindex("}")])
    declarations = [part for part in parts if _DECLARATION.match(part)]
    return text[:start], declarations, [part for part in parts if part not in declarations]


def _kernel(random: Random) -> str:
    """A kernel, or its declarations with a few of its instructions, which takes less time."""
    text = random.choice(kernels())
    if random.random() < 0.05:
        return text
    head, declarations, instructions = _split(text)
    first = random.choice((0, random.randrange(len(instructions))))
    few = instructions[first : first + random.randrange(1, 15)]
    labels = set(re.findall(r"^\s*([\w$]+):", "".join(few), re.MULTILINE))
    jumps = re.compile(r"\bbra\S*\s+([\w$]+)")
    kept = [
        part for part in few if "call" not in part and all(label in labels for label in jumps.findall(part))
    ]
    return f"{head}{''.join(declarations)}{''.join(kept)}\nret;\n}}\n"


def _make(random: Random) -> Files:
    text = _kernel(random) if random.random() < 0.98 else ""
    settings = {"block": random.choice((32, 32, 1, 40, 64, [4, 4, 2])), "check": random.random() < 0.25}
    text = damaged_text(random, text)
    return {"kernel.ptx": text.encode("utf-8", "surrogatepass"), "launch.json": json.dumps(settings).encode()}


def _run(files: Files) -> Any:
    text = files["kernel.ptx"].decode("utf-8", "replace")
    return attempt(PTX.errors, lambda: _as_module(text, json.loads(files["launch.json"])))


def _as_module(text: str, settings: dict[str, Any]) -> list[Any]:
    module = Module(text, "kernel.ptx", memory=DeviceMemory())

    def launched(name: str) -> list[Any]:
        kernel = module.kernel(name)
        arguments = [_argument(parameter) for parameter, _ in kernel.compiled.parameters]
        kernel.launch(1, settings["block"], arguments, 6144, limit=2000, check=settings["check"])
        return arguments

    return [attempt(PTX.errors, partial(launched, name)) for name in module.entries]


def _argument(parameter: Variable) -> Any:
    if parameter.is_array:
        return bytes(parameter.size or 0)
    if parameter.type.kind == "float":
        return 1.0
    return np.zeros(4096, np.uint8) if parameter.size == 8 else 16


PTX: Final = Kind(make=_make, run=_run, errors=(PtxError, SimtError), pieces=r"[\w$%]+|\s+|.")
