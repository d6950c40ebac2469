"""Random straight blocks of multiplications and additions against the rule, written a second time.

A block is in single assignment: value i is the result of operation i - 8, values 0 to 7 are the inputs. The
evaluator below looks at operands backwards, from the sums to the products, where the package follows each
product forwards to its uses.
"""

import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from contraction_kernels import THREADS, numbers, results

from golden.scalar import operation

INPUTS = 8
GUARDED = 128
"""Threads from this number on have the guard."""


@dataclass(frozen=True)
class Operation:
    """One instruction on earlier values; under a guard it leaves the first input."""

    name: str
    sources: tuple[int, ...]
    flush: bool = False
    saturate: bool = False
    guarded: bool = False

    @property
    def text(self) -> str:
        return f"{self.name}{'.ftz' * self.flush}{'.sat' * self.saturate}.f32"


@dataclass(frozen=True)
class Block:
    operations: tuple[Operation, ...]

    @property
    def results(self) -> tuple[int, int]:
        last = INPUTS + len(self.operations) - 1
        return last, last - 2

    def ptx(self) -> str:
        lines = ["setp.ge.u32 %p1,%r1,128;"]
        for value, item in enumerate(self.operations, INPUTS):
            registers = ",".join(f"%f{30 + value}" if value >= INPUTS else "" for value in (value,))
            sources = ",".join(register(source) for source in item.sources)
            if item.guarded:
                lines.append(f"mov.f32 {registers},%f1;")
            lines.append(f"{'@%p1 ' * item.guarded}{item.text} {registers},{sources};")
        first, second = map(register, self.results)
        return "\n".join([*lines, f"mov.f32 %f20,{first}; mov.f32 %f21,{second};"])


def register(value: int) -> str:
    return f"%f{30 + value}" if value >= INPUTS else f"%f{value + 1}"


class Rule:
    """Which product each sum takes, and the values that follow."""

    def __init__(self, block: Block, given: np.ndarray) -> None:
        self.block = block
        self.given = given

    def of(self, value: int) -> Operation | None:
        return self.block.operations[value - INPUTS] if value >= INPUTS else None

    @cached_property
    def live(self) -> set[int]:
        found: set[int] = set()
        wanted = list(self.block.results)
        while wanted:
            value = wanted.pop()
            item = self.of(value)
            if value not in found and item is not None:
                found.add(value)
                wanted += item.sources
        return found

    def root(self, value: int) -> tuple[int, int] | None:
        """The product behind negations, and its sign."""
        sign = 1
        while (item := self.of(value)) is not None and item.name == "neg":
            value, sign = item.sources[0], -sign
        is_product = item is not None and item.name == "mul" and not item.saturate and not item.guarded
        return (value, sign) if is_product else None

    def readers(self, product: int) -> list[tuple[int, int]]:
        """The live values, other than negations, that read a product, and which source; -1 for results."""
        found = []
        for value in sorted(self.live):
            item = self.of(value)
            assert item is not None
            if item.name != "neg":
                roots = [self.root(source) for source in item.sources]
                found += [(value, i) for i, root in enumerate(roots) if root and root[0] == product]
        outside = [root for root in map(self.root, self.block.results) if root and root[0] == product]
        return found + [(-1, 0)] * len(outside)

    def is_free(self, product: int) -> bool:
        """Whether every use is a sum that may take the product."""
        mine = self.of(product)
        readers = self.readers(product)
        if not readers or len({value for value, _ in readers}) < len(readers):
            return False
        for value, i in readers:
            item = self.of(value) if value >= 0 else None
            if item is None or item.name not in ("add", "sub") or mine is None or item.flush != mine.flush:
                return False
            twin = self.root(item.sources[1 - i])
            other = self.of(twin[0]) if twin else None
            if item.name == "add" and twin and other and twin[1] == self.root(item.sources[i])[1] == 1:
                alike = sorted(other.sources) == sorted(mine.sources) and other.text == mine.text
                if alike:
                    return False
        return True

    @cached_property
    def taken(self) -> dict[int, int]:
        """Sum to the number of the source that it takes."""
        sums = [v for v in sorted(self.live) if self.of(v).name in ("add", "sub")]
        products = {root[0] for v in sums for root in map(self.root, self.of(v).sources) if root}
        free = {product for product in products if self.is_free(product)}
        count = {product: len(self.readers(product)) for product in products}
        taken: dict[int, int] = {}
        for allowed in (range(1, 2), range(1, 1000)):
            for value in sums:
                roots = [self.root(source) for source in self.of(value).sources]
                able = [
                    i
                    for i, root in enumerate(roots)
                    if root and root[0] in free and count[root[0]] in allowed
                ]
                if value in taken or not able:
                    continue
                best = able[0] if len(able) < 2 or count[roots[0][0]] <= count[roots[1][0]] else able[1]
                taken[value] = best
                left = roots[1 - best]
                free -= {left[0]} if left else set()
        return taken

    def value(self, value: int) -> np.ndarray:
        item = self.of(value)
        if item is None:
            return self.given[value]
        if value in self.taken:
            found = self.fused(value, self.taken[value])
        else:
            rounded = item.text.replace(item.name, f"{item.name}.rn") if item.name != "neg" else item.text
            found = operation(rounded).evaluate(*map(self.value, item.sources))
        return np.where(np.arange(THREADS) >= GUARDED, found, self.given[0]) if item.guarded else found

    def fused(self, value: int, source: int) -> np.ndarray:
        item = self.of(value)
        product, sign = self.root(item.sources[source])
        first, second = map(self.value, self.of(product).sources)
        addend = self.value(item.sources[1 - source])
        if item.name == "sub":
            sign, addend = (-sign, addend) if source else (sign, addend ^ np.uint32(1 << 31))
        first = first ^ np.uint32(1 << 31) if sign < 0 else first
        name = f"fma.rn{'.ftz' * item.flush}{'.sat' * item.saturate}.f32"
        return operation(name).evaluate(first, second, addend)


def drawn(seed: int) -> Block:
    """A block of 5 to 14 operations, most on recent values."""
    source = random.Random(seed)
    flushes = source.choice([0, 0, 0.2, 1])
    operations: list[Operation] = []
    for count in range(source.randint(5, 14)):
        name = source.choices(["mul", "add", "sub", "neg"], [4, 4, 3, 1])[0]
        values = range(INPUTS + count)
        sources = [
            source.choice(values[-6:]) if source.random() < 0.7 else source.choice(values) for _ in "ab"
        ]
        operations.append(
            Operation(
                name,
                tuple(sources[: 1 + (name != "neg")]),
                flush=name != "neg" and source.random() < flushes,
                saturate=name != "neg" and source.random() < 0.04,
                guarded=source.random() < 0.06,
            )
        )
    return Block(tuple(operations))


@pytest.mark.parametrize("chunk", range(4))
def test_random_blocks_follow_the_rule(chunk: int) -> None:
    given = numbers(chunk)
    changed = 0
    for seed in range(40 * chunk, 40 * chunk + 40):
        block = drawn(seed)
        rule = Rule(block, given)
        expected = np.array([rule.value(value) for value in block.results])
        found = results(block.ptx(), given)
        assert np.array_equal(found, expected), f"seed {seed}:\n{block.ptx()}"
        changed += not np.array_equal(found, results(block.ptx(), given, contract=False))
    assert changed > 5
