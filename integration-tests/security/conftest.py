"""A secured broker (and a registry) for all of these tests; rights are granted and taken away by the administrator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from security.secured import Secured, secured_platform


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Run a platform that lets in only who proves who they are, and do only what an ACL allows."""
    result = secured_platform(tmp_path_factory.mktemp("secured"))
    with result.platform:
        yield result
