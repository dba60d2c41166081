import os
import stat

import pytest

from streamgauge.engines.storm import jars
from streamgauge.engines.storm.jars import (
    JAR_NAME,
    JAR_VARIABLE,
    own_jar,
    package_jar,
    storm_jars,
)
from streamgauge.errors import InternalError, InvalidInput, SourceUnreachable, UnreadableFile

BUILDS = """
for word in "$@"; do case "$word" in
  -Dstreamgauge.build=*) mkdir -p "${word#*=}"; echo jar > "${word#*=}/NAME";;
  -DoutputDirectory=*) mkdir -p "${word#*=}"; echo jar > "${word#*=}/storm.jar";;
esac; done
""".replace("NAME", JAR_NAME)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A java and an mvn that do what a test says, in place of the machine's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(JAR_VARIABLE, raising=False)
    jars.java_version.cache_clear()

    def put(name, script):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)

    put("java", "echo 'openjdk version \"17.0.1\"' >&2")
    yield put
    jars.java_version.cache_clear()


def test_an_old_java_is_named_with_what_to_install(tools):
    tools("java", "echo 'openjdk version \"1.8.0_392\"' >&2")
    with pytest.raises(InvalidInput, match=r"is Java 8; expected Java 17 or later.*JAVA_HOME"):
        jars.java_command()


def test_a_java_home_comes_first(tools, tmp_path, monkeypatch):
    (tmp_path / "bin" / "java").rename(tmp_path / "bin" / "java17")
    home = tmp_path / "home" / "bin"
    home.mkdir(parents=True)
    os.link(tmp_path / "bin" / "java17", home / "java")
    monkeypatch.setenv("JAVA_HOME", str(home.parent))
    assert jars.java_command() == str(home / "java")


def test_without_maven_the_package_to_install_is_named(tools, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InvalidInput, match=r"no mvn on PATH.*install the package maven"):
        storm_jars()


def test_a_registry_out_of_reach_is_unreachable_and_the_log_is_named(tools):
    tools("mvn", "echo 'Could not transfer artifact x from there'; exit 1")
    with pytest.raises(SourceUnreachable, match=r"no registry that it knows.*\.log"):
        storm_jars()
    assert not [path for path in jars.cache_folder().iterdir() if path.is_dir()]


def test_the_network_is_used_only_where_what_is_there_is_not_enough(tools, tmp_path):
    tools("mvn", f'echo "$@" >> {tmp_path}/calls; case "$*" in *" -o") exit 1;; esac;{BUILDS}')
    own_jar()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.endswith(" -o") for call in calls] == [True, False]


def test_jars_are_made_once(tools, tmp_path):
    tools("mvn", f'echo "$@" >> {tmp_path}/calls; {BUILDS}')
    first = own_jar()
    assert first.read_text() == "jar\n"
    assert own_jar() == first
    assert (tmp_path / "calls").read_text().count("package") == 1
    found = storm_jars()
    assert (found.daemons / "storm.jar").exists()
    assert (found.workers / "storm.jar").exists()


def test_junit_tests_run_only_where_they_are_asked_for(tools, tmp_path):
    tools("mvn", f'echo "$@" >> {tmp_path}/calls; {BUILDS}')
    for run_tests in (False, True):
        jar = package_jar(tmp_path / "build", log=tmp_path / "log", run_tests=run_tests)
        assert jar.read_text() == "jar\n"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert ["-Dmaven.test.skip" in call for call in calls] == [True, False]


def test_a_full_disk_says_so(tools):
    tools("mvn", "echo 'No space left on device'; exit 1")
    with pytest.raises(UnreadableFile, match=r"no space left.*XDG_CACHE_HOME"):
        own_jar()


def test_a_java_without_compiler_asks_for_a_jdk(tools):
    tools("mvn", "echo 'No compiler is provided in this environment.'; exit 1")
    with pytest.raises(InvalidInput, match="expected a JDK"):
        own_jar()


def test_any_other_failure_names_the_log(tools):
    tools("mvn", "echo 'it broke'; exit 1")
    with pytest.raises(InternalError, match=r"\.log"):
        own_jar()


def test_a_jar_that_was_built_elsewhere_is_taken(tools, tmp_path, monkeypatch):
    monkeypatch.setenv(JAR_VARIABLE, str(tmp_path / "ours.jar"))
    with pytest.raises(UnreadableFile, match=JAR_VARIABLE):
        own_jar()
    (tmp_path / "ours.jar").touch()
    assert own_jar() == tmp_path / "ours.jar"
