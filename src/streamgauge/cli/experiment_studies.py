"""What the study of an experiment found: regimes, bottlenecks, nearness to a reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.quantities import duration, number, share
from streamgauge.experiments.differences import Difference, Gain, fidelity, gains
from streamgauge.experiments.regimes import Regime, RepetitionRegime, regimes
from streamgauge.experiments.studies import BottleneckSearch, Fidelity, LoadSweep

if TYPE_CHECKING:
    from streamgauge.experiments.journal import Journal
    from streamgauge.experiments.truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTable:
    """A table of the report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def study_lines(journal: Journal, truth: Truth) -> list[str]:
    """What the study found, in a sentence."""
    study = journal.experiment.study
    if isinstance(study, LoadSweep):
        return [_sweep_line(regimes(truth, study))]
    if isinstance(study, BottleneckSearch):
        return [_search_line(gains(truth, study))]
    if isinstance(study, Fidelity):
        return [_fidelity_line(list(fidelity(truth, study)), study)]
    return []


def study_tables(journal: Journal, truth: Truth) -> list[StudyTable]:
    """The study's own table, where it is one."""
    study = journal.experiment.study
    if isinstance(study, LoadSweep):
        return [_sweep_table(regimes(truth, study), study)]
    if isinstance(study, BottleneckSearch):
        return [_search_table(gains(truth, study))]
    if isinstance(study, Fidelity):
        return [_fidelity_table(list(fidelity(truth, study)), study)]
    return []


def study_document(journal: Journal, truth: Truth) -> dict[str, Any] | None:
    """The same for programs."""
    study = journal.experiment.study
    if isinstance(study, LoadSweep):
        found = regimes(truth, study)
        return {
            "kind": study.kind,
            "baseline": study.baseline,
            "steps": {name: [_plain(one) for one in many] for name, many in found.items()},
        }
    if isinstance(study, BottleneckSearch):
        ranked = [{**asdict(one), "verdict": one.verdict} for one in gains(truth, study)]
        return {"kind": study.kind, "base": study.base, "operators": ranked}
    if isinstance(study, Fidelity):
        differences = [asdict(one) for one in fidelity(truth, study)]
        return {"kind": study.kind, "reference": study.reference, "differences": differences}
    return None


def step_regime(found: Sequence[RepetitionRegime]) -> str:
    """The regime of a step: the one that most of its repetitions had, and how many."""
    counts = {regime: sum(one.regime is regime for one in found) for regime in Regime}
    regime = max(counts, key=lambda one: counts[one])
    return regime if counts[regime] == len(found) else f"{regime} ({counts[regime]}/{len(found)})"


def _sweep_line(found: dict[str, list[RepetitionRegime]]) -> str:
    if not found:
        return "regimes: not known without the first step, which is the baseline"
    return "regimes: " + ", ".join(f"{name} {step_regime(many)}" for name, many in found.items())


def _sweep_table(found: dict[str, list[RepetitionRegime]], study: LoadSweep) -> StudyTable:
    rows = [
        (
            name,
            step_regime(many),
            number(_mean([float(len(one.events)) for one in many])),
            duration(_mean([one.mean_seconds for one in many])),
            share(_mean([one.share for one in many])),
            number(_mean([one.throughput_deviation for one in many])),
            duration(_mean([one.latency_deviation for one in many])),
        )
        for name, many in found.items()
    ]
    rule = study.rule
    return StudyTable(
        title=f"Regimes: events from above {rule.enter:g} to below {rule.leave:g} times the median"
        f" latency of {study.baseline}; means over repetitions",
        columns=("step", "regime", "events", "of", "of the time", "σ tuples/s", "σ latency"),
        rows=rows,
    )


def _search_line(found: Sequence[Gain]) -> str:
    limiting = [one for one in found if one.verdict == "limits throughput"]
    if limiting:
        first = limiting[0]
        return (
            f"bottleneck: {first.operator}, whose halved service time raises throughput by"
            f" {share(first.throughput)}"
        )
    if found and found[0].verdict == "adds latency":
        first = found[0]
        return (
            f"bottleneck: none of throughput; {first.operator} adds most latency:"
            f" {share(first.latency)} of it"
        )
    return "bottleneck: none was found"


def _search_table(found: Sequence[Gain]) -> StudyTable:
    rows = [
        (
            one.operator,
            _signed(one.throughput),
            _signed(one.latency),
            f"{share(one.throughput_floor)}, {share(one.latency_floor)}",
            one.verdict,
        )
        for one in found
    ]
    return StudyTable(
        title="Gains by halving the service time of one operator",
        columns=("operator", "throughput", "latency shorter by", "floors", "it"),
        rows=rows,
    )


def _fidelity_line(found: Sequence[Difference], study: Fidelity) -> str:
    means = [one for one in found if one.figure in ("throughput", "latency, mean")]
    if not means:
        return f"fidelity: nothing to compare with {study.reference} yet"
    worst = max(means, key=lambda one: abs(one.part))
    return (
        f"fidelity: within {share(abs(worst.part))} of {study.reference} in throughput and mean"
        f" latency (worst: {worst.figure} of {worst.step}, {_signed(worst.part)})"
    )


def _fidelity_table(found: Sequence[Difference], study: Fidelity) -> StudyTable:
    rows = [
        (
            one.step,
            one.figure,
            _told(one, one.reference),
            _told(one, one.value),
            _signed(one.part),
            share(one.floor),
        )
        for one in found
    ]
    return StudyTable(
        title=f"Difference from {study.reference}",
        columns=("step", "figure", study.reference, "here", "difference", "floor"),
        rows=rows,
    )


def _told(one: Difference, value: float) -> str:
    return number(value) if one.figure == "throughput" else duration(value)


def _signed(part: float) -> str:
    told = share(abs(part))
    if not told[0].isdigit() or not part:
        return told
    return f"{'+' if part > 0.0 else '−'}{told}"


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _plain(one: RepetitionRegime) -> dict[str, Any]:
    return {
        "regime": str(one.regime),
        "events": [{"start": event.start, "end": event.end} for event in one.events],
        "total_seconds": one.total_seconds,
        "share": one.share,
        "throughput_deviation": _finite(one.throughput_deviation),
        "latency_deviation": _finite(one.latency_deviation),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
