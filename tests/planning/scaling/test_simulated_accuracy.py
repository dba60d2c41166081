"""A described job, scaled, translated and simulated, against what its graph says."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.planning.scaling.from_profile import graph_of_job
from streamgauge.planning.scaling.measured import Accuracy, accuracy_of
from streamgauge.planning.scaling.translation import scaled_job
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.simulation.topology_run import simulate

WITHOUT = {"topology.backpressure.enable": False}


@pytest.fixture
def tree(project: Path) -> Job:
    """The job on Storm 1.x, whose back-pressure can be switched off."""
    job = load_job(project / "examples" / "scale-out-tree.yaml")
    configuration = replace(job.configuration, engine="storm-1", settings=WITHOUT)
    return replace(job, configuration=configuration)


def simulated(job: Job, allocation: dict[str, int]) -> Accuracy:
    scaled, _ = scaled_job(job, allocation)
    assert scaled.workload is not None
    plan = place_job(scaled).plan
    run = simulate(plan, scaled.behaviours, scaled.workload, seconds=10, warmup=5, seed=1)
    measured = {
        name: one.executed_per_second or one.emitted_per_second
        for name, one in run.operators.items()
    }
    return accuracy_of(graph_of_job(job).graph, measured, allocation)


@pytest.mark.parametrize("allocation", [{}, {"3": 1}, {"2": 1, "4": 1}, {"2": 1, "3": 2, "4": 1}])
def test_without_back_pressure_all_process_what_was_estimated_within_the_band(tree, allocation):
    # The allocations of Puttaswamy 2018, Table 6.6; queues grow where the graph drops.
    found = simulated(tree, allocation)
    assert found.missing == ()
    assert found.outside == ()
    assert found.throughput is not None
    assert found.is_within(found.throughput)
