"""What keeping a job running costs: requests to ZooKeeper, sizes of messages, bytes a second.

Bedini et al. 2013, section 5. Nimbus, N supervisors and W active workers poll and write by the
clock: requests do not depend on what the job does (H1). Assignments (I2) and workers' heartbeats
(I1) grow with tasks, so bytes a second do as well (J2). Multiplied out these are eight coefficients
of 1, N, T, W, N², NT, NW and WT (J3), which is what measurements can tell of the twelve constants.

Storm 2.x has moved most of it away from ZooKeeper (STORM-2693): a supervisor sends its workers'
heartbeats to nimbus by Thrift and gets its assignments from there, and workers ask their
supervisor. There remain what nimbus keeps, the supervisors' own heartbeats, whether a topology is
active, and statistics of executors, by default once a minute. On the network all eight terms are
still there (measured, docs/costs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.errors import Findings, InvalidInput, NotEnoughData
from streamgauge.models.engine_costs import fit_above_zero
from streamgauge.topology.field_checks import check_number

Vector = NDArray[np.float64]

# Of the figure that the paper read for 2 nodes and 100 tasks, and used as a bound for all.
PUBLISHED_BYTES_PER_SECOND = 56_000.0
# Seconds between the statistics of executors on Storm 2.x (executor.metrics.frequency.secs).
STATISTICS_SECONDS = 60.0
FEATURES = ("1", "N", "T", "W", "N²", "NT", "NW", "WT")
# What the eight coefficients are of must have been varied by more than this part of itself.
RANK_TOLERANCE = 1e-9


class Polling(NamedTuple):
    """Requests every so many seconds."""

    requests: float
    seconds: float

    @property
    def per_second(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementRequests:
    """The five recurring tasks (table of section 5); the seed gives no values for any.

    Attributes:
        topology: Nimbus compares assignments (R_t, S_t).
        supervisor: Every supervisor reads assignments (R_s, S_s).
        worker: Every worker reads assignments, and whether its topology is active (R_w, S_w).
        supervisor_heartbeat: R'_s, S'_s.
        worker_heartbeat: R'_w, S'_w.
    """

    topology: Polling
    supervisor: Polling
    worker: Polling
    supervisor_heartbeat: Polling
    worker_heartbeat: Polling

    def __post_init__(self) -> None:
        with Findings() as findings:
            for field in fields(self):
                polling = Polling(*getattr(self, field.name))
                object.__setattr__(self, field.name, polling)
                check_number(findings, polling.requests, field.name, "requests")
                check_number(findings, polling.seconds, field.name, "seconds", above=0.0)

    def per_second(self, nodes: ArrayLike, workers: ArrayLike) -> Vector:
        """R, requests a second (H1); the number of tasks does not matter."""
        by_node = self.supervisor.per_second + self.supervisor_heartbeat.per_second
        by_worker = self.worker.per_second + self.worker_heartbeat.per_second
        return np.asarray(
            self.topology.per_second
            + np.asarray(nodes) * by_node
            + np.asarray(workers) * by_worker,
            dtype=np.float64,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementBytes:
    """The constants of sizes and bytes a second, all in bytes but for rates k2, k4, k6, k7 (1/s).

    Attributes:
        a: Of a worker's heartbeat, for each task.
        b: Of the same, for each worker.
        c: Of assignments, for each node.
        d: Of the same, for each task.
        e: Of the same, whatever there is.
        k1: Nimbus, without assignments (bytes/s).
        k2: Nimbus, times the size of assignments.
        k3: A supervisor, without assignments (bytes/s).
        k4: A supervisor, times the size of assignments.
        k5: A worker, without assignments (bytes/s).
        k6: A worker, times the size of assignments.
        k7: Times the size of all heartbeats of workers.
    """

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0
    e: float = 0.0
    k1: float = 0.0
    k2: float = 0.0
    k3: float = 0.0
    k4: float = 0.0
    k5: float = 0.0
    k6: float = 0.0
    k7: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            for name, value in asdict(self).items():
                check_number(findings, value, name)

    def heartbeats(self, tasks: ArrayLike, workers: ArrayLike) -> Vector:
        """Bytes of one round of all workers' heartbeats (I1)."""
        return np.asarray(self.a * np.asarray(tasks) + self.b * np.asarray(workers))

    def assignments(self, nodes: ArrayLike, tasks: ArrayLike) -> Vector:
        """Bytes of the assignments (I2)."""
        return np.asarray(self.c * np.asarray(nodes) + self.d * np.asarray(tasks) + self.e)

    def per_second(self, nodes: ArrayLike, workers: ArrayLike, tasks: ArrayLike) -> Vector:
        """Bytes a second (J2)."""
        of = self.assignments(nodes, tasks)
        return np.asarray(
            self.k1
            + self.k2 * of
            + np.asarray(nodes) * (self.k3 + self.k4 * of)
            + np.asarray(workers) * (self.k5 + self.k6 * of)
            + self.k7 * self.heartbeats(tasks, workers)
        )

    def coefficients(self) -> ManagementCoefficients:
        """The same multiplied out (J3)."""
        return ManagementCoefficients(
            values=(
                self.k1 + self.k2 * self.e,
                self.k2 * self.c + self.k3 + self.k4 * self.e,
                self.k2 * self.d + self.k7 * self.a,
                self.k5 + self.k6 * self.e + self.k7 * self.b,
                self.k4 * self.c,
                self.k4 * self.d,
                self.k6 * self.c,
                self.k6 * self.d,
            )
        )

    def in_zookeeper(self) -> ManagementBytes:
        """What is left of it on Storm 2.x: no assignments are read, and statistics come rarely.

        k4 and k6 vanish, as supervisors and workers get assignments by Thrift; k7 becomes one over
        the time between statistics, with `a` and `b` as the sizes of these.
        """
        return replace(self, k4=0.0, k6=0.0, k7=1.0 / STATISTICS_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementCoefficients:
    """Bytes a second as a sum over `FEATURES` (J3)."""

    values: tuple[float, ...]

    def per_second(self, nodes: ArrayLike, workers: ArrayLike, tasks: ArrayLike) -> Vector:
        """Bytes a second."""
        return np.asarray(_features(nodes, workers, tasks) @ np.asarray(self.values))

    @property
    def ratios(self) -> tuple[float, float]:
        """NT/N² and WT/NW: both are d/c; far apart, the model does not fit. NaN where not known."""
        by_name = dict(zip(FEATURES, self.values, strict=True))

        def divide(one: str, other: str) -> float:
            return by_name[one] / by_name[other] if by_name[other] else float("nan")

        return divide("NT", "N²"), divide("WT", "NW")


class Measured(NamedTuple):
    """Bytes a second of management that were measured under a configuration."""

    nodes: int
    workers: int
    tasks: int
    bytes_per_second: float


def fit_management(measured: Sequence[Measured]) -> ManagementCoefficients:
    """The coefficients, none below zero, that come nearest to what was measured.

    Each difference counts as a part of its figure, as large configurations would decide alone.

    Raises:
        NotEnoughData: Nodes, workers and tasks were not varied independently of each other.
        InvalidInput: A figure is not above zero.
    """
    if any(one.bytes_per_second <= 0.0 for one in measured):
        raise InvalidInput.single(
            ("bytes_per_second",), seen="a figure that is not above zero", expected="bytes a second"
        )
    rows = np.asarray(measured, dtype=np.float64).reshape(-1, len(Measured._fields))
    features = _features(rows[:, 0], rows[:, 1], rows[:, 2])
    size = np.maximum(np.linalg.norm(features, axis=0), 1.0)
    if np.linalg.matrix_rank(features / size, tol=RANK_TOLERANCE) < len(FEATURES):
        raise NotEnoughData(
            f"{len(measured)} configurations do not tell {len(FEATURES)} coefficients"
            f" ({', '.join(FEATURES)}) apart: vary nodes, workers and tasks independently, each"
            " over at least three values"
        )
    # In units of each column's size, as NT is thousands of times as large as one.
    matrix = features / rows[:, 3:] / size
    found = fit_above_zero(matrix, np.ones(len(rows))) / size
    return ManagementCoefficients(values=tuple(found.tolist()))


def _features(nodes: ArrayLike, workers: ArrayLike, tasks: ArrayLike) -> Vector:
    n, w, t = np.broadcast_arrays(
        np.asarray(nodes, dtype=np.float64), np.asarray(workers), np.asarray(tasks)
    )
    return np.stack([np.ones_like(n), n, t, w, n * n, n * t, n * w, w * t], axis=-1)
