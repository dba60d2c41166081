"""What all tests share."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run side by side, those that use Spark run one after the other in one process.

    They are told by their files: marks are not known where tests are dealt.
    """
    from xdist.scheduler import LoadScopeScheduling

    @cache
    def uses_spark(file: str) -> bool:
        text = (config.rootpath / file).read_text()
        return any(word in text for word in ("spark,", "spark)", "make_session", "submit"))

    class OneSpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if uses_spark(nodeid.partition("::")[0]) else nodeid

    return OneSpark(config, log)


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
