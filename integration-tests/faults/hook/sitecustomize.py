"""Python runs this at its start if this directory is on PYTHONPATH, so that a job's processes have fault points."""

import os

if os.environ.get("FOREBAY_FAULTS"):
    from faults.hook import install

    install()
