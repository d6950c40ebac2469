"""Lines of syntax: what the qualifiers of an opcode are, ``add .rn|.rz? .ftz? .f32``."""

from collections.abc import Container, Sequence


def chosen_qualifiers(
    syntax: str, words: Sequence[str], ordered: Container[str] = frozenset()
) -> list[str] | None:
    """Which alternative of each group of a line is among some qualifiers; None where these do not fit.

    The line has the opcode and groups of qualifiers, separated by spaces. Alternatives are separated by
    ``|``; a group with ``?`` may be left off, and then has an empty alternative. The qualifiers, without
    their dots, come in any order, but those in `ordered`, such as types, in theirs.
    """
    left, chosen = list(words), []
    for group in syntax.split()[1:]:
        alternatives = [item.removeprefix(".") for item in group.rstrip("?").split("|")]
        following = next((word for word in left if word in ordered), "")
        candidates = [word for word in left if word not in ordered or word == following]
        found = next((word for word in candidates if word in alternatives), "")
        if found:
            left.remove(found)
        elif not group.endswith("?"):
            return None
        chosen.append(found)
    return None if left else chosen
