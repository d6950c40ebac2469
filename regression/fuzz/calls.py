"""Calls of public functions: arrays of any form (kind ``array``), and any values (kind ``api``)."""

import inspect
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from random import Random
from typing import Any, Final

import numpy as np

import golden
import openwmma
from golden import block_scales, sparsity
from golden.approximation.instructions import FORMS
from golden.programs.buffers import BASE
from golden.simt.buffers import DeviceBuffer
from golden.simt.grid import LaunchOptions
from golden.tables.formats import FORMATS
from golden.tables.instruction_set import USES
from golden.tables.profiles import EXACT_PROFILES, PROFILES
from openwmma import block_scaled
from regression.fuzz.kind import DOCUMENTED, Files, Kind, PropertyError, attempt, digest, reaches_project
from regression.fuzz.values import (
    LAUNCH_PTX,
    NAMES,
    PROGRAM_PTX,
    WORDS,
    OddError,
    array,
    number,
    odd,
    shape,
    text,
)
from regression.random_programs.choices import multiplies_of


def same(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result; PropertyError unless it is the one for native C-contiguous copies of the arguments."""
    found = function(*arguments)
    plain = function(*map(_plain, arguments))
    if digest(found) != digest(plain):
        rule = f"{getattr(function, '__name__', function)} gives one result for arrays of one content"
        raise PropertyError(rule, f"{found!r} for an array, {plain!r} for its plain copy")
    return found


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value, dtype=value.dtype.newbyteorder("="), order="C", copy=True, subok=False)


def through_device(values: Any) -> np.ndarray:
    """An array into device memory and back, in native byte order."""
    return np.asarray(_plain(openwmma.device(values).numpy()))


def through_fragment(matrix: Any, *fragment: str) -> np.ndarray:
    """A matrix into the registers of a warp and back."""
    return golden.collect(golden.distribute(matrix, *fragment), *fragment)  # type: ignore[arg-type]


def array_call(random: Random) -> str:
    """A call with arrays whose shapes and types fit as a rule."""
    way = random.random()
    if way < 0.15:
        return f"same(through_device, {array(random)})"
    if way < 0.35:
        form = random.choice(list(FORMS))
        bits = f"u{FORMS[form].bits // 8}"
        element = {"bf16": "ml_dtypes.bfloat16"}.get(
            FORMS[form].element, repr(FORMS[form].element.replace("f", "float"))
        )
        extents = (*shape(random), 2)
        kinds = [random.choice((repr(bits), element, element, None)) for _ in range(FORMS[form].operands)]
        written = [array(random, random.choice((extents, (2,))), kind) for kind in kinds]
        return f"same(golden.approximate, {form!r}, {', '.join(written)})"
    instruction = random.choice(multiplies_of())
    if way < 0.45:
        use = random.choice(USES)
        name = getattr(instruction, f"{use}_type")
        extents = instruction.shape.extent(use)
        matrix = array(random, extents, _fitting(random, name))
        return f"same(through_fragment, {matrix}, {use!r}, {name!r}, {str(instruction.shape)!r})"
    leading = random.choice(((), (), (1,), (2,), (0,), (2, 1)))
    raw = random.random() < 0.3
    operands = []
    for use in USES[:3]:
        extents = (*leading, *instruction.shape.extent(use))
        if random.random() < 0.05:
            extents = shape(random)
        kind = _fitting(random, getattr(instruction, f"{use}_type"), raw=raw)
        operands.append(array(random, extents, kind if random.random() < 0.95 else None))
    return f"same(golden.mma, {str(instruction)!r}, {', '.join(operands)})"


def _fitting(random: Random, name: str, *, raw: bool = False) -> str:
    """A dtype for a number format."""
    values = {
        **{"f16": "'f2'", "bf16": "ml_dtypes.bfloat16", "tf32": "'f4'", "f32": "'f4'", "f64": "'f8'"},
        **{"e4m3": "ml_dtypes.float8_e4m3fn", "e5m2": "ml_dtypes.float8_e5m2"},
    }
    if name not in values:
        return random.choice(("'i4'", "'i4'", "'i8'", "'i1'")) if name != "s32" else "'i4'"
    return f"'u{FORMATS[name].bits // 8 if name != 'tf32' else 4}'" if raw else values[name]


NOT_CALLED: Final = WORDS["not_called"]
_OBJECTS: Final = WORDS["objects"]

_METHODS_OF: Final = ("DeviceBuffer", "Kernel", "Memory", "Module")
"""Classes whose methods users call; their machines do it for them otherwise."""


def machine(size: int) -> openwmma.GoldenMachine:
    """A golden machine with so many bytes of memory."""
    config = openwmma.PRESETS["tiny"]
    return openwmma.golden_machine(config, openwmma.Memory(min(size, 1 << 20), BASE))


_MODULE_FUNCTIONS: Final = (
    *(sparsity.prune, sparsity.compress, sparsity.expand, sparsity.pack_metadata, sparsity.unpack_metadata),
    *(block_scales.pack_scales, block_scales.unpack_scales),
    *(block_scaled.pack_fp4, block_scaled.unpack_fp4),
    *(block_scaled.swizzle_scales, block_scaled.unswizzle_scales, openwmma.TensorMap.from_bytes),
)
"""Documented functions that are called by the names of their modules."""


@cache
def targets() -> dict[str, Callable[..., Any]]:
    """What is called, by the expression that is called: functions, classes and methods of both packages."""
    found: dict[str, Callable[..., Any]] = {
        f"{function.__module__}.{function.__qualname__}": function for function in _MODULE_FUNCTIONS
    }
    for package in (golden, openwmma):
        for name in package.__all__:
            item = getattr(package, name)
            if (name in NOT_CALLED and name not in _OBJECTS) or item in found.values():
                continue
            if inspect.isfunction(item) or (_is_made(item) and name not in NOT_CALLED):
                found[f"{package.__name__}.{name}"] = item
            if name in _METHODS_OF:
                # `require` gives a new address each time.
                found |= {
                    f"{_OBJECTS[name]}.{key}": method
                    for key, method in vars(item).items()
                    if inspect.isfunction(method) and not key.startswith("_") and key != "require"
                }
    return found


def _is_made(item: object) -> bool:
    """Whether users make objects of it: no error, no protocol, no enumeration."""
    return (
        inspect.isclass(item)
        and item.__init__ is not object.__init__
        and not issubclass(item, BaseException)
        and not getattr(item, "_is_protocol", False)
        and not hasattr(item, "__members__")
    )


def call(random: Random) -> str:
    """A call of anything public, as a rule with one argument of any type at all."""
    names = [name for name in sorted(targets()) for _ in range(5 if name.endswith("launch") else 1)]
    name = random.choice(names)
    parameters = parameters_of(targets()[name])
    odd_one = random.choice((None, *parameters))
    written: list[str] = []
    for parameter in parameters:
        left_out = parameter.default is not parameter.empty and random.random() < 0.6
        if parameter.name == "self" or (left_out and parameter is not odd_one):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            count = random.choice((0, 1, 1, 2, 3))
            several = [_argument(random, parameter, is_odd=parameter is odd_one) for _ in range(count)]
            written = [item.split("=", 1)[1] for item in written] + several
        elif value := _argument(random, parameter, is_odd=parameter is odd_one):
            written.append(f"{parameter.name}={value}")
    return f"{name}({', '.join(written)})"


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function, with each option of a launch in place of ``**options``."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            found.append(parameter)
            continue
        options = inspect.signature(LaunchOptions).parameters
        names = ("check", "races", "limit", "on_block", "on_step")
        found += [options[name].replace(kind=parameter.KEYWORD_ONLY) for name in names]
    return found


def object_of(parameter: inspect.Parameter) -> str | None:
    """The object of the project that a parameter takes, as an expression, empty for the default; or None."""
    annotation = inspect.formatannotation(parameter.annotation)
    classes = [key for key in _OBJECTS if re.search(rf"(^|[\W])({re.escape(key)})($|\W)", annotation)]
    if "Callable" in annotation or (classes and not re.search(r"\bstr\b", annotation)):
        return str(_OBJECTS[classes[-1]]) if classes else ""
    if re.search(r"\b(golden|hdl|sim|boards)\.(?!tables)", annotation) and not classes:
        return ""
    return None


def _argument(random: Random, parameter: inspect.Parameter, *, is_odd: bool) -> str:
    value = object_of(parameter)
    if value is not None:
        return value
    annotation = inspect.formatannotation(parameter.annotation)
    return odd(random) if is_odd else _of_type(random, parameter.name, annotation)


def _of_type(random: Random, name: str, annotation: str) -> str:
    """A value of the annotated type, often one that means something under that name."""
    meant: dict[str, Callable[[], str]] = {
        "instruction": lambda: repr(
            str(random.choice(multiplies_of())) if random.random() < 0.7 else random.choice(list(FORMS))
        ),
        "type": lambda: repr(random.choice([*FORMATS, "s32"])),
        "profile": lambda: repr(random.choice([*PROFILES, *EXACT_PROFILES])),
        "arguments": lambda: random.choice(
            (
                f"[{array(random)}, {number(random)}, {number(random)}, bytes({random.choice((16, 3))})]",
                f"{{'a': {array(random, (16, 16))}, 'n': {number(random)}}}",
            )
        ),
        "operands": lambda: (
            array(random)
            if "Sequence" not in annotation
            else "[" + ", ".join(array(random, (16, 16), f"'f{size}'") for size in (2, 2, 4)) + "]"
        ),
    }
    if name in meant:
        return meant[name]()
    if name in WORDS["meant"]:
        return str(random.choice(WORDS["meant"][name]))
    if "ArrayLike" in annotation or "_Buffer" in annotation:
        return array(random)
    if "bool" in annotation:
        return random.choice(("True", "False"))
    if "tuple[int" in annotation:
        return repr(shape(random))
    if re.search(r"\b(int|float)\b", annotation):
        return (
            number(random) if random.random() < 0.2 else str(random.choice((1, 2, 8, 16, 32, 64, 128, 4096)))
        )
    if "Path" in annotation:
        return f"Path({text(random)})"
    return text(random) if re.search(r"\bstr\b", annotation) else odd(random)


def in_threads(*calls: Callable[[], Any]) -> tuple[Any, ...]:
    """What each call gives; PropertyError unless it is the same in several threads at once."""
    outcome = partial(attempt, (*DOCUMENTED, ValueError, TypeError, IndexError, OSError))
    alone = [outcome(item) for item in calls]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(outcome, calls * 3))
    for found, want in zip(together, alone * 3, strict=True):
        if digest(found) != digest(want):
            raise PropertyError("calls give in threads what they give alone", f"{found!r}, not {want!r}")
    return tuple(alone)


def launched(*arguments: Any) -> Any:
    """What a launch of the small kernel leaves in its array."""
    array = np.arange(64, dtype=np.float32)
    openwmma.Module(LAUNCH_PTX).kernel()[2, 32](array, *arguments)
    return array


_CALLED: Final = (in_threads, launched, machine, same, through_device, through_fragment)
_NAMES: Final = {
    **NAMES,
    **{item.__name__: item for item in _CALLED},
    **{"KERNEL": LAUNCH_PTX, "PROGRAM": PROGRAM_PTX, "golden": golden, "openwmma": openwmma},
}


def any_call(random: Random) -> str:
    """A call of anything public, or several calls in threads."""
    if random.random() < 0.9:
        return call(random)
    size = random.choice((16, 16, 3))
    small = f"launched({random.randrange(70)}, {random.choice(('2', '0.5'))}, bytes({size}))"
    calls = [random.choice((call(random), array_call(random), small)) for _ in range(random.choice((2, 3)))]
    return f"in_threads({', '.join(f'lambda: {item}' for item in calls)})"


def _run(files: Files) -> Any:
    source = files["call.py"].decode("utf-8", "surrogatepass")
    try:
        result = eval(compile(source, "call.py", "eval"), dict(_NAMES))
    except Exception as error:
        if not reaches_project(error):
            return "no call"
        raise
    return result.numpy() if isinstance(result, DeviceBuffer) else result


def _kind(draw: Callable[[Random], str]) -> Kind:
    return Kind(
        make=lambda random: {"call.py": draw(random).encode("utf-8", "surrogatepass")},
        run=_run,
        errors=(*DOCUMENTED, OddError),
        pieces=r"'(?:\\.|[^'\\])*'|[\w.]+|\s+|.",
    )


ARRAYS: Final = _kind(array_call)
API: Final = _kind(any_call)
