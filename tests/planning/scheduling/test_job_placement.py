"""What a job is expected to do: on paper, from its description, and from a profile."""

from dataclasses import replace

import pytest

from streamgauge.errors import CyclicTopology
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import expected_of, expected_of_job, place_job
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.distribution import Constant, Fixed
from streamgauge.profile.files.jobs import load_job, load_profile
from streamgauge.profile.job import Job
from streamgauge.profile.keys import GivenKeys
from streamgauge.topology import (
    Configuration,
    Emission,
    Fields,
    Shuffle,
    Stream,
    StreamKey,
    Unlimited,
    Workload,
)
from tests.planning.scheduling.graphs import topology

S, B = StreamKey("s", "default"), StreamKey("b", "default")


def service(cpu_ms: float, wait_ms: float = 0.0) -> Service:
    return Service(cpu_ms=Constant(value=cpu_ms), wait_ms=Constant(value=wait_ms))


def chain(**given) -> Job:
    """100 tuples a second, three out for one in, 2 ms and 1 ms on a core."""
    return Job(
        **{
            "topology": topology("s-b", "b-c", s=1, b=2, c=4, acked=True),
            "behaviours": {
                "s": Behaviour(),
                "b": Behaviour(service=service(2.0, 5.0), outputs={"default": Fixed(mean=3)}),
                "c": Behaviour(service=service(1.0)),
            },
            "configuration": Configuration(engine="storm-1", workers=2),
            "workload": Workload(emissions=(Emission(source="s", per_second=100.0),)),
            **given,
        }
    )


def test_rates_grow_by_what_operators_emit_and_cores_count_no_waiting():
    found = expected_of_job(chain())
    assert found is not None
    assert (found.rates[S], found.rates[B]) == (100.0, pytest.approx(300.0))
    assert found.cores == {"s": 0.0, "b": pytest.approx(0.2), "c": pytest.approx(0.3)}


def test_a_source_announces_every_root_and_every_tuple_is_acknowledged():
    found = expected_of_job(chain())
    assert found is not None
    acks = {key.source: rate for key, rate in found.rates.items() if key.name.startswith("__")}
    assert acks == pytest.approx({"s": 100.0, "b": 100.0, "c": 300.0, "__acker": 100.0})


@pytest.mark.parametrize(
    "unknown",
    [
        {"workload": None},
        {"workload": Workload(emissions=(Emission(source="s", shape=Unlimited()),))},
        {"behaviours": {"s": Behaviour(), "b": Behaviour()}},
    ],
)
def test_without_rates_or_behaviours_nothing_is_expected(unknown):
    assert expected_of_job(chain(**unknown)) is None


def cyclic(again: float) -> Job:
    made = chain().topology
    back = Stream(source="b", target="b", name="again", grouping=Shuffle())
    behaviours = dict(chain().behaviours)
    outputs = {"default": Fixed(mean=1), "again": Fixed(mean=again)}
    behaviours["b"] = replace(behaviours["b"], outputs=outputs)
    return chain(topology=replace(made, streams=(*made.streams, back)), behaviours=behaviours)


def test_tuples_that_go_round_are_counted_until_they_die_out():
    found = expected_of_job(cyclic(0.5))
    assert found is not None
    # 100 + 50 + 25 + … come to b.
    assert found.rates[B] == pytest.approx(200.0)


def test_tuples_that_multiply_on_a_cycle_are_refused_by_its_name():
    with pytest.raises(CyclicTopology, match="b → b"):
        expected_of_job(cyclic(1.5))


def test_keys_that_are_known_say_what_tasks_get():
    made = topology("s-b", "b-c", s=1, b=2, c=4)
    streams = (made.streams[0], replace(made.streams[1], grouping=Fields(keys=("k",))))
    behaviours = dict(chain().behaviours)
    keys = GivenKeys(weights={"one": 3.0, "two": 1.0})
    behaviours["b"] = replace(behaviours["b"], keys={"default": keys})
    found = expected_of_job(chain(topology=replace(made, streams=streams), behaviours=behaviours))
    assert found is not None
    shares = found.task_shares["b", "default", "c"]
    assert sorted(shares) == [0.0, 0.0, pytest.approx(0.25), pytest.approx(0.75)]


def test_a_load_twice_as_high_wants_twice_the_cores():
    job = chain()
    twice = job.workload.times(2.0)
    found = expected_of(JobBehaviour.from_job(job), job.configuration, twice)
    assert found.rates[B] == pytest.approx(600.0)
    assert found.cores["c"] == pytest.approx(0.6)


def test_of_a_measured_profile_rates_are_asked_for_at_any_load():
    profile = load_profile("examples/word-count.profile.json")
    source = profile.topology.sources[0].name
    stream = profile.topology.streams_from(source)[0]
    load = Workload(emissions=(Emission(source=source, stream=stream.name, per_second=1000.0),))
    behaviour = JobBehaviour.from_profile(profile)
    once = expected_of(behaviour, profile.configuration, load)
    twice = expected_of(behaviour, profile.configuration, load.times(2.0))
    assert once.rates[stream.key] == pytest.approx(1000.0)
    assert all(cores > 0.0 for cores in once.cores.values())
    assert twice.cores == pytest.approx({name: 2.0 * one for name, one in once.cores.items()})


def test_a_job_is_placed_by_what_it_declares():
    schedule = place_job(load_job("examples/scale-out-tree.yaml"), "traffic-aware")
    # 1 → 3 alone crosses: 8 · 0.8 cores hold either part and not both.
    assert schedule.least_remote == pytest.approx(800.0)
