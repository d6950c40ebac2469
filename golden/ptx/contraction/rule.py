"""Which product joins which sum."""

from dataclasses import dataclass, field

from golden.ptx.contraction.flow import Flow
from golden.ptx.contraction.forms import ATOMICS, Form, division, form, inner_sum, is_move, straightens
from golden.ptx.syntax import Instruction, Operand, Register, parts


@dataclass
class Product:
    """A multiplication that may join additions."""

    place: int
    """Its statement."""
    form: Form
    anywhere: bool
    """Whether its uses may be outside of its straight block: one factor is known before the kernel starts."""
    literal: bool = False
    """Whether one factor is a constant in the code: it may join an atomic in shared memory, its only use."""
    uses: set[tuple[int, int]] = field(default_factory=set)
    """The sums that read it, each a statement and the number of the addition in it."""
    joinable: bool = True
    """Whether all its uses are sums that it may join."""


@dataclass(frozen=True)
class Join:
    """A product in a sum."""

    place: int
    number: int
    """Statement of the sum; which of its additions, other than 0 for `forms.inner_sum` alone."""
    product: Product
    operand: int
    """Which operand of the addition it is, 0 or 1."""
    negated: bool


def may_join(instructions: list[Instruction]) -> bool:
    """Whether there are products and sums at all, and rounding may be saved."""
    multiplies = any(form(item, "mul") or division(item) for item in instructions)
    return multiplies and any(form(item, "add", "sub") or inner_sum(item) for item in instructions)


def join(flow: Flow) -> list[Join]:
    """All joins of a body, in the order of the sums.

    First every sum, in order, takes a product that has no other use. Then every other sum, in order, takes
    the product with the fewest uses. Among equals it takes the first operand. The product that it leaves is
    then needed in itself, and joins no further sum.
    """
    sums: dict[tuple[int, int], dict[int, Join]] = {}
    for place in sorted(flow.live):
        product = _product(flow, place)
        if product is not None:
            _follow(flow, product, sums)
    for (place, _), operands in sums.items():
        _keep_doubled(flow, place, list(operands.values()))
    found: dict[tuple[int, int], Join] = {}
    for most in (1, None):
        for key in sorted(sums):
            candidates = [sums[key][i] for i in sorted(sums[key])]
            able = [item for item in candidates if item.product.joinable]
            able = [item for item in able if most is None or len(item.product.uses) == most]
            if key in found or not able:
                continue
            found[key] = min(able, key=lambda item: len(item.product.uses))
            for item in candidates:
                if item is not found[key]:
                    item.product.joinable = False
    return [found[key] for key in sorted(found)]


def _product(flow: Flow, place: int) -> Product | None:
    """The product that a statement computes."""
    statement = flow.statements[place]
    instruction = statement.instruction
    if statement.guard is not None:
        return None
    found = form(instruction, "mul")
    if found is not None and not found.saturate:
        factors = instruction.operands[1:]
        known = [flow.constant(place, factor, found.type) for factor in factors]
        if None not in known or any(straightens(bits, found.type) for bits in known):
            return None
        fixed = any(flow.is_fixed(place, factor, found.type) for factor in factors)
        return Product(place, found, fixed, known != [None, None])
    divided = division(instruction)
    if divided is None or divided == ("rcp", True):
        return None
    kind, flush = divided
    fixed, numerator = False, instruction.operands[1]
    if (kind, flush) == ("approx", True):
        if straightens(flow.constant(place, numerator, "f32"), "f32"):
            return None
        fixed = flow.is_fixed(place, numerator, "f32")
    return Product(place, Form("mul", "f32", flush, saturate=False), fixed)


def _follow(flow: Flow, product: Product, sums: dict[tuple[int, int], dict[int, Join]]) -> None:
    """Find the uses of a product, also behind copies and negations, and note it in the sums among them.

    ``neg.ftz`` adds -0. As the only use of a product it joins it, and what it is added to joins that in turn,
    whatever else reads the negation; what it is subtracted from does not.
    """
    waiting = [(product.place, False, False)]
    while waiting:
        place, negated, free = waiting.pop()
        target = flow.statements[place].instruction.operands[0]
        assert isinstance(target, Register)
        slot = flow.slot(target)
        users = flow.users.get((place, slot), ())
        for user in users:
            sign = _passes(flow, user, target, product.form)
            flushes = sign < 0 and "ftz" in flow.statements[user].instruction.opcode
            if free and (sign or not _adds(flow, user, target, product)):
                continue
            if flow.values[user, slot] != (place,) or (flushes and len(users) > 1):
                product.joinable = False
            elif sign:
                waiting.append((user, negated != (sign < 0), flushes))
            else:
                additions = _additions(flow, user, target, product)
                if flow.statements[user].instruction.opcode[0] in ATOMICS and len(users) > 1:
                    additions = None
                (block, start), (other, later) = flow.places[product.place], flow.places[user]
                near = product.anywhere or (block == other and start < later)
                product.joinable &= additions is not None and near
                for number, operand in additions or ():
                    key = (user, number)
                    product.joinable &= key not in product.uses
                    product.uses.add(key)
                    sums.setdefault(key, {})[operand] = Join(user, number, product, operand, negated)


def _adds(flow: Flow, user: int, register: Register, product: Product) -> bool:
    """Whether a statement adds a register to something else in the straight block of a product."""
    found = _additions(flow, user, register, product)
    _, *operands = flow.statements[user].instruction.operands
    added = operands if flow.statements[user].instruction.opcode[0] == "add" else operands[:1]
    near = product.anywhere or flow.places[user][0] == flow.places[product.place][0]
    return found is not None and len(found) == 1 and near and any(_is(item, register) for item in added)


def _additions(flow: Flow, user: int, register: Register, product: Product) -> list[tuple[int, int]] | None:
    """The additions of a statement that have a register as an operand, as number and operand.

    None where it is read for anything else too, or the addition does not match the product.
    """
    statement = flow.statements[user]
    guard = statement.instruction.guard
    if guard is not None and guard.register.key == register.key:
        return None
    found = form(statement.instruction, "add", "sub")
    if found is not None:
        read = statement.instruction.operands[1:]
        places = [(0, i) for i, operand in enumerate(read) if _is(operand, register)]
        return places if found.matches(product.form) else None
    found = inner_sum(statement.instruction)
    if found is None or not found.matches(product.form):
        return None
    if statement.instruction.opcode[0] in ATOMICS:
        return [(0, 1)] if product.literal else None
    target, *factors, addends = statement.instruction.operands
    if any(_is(part, register) for factor in factors for part in parts(factor)):
        return None
    return [
        (number, 1)
        for number, (result, operand) in enumerate(zip(parts(target), parts(addends), strict=True))
        if _is(operand, register)
        and isinstance(result, Register)
        and (user, flow.slot(result)) in flow.needed
    ]


def _passes(flow: Flow, user: int, register: Register, product: Form) -> int:
    """1 where a statement only copies a register, -1 where it only changes its sign, otherwise 0."""
    statement = flow.statements[user]
    if statement.guard is not None:
        return 0
    instruction = statement.instruction
    if is_move(instruction):
        return 1
    negation = form(instruction, "neg")
    if negation is not None and not negation.saturate:
        flushed = not negation.flush or (product.flush and product.type == "f32")
        return -1 if negation.type == product.type != "bf16x2" and flushed else 0
    found = form(instruction, "mul")
    if found is None or found.saturate or found.type != product.type or (found.flush and not product.flush):
        return 0
    first, second = instruction.operands[1:]
    other = second if _is(first, register) else first
    return straightens(flow.constant(user, other, found.type), found.type)


def _keep_doubled(flow: Flow, place: int, operands: list[Join]) -> None:
    """Two products of the same factors are one product; added, it is an operand twice, and not joined."""
    if len(operands) < 2:
        return
    first, second = (item.product for item in operands)
    instructions = [flow.statements[item.place].instruction for item in (first, second)]
    if (
        flow.statements[place].instruction.opcode[0] != "add"
        or first.form.type.endswith("x2")
        or operands[0].negated
        or operands[1].negated
        or instructions[0].opcode != instructions[1].opcode
    ):
        return
    factors = [
        [(item.place, operand) for operand in instruction.operands[1:]]
        for item, instruction in zip((first, second), instructions, strict=True)
    ]
    orders = [factors[1], factors[1][::-1]] if instructions[0].opcode[0] == "mul" else [factors[1]]
    if any(all(map(flow.same, factors[0], order)) for order in orders):
        first.joinable = second.joinable = False


def _is(operand: Operand, register: Register) -> bool:
    return isinstance(operand, Register) and operand.key == register.key
