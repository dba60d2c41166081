"""How near predictions came to the truth: cells of source × proposed step, and what they come to.

A cell is one predicted figure beside the measured one. Its error is (P − A)/A (Cooper 2020, eq.
5.1); the floor beside it is the error of predicting a repetition by another. Where the floor
exceeds half of what is aimed at, the cell cannot tell whether that was reached, and does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.experiments.cross_prediction import STAGES
from streamgauge.experiments.figures import ALL, ONE_CLOCK, TWO_CLOCKS, FigureKind, Key
from streamgauge.experiments.judged_steps import JudgedStep
from streamgauge.experiments.predicted_figures import Predicted
from streamgauge.experiments.quantities import (
    SATURATION,
    SINCE,
    Quantity,
    find_quantity,
    list_quantities,
)
from streamgauge.experiments.truth import StepTruth

# What was predicted, by source, proposed step and model.
Predictions = Mapping[tuple[str, str, str], Sequence[Predicted]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A predicted figure beside the measured one.

    Attributes:
        source: The step whose profile it was predicted from.
        proposed: The step that was predicted.
        floor: Error of predicting a repetition by another, as a part; None with one repetition.
        is_apart: Whether one of both steps was overloaded, so that the cell counts apart.
        low: Lower end of the predicted interval; NaN where it is not known.
        high: Its upper end.
    """

    quantity: Quantity
    model: str
    source: str
    proposed: str
    subject: str
    unit: str
    predicted: float
    measured: float
    floor: float | None
    is_apart: bool = False
    low: float = math.nan
    high: float = math.nan

    @property
    def is_within(self) -> bool | None:
        """Whether what was measured lies within the interval; None where that is not known."""
        if math.isnan(self.low) or math.isnan(self.high):
            return None
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float:
        """Half the width of the interval, as a part; infinite where it has no end."""
        is_whole = self.low > 0.0 and self.high < math.inf
        return math.sqrt(self.high / self.low) - 1.0 if is_whole else math.inf

    @property
    def error(self) -> float:
        """(P − A)/A; infinite where something was predicted and nothing measured."""
        if self.measured == 0.0:
            return 0.0 if self.predicted == 0.0 else math.inf
        return (self.predicted - self.measured) / self.measured

    @property
    def is_measurable(self) -> bool:
        """Whether the floor leaves room to see what is aimed at."""
        target = self.quantity.target
        return target is None or self.floor is None or self.floor <= target / 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the cells of one quantity and model come to; errors are absolute, as parts.

    Attributes:
        bias: Median of the signed errors.
        rough_bias: The same over all cells, those that are not measurable included.
        other_median: Median over cells that predict another step than their source.
        worst_cell: Where the largest error is; None without a cell.
        cells: How many count; the others are
        not_measurable: those whose floor exceeds half of the target.
        floor: Median floor of those that count.
        with_intervals: Cells of other steps than their source whose interval is known,
        within: how many of which hold what was measured, and
        half_width: half the width of their intervals, as a part; the median.
    """

    quantity: Quantity
    model: str
    median: float
    mean: float
    worst: float
    bias: float
    rough_bias: float
    other_median: float
    worst_cell: Cell | None
    cells: int
    not_measurable: int
    floor: float | None
    with_intervals: int = 0
    within: int = 0
    half_width: float = math.nan

    @property
    def is_met(self) -> bool | None:
        """Whether the target was reached; None without one, or without a cell that can tell."""
        target, worst = self.quantity.target, self.quantity.worst_target
        if target is None or not self.cells:
            return None
        return self.median <= target and (worst is None or self.worst <= worst)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """An experiment's steps, each predicted from each.

    Attributes:
        models: Those that were asked, the deciding one first.
        refusals: Why a model predicted nothing: source, proposed step, model, reason.
        verdicts: What models said of each step: source, proposed step, model, whether it fits.
        warnings: What to keep in mind.
        model_errors: Where the errors of models in intervals come from.
        topology: The job's name.
        windowed: Whether it has windows; None where that is not known.
    """

    experiment: str
    engine: str
    models: tuple[str, ...]
    steps: tuple[JudgedStep, ...]
    cells: tuple[Cell, ...]
    refusals: tuple[tuple[str, str, str, str], ...] = ()
    verdicts: Mapping[tuple[str, str, str], bool]
    warnings: tuple[str, ...] = ()
    model_errors: str = ""
    topology: str = ""
    windowed: bool | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """Steps that others are predicted from."""
        return tuple(step.name for step in self.steps if not step.no_source)

    @property
    def proposed(self) -> tuple[str, ...]:
        """Steps that are predicted."""
        return tuple(step.name for step in self.steps if not step.no_truth)

    def summarise(self, *, apart: bool = False) -> list[Summary]:
        """A row for every quantity and model, in their order; of overloaded steps where apart."""
        grouped: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            if cell.is_apart is apart:
                grouped.setdefault((cell.quantity.name, cell.model), []).append(cell)
        order = {name: place for place, name in enumerate(list_quantities())}
        models = (STAGES, *self.models)
        ranked = sorted(grouped, key=lambda one: (order[one[0]], models.index(one[1])))
        return [summarise_cells(grouped[one]) for one in ranked]

    def matrix(self, quantity: Quantity, model: str) -> dict[tuple[str, str], Summary]:
        """By source and proposed step, what the cells of a quantity come to, overloaded or not."""
        grouped: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            if cell.quantity == quantity and cell.model == model:
                grouped.setdefault((cell.source, cell.proposed), []).append(cell)
        return {pair: summarise_cells(cells) for pair, cells in grouped.items()}


def summarise_cells(cells: Sequence[Cell]) -> Summary:
    """What cells of one quantity and model come to."""
    counted = [cell for cell in cells if cell.is_measurable]
    errors = [abs(cell.error) for cell in counted]
    floors = [cell.floor for cell in counted if cell.floor is not None]
    # Chance made what was measured of the source both predicted and true.
    bounded = [
        cell for cell in cells if cell.source != cell.proposed and cell.is_within is not None
    ]
    return Summary(
        quantity=cells[0].quantity,
        model=cells[0].model,
        median=_median(errors),
        mean=math.fsum(errors) / len(errors) if errors else math.nan,
        worst=max(errors, default=math.nan),
        bias=_median([cell.error for cell in counted]),
        rough_bias=_median([cell.error for cell in cells]),
        other_median=_median([abs(cell.error) for cell in counted if cell.source != cell.proposed]),
        worst_cell=max(counted, key=lambda cell: abs(cell.error), default=None),
        cells=len(counted),
        not_measurable=len(cells) - len(counted),
        floor=_median(floors) if floors else None,
        with_intervals=len(bounded),
        within=sum(cell.is_within is True for cell in bounded),
        half_width=_median([cell.half_width for cell in bounded]),
    )


def _median(values: Sequence[float]) -> float:
    """Of values that may be infinite; NaN without any."""
    if not values:
        return math.nan
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else float(np.mean((low, high)))


def compare_figures(
    predictions: Predictions,
    truths: Mapping[str, StepTruth],
    overloaded: Iterable[str],
    *,
    one_clock: bool,
) -> Iterator[Cell]:
    """Every predicted figure that was measured, too.

    Args:
        predictions: By source, proposed step and model.
        truths: By step; those without a usable one left out.
        overloaded: Steps that were.
        one_clock: Whether all machines read the time from one clock.
    """
    apart = frozenset(overloaded)
    known = {
        name: {figure.key: figure for figure in truth.figures} for name, truth in truths.items()
    }
    for (source, proposed, model), figures in predictions.items():
        measured = known[proposed]
        clocks = one_clock or _has_one_clock(truths[proposed])
        for predicted in figures:
            quantity, figure = find_quantity(predicted), measured.get(predicted.key)
            if quantity is None or figure is None or math.isnan(predicted.value):
                continue
            if not clocks and _needs_one_clock(predicted.key):
                continue
            if quantity == SATURATION and proposed not in apart:
                # Who carries its load does not tell what it could carry.
                continue
            full = {source} if quantity == SATURATION else {source, proposed}
            yield Cell(
                quantity=quantity,
                model=model,
                source=source,
                proposed=proposed,
                subject=predicted.key.subject,
                unit=figure.unit,
                predicted=predicted.value,
                measured=figure.value,
                floor=figure.floor,
                is_apart=not apart.isdisjoint(full),
                low=predicted.low,
                high=predicted.high,
            )


def _needs_one_clock(key: Key) -> bool:
    """Whether clocks of two machines would be in a figure."""
    return key.kind in SINCE or key.subject.endswith(TWO_CLOCKS)


def _has_one_clock(truth: StepTruth) -> bool:
    """Whether every tuple began and ended by one clock."""
    counts = []
    for subject in (ALL, ONE_CLOCK):
        figure = truth.figure(FigureKind.LATENCY, subject, "mean")
        counts.append(None if figure is None else figure.count)
    return counts[0] == counts[1]
