"""Installation of the fault points. Every Python process runs this module if its directory is on PYTHONPATH."""

import os

if os.environ.get("FOREBAY_FAULTS"):
    from faults.hook import install

    install()
