"""The kinds of campaign by name. A kind is imported where it is used, so that a worker starts quickly."""

from typing import Final

KINDS: Final[dict[str, tuple[str, str]]] = {
    "random": (
        f"{__name__}.random_programs:RandomPrograms",
        "random programs, core against golden model; one that fails is shrunk and saved",
    ),
    "results": (f"{__name__}.results:Results", "results of families of mma.sync, core against golden model"),
    "mutation": (
        f"{__name__}.mutation:Mutation",
        "faults in the hardware, one by one: whether the tests of each unit notice",
    ),
    "coverage": (
        f"{__name__}.code_coverage:CodeCoverage",
        "testbenches: lines, branches and signal bits of the hardware that they reach",
    ),
    "functional": (
        f"{__name__}.functional_coverage:FunctionalCoverage",
        "directed and random programs until every bin of the functional model was seen",
    ),
    "fuzz": (
        f"{__name__}.fuzzing:Fuzz",
        "drawn and damaged input for every entrance; what fails is shrunk and saved",
    ),
    "tests": (f"{__name__}.tests:Tests", "tests of this repository, by pytest"),
    "kernels": (
        f"{__name__}.kernels:Kernels",
        "launches of launch files, repeated and compared in every byte",
    ),
    "chip": (f"{__name__}.chip:Chip", "instructions, golden model against the NVIDIA GPU of each worker"),
}
"""The class of a kind, and what it does, for the command line."""
