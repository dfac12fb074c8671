"""How property tests run: without deadlines (a busy machine is no failure), in CI with the same examples each time."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("forebay", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("forebay")
