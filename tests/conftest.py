"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def project(pytestconfig: pytest.Config) -> Path:
    """The folder of the checkout."""
    return pytestconfig.rootpath


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One Spark session for all tests that need one."""
    from streamgauge.pipeline.session import make_session

    folder = tmp_path_factory.mktemp("spark")
    session = make_session(
        "tests",
        master="local[2]",
        brief=True,
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(folder),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        },
    )
    yield session
    session.stop()
