"""A plan with what a model says of it, and its figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.cli.prediction_verdict import about, verdict_of
from streamgauge.drawing.quantities import duration, duration_within, estimate, number, share

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.models.prediction import Prediction
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Emission, Workload

ENDLESS = "endless"
# Figures nearer to each other are the same: rates were measured.
NO_CHANGE = 0.01

Told = Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A plan under a load, and what a model says of it.

    Attributes:
        name: What the plan is called.
        plan: Where every executor runs.
        workload: What sources emit.
        load: Where the workload comes from.
        prediction: How the job would behave.
    """

    name: str
    plan: PhysicalPlan
    workload: Workload
    load: str
    prediction: Prediction

    @property
    def per_second(self) -> float:
        """Tuples that all sources emit together; NaN where one emits as many as it can."""
        return _together(self.workload.emissions)

    def emits(self, source: str) -> float:
        """The same of one source."""
        return _together([one for one in self.workload.emissions if one.source == source])

    @property
    def sources(self) -> frozenset[str]:
        """The operators that tuples enter by."""
        return frozenset(one.name for one in self.plan.logical.topology.sources)

    @property
    def executors(self) -> dict[str, int]:
        """How many every operator has."""
        return {name: len(span) for name, span in self.plan.logical.spans.items()}

    @property
    def about(self) -> str:
        """What it is, in one line."""
        plan = self.plan
        return about(
            plan.logical.topology.name,
            len(plan.logical.executors),
            len(plan.workers),
            len(plan.nodes),
            self.prediction.model,
            f"{rate(self.per_second)} ({self.load})",
        )


def _together(emissions: Sequence[Emission]) -> float:
    return sum(math.nan if one.per_second is None else one.per_second for one in emissions)


def emission(per_second: float) -> str:
    """What sources emit, without its unit."""
    return "unlimited" if math.isnan(per_second) else number(per_second)


def rate(per_second: float) -> str:
    """``16.1 tuples/s``."""
    return f"{emission(per_second)} tuples/s"


def verdict_parts(prediction: Prediction) -> tuple[str, str]:
    """The verdict's first word, and all that follows it."""
    said = verdict_of(prediction)
    word = said.split()[0].rstrip(".,:")
    return word, said.removeprefix(word)


def highest_rate(per_second: float) -> str:
    """Of a limit, where there is one and it is known: to three digits, as it is searched for."""
    if math.isnan(per_second):
        return "not known"
    return "no limit" if math.isinf(per_second) else f"{estimate(per_second)} tuples/s"


def bottleneck(prediction: Prediction) -> str:
    """The executor or machine that is full first; nothing where nobody knows, or none would be."""
    if math.isfinite(prediction.limit.factor):
        return prediction.limit.by
    return next(iter(prediction.overloaded), "")


def busiest_of(prediction: Prediction) -> float:
    """How busy the busiest executor of all is."""
    return max((one.utilisation for one in prediction.executors), default=math.nan)


def quantile_of(latency: Latency, level: float) -> float:
    """A quantile; where latency grows for ever, so do all of them."""
    unknown = math.inf if math.isinf(latency.mean) else math.nan
    return latency.quantiles.get(level, unknown)


def percentile(level: float) -> str:
    """``p99``."""
    return f"p{100 * level:g}"


def changed(before: float, after: float, how: Told) -> str:
    """``41 → 82``; only what there is now where nothing changed that matters."""
    same = math.isclose(before, after, rel_tol=NO_CHANGE) or how(before) == how(after)
    return how(after) if same or math.isnan(before) else f"{how(before)} → {how(after)}"


def any_duration(seconds: float) -> str:
    """A time, which may have no end."""
    return ENDLESS if math.isinf(seconds) else duration(seconds)


def any_share(part: float) -> str:
    """A utilisation, which may be beyond all bounds."""
    return "over 100 %" if math.isinf(part) else share(part)


def mean_of(latency: Latency) -> str:
    """The mean, with how far it can be trusted where it was sampled."""
    if latency.halfwidth is None or not math.isfinite(latency.mean):
        return any_duration(latency.mean)
    return duration_within(latency.mean, latency.halfwidth)
