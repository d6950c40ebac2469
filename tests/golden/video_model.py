"""Video instructions, one result at a time, in unbounded integers; operands come with their parts."""

import operator

from word_model import COMPARISONS, clamp, counted, integer


def field(bits, part, type_):
    width = {"": 32, "b": 8, "h": 16}[part[:1]]
    return integer(bits >> width * int(part[1:] or 0), type_, width), width


VIDEO = {
    "vadd": operator.add,
    "vsub": operator.sub,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) // 2,
}


def second_operation(words, type_, number, c):
    if type_ == "u32" and not 0 <= number < 1 << 32:
        number = number % (1 << 32) + (1 << 32)
    return {"add": operator.add, "min": min, "max": max}[words[-1]](number, integer(c, type_))


def merged(words, type_, number, parts, c, *, exact=False):
    if not parts[0]:
        number = integer(number, "s32") if "sat" in words and not exact else number
        return second_operation(words, type_, number, c) if words[-1] in ("add", "min", "max") else number
    width, index = (8 if parts[0][0] == "b" else 16), int(parts[0][1])
    position = width * index
    mask = (1 << width) - 1 << position
    return (number if parts[0] == "h1" else number << position) & mask | c & ~mask


def saturated(number, target, width):
    if width == 32:
        return max(number, 0) % (1 << 32) if target == "u32" else clamp(number, target)
    return number if 0 <= number <= clamp(number, target, width) else clamp(1 << 40, target, width)


def video(name):
    def evaluate(words, parts, a, b, c=0):
        target, *types = words.types
        x, y = (
            field(bits, part, type_)[0] for bits, part, type_ in zip((a, b), parts[1:], types, strict=False)
        )
        number = VIDEO[name](x, y)
        exact = name == "vabsdiff" and target == "u32" and words[-1] in ("add", "min", "max") and not parts[0]
        if "sat" in words and not exact:
            width = 32 if not parts[0] else 8 if parts[0][0] == "b" else 16
            number = saturated(number, target, width)
        elif name in ("vadd", "vsub"):
            number = integer(number, "s32")
        return merged(words, target, number, parts, c, exact=exact)

    return evaluate


def video_shift(right):
    def evaluate(words, parts, a, b, c=0):
        target, a_type, _ = words.types
        count = counted(words, field(b, parts[2], "u32")[0])
        number = field(a, parts[1], a_type)[0]
        number = number >> count if right else number << count
        if "sat" in words:
            number = clamp(integer(number, "s", 34), target)
        return merged(words, target, number, parts, c)

    return evaluate


def video_set(words, parts, a, b, c=0):
    x, y = (
        field(bits, part, type_)[0] for bits, part, type_ in zip((a, b), parts[1:], words.types, strict=False)
    )
    name = words.choice(*COMPARISONS)
    return merged(words, words.type, int(COMPARISONS[name](x, y)), parts, c)


def video_multiply_add(words, parts, a, b, c):
    _, *types = words.types
    x, y = (
        integer(field(bits, part.lstrip("-"), type_)[0], "s32")
        for bits, part, type_ in zip((a, b), parts[1:3], types, strict=True)
    )
    negative = parts[1].startswith("-") != parts[2].startswith("-")
    subtracts = parts[3] == "-"
    total = (-x if negative else x) * y + (-1 if subtracts else 1) * integer(c, "s32") + ("po" in words)
    shift = int(words.choice("shr7", "shr15", default="shr0")[3:])
    final = "s32" if "s32" in types or negative or subtracts else "u32"
    total = total >> shift if final == "s32" or not shift else total % (1 << 64) >> shift
    return clamp(total, final) if "sat" in words else total


def packed_video(function, count):
    width = 32 // count

    def evaluate(words, parts, a, b, c):
        types = words.types[-2:]
        both = b << 32 | a
        into = [int(x) for x in parts[0][1:]] or list(range(count))
        chosen = [
            [int(x) for x in reversed(part[1:])] or [first + i for i in range(count)]
            for part, first in zip(parts[1:], (0, count), strict=False)
        ]
        total = c if "add" in words else 0
        for i in range(count):
            x, y = (
                integer(both >> width * index[i], t, width) for index, t in zip(chosen, types, strict=True)
            )
            number = function(words, x, y)
            if "sat" in words:
                number = clamp(number, words.type, width)
            if "add" in words:
                total += number if i in into else 0
            else:
                total |= ((number if i in into else c >> width * i) % (1 << width)) << width * i
        return total

    return evaluate
