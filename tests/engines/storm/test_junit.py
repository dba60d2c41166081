"""The JUnit tests of what runs inside Storm pass, all of them."""

from xml.etree import ElementTree

import pytest

from streamgauge.engines.storm.jars import JAVA_SOURCES, package_jar
from streamgauge.errors import InternalError
from tests.engines.storm.toolchain import require_java_and_maven

pytestmark = pytest.mark.storm


@pytest.fixture(scope="module")
def suites(tmp_path_factory):
    """By the name of a test class: how many tests ran, and how many did not pass."""
    require_java_and_maven()
    folder = tmp_path_factory.mktemp("junit")
    log = folder / "maven.log"
    try:
        package_jar(folder / "build", log=log, run_tests=True)
    except InternalError:
        pytest.fail(log.read_text(encoding="utf-8", errors="replace")[-20_000:])
    reports = (folder / "build" / "surefire-reports").glob("TEST-*.xml")
    roots = [ElementTree.parse(path).getroot() for path in reports]
    return {root.attrib["name"].rpartition(".")[2]: root.attrib for root in roots}


def test_every_test_class_is_run(suites):
    written = {path.stem for path in (JAVA_SOURCES / "src" / "test").rglob("*Test.java")}
    assert set(suites) == written
    assert all(int(suite["tests"]) > 0 for suite in suites.values())


def test_every_test_passes_and_none_is_skipped(suites):
    not_passed = {
        name: counts
        for name, suite in suites.items()
        if any(counts := [int(suite[kind]) for kind in ("failures", "errors", "skipped")])
    }
    assert not_passed == {}
