"""`sg.fit_costs` and ``streamgauge experiment costs``, of lines that planted costs make."""

import json
import shlex
import sys
from datetime import UTC, datetime, timedelta

import pytest

import streamgauge as sg
from streamgauge.cli import main
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.experiments.controller import run_experiment
from streamgauge.experiments.files.experiment_file import load_experiment
from streamgauge.experiments.journal import list_placed_executors
from streamgauge.lake.raw import encode
from streamgauge.lake.records import Sample
from streamgauge.models.files.cost_file import load_constants
from streamgauge.profile.files.jobs import load_job
from tests.experiments.small import JOB, FakeRunner, write_experiment

# The source sends tuples of 100 bytes by shuffle, work two of 900 by all.
TWO_GROUPINGS = (
    JOB.replace("to: out, grouping: shuffle", "to: out, grouping: all")
    .replace("outputs: {default: 1}}", "outputs: {default: 2}}")
    .replace("acked: true", "acked: false")
    .replace("out: {}}", "out: {tasks: 2}}")
)
STEPS = """\
streamgauge: 1
experiment: small
job: {file: job.yaml}
steps:
  one: {rate: 100, workers: 1}
  slow: {rate: 50}
  fast: {rate: 200}
  more: {rate: 120, executors: {work: 2, in: 2}}
  wide: {rate: 120, executors: 2, workers: 3}
warm_up: {seconds: 1}
windows: 1
window_seconds: 20
repetitions: 1
"""
# Microseconds, and cores of a thread that is awake.
AWAKE, READ, SHUFFLE, ALL, SERIALISE, HAND_OVER = 0.002, 5.0, 2.0, 4.0, 3.0, 1.0
SERIALISE_KB = 2.0
SECONDS, NANO, MICRO = 20.0, 1e9, 1e-6


class Planted(FakeRunner):
    """Writes what agents would if costs were these."""

    def __init__(self):
        super().__init__(self.write)

    def write(self, order):
        began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=len(self.orders) + 1)
        start_us = round(began.timestamp() * 1e6)
        rate = order.job.workload.emissions[0].per_second
        placed = list_placed_executors(order.plan)
        tasks = {
            one.component: [t for other in placed if other.component == one.component
                            for t in range(other.first_task, other.last_task + 1)]
            for one in placed
        }  # fmt: skip
        home = {t: one for one in placed for t in range(one.first_task, one.last_task + 1)}
        lines, used, sent = [], {}, {}

        def say(metric, value, **who):
            count = 1 if metric == "emitted_bytes" else max(round(value), 1)
            lines.append(
                Sample(
                    topology="tiny", metric=metric, value=round(value), count=count,
                    bucket_start_us=start_us, bucket_seconds=SECONDS, **who,
                )
            )  # fmt: skip

        def spend(task, seconds):
            label = home[task]
            used[label] = used.get(label, AWAKE) + seconds

        def move(source, target, each, cost, size):
            """Every task sends so many a second to each task, and pays for what it emits."""
            for task in tasks[source]:
                for other in tasks[target]:
                    of = {"source_component": source, "source_task": task, "stream": "default"}
                    say("transferred", each * SECONDS, component=target, task=other, **of)
                    here, there = home[task].worker, home[other].worker
                    if here != there:
                        cpu = SERIALISE + SERIALISE_KB * size / 1000
                        spend(task, each * cpu * MICRO)
                        sent[here] = sent.get(here, 0.0) + each
                say("emitted_bytes", size, component=source, task=task, stream="default")

        sources, works = len(tasks["in"]), len(tasks["work"])
        move("in", "work", rate / sources / works, SHUFFLE, 100.0)
        move("work", "out", 2 * rate / works, ALL, 900.0)
        for name, read, emitted, emit, own in (
            ("in", 0.0, rate / sources, SHUFFLE, 0.0),
            ("work", rate / works, 2 * rate / works, ALL, 1000.0),
            ("out", 2 * rate, 0.0, 0.0, 500.0),
        ):
            for task in tasks[name]:
                spend(task, (read * (READ + own) + emitted * emit) * MICRO)
                if read:
                    source = "in" if name == "work" else "work"
                    who = {"source_component": source, "stream": "default"}
                    say("executed", read * SECONDS, component=name, task=task, **who)
                if emitted:
                    say("emitted", emitted * SECONDS, component=name, task=task, stream="default")
        for one, cores in used.items():
            label = f"{one.component}[{one.first_task}]"
            if one.last_task > one.first_task:
                label = f"{one.component}[{one.first_task}-{one.last_task}]"
            cpu = cores * SECONDS * NANO
            say("executor_cpu", cpu, component=one.component, executor=label, worker=one.worker)
        for worker in {one.worker for one in placed}:
            cpu = (0.01 + sent.get(worker, 0.0) * HAND_OVER * MICRO) * SECONDS * NANO
            say("transfer_thread_cpu", cpu, worker=worker)
            say("worker_heartbeats", 1, worker=worker)
        (order.folder / "a.jsonl").write_text("".join(encode(one) + "\n" for one in lines))


def measure(folder, steps=STEPS):
    experiment = load_experiment(write_experiment(folder, steps, TWO_GROUPINGS))
    run_experiment(experiment, Planted(), folder / "run", lambda _: None)
    return folder / "run"


def run(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr()


def test_costs_that_were_planted_are_found_and_written_for_the_cost_models(tmp_path):
    file = tmp_path / "constants.yaml"
    report = sg.fit_costs(measure(tmp_path), output=file)
    found = {one["name"]: one["value"] for one in report.to_dict()["costs"]}
    assert found["read"] == pytest.approx(READ * MICRO)
    assert found["awake executor"] == pytest.approx(AWAKE)
    assert found["group by all"] == pytest.approx(ALL * MICRO)
    assert found["serialise"] == pytest.approx(SERIALISE * MICRO)
    constants = load_constants(file, load_job(tmp_path / "job.yaml").topology)
    assert constants.any_type.serialise == pytest.approx(SERIALISE * MICRO)
    assert constants.any_type.serialise_per_byte == pytest.approx(SERIALISE_KB * MICRO / 1000)
    assert constants.transport.remote == pytest.approx(HAND_OVER * MICRO)
    assert "Each step from the others" in report.to_text()
    costed = sg.cost(tmp_path / "job.yaml", constants=file, serialising="copies")
    assert costed.own.costs.cores[0] > 0.0


def test_the_command_prints_one_document(tmp_path, monkeypatch, capsys):
    folder = measure(tmp_path)
    code, printed = run(f"streamgauge experiment costs {folder} --json", monkeypatch, capsys)
    document = json.loads(printed.out)
    steps = [one["step"] for one in document["steps"]] + document["needed"]
    assert (code, set(steps)) == (0, {"one", "slow", "fast", "more", "wide"})


def test_one_step_does_not_tell_costs_apart(tmp_path, monkeypatch, capsys):
    steps = STEPS.partition("  slow")[0] + "warm_up" + STEPS.partition("warm_up")[2]
    folder = measure(tmp_path, steps)
    with pytest.raises(NotEnoughData, match="vary workers, rates, groupings and sizes"):
        sg.fit_costs(folder)
    code, printed = run(f"streamgauge experiment costs {folder}", monkeypatch, capsys)
    assert (code, printed.out) == (5, "")


def test_a_folder_without_an_experiment_is_refused(tmp_path):
    with pytest.raises(InvalidInput):
        sg.fit_costs(tmp_path)
