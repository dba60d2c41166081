"""From estimates to the figures of a profile, with their replicas kept by place."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from streamgauge.pipeline.estimation.arrays import Floats
from streamgauge.pipeline.estimation.measured import Estimate, Row
from streamgauge.pipeline.estimation.schemas import REPLICAS
from streamgauge.pipeline.estimation.standard_errors import stated_error
from streamgauge.profile.figures import Figure, TimeFigures


def path_of(*places: str | int) -> str:
    """A figure's place in the profile as a text; slashes within names are escaped."""
    return "/".join(str(place).replace("%", "%25").replace("/", "%2F") for place in places)


class Recorder:
    """Turns estimates into figures and remembers their replicas."""

    def __init__(self) -> None:
        self._replicas: dict[str, Floats] = {}

    def figure(self, estimate: Estimate | None, *place: str | int) -> Figure | None:
        """The figure of an estimate; nothing where that is none, or no number of at least zero."""
        if estimate is None or not 0.0 <= estimate.value < math.inf:
            return None
        error = estimate.error
        if error is not None and estimate.blocks > 1:
            error = stated_error(error, estimate.blocks)
        else:
            error = None
        if estimate.replicas is not None:
            self._replicas[path_of(*place)] = estimate.replicas
        return Figure(
            value=estimate.value,
            samples=estimate.samples,
            buckets=estimate.buckets,
            standard_error=error,
        )

    def value(self, row: Row | None, *place: str | int) -> Figure | None:
        """The figure of a row."""
        return None if row is None else self.figure(row.mean, *place)

    def time(self, row: Row | None, *place: str | int) -> TimeFigures | None:
        """The figures of a row that is a time."""
        if row is None:
            return None
        mean = self.figure(row.mean, *place, "mean_ms")
        if mean is None:
            return None
        return TimeFigures(
            mean_ms=mean,
            scv=self.figure(row.scv, *place, "scv"),
            quantiles_ms=row.quantiles,
        )

    def remember(self, replicas: Floats | None, *place: str | int) -> None:
        """Keep replicas of a number that is no figure of its own."""
        if replicas is not None:
            self._replicas[path_of(*place)] = replicas

    def table(self) -> pa.Table:
        """All replicas, with the columns of `REPLICAS`, by path."""
        paths = sorted(self._replicas)
        rows = [self._replicas[path] for path in paths]
        values = np.concatenate(rows) if rows else np.zeros(0)
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
        lists = pa.ListArray.from_arrays(
            offsets,
            pa.array(values, pa.float64(), mask=~np.isfinite(values)),
            type=REPLICAS.field("values").type,
        )
        return pa.table([pa.array(paths, pa.string()), lists], schema=REPLICAS)
