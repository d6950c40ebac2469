"""The fuzzing suite with a defect, for its tests."""

import planted

from regression.campaign.kinds.fuzzing import Fuzz


class BrokenFuzz(Fuzz):
    """Inputs meet a defect."""

    name = "broken-fuzz"
    inputs = 20
    prepare = staticmethod(planted.raises)
