"""The command line: parse, call, present.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failure,
2 usage or invalid input, 3 overloaded, objective missed or nothing feasible, 4 source
unreachable, 5 not enough data, 130 interrupted.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
DEBUG_VARIABLE = "STREAMGAUGE_DEBUG"


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
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`); point the stream elsewhere so that exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> None:
    from streamgauge.cli.app import app
    from streamgauge.errors import StreamgaugeError

    try:
        app()
    except StreamgaugeError as error:
        from streamgauge.cli.output import report_error

        report_error(error, as_json="--json" in sys.argv)
        sys.exit(error.exit_code)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        print(
            f"internal error: {type(error).__name__}: {error}\n"
            f"This is a fault of Streamgauge. Set {DEBUG_VARIABLE}=1 to see where.",
            file=sys.stderr,
        )
        sys.exit(1)
