"""A described job, scaled, translated and simulated, does what its graph says."""

import pytest

from streamgauge.planning.scaling.accuracy import accuracy_of
from streamgauge.planning.scaling.from_profile import graph_of_job
from streamgauge.planning.scaling.translation import scaled_job
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import load_job
from streamgauge.simulation.topology_run import simulate


@pytest.mark.parametrize("allocation", [{}, {"3": 1}, {"2": 1, "4": 1}, {"2": 1, "3": 2, "4": 1}])
def test_every_component_processes_what_was_estimated_within_the_band(project, allocation):
    """Puttaswamy 2018, Table 6.6 and section 6.2.3; the simulator queues what the graph drops."""
    job = load_job(project / "examples" / "scale-out-tree.yaml")
    scaled, _ = scaled_job(job, allocation)
    plan = place_job(scaled).plan
    run = simulate(plan, scaled.behaviours, scaled.workload, seconds=10, warmup=2, seed=1)
    measured = {
        name: one.executed_per_second or one.emitted_per_second
        for name, one in run.operators.items()
    }
    found = accuracy_of(graph_of_job(job).graph, measured, allocation)
    assert found.missing == ()
    assert found.outside == ()
    assert found.throughput is not None
    assert found.is_within(found.throughput)
