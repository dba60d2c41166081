"""What only a real process shows: signals, pipes, what is imported."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# A test run in the background ignores interrupts, and its children would too.
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["streamgauge", "topology", "check", "-"]
from streamgauge.cli import main
main()
"""
COMMAND = [sys.executable, "-m", "streamgauge"]


def test_an_interrupt_leaves_with_130_and_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # Half a document: the command now waits for the rest of its input.
        process.stdin.write("streamgauge: 1\n")
        process.stdin.flush()
        for _ in range(40):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                continue
        assert process.returncode in (130, -signal.SIGINT)
    finally:
        process.kill()
        process.communicate()


def test_a_reader_that_leaves_early_makes_no_noise():
    process = subprocess.Popen(
        [*COMMAND, "topology", "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=60)


PROFILE = str(Path("examples/word-count.profile.json").resolve())
JOB = str(Path("examples/word-count.yaml").resolve())
# Typer takes pydantic, where it is installed, to describe a command's options.
NEVER_FOR_HELP = ("numpy", "yaml", "httpx2", "streamgauge.topology", "streamgauge.reports")
NEVER_FOR_A_PREDICTION = (
    *("networkx", "pandas", "pyspark", "deltalake", "duckdb", "numba", "ortools"),
    *("jinja2", "urllib.request", "streamgauge.drawing.svg", "streamgauge.drawing.canvas"),
    *("streamgauge.simulation", "streamgauge.lake.tables", "streamgauge.engines"),
    "streamgauge.pipeline",
)
# Intervals need replicas, which are Parquet, and Student's quantiles.
ONLY_FOR_INTERVALS = (
    *("scipy", "numpy.ma", "numpy.random", "numpy.testing", "unittest"),
    *("pyarrow", "streamgauge.lake"),
)
PLAIN = ("predict", "--no-intervals", "--profile", PROFILE)
NOT_CALLED = ("rich", "streamgauge.cli.ingest", "streamgauge.cli.plan", "streamgauge.cli.topology")


@pytest.mark.parametrize(
    ("words", "shows", "heavy"),
    [
        (("--help",), "topology", (*NEVER_FOR_HELP, *ONLY_FOR_INTERVALS)),
        (("ingest", "--help"), "--lake", (*NEVER_FOR_HELP, *ONLY_FOR_INTERVALS)),
        (("calibrate", "--help"), "--lake", (*NEVER_FOR_HELP, *ONLY_FOR_INTERVALS)),
        (("predict", "--profile", PROFILE), "p99", ("streamgauge.planning", *NOT_CALLED)),
        # Fitting a distribution to measured quantiles takes SciPy.
        (PLAIN, "p99", (*NOT_CALLED, "pyarrow", "streamgauge.lake")),
        # What sleeping threads let through is a maximum of sums: incomplete gamma functions.
        (("predict", JOB), "p99", (*NOT_CALLED, "pyarrow", "streamgauge.lake")),
        (("compare", "--profile", PROFILE, JOB), "p99", NOT_CALLED),
    ],
    ids=["help", "ingest", "calibrate", "predict", "no intervals", "predict a job", "compare"],
)
def test_a_command_imports_nothing_heavy_that_it_does_not_use(words, shows, heavy):
    code = (
        f"import sys\nsys.argv = ['streamgauge', *{words}]\n"
        "from streamgauge.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('heavy:', sorted({{*{heavy}, *{NEVER_FOR_A_PREDICTION}}} & set(sys.modules)))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "heavy: []" in shown.stdout
    assert shows in shown.stdout


def test_the_shell_completes_commands():
    shown = subprocess.run(
        [sys.executable, "-c", "from streamgauge.cli import main; main()"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={
            **os.environ,
            "_STREAMGAUGE_COMPLETE": "complete_bash",
            "COMP_WORDS": "streamgauge to",
            "COMP_CWORD": "1",
        },
    )
    assert "topology" in shown.stdout


def test_a_closed_standard_output_is_no_traceback(tmp_path):
    shown = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m streamgauge topology schema >&-"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in shown.stderr


def test_an_encoding_without_line_drawing_gets_plain_characters(tmp_path, project):
    shown = subprocess.run(
        [*COMMAND, "topology", "show", str(project / "examples/word-count.yaml")],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert b"| spout +-" in shown.stdout


def test_a_library_that_counts_its_objects_gets_them_back():
    code = (
        "import sys, duckdb\nsys.argv = ['streamgauge', '--version']\n"
        "from streamgauge.cli import start\nstart()\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.startswith("streamgauge ")
    assert shown.stderr == ""
