"""The controller: order, resuming after every interruption, faults of engines."""

import json
from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.experiments.controller import ExperimentProgress, describe_moves, run_experiment
from streamgauge.experiments.journal import list_placed_executors, read_journal
from streamgauge.experiments.observing import observe
from tests.experiments.small import EXPERIMENT, FakeRunner, small_experiment


def run(experiment, engine, folder, watch=lambda reached: None):
    return run_experiment(experiment, engine, folder, watch)


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


def fail_at(number, error):
    """Raises in the so many-th step, counted from zero over all sessions."""
    seen = []

    def during(order):
        seen.append(order)
        if len(seen) == number + 1:
            raise error

    return during


def test_every_repetition_is_run_in_the_experiments_order(tmp_path):
    experiment, engine = small_experiment(tmp_path), FakeRunner()
    journal = run(experiment, engine, tmp_path / "out")
    assert engine.turns == [tuple(turn) for turn in experiment.turns()]
    assert journal.left == [] and engine.closed == 1


def test_a_repetition_always_has_the_same_seed(tmp_path):
    experiment, engine = small_experiment(tmp_path), FakeRunner()
    run(experiment, engine, tmp_path / "out")
    assert [one.seed for one in engine.orders] == [
        experiment.seed_of(turn) for turn in experiment.turns()
    ]


@pytest.mark.parametrize(
    ("number", "error"),
    [
        *((number, Killed()) for number in range(6)),
        (2, KeyboardInterrupt()),
        (3, SourceUnreachable("gone")),
    ],
)
def test_an_interrupted_experiment_goes_on_where_it_was(tmp_path, number, error):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"
    engine = FakeRunner(fail_at(number, error))
    with pytest.raises(type(error)):
        run(experiment, engine, folder)
    assert len(read_journal(folder).done) == number
    run(experiment, engine, folder)
    assert engine.turns == [tuple(turn) for turn in experiment.turns()]
    assert engine.closed == 2


def test_what_an_interrupted_repetition_left_is_kept_apart_from_the_raw_lines(tmp_path):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"
    engine = FakeRunner(fail_at(1, SourceUnreachable("gone")))
    with pytest.raises(SourceUnreachable):
        run(experiment, engine, folder)
    journal = run(experiment, engine, folder)
    left = list((folder / "interrupted").rglob("half.jsonl"))
    assert len(left) == 1
    assert len(list((folder / "raw").iterdir())) == len(journal.done) == 6


def test_an_experiment_that_is_done_brings_no_engine_up(tmp_path):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"
    run(experiment, FakeRunner(), folder)
    engine = FakeRunner()
    assert len(run(experiment, engine, folder).done) == 6
    assert engine.sessions == 0


def test_a_changed_file_is_refused_with_what_changed(tmp_path):
    folder = tmp_path / "out"
    run(small_experiment(tmp_path), FakeRunner(), folder)
    other = small_experiment(tmp_path, EXPERIMENT.replace("rate: 50", "rate: 60"))
    with pytest.raises(InvalidInput, match=r"steps\.slow\.job\.workload.*60.*was 50"):
        run(other, FakeRunner(), folder)


def test_another_engine_is_refused(tmp_path):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"
    run(experiment, FakeRunner(), folder)
    other = FakeRunner()
    other.name = "other"
    with pytest.raises(InvalidInput, match="engine: 'other', was 'fake'"):
        run(experiment, other, folder)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letters.txt").write_text("dear")
    with pytest.raises(InvalidInput, match="letters"):
        run(small_experiment(tmp_path), FakeRunner(), tmp_path / "out")


def test_two_controllers_do_not_work_in_one_folder(tmp_path):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"

    def again(order):
        run(experiment, FakeRunner(), folder)

    with pytest.raises(InvalidInput, match="another process"):
        run(experiment, FakeRunner(again), folder)


def test_a_journal_that_is_none_is_named(tmp_path):
    (tmp_path / "experiment.json").write_text(json.dumps({"streamgauge_experiment": 99}))
    with pytest.raises(InvalidInput, match="version 99"):
        read_journal(tmp_path)


def test_what_an_earlier_version_measured_is_read_and_not_gone_on_with(tmp_path):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"
    run(experiment, FakeRunner(), folder)
    data = json.loads((folder / "experiment.json").read_text())
    data |= {"streamgauge_experiment": 1, "done": data["done"][:3]}
    (folder / "experiment.json").write_text(json.dumps(data))
    truth = observe(read_journal(folder), folder)
    notes = [note for step in truth.steps for one in step.repetitions for note in one.notes]
    assert len([note for note in notes if "earlier version" in note]) == 3
    with pytest.raises(InvalidInput, match="an earlier version"):
        run(experiment, FakeRunner(), folder)


def test_begin_and_end_of_measuring_are_events_for_the_lake(tmp_path):
    run(small_experiment(tmp_path), FakeRunner(), tmp_path / "out")
    path = next((tmp_path / "out" / "raw").glob("1-slow-1/experiment-events.jsonl"))
    first, last = map(json.loads, path.read_text().splitlines())
    assert (first["kind"], last["kind"]) == ("step-begin", "step-end")
    assert last["happened_at_us"] - first["happened_at_us"] == 4_000_000


def test_those_who_watch_learn_of_every_end_once(tmp_path):
    seen: list[ExperimentProgress] = []
    run(small_experiment(tmp_path), FakeRunner(), tmp_path / "out", seen.append)
    assert [one.done for one in seen if one.is_end] == [1, 2, 3, 4, 5, 6]
    assert {one.total for one in seen} == {6}


def test_a_plan_that_was_not_applied_is_noted(tmp_path):
    experiment = small_experiment(tmp_path)
    wanted = experiment.step("packed").schedule(experiment.cluster).plan
    found = experiment.step("slow").schedule(experiment.cluster).plan
    assert describe_moves(wanted, list_placed_executors(wanted)) == []
    assert "not the one ordered" in describe_moves(wanted, list_placed_executors(found))[0]


def test_a_plan_whose_tasks_the_engine_numbers_otherwise_is_the_same(tmp_path):
    experiment = small_experiment(tmp_path)
    wanted = experiment.step("packed").schedule(experiment.cluster).plan
    numbered = [
        replace(one, first_task=one.first_task + 40, last_task=one.last_task + 40)
        for one in list_placed_executors(wanted)
    ]
    assert describe_moves(wanted, numbered) == []


def with_keys(tmp_path, keys):
    return small_experiment(tmp_path, f"{EXPERIMENT}{keys}\n")


def test_a_clean_start_gives_each_repetition_an_engine_without_old_data(tmp_path):
    experiment, folder = with_keys(tmp_path, "clean_start: true"), tmp_path / "out"
    found = []

    def leave_something(order):
        home = folder / "engine"
        found.append(sorted(path.name for path in home.glob("*")))
        (home / "zookeeper").mkdir(parents=True)
        (home / "clock.json").write_text("{}")

    engine = FakeRunner(leave_something)
    run(experiment, engine, folder)
    assert engine.closed == len(engine.turns) == 6
    # A clock of simulated time stays, so that no two repetitions have the same times.
    assert found == [[], *[["clock.json"]] * 5]


def test_the_load_goes_on_after_the_last_window_and_that_does_not_count(tmp_path):
    experiment, folder = with_keys(tmp_path, "cool_down_seconds: 3"), tmp_path / "out"
    engine = FakeRunner()
    journal = run(experiment, engine, folder)
    # Windows of 2 s: two of them count, and two more cover the 3 s.
    assert {order.windows for order in engine.orders} == {4}
    for done in journal.done:
        assert (done.measured_to - done.measured_from).total_seconds() == 4.0


def test_a_journal_without_the_new_keys_goes_on(tmp_path):
    experiment, folder = small_experiment(tmp_path), tmp_path / "out"
    run(experiment, FakeRunner(), folder)
    path = folder / "experiment.json"
    kept = json.loads(path.read_text())
    for name in ("clean_start", "cool_down_seconds", "engine_statistics"):
        del kept["experiment"][name]
    path.write_text(json.dumps(kept))
    assert run(experiment, FakeRunner(), folder).left == []
