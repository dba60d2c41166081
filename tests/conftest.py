"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture
def project(pytestconfig: pytest.Config) -> Path:
    """The folder of the checkout."""
    return pytestconfig.rootpath
