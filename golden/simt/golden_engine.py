"""What computes the matrix instructions of a kernel: the golden model under a profile."""

from golden.invalid_argument import InvalidArgument
from golden.resolve import resolve_profile
from golden.tables.matrix_instructions import Instruction, MmaInstruction
from golden.tables.profiles import HOPPER, ExactProfile, Profile


class GoldenEngine:
    """The numerics of a launch, and what it may execute."""

    def __init__(self, profile: Profile | ExactProfile = HOPPER) -> None:
        self.profile = profile

    def missing(self, instruction: Instruction) -> str | None:
        """Why an instruction cannot be executed; None if it can. Asked before a kernel starts.

        The golden model does not execute what the generation of its profile does not have.
        """
        if isinstance(instruction, MmaInstruction):
            try:
                resolve_profile(self.profile, instruction)
            except InvalidArgument as error:
                return str(error)
        return None
