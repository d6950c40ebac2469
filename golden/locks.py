"""The lock of what threads share: device memory and the caches of modules and kernels."""

import os
import threading
from typing import Final

LOCK: Final = threading.RLock()
"""Held while shared state changes; one for all, so that no two threads wait for each other.

The garbage collector may run a finalizer in the middle of a change, in the same thread.
"""

if hasattr(os, "register_at_fork"):  # a child must not find it held by a thread that it does not have
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
