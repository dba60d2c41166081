"""`sg.fit_costs`: what phases of a tuple cost an engine, from an experiment that has run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.simulator import Say, stay_silent
from streamgauge.errors import NotEnoughData

if TYPE_CHECKING:
    from streamgauge.models.engine_costs import Seen
    from streamgauge.reports.fitted_costs import FittedCostsReport


def fit_costs(
    folder: str | Path, *, output: str | Path | None = None, say: Say = stay_silent
) -> FittedCostsReport:
    """Fit costs of reading, grouping, serialising, sending and deserialising to what was measured.

    Args:
        folder: Of an experiment that has run, whose steps differ in workers, rates, groupings and
            sizes of tuples.
        output: A file for the constants, which `sg.cost` takes.
        say: Takes what is being done, in words.

    Raises:
        InvalidInput: The folder holds no experiment.
        NotEnoughData: Nothing is done yet, or the steps do not tell the costs apart.
    """
    from streamgauge.experiments.journal import read_journal
    from streamgauge.experiments.observing import observe_phases
    from streamgauge.models.files.cost_file import write_fitted
    from streamgauge.models.phase_fit import fit_phases
    from streamgauge.reports.fitted_costs import FittedCostsReport
    from streamgauge.topology.files.document import write_whole

    path = Path(folder)
    journal = read_journal(path)
    if not journal.done:
        raise NotEnoughData(
            f"{path}: no repetition is done of {len(journal.left)}; expected at least one"
            " (run the experiment again: it continues where it stopped)"
        )
    seen: dict[str, list[Seen]] = {}
    for step in journal.experiment.steps:
        for repetition in journal.of_step(step.name):
            say(f"reading {repetition.folder}")
            seen.setdefault(step.name, []).extend(observe_phases(journal, repetition, path))
    try:
        found = fit_phases(seen)
    except NotEnoughData as error:
        raise NotEnoughData(f"{path}: {error}") from None
    name = journal.experiment.name
    if output is not None:
        about = f"Fitted to {name} on {journal.engine}: {len(seen)} steps."
        write_whole(Path(output), write_fitted(found.constants, about))
    return FittedCostsReport(experiment=name, engine=journal.engine, costs=found)
