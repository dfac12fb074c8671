"""A secured broker and a registry for all security tests, whose administrator grants and revokes rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from security.secured import Secured, secured_platform


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Run a platform that requires authentication and allows only what an ACL allows."""
    result = secured_platform(tmp_path_factory.mktemp("secured"))
    with result.platform:
        yield result
