"""The instruction and the profile that a caller names, as objects."""

from golden.integers import quoted
from golden.invalid_argument import InvalidArgument
from golden.ptx.mnemonic import parse_instruction
from golden.tables.instruction_set import OPCODES
from golden.tables.matrix_instructions import MmaInstruction
from golden.tables.profiles import EXACT_PROFILES, PROFILES, ExactProfile, Profile


def resolve_instruction(instruction: str | MmaInstruction) -> MmaInstruction:
    """The multiply that `instruction` is or spells.

    InvalidArgument for another kind of instruction, or another type.
    """
    parsed: object = instruction
    if isinstance(instruction, str):
        parsed = parse_instruction(instruction)
    if not isinstance(parsed, MmaInstruction):
        allowed = "a multiply, as PTX text without operands or parsed"
        raise InvalidArgument("instruction", quoted(instruction, 400), allowed)
    return parsed


def resolve_profile(
    profile: str | Profile | ExactProfile, instruction: MmaInstruction
) -> Profile | ExactProfile:
    """The profile of that name.

    InvalidArgument for an unknown name, or a generation without the instruction's multiplicands.
    """
    if isinstance(profile, str):
        found = PROFILES.get(profile) or EXACT_PROFILES.get(profile)
        if found is None:
            names = ", ".join((*PROFILES, *EXACT_PROFILES))
            raise InvalidArgument("profile", quoted(profile), names)
        profile = found
    if not isinstance(profile, Profile | ExactProfile):
        raise InvalidArgument("profile", quoted(profile), "a name, a Profile or an ExactProfile")
    family = instruction.family
    if isinstance(profile, Profile) and not profile.executes(family):
        having = [p.name for p in PROFILES.values() if p.executes(family)]
        kind = f".kind::{family.kind}" if family.kind else ""
        given = f"{profile.name}, which has no {instruction.a_type} in {OPCODES[family.mnemonic]}{kind}"
        raise InvalidArgument("profile", given, ", ".join((*having, *EXACT_PROFILES)))
    return profile
