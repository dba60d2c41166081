"""The gate of a Storm cluster: while it is closed, our scheduler keeps new topologies waiting.

It is a file in the folder of plans, with the reason in it. The scheduler takes it for open once
nobody has written it anew for five minutes.
"""

from __future__ import annotations

from pathlib import Path

from streamgauge.topology.files.document import write_whole

CLOSED = "admission.closed"
RELEASED = ".released"


def close_gate(plans: Path, reason: str) -> None:
    """Let no new topology in, or keep it so."""
    write_whole(plans / CLOSED, f"{reason}\n")


def open_gate(plans: Path) -> None:
    """Let all in."""
    (plans / CLOSED).unlink(missing_ok=True)


def release(plans: Path, topology: str) -> None:
    """Let one in, whatever the gate says."""
    write_whole(plans / f"{topology}{RELEASED}", "")
