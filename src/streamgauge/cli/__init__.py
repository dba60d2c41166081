"""The command line: parse, call, present.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failure,
2 usage or invalid input, 3 overloaded, objective missed or nothing feasible, 4 source
unreachable, 5 not enough data, 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys

from streamgauge.cli.exit_codes import FAILURE, INTERRUPTED

DEBUG_VARIABLE = "STREAMGAUGE_DEBUG"
# Objects made between two looks for garbage: about as many as the imports of a command make.
MANY_OBJECTS = 100_000


def start() -> None:
    """What the program runs in a process of its own: `main`, hardly looking for garbage."""
    gc.set_threshold(MANY_OBJECTS)
    atexit.register(_keep_memory)
    main()


def _keep_memory() -> None:
    """Leave all memory to the system, which takes it back at once when the process ends.

    Python would give it back object by object, which takes nearly as long as a prediction.
    """
    # DuckDB's library complains of objects that were not given back.
    if "duckdb" not in sys.modules:
        gc.freeze()


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        _run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        _flush()


def _flush() -> None:
    """Write what is still buffered; say so when it cannot be written, unless nobody reads it."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        # Point the stream elsewhere, so that the interpreter's own flush stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"error: standard output: {error.strerror}", file=sys.stderr)
            sys.exit(FAILURE)


def _run() -> None:
    from streamgauge.cli.app import app
    from streamgauge.errors import StreamgaugeError
    from streamgauge.extras import require_extra
    from streamgauge.overwrite_guard import protect_inputs

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks is shown with marks, not refused.
            stream.reconfigure(errors="replace")
    try:
        with require_extra(), protect_inputs():
            app()
    except StreamgaugeError as error:
        from streamgauge.cli.output import report_error

        report_error(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return
        print(f"error: {error.strerror or error}", file=sys.stderr)
        sys.exit(FAILURE)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        print(
            f"internal error: {type(error).__name__}: {error}\n"
            f"This is a fault of Streamgauge. Set {DEBUG_VARIABLE}=1 to see where.",
            file=sys.stderr,
        )
        sys.exit(FAILURE)
