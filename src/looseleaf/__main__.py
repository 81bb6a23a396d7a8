"""python -m looseleaf"""

from __future__ import annotations

import sys

from looseleaf.cli import main

if __name__ == "__main__":
    sys.exit(main())
