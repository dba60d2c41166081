"""What happened to jobs of a cluster under one policy, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.sharing.policy import Decision

Vector = NDArray[np.float64]
# The system has settled when it is worth this part of its final worth for good.
SETTLED = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """A decision that changed something."""

    at: float
    decision: Decision


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """What happened under one policy; arrays have a row for each step and a column for each job.

    Attributes:
        begun_seconds: When the policy was asked for the first time.
        present: Whether the job was there.
        share: Utility over its maximum.
        executors: That jobs had.
        cores: That jobs used.
        lag: Tuples left over.
        offered: Tuples per second that were due.
        processed: Tuples per second that were taken in.
        latency_seconds: Of the statistic that the job's objective names.
        weights: Maximum utility by job.
        rescales: Changes of executors by job.
        acted: All decisions that changed something.
        remarks: What was refused or not known, when that began.
    """

    policy: str
    seed: int
    jobs: tuple[str, ...]
    step_seconds: float
    begun_seconds: float
    present: NDArray[np.bool_]
    share: Vector
    executors: Vector
    cores: Vector
    lag: Vector
    offered: Vector
    processed: Vector
    latency_seconds: Vector
    weights: Vector
    rescales: Mapping[str, int]
    downtime_seconds: float
    acted: tuple[Acted, ...] = field(default=())
    remarks: tuple[Acted, ...] = field(default=())

    @property
    def times(self) -> Vector:
        """When steps begin, in seconds."""
        return np.arange(len(self.share), dtype=np.float64) * self.step_seconds

    @property
    def met(self) -> NDArray[np.bool_]:
        """Whether objectives were met."""
        found: NDArray[np.bool_] = self.share >= 1.0
        return found

    @property
    def juice(self) -> Vector:
        """Processed over offered; one where nothing was offered."""
        asked = self.offered > 0.0
        return np.where(asked, self.processed / np.where(asked, self.offered, 1.0), 1.0)

    @cached_property
    def system(self) -> Vector:
        """Satisfaction of the system in every step: its utility over the highest.

        One where no job is there.
        """
        most = self.present @ self.weights
        worth = (self.share * self.present) @ self.weights
        return np.where(most > 0.0, worth / np.where(most > 0.0, most, 1.0), 1.0)

    @property
    def hours(self) -> float:
        """How long it took."""
        return len(self.share) * self.step_seconds / 3600.0

    @property
    def satisfaction(self) -> float:
        """Mean of it."""
        return float(self.system.mean())

    @property
    def final(self) -> float:
        """Mean of its last tenth."""
        return float(self.system[-max(1, len(self.system) // 10) :].mean())

    @property
    def by_job(self) -> Vector:
        """Mean share of every job while it was there; NaN for one that never was."""
        there = self.present.sum(axis=0)
        total = (self.share * self.present).sum(axis=0)
        return np.where(there > 0, total / np.maximum(there, 1), np.nan)

    @property
    def violations(self) -> float:
        """Part of the jobs' time in which an objective was missed."""
        return float((self.present & ~self.met).sum() / max(1, self.present.sum()))

    @property
    def executor_hours(self) -> float:
        """Executors that jobs had, over time."""
        return float(self.executors.sum()) * self.step_seconds / 3600.0

    @property
    def core_hours(self) -> float:
        """Cores that jobs used, over time."""
        return float(self.cores.sum()) * self.step_seconds / 3600.0

    @property
    def converged_seconds(self) -> float:
        """After the policy's first round: until the system was worth 95 % of its final worth.

        For good; NaN where the final worth is nothing.
        """
        if self.final <= 0.0:
            return float("nan")
        below = np.flatnonzero(self.system < SETTLED * self.final)
        last = (below[-1] + 1) * self.step_seconds if len(below) else 0.0
        return max(0.0, float(last) - self.begun_seconds)
