"""The simulator as questions use it: whether it is installed, and compiled before it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.simulation.results import SimulationResult

TINY = """
streamgauge: 1
topology:
  name: tiny
  acked: false
  operators: {in: {kind: source}, out: {}}
  streams: [{from: in, to: out, grouping: shuffle}]
behaviours: {out: {}}
workload: [{source: in, per_second: 1}]
"""

Say = Callable[[str], None]


def stay_silent(message: str) -> None:
    """What says nothing of the progress."""


def load_simulator(say: Say = stay_silent) -> Callable[..., SimulationResult]:
    """The simulator's `simulate`, compiled where it was not yet.

    Raises:
        MissingExtra: What compiles it is not installed.
    """
    with require_extra("simulation"):
        from streamgauge.simulation.topology_run import simulate
    compile_simulator(say)
    return simulate


def compile_simulator(say: Say = stay_silent) -> None:
    """Compile the simulator unless that was done before, and say so: it takes a while."""
    from streamgauge.planning.scheduling.job_placement import place_job
    from streamgauge.profile.files.jobs import parse_job
    from streamgauge.simulation.compiling import content, folder
    from streamgauge.simulation.topology_run import simulate
    from streamgauge.transport.mechanics import PLAIN

    mark = folder() / f"compiled-{content()[:16]}"
    if mark.exists():
        return
    say("compiling the simulator; this is done once and takes about a minute")
    began = time.monotonic()
    job = parse_job(TINY)
    assert job.workload is not None
    plan = place_job(job).plan
    # The engine's own mechanics need all of the simulator; without any there is a variant.
    for mechanics in (None, PLAIN):
        simulate(plan, job.behaviours, job.workload, seconds=1.0, seed=1, mechanics=mechanics)
    # A folder that cannot be written holds no compiled code either.
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    say(f"compiled in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    compile_simulator(print)
