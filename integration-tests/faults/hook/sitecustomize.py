"""Python runs this at its start where this directory is on PYTHONPATH: a job's processes then know the named points."""

import os

if os.environ.get("FOREBAY_FAULTS"):
    from faults.hook import install

    install()
