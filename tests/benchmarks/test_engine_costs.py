"""The benchmark that measures what Storm itself costs, on costs that were planted."""

import pytest

from benchmarks.engine_costs import fit, sum_up
from tests.engines.emulator.emulations import emulated
from tests.models.planted_costs import JOB, PLANTED, planted


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Those of two runs, at a low and a high rate."""
    found = []
    for rate in (100, 4000):
        text = JOB.replace("per_second: 4000", f"per_second: {rate}")
        folder = tmp_path_factory.mktemp(f"at-{rate}")
        bare = emulated(text, folder, seconds=40.0, bucket_seconds=5.0, trace_every=0)
        samples = planted(bare, noise=0.02, groups=True)
        found += sum_up([*samples, *bare.plans], last_seconds=30.0)
    return found


def test_the_time_before_and_the_last_bucket_do_not_count(workers):
    assert [one.seconds for one in workers] == [25.0] * 6


@pytest.mark.parametrize("name", PLANTED)
def test_planted_costs_are_found(workers, name):
    assert fit(workers).value(name) == pytest.approx(PLANTED[name], rel=0.25)
