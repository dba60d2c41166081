"""What a UI says, poll by poll, goes through ingest and calibrate into a profile of its figures."""

import copy
import os

import pytest

from streamgauge.engines.storm.collection.folder import CollectionFolder
from streamgauge.lake.plans import plan_id_of
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from streamgauge.profile.figures import TaskId
from streamgauge.profile.files.jobs import parse_profile
from tests.engines.storm.collection.uis import COUNTS, NOW_US, Clock, FakeUi, collector, lines
from tests.pipeline.http_servers import serving

# Reports of a minute each: on the plan of the documents, and on another one afterwards.
BEFORE, AFTER = 45, 3
MOVED = "[7-7]"


def rows(ui):
    """The rows of all components' tables that count."""
    for one in ui.components():
        yield from (*one["executorStats"], *one.get("inputStats", ()), *one["outputStats"])


def collected(ui, folder):
    """Every minute each executor does again what it did in the recorded minute."""
    clock = Clock()
    polling = collector(ui, clock)
    recorded = copy.deepcopy(list(rows(ui)))
    with CollectionFolder(folder, source="http://ui:8080", most_bytes=10**9) as target:
        for report in range(BEFORE + AFTER):
            if report == BEFORE:
                ui.move(MOVED, 26711)
                for row in rows(ui):
                    row.update({"executeLatency": "99.000"} if "executeLatency" in row else {})
            target.write(polling.poll().records, polling.memory, clock())
            clock.move(60)
            for now, first in zip(rows(ui), recorded, strict=True):
                for key in COUNTS & now.keys():
                    now[key] += first[key]
                if "uptimeSeconds" in now:
                    now["uptimeSeconds"] += 60
    # As old as they would be: of two versions of a plan the one received last counts.
    for minute, path in enumerate(sorted(folder.glob("*.jsonl.gz"))):
        os.utime(path, (NOW_US / 1e6 + 60 * minute,) * 2)


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    with serving(FakeUi()) as ui:
        collected(ui, folder)
    return folder


@pytest.fixture(scope="module")
def profile(spark, metrics, tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("lake"))
    tally = ingest_files(spark, lake, find_files([str(metrics)]))
    # The plan that ended supersedes what was said of it before; nothing else is set aside.
    assert (tally.quarantined, tally.superseded, tally.reasons) == (1, 1, {})
    (made,) = calibrate(spark, lake, "demo", seed=1)
    return parse_profile(made.profile)


def test_service_times_are_those_of_the_documents(profile):
    # As recorded of executors: sink has tasks 3 and 4, work 7 to 10, of which 7 and 10 are idle.
    seen = {
        task: next(iter(figures.inputs.values())).wall.mean_ms.value
        for task, figures in profile.tasks.items()
        if task.operator in ("sink", "work") and any(one.wall for one in figures.inputs.values())
    }
    assert seen == pytest.approx(
        {
            TaskId("sink", 0): 0.267,
            TaskId("sink", 1): 0.350,
            TaskId("work", 1): 5.545,
            TaskId("work", 2): 5.677,
        },
        abs=0.0006,
    )


def test_rates_and_outputs_are_those_of_the_counters(profile):
    # Task 8 executed 6,860 tuples a minute and emitted 7,280; 7,020 came from the spout beside it.
    work, spout = profile.tasks[TaskId("work", 1)], profile.tasks[TaskId("spout", 0)]
    (received,) = work.inputs.values()
    assert received.per_second.value == pytest.approx(6860 / 60, rel=1e-3)
    assert work.outputs["default"].per_second.value == pytest.approx(7280 / 60, rel=1e-3)
    assert spout.outputs["default"].per_second.value == pytest.approx(7020 / 60, rel=1e-3)


def test_the_profile_is_of_the_plan_before_the_rebalance_that_was_seen(profile, metrics):
    (ended,) = {one for one in lines(metrics) if getattr(one, "valid_to_us", None) is not None}
    assert profile.plan_id == ended.plan_id == plan_id_of(ended.executors)
    assert profile.placement["work[7]"] == "127.0.0.1:26710"
    kinds = [one.kind for one in lines(metrics) if hasattr(one, "kind")]
    assert kinds == ["start", "rebalance"]
