"""What all tests share: `tests.strategies` can be imported however pytest is started."""

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parent.parent)
if ROOT not in sys.path:
    sys.path.append(ROOT)


@pytest.fixture
def project(pytestconfig: pytest.Config) -> Path:
    """The folder of the checkout."""
    return pytestconfig.rootpath
