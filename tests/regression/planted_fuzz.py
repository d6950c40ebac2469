"""The fuzzing suite with a defect, for its tests."""

import planted

from regression.campaign.kinds.fuzzing import Fuzz
from regression.fuzz.worker import Limits


class BrokenFuzz(Fuzz):
    """Inputs meet a defect."""

    name = "broken-fuzz"
    inputs = 20
    limits = Limits(prepare=planted.raises)
