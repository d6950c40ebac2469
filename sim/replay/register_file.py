"""Which contents are resident in the registers of a warp of a core, and which are evicted.

The content with the latest next use is evicted first (L. A. Belady, IBM Systems Journal 5 (1966), no. 2). A
content begins at a multiple of its size, rounded up to a power of two: so the four fragments of a multiply,
of eight registers at most, fit 32 registers, whatever lay there before.
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from golden.simt.errors import LaunchError

NEVER: Final = 1 << 62
"""The next use of a content that is used no more."""

Content = TypeVar("Content", bound=Hashable)
"""Equal for equal contents: their bytes, register after register, or what stands for them."""


@dataclass(eq=False, slots=True)
class Resident(Generic[Content]):
    """A content in registers."""

    content: Content
    first: int
    """The first register."""
    count: int
    """The registers that it takes."""
    next_use: int = NEVER
    """Number of the next entry of the warp that reads it."""


class RegisterFile(Generic[Content]):
    """The registers of a warp; contents take multiples of `unit` registers."""

    def __init__(self, size: int, unit: int) -> None:
        self._unit = unit
        self._owners: list[Resident[Content] | None] = [None] * size
        self._residents: dict[Content, Resident[Content]] = {}
        self._next = 0

    def find(self, content: Content) -> Resident[Content] | None:
        """The registers that hold a content."""
        return self._residents.get(content)

    def whole(self, count: int) -> int:
        """The registers that a content of `count` registers takes."""
        return -(-count // self._unit) * self._unit

    def take(self, content: Content, count: int, keep: Collection[Resident[Content]]) -> Resident[Content]:
        """Give a content `count` registers, of which none holds a content of `keep`.

        LaunchError where there are too few.
        """
        found = self.take_early(content, count, keep, -1)
        if found is None:
            size = len(self._owners)
            raise LaunchError(f"the fragments of one instruction do not fit {size} registers of a warp")
        return found

    def take_early(
        self, content: Content, count: int, keep: Collection[Resident[Content]], number: int
    ) -> Resident[Content] | None:
        """As `take`, of registers whose contents are used behind the entry of a number; None without them."""
        count, best, most = self.whole(count), -1, number
        step = 1 << (count - 1).bit_length()
        starts = range(0, len(self._owners) - count + 1, step)
        turn = min(-(-self._next // step), len(starts))
        for start in (*starts[turn:], *starts[:turn]):
            least = NEVER
            for owner in self._owners[start : start + count]:
                if owner is not None and owner.next_use < least:
                    least = owner.next_use
                    if least <= most:
                        break
            if least > most and not any(owner in keep for owner in self._owners[start : start + count]):
                best, most = start, least
                if least == NEVER:
                    break
        if best < 0:
            return None
        for owner in set(self._owners[best : best + count]) - {None}:
            assert owner is not None
            self.release(owner)
        self._next = best + count
        return self._hold(Resident(content, best, count))

    def replace(self, old: Resident[Content], content: Content) -> Resident[Content]:
        """Give a content the registers of another."""
        self.release(old)
        return self._hold(Resident(content, old.first, old.count))

    def set_uses(self, uses: Mapping[Content, int]) -> None:
        """Tell the next use of each content."""
        for content, resident in self._residents.items():
            resident.next_use = uses.get(content, NEVER)

    def _hold(self, resident: Resident[Content]) -> Resident[Content]:
        other = self._residents.get(resident.content)
        if other is not None:
            self.release(other)
        self._residents[resident.content] = resident
        self._owners[resident.first : resident.first + resident.count] = [resident] * resident.count
        return resident

    def release(self, resident: Resident[Content]) -> None:
        """Forget the content of some registers."""
        if self._residents.get(resident.content) is resident:
            del self._residents[resident.content]
        self._owners[resident.first : resident.first + resident.count] = [None] * resident.count
