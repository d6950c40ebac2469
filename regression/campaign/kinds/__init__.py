"""The kinds of campaign by name. A kind is imported where it is used, so that a worker starts quickly."""

from typing import Final

KINDS: Final[dict[str, tuple[str, str]]] = {
    "random": (
        "regression.campaign.kinds.random_programs:RandomPrograms",
        "random programs, core against golden model; one that fails is shrunk and saved as PTX",
    ),
    "results": (
        "regression.campaign.kinds.results:Results",
        "results of families of mma.sync, core against golden model",
    ),
    "mutation": (
        "regression.campaign.kinds.mutation:Mutation",
        "faults in the hardware, one by one: whether the tests of each unit notice",
    ),
    "coverage": (
        "regression.campaign.kinds.code_coverage:CodeCoverage",
        "testbenches: lines, branches and signal bits of the hardware that they reach",
    ),
    "functional": (
        "regression.campaign.kinds.functional_coverage:FunctionalCoverage",
        "directed and random programs until every bin of the functional model was seen",
    ),
    "fuzz": (
        "regression.campaign.kinds.fuzzing:Fuzz",
        "drawn and damaged input for every entrance; what fails is shrunk and saved",
    ),
    "tests": ("regression.campaign.kinds.tests:Tests", "tests of this repository, by pytest"),
    "kernels": (
        "regression.campaign.kinds.kernels:Kernels",
        "launches of launch files, repeated and compared in every byte",
    ),
    "chip": (
        "regression.campaign.kinds.chip:Chip",
        "instructions, golden model against the NVIDIA GPU of each worker",
    ),
}
"""The class of a kind, and what it does, for the command line."""
