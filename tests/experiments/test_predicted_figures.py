"""Predicted figures under the names of measured ones: on paper, and by going through all paths."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.experiments.figures import FigureKind, Key
from streamgauge.experiments.predicted_figures import PredictedStages, list_model_figures
from streamgauge.experiments.predicted_paths import PredictedPaths, find_model_delays
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.delays import find_delays
from streamgauge.models.end_to_end_latency import Ways
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import load
from streamgauge.models.network import find_network
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.transport import storm2

JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {in: {kind: source, tasks: 2}, work: {tasks: 4}, out: {tasks: 2}}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: {fields: [k]}}
behaviours:
  in: {service: {cpu_ms: 0.1}}
  work:
    service: {cpu_ms: 0.5, wait_ms: 1}
    outputs: {default: 3}
    keys: {default: {zipf: {count: 9}}}
  out: {service: {cpu_ms: 0.2}}
configuration:
  engine: ENGINE
  executors: {in: 2, work: 2, out: 2}
  workers: 2
  settings: {topology.disable.loadaware.messaging: true}
cluster: {uniform: {nodes: 2, cores: 8, latency_ms: 0.4}}
workload: [{source: in, per_second: 100, shares: [0.2, 0.8]}]
"""


def job_on(engine="storm-2", **changes):
    text = JOB.replace("ENGINE", engine)
    for before, after in changes.items():
        text = text.replace(before, after)
    return parse_job(text)


@pytest.fixture(scope="module")
def case():
    job = job_on()
    plan = place_job(job).plan
    return find_parameters(JobBehaviour.from_job(job), plan, job.workload)


def stages(parameters, measured=None):
    labels = [one.label for one in parameters.flow.plan.logical.executors]
    found = PredictedStages(parameters=parameters, labels=labels, measured=measured or {})
    return {(*one.key, one.form): one.value for one in found.list_figures()}


def test_shuffle_deals_evenly_and_every_executor_gets_its_part(case):
    found = stages(case)
    shares = [
        value
        for (kind, subject, *_), value in found.items()
        if kind == FigureKind.ROUTING and subject.startswith("in/default → work")
    ]
    assert shares == pytest.approx([0.5] * 4)
    assert found["arrival", "work", "per_second", ""] == pytest.approx(100.0)
    assert found["arrival", "out", "per_second", ""] == pytest.approx(300.0)
    executors = [one.label for one in case.flow.plan.logical.executors_of("work")]
    assert [found["arrival", one, "per_second", ""] for one in executors] == pytest.approx(
        [50.0] * 2
    )


def test_outputs_follow_from_measured_inputs_not_from_predicted_ones(case):
    (one, other) = [one.label for one in case.flow.plan.logical.executors_of("work")]
    came = {Key(FigureKind.ARRIVAL, f"{one} ← in/default", "per_second"): 7.0}
    found = stages(case, came)
    assert found["output", f"{one} → default", "per_second", ""] == pytest.approx(21.0)
    assert found["output", f"{other} → default", "per_second", ""] == 0.0


def test_service_times_are_cpu_and_waiting(case):
    found = stages(case)
    (label, _) = [one.label for one in case.flow.plan.logical.executors_of("work")]
    assert found["service", label, "cpu", ""] == pytest.approx(0.5e-3)
    # Hardly anybody shares the eight cores.
    assert found["service", label, "wall", ""] == pytest.approx(1.5e-3, rel=0.01)
    assert found["service", label, "slowdown", ""] == pytest.approx(3.0, rel=0.01)


def test_lists_are_sized_where_there_are_lists(case):
    assert not [key for key in stages(case) if key[0] == FigureKind.LIST_SIZE]
    job = job_on("storm-1", **{"per_second: 100": "per_second: 40000", "wait_ms: 1": "wait_ms: 0"})
    behaviour, plan = JobBehaviour.from_job(job), place_job(job).plan
    found = stages(find_parameters(behaviour, plan, job.workload))
    sizes = {
        form: [
            value
            for (kind, *_, one), value in found.items()
            if kind == FigureKind.LIST_SIZE and one == form
        ]
        for form in ("", "map-weighted", "tuple-weighted")
    }
    assert all(len(values) >= 4 and min(values) >= 1.0 for values in sizes.values())
    # Weighing maps by their tuples takes them for larger (Cooper 2020, eq. 4.30).
    assert sum(sizes["tuple-weighted"]) > sum(sizes["map-weighted"])


def every_path(parameters):
    """Each path of executors: its places, its share of the tuples, and its time."""
    ways = Ways(
        parameters,
        find_delays(parameters, load(parameters).service),
        find_network(parameters.flow.plan, parameters.behaviour),
    )
    blocks = {(b.stream.source, b.stream.target, b.stream.name): b for b in parameters.flow.blocks}
    seconds = {key: ways.measure_connections(block) for key, block in blocks.items()}
    first, second = ("in", "work", "default"), ("work", "out", "default")
    emitted = parameters.rates.emitted[blocks[first].stream.key]
    for i, j, k in product(range(2), range(2), range(2)):
        weight = emitted[i] * blocks[first].shares[i, j] * 3.0 * blocks[second].shares[j, k]
        yield (i, j, k), weight, seconds[first][i, j] + seconds[second][j, k], seconds


def machines(parameters, operator):
    plan = parameters.flow.plan
    return [plan.workers[plan.placement[n]].node for n in plan.logical.spans[operator]]


def paths(parameters, model="analytic"):
    delays = find_model_delays(model, parameters, load(parameters))
    found = PredictedPaths(parameters, delays).list_figures()
    return {(*one.key, one.form): one.value for one in found}


def test_a_paths_time_is_the_mean_over_its_executors_with_and_without_one_clock(case):
    found = paths(case)
    begins, ends = machines(case, "in"), machines(case, "out")
    for clocks, wanted in (("", True), (" (two clocks)", False)):
        kept = [
            (weight, time)
            for (i, _, k), weight, time, _ in every_path(case)
            if (begins[i] == ends[k]) is wanted
        ]
        mean = sum(weight * time for weight, time in kept) / sum(weight for weight, _ in kept)
        subject = f"in → work → out{clocks}"
        assert found["path", subject, "mean", ""] == pytest.approx(mean)
        if wanted:
            assert found["ground-truth", "all", "mean", ""] == pytest.approx(mean)


def test_since_due_adds_how_late_each_source_is(case):
    found, begins, ends = paths(case), machines(case, "in"), machines(case, "out")
    # Half a sleep, 0.1 ms of service, and a queue of next to nothing at 20 and 80 a second.
    sleep = storm2.DEFAULTS.source_sleep
    late = [sleep / 2.0 + 1e-4 + rate * 1e-8 / (2 * (1 - rate * 1e-4)) for rate in (20.0, 80.0)]
    kept = [
        (weight, time + late[i])
        for (i, _, k), weight, time, _ in every_path(case)
        if begins[i] == ends[k]
    ]
    mean = sum(weight * time for weight, time in kept) / sum(weight for weight, _ in kept)
    assert found["path-since-due", "in → work → out", "mean", ""] == pytest.approx(mean, rel=1e-5)


def test_complete_latency_by_paths_leaves_out_the_way_of_the_first_message(case):
    times = []
    for (i, _, k), _, time, seconds in every_path(case):
        for acker in range(2):
            heard = seconds["in", "__acker", "__ack_init"][i, acker]
            told = seconds["out", "__acker", "__ack_ack"][k, acker]
            times.append(time + told - heard)
    found = paths(case)["complete", "in", "p50", "thesis"]
    # Of sixteen paths the 15th is the first that 90 % do not exceed.
    assert found == pytest.approx(sorted(times)[14])


def test_paths_through_an_overloaded_executor_take_for_ever():
    job = job_on(**{"per_second: 100": "per_second: 4000"})
    parameters = find_parameters(JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    found = paths(parameters)
    assert found["path", "in → work → out", "mean", ""] == np.inf
    assert found["ground-truth", "all", "mean", ""] == np.inf


def test_a_model_without_delays_has_no_paths(case):
    assert find_model_delays("jackson", case, load(case)) is None


def test_a_prediction_has_latencies_by_source_rates_cores_and_the_limit():
    job = job_on()
    plan = place_job(job).plan
    prediction = AnalyticModel().predict(JobBehaviour.from_job(job), plan, job.workload)
    found = {tuple(one.key): one.value for one in list_model_figures(prediction)}
    assert found["latency", "from in", "mean"] == prediction.latency.mean
    assert found["latency-since-due", "from in", "p99"] == prediction.since_due.quantiles[0.99]
    assert found["complete", "all", "mean"] == prediction.complete.mean
    assert found["throughput", "work", "emitted_per_second"] == pytest.approx(300.0)
    assert found["throughput", "out", "executed_per_second"] == pytest.approx(300.0)
    worker = prediction.workers[0]
    assert found["cpu", f"worker {worker.name}", "cores"] == worker.cores
    assert found["load", "all", "carried_per_second"] == prediction.limit.per_second
    crowded = replace(prediction.machines[0], busy=1.0, engine=0.125, polling=0.5, background=0.25)
    changed = replace(prediction, machines=(crowded,))
    cores = {tuple(one.key): one.value for one in list_model_figures(changed)}
    assert cores["cpu", f"machine {crowded.name}", "cores"] == pytest.approx(1.875)


def test_what_is_judged_of_a_model_has_the_intervals_that_are_shown(request):
    report = sg.predict(request.config.rootpath / "examples/word-count.profile.json")
    figures = list(list_model_figures(report.prediction, report.intervals))
    assert {one.key.kind for one in figures} >= {"latency", "complete", "throughput", "cpu", "load"}
    # Sinks emit nothing, which varies by no part of it; bytes have no intervals.
    for one in (one for one in figures if one.value > 0.0 and one.key.kind != "network"):
        assert one.low <= one.value <= one.high, one.key
    shown = report.intervals.of("latency", "source to sink", "p99")
    (judged,) = [one for one in figures if one.key[0] == "latency" and one.key[2] == "p99"]
    assert (judged.low, judged.high) == (shown.low, shown.high)


def test_bytes_of_workers_are_predicted_only_where_every_size_is_known():
    def senders(text):
        job = parse_job(text.replace("ENGINE", "storm-2"))
        report = sg.predict(job, intervals=False)
        figures = list_model_figures(report.prediction)
        return {one.key.subject: one.value for one in figures if one.key.kind == "network"}

    assert senders(JOB) == {}
    sized = JOB.replace("outputs: {default: 3}", "outputs: {default: 3}\n    bytes: {default: 50}")
    known = senders(sized.replace("cpu_ms: 0.1}", "cpu_ms: 0.1}, bytes: {default: 100}"))
    assert len(known) == 2
    # 100 roots/s; half of the tuples leave their worker, three times as many words of half the
    # size, and with them frames and what ackers are told.
    assert sum(known.values()) > 0.5 * (100 * 100 + 300 * 50)
