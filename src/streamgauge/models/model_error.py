"""How far models are off where nothing is left to chance: judged errors of other jobs.

An error is ln(measured / predicted) of a figure of a plan that was predicted and then measured. Of
n errors of one kind the ⌈0.9·(n + 1)⌉-th smallest is exceeded by the next one in at most one of ten
cases, whatever they are distributed like (split conformal prediction: Vovk, Gammerman, Shafer
2005); of fewer than nine the largest is taken. What chance explains of an error (`noise`, half the
width of the other parts' interval then) is taken off first, so that it does not count twice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from streamgauge.errors import Findings, InvalidInput, UnreadableFile

FORMAT = "streamgauge_residuals"
VERSION = 1
# Fewer judged figures of a narrow regime say little of it: a wider one is asked.
ENOUGH = 9
# From this part in use on, threads of a machine get in each other's way.
CROWDED = 0.5
# From this utilisation on, queues make up much of a latency.
LOADED = 0.5


class Kind(StrEnum):
    """Kinds of figures that models get right to different degrees."""

    MEAN = "mean latency"
    PERCENTILE = "percentiles of latency"
    COMPLETE = "complete latency"
    RATE = "rates"
    SERVICE = "service times and utilisation"
    WORKER_CPU = "CPU of workers"
    MACHINE_CPU = "CPU of machines"
    HIGHEST_RATE = "highest rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """What errors depend on most; None where it is not known.

    Attributes:
        windowed: Whether tuples wait in windows.
        crowded: Whether a machine is half in use or more.
        loaded: Whether an executor is half busy or more.
    """

    windowed: bool | None = None
    crowded: bool | None = None
    loaded: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One judged prediction.

    Attributes:
        job: Which job it was.
        error: ln(measured / predicted).
        noise: Half the width of the interval that chance alone explains, in the same unit.
        cells: How many judged figures it stands for, being the largest error of so many.
    """

    job: str
    kind: Kind
    error: float
    noise: float = 0.0
    cells: int = 1
    regime: Regime = Regime()

    @property
    def unexplained(self) -> float:
        """What chance does not explain of the error."""
        return math.sqrt(max(self.error**2 - self.noise**2, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelErrors:
    """Judged errors, and where they come from."""

    origin: str
    residuals: tuple[Residual, ...]

    def half_width(self, kind: Kind, regime: Regime, job: str, level: float) -> float:
        """Half the width of the interval of a model's error, as a logarithm; NaN without any.

        Args:
            kind: Of figure.
            regime: Of the plan that is predicted. Errors of the same regime count where there are
                enough; else those alike in crowding and windows, in crowding, in anything.
            job: Whose own errors do not count.
            level: Probability of the interval.
        """
        known = [one for one in self.residuals if one.kind is kind and one.job != job]
        for names in (("windowed", "crowded", "loaded"), ("windowed", "crowded"), ("crowded",), ()):
            alike = [one for one in known if _is_alike(one.regime, regime, names)]
            if sum(one.cells for one in alike) >= ENOUGH:
                break
        errors = [one.unexplained for one in alike or known for _ in range(one.cells)]
        return find_conformal_quantile(errors, level)


def _is_alike(one: Regime, other: Regime, names: Iterable[str]) -> bool:
    pairs = ((getattr(one, name), getattr(other, name)) for name in names)
    return all(mine is None or yours is None or mine == yours for mine, yours in pairs)


def find_conformal_quantile(errors: Sequence[float], level: float) -> float:
    """What the next error exceeds with probability 1 − level at most; the largest of few."""
    if not errors:
        return math.nan
    place = math.ceil(level * (len(errors) + 1))
    return sorted(errors)[min(place, len(errors)) - 1]


@cache
def load_default_errors() -> ModelErrors:
    """The errors that ship with Streamgauge."""
    text = files("streamgauge.models").joinpath("residuals.json").read_text(encoding="utf-8")
    return _build(json.loads(text), "residuals.json")


def read_errors(path: str | Path) -> ModelErrors:
    """The errors in a file, as `streamgauge experiment judge` writes them.

    Raises:
        UnreadableFile: The file is missing or no JSON.
        InvalidInput: It holds no errors.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableFile.single(
            (), file=str(path), seen=str(error), expected="a JSON file of judged errors"
        ) from None
    return _build(document, str(path))


def write_errors(errors: ModelErrors) -> str:
    """The same as text."""
    rows = [
        {
            "job": one.job,
            "kind": one.kind.value,
            "error": one.error,
            "noise": one.noise,
            "cells": one.cells,
            **{
                name: value
                for name in Regime.__slots__
                if (value := getattr(one.regime, name)) is not None
            },
        }
        for one in errors.residuals
    ]
    head = json.dumps({FORMAT: VERSION, "origin": errors.origin}, ensure_ascii=False)[:-1]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{head}, "residuals": [\n{lines}\n]}}\n'


def _build(document: Any, file: str) -> ModelErrors:
    if not isinstance(document, Mapping) or document.get(FORMAT) != VERSION:
        raise InvalidInput.single(
            (),
            file=file,
            seen="no judged errors",
            expected=f'"{FORMAT}": {VERSION}, origin and residuals',
            remedy="write the file by `streamgauge experiment judge FOLDER --residuals FILE`",
        )
    findings, residuals = Findings(), []
    for place, row in enumerate(document.get("residuals", [])):
        try:
            regime = Regime(**{name: row.get(name) for name in Regime.__slots__})
            error, noise = float(row["error"]), float(row.get("noise", 0.0))
            if not (math.isfinite(error) and math.isfinite(noise)):
                raise ValueError(f"{error} ± {noise}")
            residuals.append(
                Residual(
                    job=str(row["job"]),
                    kind=Kind(row["kind"]),
                    error=error,
                    noise=noise,
                    cells=int(row.get("cells", 1)),
                    regime=regime,
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            findings.add(
                "residuals",
                place,
                seen=f"{row!r}: {problem!r}",
                expected=f"job, kind (one of {', '.join(Kind)}) and error, a number",
            )
    try:
        findings.raise_if_any()
    except InvalidInput as problem:
        problem.add_note(f"in {file}")
        raise
    return ModelErrors(origin=str(document.get("origin", file)), residuals=tuple(residuals))
