"""`python -m openwmma` is `openwmma`."""

import sys

from openwmma.cli import main

if __name__ == "__main__":
    sys.exit(main())
