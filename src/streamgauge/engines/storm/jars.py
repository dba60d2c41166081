"""Java and Maven on this machine, and the jars that Maven fetches or builds once.

Jars are kept in the user's cache folder. What is there is whole: everything is made under another
name and renamed, by one process at a time. The names hold a digest of what they were made from.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streamgauge.engines.writing import unwritable
from streamgauge.errors import InternalError, InvalidInput, SourceUnreachable, UnreadableFile

STORM_VERSION = "2.8.3"
JAR_NAME = "streamgauge-storm.jar"
# For machines without Maven: a jar that was built elsewhere.
JAR_VARIABLE = "STREAMGAUGE_STORM_JAR"
_HERE = Path(__file__).parent
_HOME_POM = _HERE / "home" / "pom.xml"
JAVA_SOURCES = _HERE / "java"
MINIMUM_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWER_SECONDS = 60.0
_DIGEST_LENGTH = 12
_MAVEN_SECONDS = 900.0
# What Maven says where a registry is out of reach or lacks something.
_UNRESOLVED = (
    "Could not transfer",
    "Could not resolve",
    "Could not find artifact",
    "Unknown host",
    "cannot access",
    "Cannot access",
    "Non-resolvable",
    "could not be resolved",
)
_NO_COMPILER = "No compiler is provided in this environment"
_FULL = "No space left on device"


def java_command() -> str:
    """The Java to start: that of ``JAVA_HOME``, else the one on the path.

    Raises:
        InvalidInput: There is none, or it is too old.
    """
    seen = []
    for command in _candidates():
        version = java_version(command)
        if version is not None and version >= MINIMUM_JAVA:
            return command
        seen.append(f"{command} " + ("does not run" if version is None else f"is Java {version}"))
    raise InvalidInput.single(
        (),
        seen="; ".join(seen) or "no java on PATH",
        expected=f"Java {MINIMUM_JAVA} or later, which Storm runs on",
        remedy=f"install a JDK {MINIMUM_JAVA}, such as openjdk-{MINIMUM_JAVA}-jdk-headless, "
        "or set JAVA_HOME",
    )


def maven_command() -> str:
    """The Maven on the path.

    Raises:
        InvalidInput: There is none.
    """
    found = shutil.which("mvn")
    if found is None:
        raise InvalidInput.single(
            (),
            seen="no mvn on PATH",
            expected="Maven 3.8 or later, which fetches Storm's jars and builds ours",
            remedy="install the package maven",
        )
    return found


@cache
def java_version(command: str) -> int | None:
    """17 for a Java 17; None where it does not run."""
    try:
        done = subprocess.run(
            [command, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def _candidates() -> list[str]:
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")
    return ([str(Path(home, "bin", "java"))] if home else []) + ([found] if found else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class StormJars:
    """Where Storm's jars lie: those of daemons and those of workers and clients."""

    daemons: Path
    workers: Path


def cache_folder() -> Path:
    """Where jars are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "streamgauge" / "storm"


def storm_jars() -> StormJars:
    """Storm's jars, fetched by Maven where this is the first use.

    Raises:
        SourceUnreachable: Maven cannot fetch them.
        InvalidInput: Java or Maven are missing, or the cache folder cannot be written.
    """
    digest = hashlib.sha256(_HOME_POM.read_bytes()).hexdigest()[:_DIGEST_LENGTH]
    place = cache_folder() / f"{STORM_VERSION}-{digest}"

    def fetch(unfinished: Path) -> None:
        for name in ("daemons", "workers"):
            goal = ("-f", str(_HOME_POM), "-P", name, "dependency:copy-dependencies")
            _maven(*goal, f"-DoutputDirectory={unfinished / name}", log=_log_of(place))

    _make_once(place, fetch)
    return StormJars(daemons=place / "daemons", workers=place / "workers")


def own_jar() -> Path:
    """Our jar for Storm: the one named, the package's own, else built where this is the first use.

    Raises:
        SourceUnreachable: Maven cannot fetch what the build needs.
        InvalidInput: Java or Maven are missing, or the cache folder cannot be written.
    """
    named = os.environ.get(JAR_VARIABLE)
    if named:
        return _named_jar(Path(named))
    packaged = _HERE / JAR_NAME
    if packaged.is_file():
        return packaged
    place = cache_folder() / f"jar-{_sources_digest()}"

    def build(unfinished: Path) -> None:
        target = unfinished / "build"
        package_jar(target, log=_log_of(place)).replace(unfinished / JAR_NAME)
        shutil.rmtree(target)

    _make_once(place, build)
    return place / JAR_NAME


def package_jar(target: Path, *, log: Path, run_tests: bool = False) -> Path:
    """Build our jar for Storm in a folder, and say where it lies.

    Maven's output goes to the log. The JUnit tests are run first where that is asked for; the build
    fails where one does.

    Raises:
        SourceUnreachable: Maven cannot fetch what the build needs.
        InvalidInput: Java, its compiler or Maven are missing.
        InternalError: The build failed.
    """
    tests = () if run_tests else ("-Dmaven.test.skip",)
    project = ("-f", str(JAVA_SOURCES / "pom.xml"), f"-Dstreamgauge.build={target}")
    _maven(*project, *tests, "package", log=log)
    return target / JAR_NAME


def _named_jar(jar: Path) -> Path:
    if jar.is_file():
        return jar.resolve()
    raise UnreadableFile.single(
        (), file=str(jar), seen="no such file", expected=f"the jar that {JAR_VARIABLE} names"
    )


def _sources_digest() -> str:
    digest = hashlib.sha256()
    for path in (JAVA_SOURCES / "pom.xml", *sorted((JAVA_SOURCES / "src" / "main").rglob("*"))):
        if path.is_file():
            digest.update(f"{path.relative_to(JAVA_SOURCES)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:_DIGEST_LENGTH]


def _make_once(place: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder that becomes `place` at the end; one process at a time."""
    if place.is_dir():
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = (place.parent / ".lock").open("a")
    except OSError as error:
        raise unwritable(
            place.parent,
            error,
            expected="a cache folder that can be written",
            remedy="set XDG_CACHE_HOME to another folder",
        ) from None
    unfinished = place.with_name(f".{place.name}")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.is_dir():
            # Another process was first, while this one waited for the lock.
            return
        # Of a process that was killed: whoever has the lock is alone here.
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            fill(unfinished)
            unfinished.replace(place)
            _log_of(place).unlink(missing_ok=True)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _log_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.log")


def _maven(*arguments: str, log: Path) -> None:
    """Run Maven without the network where that is enough, else with it."""
    command = [maven_command(), "-B", "-q", *arguments]
    environ = {**os.environ, "JAVA_HOME": _java_home()}
    if _run([*command, "-o"], environ, log) == 0 or _run(command, environ, log) == 0:
        return
    output = log.read_text(encoding="utf-8", errors="replace")
    if _NO_COMPILER in output:
        raise InvalidInput.single(
            (),
            seen="a Java without a compiler",
            expected="a JDK, to build our jar for Storm",
            remedy="install one, such as openjdk-17-jdk-headless",
        )
    if _FULL in output:
        raise UnreadableFile.single(
            (),
            file=str(log.parent),
            seen="no space left on the device",
            expected="about 250 MB for Storm's jars",
            remedy="make room, or set XDG_CACHE_HOME to another folder",
        )
    if any(words in output for words in _UNRESOLVED):
        raise SourceUnreachable(
            "Maven could not fetch what Storm needs: no registry that it knows answers with it; "
            f"check the network and Maven's settings (full output: {log})"
        )
    raise InternalError(f"Maven failed; its output is in {log}")


def _run(command: Sequence[str], environ: dict[str, str], log: Path) -> int:
    with log.open("wb") as output:
        try:
            return subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environ,
                timeout=_MAVEN_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise SourceUnreachable(
                f"Maven did not finish within {_MAVEN_SECONDS:g} s; its output is in {log}"
            ) from None


def _java_home() -> str:
    """The home of the Java we run, so that Maven does not choose another."""
    return str(Path(java_command()).resolve().parent.parent)
