"""The one place where a Spark session is made."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from streamgauge.errors import InvalidInput

Session = SparkSession

LOCAL_MASTER = "local[*]"
_TAIL_LINES = 15
_PYTHON = "spark.pyspark.python"
# What spark-submit sets for the program that it starts, on this machine or in the cluster.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"

# The answer does not depend on where it runs.
_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    # Rows of several tables go to as many files at once, without being sorted for it.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Small work on one machine is quick, and nothing listens beyond the machine. A cluster elsewhere
# has Spark's own: as many partitions as adaptive execution finds right, and a driver that
# executors can reach.
_LOCAL_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
}
# For work of seconds: compiling queries and methods costs more than it saves.
_BRIEF_DEFAULTS = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}


def make_session(
    name: str,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    brief: bool = False,
) -> SparkSession:
    """A session: the running one, or one that is made with our settings.

    Args:
        name: What the application is called on the cluster.
        master: Where it runs; what spark-submit said, else all cores of this machine.
        conf: Settings that win over ours.
        brief: Whether the work is small, so that starting quickly matters most; with a local
            master only.

    Raises:
        InvalidInput: There is no Java, or Spark did not start.
    """
    chosen = dict(conf or {})
    _choose_python(chosen.get(_PYTHON))
    submitted = _SUBMITTED in os.environ
    where = master or chosen.get("spark.master") or (None if submitted else LOCAL_MASTER)
    settings = dict(_DEFAULTS)
    if where is not None and _is_here(where):
        settings |= _LOCAL_DEFAULTS | (_BRIEF_DEFAULTS if brief and _is_local(where) else {})
    settings |= chosen
    builder = SparkSession.builder.appName(name)
    if where is not None:
        settings["spark.master"] = where
    for key, value in settings.items():
        builder = builder.config(key, value)
    if running_session() is not None or submitted:
        return builder.getOrCreate()
    _find_java()
    return _started(builder)


def running_session() -> SparkSession | None:
    """The session of this process, where one runs."""
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession()


def _choose_python(given: str | None) -> None:
    """Executors use the packages of this very interpreter unless told otherwise."""
    if given is not None:
        os.environ["PYSPARK_PYTHON"] = given
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _is_local(master: str) -> bool:
    """Whether a master is threads of this process."""
    return master.startswith("local")


def _is_here(master: str) -> bool:
    """Whether a master runs on this machine and is known to nobody else."""
    if _is_local(master):
        return True
    host = urlsplit(master).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _find_java() -> None:
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not found:
        seen = f"JAVA_HOME={home} without bin/java" if home else "no java on PATH"
        raise InvalidInput.single(
            (), seen=seen, expected="Java 17 or later, which Spark runs on", remedy="install a JRE"
        )


def _started(builder: SparkSession.Builder) -> SparkSession:
    """Start Spark; what its virtual machine says goes to a file, and is shown where it fails."""
    handle, name = tempfile.mkstemp(prefix="streamgauge-spark-", suffix=".log")
    log = Path(name)
    try:
        with _errors_to(handle):
            session = builder.getOrCreate()
    except (PySparkRuntimeError, Exception) as error:
        tail = log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        log.unlink()
        raise InvalidInput.single(
            ("spark",),
            seen="\n".join([f"Spark did not start: {error}", *tail]),
            expected="a session",
            remedy="check --master, --conf and the version of Java",
        ) from None
    atexit.register(_forget, log)
    session.sparkContext.setLogLevel("ERROR")
    return session


def _forget(log: Path) -> None:
    with suppress(OSError):
        log.unlink()


@contextmanager
def _errors_to(handle: int) -> Iterator[None]:
    """Let processes that are started now write their errors elsewhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(handle, 2)
    os.close(handle)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
