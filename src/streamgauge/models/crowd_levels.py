"""Delays at the levels of a machine's crowd (`crowding`), on which all of its threads are slow."""

from __future__ import annotations

import numpy as np

from streamgauge.models.crowding import PROBABILITIES, level_factors
from streamgauge.models.delays import DelayLevels, find_delays
from streamgauge.models.load_limit import Loaded, fires_on_thread, machine_of_executor
from streamgauge.models.machine_threads import Vector
from streamgauge.models.parameters import Parameters

# Crowds make no executor busier than this that is not so already.
NEARLY_FULL = 0.98


def find_levels(parameters: Parameters, loaded: Loaded) -> DelayLevels:
    """The delays in a plan's elements under its load, at the levels of its machine's crowd.

    With several crowded machines, levels are mixed in each element: two elements of a path are on
    one machine by chance.
    """
    variation = loaded.variation()
    if not variation.any():
        return DelayLevels.single(find_delays(parameters, loaded.service))
    machine, most = machine_of_executor(parameters.flow.plan), _most_crowd(parameters, loaded)
    levels = DelayLevels(
        probabilities=tuple(PROBABILITIES.tolist()),
        delays=tuple(
            find_delays(parameters, loaded.at_crowd(np.minimum(factor[machine], most)))
            for factor in level_factors(variation)
        ),
    )
    if np.count_nonzero(variation) > 1:
        return DelayLevels.single(levels.mix_elements())
    return levels


def _most_crowd(parameters: Parameters, loaded: Loaded) -> Vector:
    """The factor at which each executor is nearly full; one where it is full already."""
    tuples, triggers = parameters.works.tuples, parameters.works.triggers
    fired = np.where(fires_on_thread(parameters.flow), triggers.per_second, 0.0)
    waits = tuples.per_second * tuples.wait + fired * triggers.wait
    on_core = loaded.utilisation - waits
    room = np.divide(
        NEARLY_FULL - waits, on_core, out=np.full_like(waits, np.inf), where=on_core > 0.0
    )
    return np.where(np.isfinite(loaded.utilisation), np.maximum(room, 1.0), 1.0)
