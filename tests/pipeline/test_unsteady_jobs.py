"""Jobs that were not steady while they were measured, from emulated metrics to doubts."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.engines.emulator import emulate
from streamgauge.errors import NotEnoughData
from streamgauge.lake.tables import Lake
from streamgauge.models.doubts import DoubtCode
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.calibrate.periods import Period, WarmUp, Wish
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import PeriodState
from streamgauge.profile.files.jobs import parse_job, parse_profile
from streamgauge.simulation.topology_run import simulate

MINUTES = 6
START = datetime(2026, 1, 1, tzinfo=UTC)
# What a source of each job emits in each minute. Its only bolt can do 200 a second.
RATES = {
    "even": [100] * MINUTES,
    # 3,600 tuples wait after the first minute, which is warm-up, and are gone 36 s later.
    "draining": [260, 100, 100, 100, 100, 100],
    # 14,400 tuples, which are gone 144 s later.
    "long-draining": [440, 100, 100, 100, 100, 100],
    "another-load": [80, 80, 80, 150, 150, 150],
    "overloaded": [260] * MINUTES,
    "hardly-any": [0.2] * MINUTES,
    "ever-more": [20, 40, 70, 100, 140, 185],
}


# A job whose bolt found no error in six minutes.
FAULTLESS = """
streamgauge: 1
topology:
  name: faultless
  acked: false
  operators: {s: {kind: source}, u: {}, w: {}, errors: {}}
  streams:
    - {from: s, to: u, grouping: shuffle}
    - {from: u, to: w, grouping: shuffle}
    - {from: u, stream: errors, to: errors, grouping: shuffle}
behaviours:
  s: {}
  u: {service: {wait_ms: 5}, outputs: {default: 1, errors: 0}}
  w: {}
  errors: {service: {wait_ms: 1}}
configuration: {engine: storm-2, workers: 1}
cluster: {uniform: {nodes: 1, cores: 8}}
workload: [{source: s, per_second: 50}]
"""


# A job that burns 4 ms of its machine's only core for a tuple.
BURNING = """
streamgauge: 1
topology:
  name: burning
  acked: false
  operators: {s: {kind: source}, u: {}}
  streams: [{from: s, to: u, grouping: shuffle}]
behaviours: {s: {}, u: {service: {cpu_ms: 4}}}
configuration: {engine: storm-2, workers: 1}
cluster: {uniform: {nodes: 1, cores: 1}}
workload: [{source: s, per_second: 80}]
"""


def job(name, rates):
    values = ", ".join(map(str, rates))
    return parse_job(f"""
streamgauge: 1
topology:
  name: {name}
  acked: false
  operators: {{s: {{kind: source}}, u: {{}}}}
  streams: [{{from: s, to: u, grouping: shuffle}}]
behaviours: {{s: {{}}, u: {{service: {{wait_ms: 5}}}}}}
configuration: {{engine: storm-2, workers: 1}}
cluster: {{uniform: {{nodes: 1, cores: 8}}}}
workload:
  - source: s
    per_second: {sum(rates) / len(rates)}
    shape: {{recorded: {{bucket_seconds: 60, values: [{values}]}}}}
""")


@pytest.fixture(scope="module")
def profiles(spark, tmp_path_factory):
    """All jobs emulated, ingested and calibrated together."""
    folder = tmp_path_factory.mktemp("unsteady")
    # On different days, as they have the same machine.
    jobs = [job(name, rates) for name, rates in RATES.items()]
    jobs += [parse_job(FAULTLESS), parse_job(BURNING)]
    for day, one in enumerate(jobs):
        name = one.topology.name
        plan = place_job(one).plan
        run = partial(
            simulate, plan, one.behaviours, one.workload, seconds=60.0 * MINUTES, warmup=0.0
        )
        emulate(
            one,
            plan,
            run,
            folder=folder / "raw" / name,
            seed=1,
            bucket_seconds=1.0,
            started_at=START + timedelta(days=day),
        )
    lake = Lake(folder / "lake")
    received = START + timedelta(days=30)
    files = find_files(
        [str(folder / "raw" / one.topology.name) for one in jobs], received_at=received
    )
    assert ingest_files(spark, lake, files).quarantined == 0
    found = {one.topology: parse_profile(one.profile) for one in calibrate(spark, lake)}
    day = START + timedelta(days=list(RATES).index("long-draining"))
    start, end = (int((day + timedelta(minutes=n)).timestamp() * 1e6) for n in (1, 3))
    wish = Wish(period=Period(start_us=start, end_us=end), warm_up=WarmUp(seconds=0.0))
    (one,) = calibrate(spark, lake, "long-draining", wish)
    return found | {"drain alone": parse_profile(one.profile)}


def length(profile):
    start, end = map(datetime.fromisoformat, (profile.period.start, profile.period.end))
    return (end - start).total_seconds()


def rate(profile):
    return sum(
        task.inputs[("s", "default")].per_second.value for task in profile.tasks_of("u").values()
    )


def codes(profile, **question):
    return {doubt.code for doubt in sg.predict(profile, **question).doubts}


def test_a_steady_job_is_measured_whole_and_not_in_doubt(profiles):
    profile = profiles["even"]
    assert profile.period.state is PeriodState.STEADY
    assert length(profile) == pytest.approx(300.0, abs=2.0)
    assert codes(profile) == set()


def test_a_backlog_that_drains_is_cut_off(profiles):
    profile = profiles["draining"]
    assert profile.period.state is PeriodState.STEADY
    assert 230.0 <= length(profile) <= 270.0
    assert rate(profile) == pytest.approx(100.0, rel=0.03)
    assert any("a backlog drained" in note for note in profile.notes)
    assert codes(profile) == set()


def test_a_period_in_which_a_backlog_drains_is_in_doubt_where_somebody_asked_for_it(profiles):
    profile = profiles["drain alone"]
    assert profile.period.state is PeriodState.DRAINING
    assert DoubtCode.DRAINING in codes(profile)


def test_a_machine_that_would_be_nearly_full_is_in_doubt(profiles):
    assert DoubtCode.FULL_MACHINE in codes(profiles["burning"], rate=215.0)
    assert DoubtCode.FULL_MACHINE not in codes(profiles["burning"], rate=100.0)


def test_other_tasks_than_were_measured_are_in_doubt(profiles):
    changed = FAULTLESS.replace("w: {}, errors: {}}", "w: {tasks: 2}, errors: {}}", 1)
    found = {one.code for one in sg.predict(profiles["faultless"], parse_job(changed)).doubts}
    assert found == {DoubtCode.UNEXERCISED, DoubtCode.TASKS_CHANGED}


def test_every_code_is_triggered_here():
    """By name in this file, each by what the pipeline made of emulated metrics.

    But for capacities that are below what service times say: emulated operators never are, so
    those are planted (`tests/models/test_capacity_check.py`).
    """
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(f"DoubtCode.{code.name}" in text for code in {*DoubtCode} - {DoubtCode.CAPACITY})


def test_of_two_loads_the_last_is_measured(profiles):
    profile = profiles["another-load"]
    assert rate(profile) == pytest.approx(150.0, rel=0.05)
    assert any("the load was another" in note for note in profile.notes)


def test_an_overloaded_job_is_in_doubt(profiles):
    profile = profiles["overloaded"]
    assert profile.period.state is PeriodState.FILLING
    assert codes(profile) >= {DoubtCode.FILLING, DoubtCode.SATURATED}
    with pytest.raises(NotEnoughData, match="filling-period"):
        sg.predict(profile, strict=True)


def test_a_load_that_never_stays_is_in_doubt(profiles):
    profile = profiles["ever-more"]
    assert profile.period.state is PeriodState.DRIFTING
    assert DoubtCode.DRIFTING in codes(profile)


def test_ten_times_the_measured_rate_is_in_doubt(profiles):
    assert DoubtCode.FAR_RATE in codes(profiles["even"], rate=1000.0)
    assert DoubtCode.FAR_RATE not in codes(profiles["even"], rate=150.0)


def test_an_operator_that_got_no_tuple_does_not_stop_an_answer_but_is_in_doubt(profiles):
    report = sg.predict(profiles["faultless"])
    assert {doubt.code for doubt in report.doubts} == {DoubtCode.UNEXERCISED}
    assert report.prediction.operators["errors"].arrived_per_second == 0.0
    assert report.prediction.latency.mean > 0.005


def test_executors_that_would_be_far_busier_than_measured_are_in_doubt(profiles):
    assert DoubtCode.FAR_UTILISATION in codes(profiles["faultless"], rate=190.0)
    assert DoubtCode.FAR_UTILISATION not in codes(profiles["faultless"], rate=100.0)


def test_figures_of_a_few_dozen_tuples_are_in_doubt(profiles):
    assert DoubtCode.THIN in codes(profiles["hardly-any"])
