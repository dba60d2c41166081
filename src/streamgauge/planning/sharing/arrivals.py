"""Jobs that come while a replay runs: who is there, and who waits to be admitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.sharing.admission import AdmissionState, Asking, admit, ask, withdraw
from streamgauge.planning.sharing.course import Acted
from streamgauge.planning.sharing.fluid_job import FluidJob
from streamgauge.planning.sharing.observation import ClusterSeen
from streamgauge.planning.sharing.policy import Decision

Present = NDArray[np.bool_]


class Arrivals:
    """Who is there step by step; those of the first step need not ask.

    Args:
        jobs: All that come at some time.
        admission: Whether new ones wait while others miss their objectives.
    """

    def __init__(self, jobs: Sequence[FluidJob], *, admission: bool) -> None:
        self._jobs = jobs
        self._admission = admission
        self._here: Present | None = None
        self._state = AdmissionState()
        self._told: dict[str, str] = {}
        self.admitted: list[Acted] = []
        self.waited: list[Acted] = []

    @property
    def waits(self) -> bool:
        """Whether anyone does."""
        return bool(self._state.asking)

    def take_step(
        self, wished: Present, at: float, load: Mapping[str, float], seen: ClusterSeen | None
    ) -> Present:
        """Who is there now, of those that would like to be."""
        if self._here is None or not self._admission:
            self._here = wished.copy()
            return self._here
        here = self._here & wished
        for number, job in enumerate(self._jobs):
            if not wished[number]:
                self._state = withdraw(self._state, job.name)
            elif not here[number] and job.name not in self._state.asking:
                self._state = ask(self._state, job.name, _asking(job, at, load[job.name]))
        if self.waits and seen is not None:
            joined = self._let_in(at, seen)
            here |= np.asarray([job.name in joined for job in self._jobs])
        self._here = here
        return here

    def _let_in(self, at: float, seen: ClusterSeen) -> tuple[str, ...]:
        since = {name: one.since for name, one in self._state.asking.items()}
        self._state, outcome = admit(self._state, seen)
        for name in outcome.jobs:
            reason = f"{name} joins after {at - since[name]:.0f} s"
            self.admitted.append(Acted(at=at, decision=Decision(rule="admission", reason=reason)))
            self._told.pop(name, None)
        for name, waiting in outcome.waiting.items():
            if self._told.get(name) != waiting.reason:
                self._told[name] = waiting.reason
                refused = (f"{name} waits: {waiting.reason}",)
                decision = Decision(rule="admission", refused=refused)
                self.waited.append(Acted(at=at, decision=decision))
        return outcome.jobs


def _asking(job: FluidJob, at: float, load: float) -> Asking:
    """What a job needs by what it declares."""
    cpu = np.asarray([one.cpu_seconds for one in job.operators])
    return Asking(
        since=at,
        max_utility=job.slo.max_utility,
        cores=float(job.gains() @ cpu) * load,
    )
