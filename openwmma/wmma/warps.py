"""A warp: the machine that executes the calls of the API, its registers, its memory and its program."""

from contextlib import ExitStack
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar, Unpack
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from golden.integers import integer_of, quoted, shortened
from golden.limits import DEVICE_BYTES
from golden.machine import Counters, Machine
from golden.programs.buffers import BASE
from hdl.config import PRESETS, CoreConfig
from openwmma.target import MachineKind, MachineOptions, Target
from openwmma.wmma.element_types import Misuse
from openwmma.wmma.program import Program
from openwmma.wmma.register_file import WarpRegisters
from openwmma.wmma.warp_arrays import WarpArrays

_SMALL_MEMORY: Final = 1 << 20
"""Bytes of memory where all of it is compared after each command, or cleared over a serial line."""

_LARGE_MEMORY: Final = 1 << 26
"""Bytes of memory elsewhere; the system gives only the pages that are used."""

_PAGE: Final = 4096


_Part = TypeVar("_Part")


class _Written(Protocol):
    """A fragment whose elements the host may have written."""

    @property
    def number(self) -> int: ...

    def flush(self) -> None: ...

    def freeze(self) -> None: ...


class warp:  # noqa: N801
    """One warp, as a context: ``with wmma.warp(on="lockstep", preset="small"):``.

    Inside, fragments can be made and used. Each call has been executed when it returns. Fragments can be read
    after the end, but not used.

    Parameters
    ----------
    on : {"golden", "rtl", "lockstep", "board"}
        What executes: the golden model, the simulated core, both with a comparison of all registers and
        memory after each instruction, or a core on a board.
    memory_bytes : int or None
        Global memory for all arrays that are used, a multiple of 4096. By default 64 MiB, in lockstep and on
        a board 1 MiB.
    strict : bool
        True for the alignment that CUDA's documentation asks for: pointers of 32 bytes, leading dimensions of
        16 bytes. False for the bytes that a core asks for: docs/reference/instructions.md.
    **options
        Of the machine: `openwmma.target.MachineOptions`.

    Raises
    ------
    Misuse
        For a machine or preset that does not exist, and an unusable memory size.
    openwmma.usage_error.UsageError
        For other options that do not go together.
    boards.host.link.errors.LinkError, sim.verilate.BuildError
        When entered: for a machine that cannot be opened.
    """

    def __init__(
        self,
        *,
        on: str = "golden",
        memory_bytes: int | None = None,
        strict: bool = True,
        **options: Unpack[MachineOptions],
    ) -> None:
        kinds = [kind.value for kind in MachineKind]
        if not isinstance(on, str) or on not in kinds:
            raise Misuse(f"warp: on={quoted(on)}", f"a warp runs on one of {', '.join(kinds)}")
        preset = options.get("preset")
        if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
            raise Misuse(f"warp: preset={quoted(preset)}", f"the presets are {', '.join(PRESETS)}")
        if not isinstance(strict, bool):
            raise Misuse(f"warp: strict={quoted(strict)}", "strict is True or False")
        size = integer_of(memory_bytes) or 0
        if memory_bytes is not None and (size <= 0 or size % _PAGE or size > DEVICE_BYTES):
            raise Misuse(
                f"warp: memory_bytes={shortened(memory_bytes)}",
                f"it must be a positive multiple of {_PAGE} up to {DEVICE_BYTES}",
            )
        self._target = Target.of(MachineKind(on), options)
        compared = self._target.on is MachineKind.LOCKSTEP or self._target.port is not None
        self._memory_bytes = size or (_SMALL_MEMORY if compared else _LARGE_MEMORY)
        self.strict = strict
        self._stack = ExitStack()
        self._token: Token[warp | None] | None = None
        self._machine: Machine | None = None
        self._config: CoreConfig | None = None
        self._registers: WarpRegisters | None = None
        self._memory: WarpArrays | None = None
        self._counters = Counters()
        self._written: WeakSet[_Written] = WeakSet()
        self.program: Final = Program()

    def __enter__(self) -> Self:
        if self._token is not None:
            raise Misuse("warp: entered a second time", "make a new warp for another program")
        with ExitStack() as stack:
            source = stack.enter_context(self._target.prepared())
            size = min(self._memory_bytes, source.memory_bytes or self._memory_bytes)
            self._machine = source.open(size)
            stack.callback(self._machine.close)
            self._config = source.config
            self._registers = WarpRegisters(self._machine, source.config.registers)
            self._memory = WarpArrays(self._machine.memory, BASE, size)
            self._stack = stack.pop_all()
        self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)
        with self._stack:
            if kind is None:
                self.flush()
                self.registers.fetch_all()
                self.machine.finish()
            for fragment in self._written:
                fragment.freeze()
            self._counters = self.machine.counters
            self.registers.detach()
            self._machine = None

    @property
    def machine(self) -> Machine:
        """The machine, while the warp is open; Misuse before its beginning and after its end."""
        return _begun(self._machine)

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended."""
        return self._machine is not None

    @property
    def config(self) -> CoreConfig:
        """The configuration of the core; from the beginning on, as `registers` and `memory`."""
        return _begun(self._config)

    @property
    def preset(self) -> str:
        """What the configuration is called in messages."""
        return next(
            (name for name, config in PRESETS.items() if config == self._config), "of this configuration"
        )

    @property
    def registers(self) -> WarpRegisters:
        """Where the fragments are."""
        return _begun(self._registers)

    @property
    def memory(self) -> WarpArrays:
        """Where the arrays are."""
        return _begun(self._memory)

    @property
    def counters(self) -> Counters:
        """What the machine has done so far."""
        return self._machine.counters if self._machine is not None else self._counters

    @property
    def spills(self) -> int:
        """How often a fragment had to leave the registers for the host."""
        return self.registers.spills

    def watch(self, fragment: _Written) -> None:
        """Call `flush` of a fragment before the next call uses any."""
        self._written.add(fragment)

    def flush(self) -> None:
        """Bring what the host has written into fragments to the machine."""
        for fragment in sorted(self._written, key=lambda item: item.number):
            fragment.flush()

    def ptx(self) -> str:
        """The PTX program that has run so far: one entry, ``warp``, without loops.

        Its parameters are the addresses of the arrays of `arguments`. Elements that the host has computed,
        and arrays that it has changed between two calls, are loaded from parameters of their own. `satf`
        of floating point, which PTX does not have, is a sequence of scalar instructions.
        """
        if self.is_open:
            self.flush()
        return self.program.text([array.name for array in self.memory.arrays])

    def arguments(self) -> dict[str, NDArray[np.uint8]]:
        """The bytes that each parameter of `ptx` points to when the program begins.

        ``array0``, ``array1``, ... are the arrays that were used, in the order of their first use, as they
        were then.
        """
        if self.is_open:
            self.flush()
        arrays = {array.name: array.initial.copy() for array in self.memory.arrays}
        return arrays | {name: tile.copy() for name, tile in self.program.tiles.items()}


def _begun(part: _Part | None) -> _Part:
    """What a warp has from its beginning on; Misuse before."""
    if part is None:
        raise Misuse("warp: it is not open", "use it inside `with wmma.warp(...)`")
    return part


_CURRENT: Final = ContextVar[warp | None]("openwmma.wmma.warp", default=None)


def current_warp(what: str) -> warp:
    """The warp that the caller is in; Misuse, which begins with `what`, outside of one."""
    found = _CURRENT.get()
    if found is None:
        raise Misuse(
            f"{what} outside a warp", "all threads of a warp execute it: use it inside `with wmma.warp(...)`"
        )
    return found
