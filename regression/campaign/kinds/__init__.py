"""The kinds of campaign by name."""

from collections.abc import Mapping
from typing import Final

from regression.campaign.kind import Kind
from regression.campaign.kinds.chip import Chip
from regression.campaign.kinds.code_coverage import CodeCoverage
from regression.campaign.kinds.functional_coverage import FunctionalCoverage
from regression.campaign.kinds.fuzzing import Fuzz
from regression.campaign.kinds.kernels import Kernels
from regression.campaign.kinds.mutation import Mutation
from regression.campaign.kinds.random_programs import RandomPrograms
from regression.campaign.kinds.results import Results
from regression.campaign.kinds.tests import Tests

__all__ = ["KINDS"]

KINDS: Final[Mapping[str, type[Kind]]] = {
    kind.name: kind
    for kind in (
        RandomPrograms,
        Results,
        Mutation,
        CodeCoverage,
        FunctionalCoverage,
        Fuzz,
        Tests,
        Kernels,
        Chip,
    )
}
