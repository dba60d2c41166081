"""Steps beside each other: what halving an operator's time gained, how near an imitation comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamgauge.experiments.figures import ALL, FigureKind
from streamgauge.experiments.studies import BottleneckSearch, Fidelity
from streamgauge.experiments.truth import Figure, StepTruth, Truth

THROUGHPUT = (FigureKind.THROUGHPUT, ALL, "emitted_per_second")
LATENCY = (FigureKind.LATENCY, ALL, "mean")
# Without repetitions nothing is known of chance: less than this is taken for it.
LEAST_FLOOR = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What became better when an operator was made twice as fast.

    Attributes:
        operator: Which one.
        throughput: Part that the sources emitted more.
        latency: Part that the mean latency was shorter.
        throughput_floor: What chance alone makes of the throughput.
        latency_floor: The same of the latency.
    """

    operator: str
    throughput: float
    latency: float
    throughput_floor: float
    latency_floor: float

    @property
    def verdict(self) -> str:
        """Which kind of bottleneck it is; one that only lowers latency limits no throughput."""
        if self.throughput > self.throughput_floor:
            return "limits throughput"
        return "adds latency" if self.latency > self.latency_floor else "no bottleneck"


def rank_gains(truth: Truth, search: BottleneckSearch) -> list[Gain]:
    """All halved operators, the one that gained most throughput first (Pagliari 2021, chapter 5).

    Gains in throughput that chance alone can make are alike: latency tells these apart.
    """
    base = truth.step(search.base)
    found = []
    for name, operator in search.halved:
        step = truth.step(name)
        if base is None or step is None:
            continue
        more = _compute_change(base, step, THROUGHPUT)
        longer = _compute_change(base, step, LATENCY)
        if more is None or longer is None:
            continue
        found.append(
            Gain(
                operator=operator,
                throughput=more,
                latency=-longer,
                throughput_floor=_find_floor(base, step, THROUGHPUT),
                latency_floor=_find_floor(base, step, LATENCY),
            )
        )
    return sorted(found, key=_rank, reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A figure of a step beside that of the reference.

    Attributes:
        step: Which one.
        figure: What is compared.
        reference: Value there.
        value: Value here.
        part: (value − reference) / reference.
        floor: What chance alone makes of it.
    """

    step: str
    figure: str
    reference: float
    value: float
    part: float
    floor: float


COMPARED = {
    "throughput": THROUGHPUT,
    "latency, mean": LATENCY,
    "latency, p50": (FigureKind.LATENCY, ALL, "p50"),
    "latency, p95": (FigureKind.LATENCY, ALL, "p95"),
}


def compare_with_reference(truth: Truth, study: Fidelity) -> Iterator[Difference]:
    """How far the other steps are from the reference (Pagliari 2021, section 5.3.1)."""
    reference = truth.step(study.reference)
    if reference is None:
        return
    for step in truth.steps:
        if step.name == study.reference:
            continue
        for name, key in COMPARED.items():
            part = _compute_change(reference, step, key)
            there, here = reference.figure(*key), step.figure(*key)
            if part is None or there is None or here is None:
                continue
            yield Difference(
                step=step.name,
                figure=name,
                reference=there.value,
                value=here.value,
                part=part,
                floor=_find_floor(reference, step, key),
            )


def _rank(gain: Gain) -> tuple[float, float]:
    beyond_chance = gain.throughput if gain.throughput > gain.throughput_floor else 0.0
    return beyond_chance, gain.latency


def _compute_change(
    base: StepTruth, step: StepTruth, key: tuple[FigureKind, str, str]
) -> float | None:
    before, after = base.figure(*key), step.figure(*key)
    if before is None or after is None or not before.value:
        return None
    return (after.value - before.value) / before.value


def _find_floor(base: StepTruth, step: StepTruth, key: tuple[FigureKind, str, str]) -> float:
    figures: list[Figure | None] = [base.figure(*key), step.figure(*key)]
    known = [figure.floor for figure in figures if figure and figure.floor is not None]
    return max([LEAST_FLOOR, *known])
